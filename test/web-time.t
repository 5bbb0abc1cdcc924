#!/bin/sh
# SPDX-License-Identifier: MIT
# The viewer's strip of time.
exec node "$(dirname "$0")/web-time.mjs"
