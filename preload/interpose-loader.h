/* SPDX-License-Identifier: MIT */
/* interpose-loader.h - modules that come and go. */
#ifndef TT_INTERPOSE_LOADER_H
#define TT_INTERPOSE_LOADER_H

/* Watches calls that load and unload modules from now on. */
void tt_preload_watch(void);

#endif
