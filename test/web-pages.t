#!/bin/sh
# SPDX-License-Identifier: MIT
# Pages of the viewer that want recordings of their own.
exec node "$(dirname "$0")/web-pages.mjs"
