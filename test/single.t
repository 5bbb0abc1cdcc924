#!/bin/sh
# SPDX-License-Identifier: MIT
# The viewer as one file.
exec node "$(dirname "$0")/single.mjs"
