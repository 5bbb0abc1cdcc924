/* SPDX-License-Identifier: MIT */
/* pattern.h - names, globs and regular expressions that match blocks and strands. */
#ifndef TT_PATTERN_H
#define TT_PATTERN_H

#include "profile.h"

/* Names, globs (* ? [set]) or /regular expressions/ (/…/i: either case; /…/f: in files
 * and modules too).  A name or glob matches the whole name, a regular expression any part
 * of it.  With a colon they also match "list.c:append", "list.c:12", "module:append",
 * "append:12"; for strands "host:", "process:", "node:", "name:", "rank:", "pid:",
 * "thread:", for a machine also "cgroup:", "container:", "unit:" and "user:", and the
 * text after it.  A block is also found by its identity (identity.h): the text before
 * "#0123456789abcdef" is ignored. */
struct tt_pattern;
/* Returns NULL with a reason in `error` if it is not a pattern. */
struct tt_pattern *tt_pattern_new(const char *text, char *error, size_t size);
void tt_pattern_free(struct tt_pattern *);
int tt_pattern_matches(const struct tt_pattern *, const char *text);
int tt_pattern_matches_strand(const struct tt_pattern *, const struct tt_profile *,
                              uint32_t strand);
/* Returns a byte for each block: does it match?  There is room for one more.  To be
 * freed; NULL: no memory. */
unsigned char *tt_pattern_blocks(const struct tt_pattern *, const struct tt_profile *);

#endif
