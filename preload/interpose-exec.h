/* SPDX-License-Identifier: MIT */
/* interpose-exec.h - programs that this one starts. */
#ifndef TT_INTERPOSE_EXEC_H
#define TT_INTERPOSE_EXEC_H

#include <stdint.h>

/* Notes the programs that are started in this folder; NULL: off. */
void tt_preload_note_programs(const char *folder);

/* Notes there that the recording of this program cannot begin: an error of tt_start. */
void tt_preload_note_failure(const char *folder, int error, int reason);

/* As the system call. */
int tt_preload_execve(const long a[6]);

/* 1: the limits of this process leave too little memory for a recording that maps `bytes`, of
 * which `data` are private.  The second function notes this as the reason. */
int tt_preload_is_tight(uint64_t bytes, uint64_t data);
void tt_preload_note_tight(const char *folder);

/* From now on programs are started without our libraries: they inherit what these would
 * not survive. */
void tt_preload_start_without_us(void);

#endif
