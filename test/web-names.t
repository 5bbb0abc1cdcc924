#!/bin/sh
# SPDX-License-Identifier: MIT
# Blocks of one name, long names, names of one letter, and frames that stay what they are.
exec node "$(dirname "$0")/web-names.mjs"
