#!/bin/bash
# SPDX-License-Identifier: MIT
# The same programs with every event of the allocator recorded, by a library that stands
# before it.
TT_RECORD=--heap exec "${0%/*}/debian.t"
