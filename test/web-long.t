#!/bin/sh
# SPDX-License-Identifier: MIT
# The viewer's long tables, and flame graphs that are zoomed.
exec node "$(dirname "$0")/web-long.mjs"
