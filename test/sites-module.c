/* SPDX-License-Identifier: MIT */
/* sites-module.c - what sites-test loads and lets go of. */
#define TT_SWITCHED
#define TT_LATE
#include "tallytree.h"

void run_module(void);
void run_module(void) { TT_FUNCTION(); }
