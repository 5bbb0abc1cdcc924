#!/bin/sh
# SPDX-License-Identifier: MIT
# Every page of the viewer, checked by axe-core in both themes.
exec node "$(dirname "$0")/web-axe.mjs"
