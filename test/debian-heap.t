#!/bin/bash
# SPDX-License-Identifier: MIT
# debian.t with --heap: a preloaded library records every event of the allocator.
TT_RECORD=--heap exec "${0%/*}/debian.t"
