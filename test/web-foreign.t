#!/bin/sh
# SPDX-License-Identifier: MIT
# Profiles of other tools in the viewer.
exec node "$(dirname "$0")/web-foreign.mjs"
