#!/bin/bash
# SPDX-License-Identifier: MIT
# The C test programs with the musl C library.
. "$(dirname "$0")/../target.sh"
on_target env musl-gcc -static
