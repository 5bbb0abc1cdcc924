/* SPDX-License-Identifier: MIT */
/* node.h - names of the functions that Node compiles. */
#ifndef TT_NODE_H
#define TT_NODE_H

/* If this program is Node: sets $NODE_OPTIONS so that it writes the names of its functions
 * into a file, or takes that back.  Before main, when the recording has begun. */
void tt_preload_name_node(int is_wanted);

/* For the header, what has been done.  "": nothing. */
const char *tt_preload_node(void);

#endif
