#!/bin/sh
# SPDX-License-Identifier: MIT
# Pages of the viewer that need separate recordings.
exec node "$(dirname "$0")/web-pages.mjs"
