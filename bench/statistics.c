/* SPDX-License-Identifier: MIT */
/* statistics.c - the stack of activations that statistics.h keeps its books on. */
#include "statistics.h"

enum { DEPTH_MAX = 256 };

static struct activation activations[DEPTH_MAX];
struct activation *statistics_top = activations;
