/* SPDX-License-Identifier: MIT */
/* running.h - runs a program with a library of ours in it, and makes one profile of what
 * its processes recorded. */
#ifndef TT_RUNNING_H
#define TT_RUNNING_H

#include <sys/types.h>

#include "name-blocks.h"
#include "program.h"

struct tt_running {
    const char *out; /* the profile that is wanted, or NULL */
    char **argv;     /* of the program; argv[-1] is there */
    int reports;     /* shows the most important of it too */
    int is_module;   /* the library: the program loads it by itself */
    int is_outside;  /* nothing has to be loaded, if nothing can be: see outside.h */
    struct tt_names_wanted naming;
    /* What follows is filled in. */
    struct tt_program program;
    char library[PATH_MAX];
    char name[PATH_MAX];   /* of the output */
    char folder[PATH_MAX]; /* where the recordings are until then; hidden, beside it */
    char inner[PATH_MAX];  /* the same, or in it, for programs that become other users' */
};

/* What -o has named.  0, or complains and returns -TT_ERR_OPTION. */
int tt_running_writes(struct tt_running *, const char *who, const char *out);

/* Finds the program, and this library of ours; `who` complains.  0, or the status to exit
 * with. */
int tt_running_find(struct tt_running *, const char *who, const char *library);

/* Names the output and makes its folder, when it is known whose they are; what an earlier run
 * left stays, and the folder has another name.  0, or -1 with errno.
 * Makes the profile of what is in the folder; 0, or a negative error after a complaint. */
int tt_running_make(struct tt_running *, pid_t);
int tt_running_gather(const struct tt_running *);

/* Makes a process's name, which it chooses by itself, one for a file: letters, digits and
 * "+-._", up to the end of the line. */
void tt_running_clean(char *name);

/* Runs it and ends as it does; returns the status to exit with when it could not be run.
 * `prepare` is called in the child, and complains itself. */
int tt_running_go(struct tt_running *, int (*prepare)(void *arg), void *arg);

#endif
