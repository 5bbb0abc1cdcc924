#!/bin/bash
# SPDX-License-Identifier: MIT
# Both compilers build all there is without a warning.
. "$(dirname "$0")/../tap.sh"

builds_with()
{
    CC=$1 CXX=$2 meson setup "$tmp/$1" --werror && ninja -C "$tmp/$1"
}

try "gcc builds everything without a warning" builds_with gcc g++
try "clang builds everything without a warning" builds_with clang clang++
finish
