#!/bin/sh
# SPDX-License-Identifier: MIT
# speedscope's own importers read the files that we write.
exec node "$(dirname "$0")/speedscope.mjs"
