#!/bin/sh
# SPDX-License-Identifier: MIT
# The viewer reads data, not sentences.
exec node "$(dirname "$0")/web-words.mjs"
