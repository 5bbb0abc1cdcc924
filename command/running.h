/* SPDX-License-Identifier: MIT */
/* running.h - runs a program with a library of ours in it, and makes one profile of what
 * its processes recorded. */
#ifndef TT_RUNNING_H
#define TT_RUNNING_H

#include <sys/types.h>

#include "naming.h"
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
    char name[PATH_MAX]; /* of the output */
    char folder[PATH_MAX];
};

/* What -o has named.  0, or complains and returns -TT_ERR_OPTION. */
int tt_running_writes(struct tt_running *, const char *who, const char *out);

/* Finds the program, and this library of ours; `who` complains.  0, or the status to exit
 * with. */
int tt_running_find(struct tt_running *, const char *who, const char *library);

/* Names the output and its folder, when it is known whose they are; 0, or a negative error.
 * Makes the profile of what is in the folder; 0, or a negative error after a complaint. */
int tt_running_name(struct tt_running *, pid_t);
int tt_running_gather(const struct tt_running *);

/* Runs it and ends as it does; returns the status to exit with when it could not be run.
 * `prepare` is called in the child, and complains itself. */
int tt_running_go(struct tt_running *, int (*prepare)(void *arg), void *arg);

#endif
