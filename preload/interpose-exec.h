/* SPDX-License-Identifier: MIT */
/* interpose-exec.h - programs that this one starts. */
#ifndef TT_INTERPOSE_EXEC_H
#define TT_INTERPOSE_EXEC_H

/* Notes the programs that are started in this folder; NULL: off. */
void tt_preload_note_programs(const char *folder);

/* Notes there that the recording of this program cannot begin: an error of tt_start. */
void tt_preload_note_failure(const char *folder, int error, int reason);

/* As the system call. */
int tt_preload_execve(const long a[6]);

/* From now on programs are started without our libraries: they inherit what these would
 * not survive. */
void tt_preload_start_without_us(void);

#endif
