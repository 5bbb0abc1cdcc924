#!/bin/bash
# SPDX-License-Identifier: MIT
# The C test programs on aarch64, emulated.
. "$(dirname "$0")/../target.sh"
on_target qemu-aarch64 aarch64-linux-gnu-gcc -static
