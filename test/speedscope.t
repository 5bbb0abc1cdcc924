#!/bin/sh
# SPDX-License-Identifier: MIT
# What we write, as speedscope's own importers read it.
exec node "$(dirname "$0")/speedscope.mjs"
