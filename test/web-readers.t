#!/bin/sh
# SPDX-License-Identifier: MIT
# The viewer without a mouse, without eyes, and with weak ones.
exec node "$(dirname "$0")/web-readers.mjs"
