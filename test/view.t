#!/bin/sh
# SPDX-License-Identifier: MIT
# The viewer's server: what it answers, and whom.
exec node "$(dirname "$0")/view.mjs"
