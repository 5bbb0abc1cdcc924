#!/bin/sh
# SPDX-License-Identifier: MIT
# Ways through the viewer.
exec node "$(dirname "$0")/web-explore.mjs"
