#!/bin/sh
# SPDX-License-Identifier: MIT
# The first page and the flame graph.
exec node "$(dirname "$0")/web-flame.mjs"
