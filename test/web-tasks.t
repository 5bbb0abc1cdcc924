#!/bin/sh
# SPDX-License-Identifier: MIT
# Six questions to the viewer, by counted clicks.
exec node "$(dirname "$0")/web-tasks.mjs"
