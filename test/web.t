#!/bin/sh
# SPDX-License-Identifier: MIT
# The viewer in a browser.
exec node "$(dirname "$0")/web.mjs"
