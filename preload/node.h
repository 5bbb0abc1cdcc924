/* SPDX-License-Identifier: MIT */
/* node.h - names of the functions that Node compiles. */
#ifndef TT_NODE_H
#define TT_NODE_H

#include <stddef.h>
#include <stdint.h>

/* If this program is Node: makes it write the names of its functions into a file.  Returns
 * its inode, or 0.  Sets the text for the header, or leaves it.  Before main. */
uint64_t tt_preload_name_node(char *text, size_t size);

/* The program makes a thread. */
void tt_preload_node_has_read(void);

#endif
