/* SPDX-License-Identifier: MIT */
/* coarse.h - functions as long as those that people mark by hand. */
#ifndef COARSE_H
#define COARSE_H

/* Three builds of coarse.c: two the same, one with marks.  Each does `rounds` rounds of
 * about 30 us, some twenty marked calls of 0.2 to 5 us in each. */
unsigned long coarse_bare(long rounds);
unsigned long coarse_same(long rounds);
unsigned long coarse_marked(long rounds);

#endif
