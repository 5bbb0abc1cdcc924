/* SPDX-License-Identifier: MIT */
/* running.h - runs a program with one of our libraries, and makes one profile of its
 * processes' recordings. */
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
    int is_quiet;    /* what is in the profile is not said */
    int is_outside;  /* nothing has to be loaded, if nothing can be: see outside.h */
    struct tt_names_wanted naming;
    /* The members below are filled in. */
    struct tt_program program;
    char library[PATH_MAX];
    char name[PATH_MAX];   /* of the output */
    char folder[PATH_MAX]; /* where the recordings are until then; hidden, beside it */
    char inner[PATH_MAX];  /* the same, or in it, for programs that become other users' */
};

/* Takes the value of -o.  0, or complains and returns -TT_ERR_OPTION. */
int tt_running_writes(struct tt_running *, const char *who, const char *out);

/* Finds the program, and one of our libraries; `who` is the command in complaints.  0, or
 * the status to exit with. */
int tt_running_find(struct tt_running *, const char *who, const char *library);

/* tt_running_make: names the output and makes its folder, after the process is known; if
 * an earlier run left a folder, it is kept and this one gets another name.  0, or -1 with
 * errno. tt_running_gather: makes the profile from the folder; 0, or a negative error
 * after a complaint.  tt_running_has_status: then the program has run all the same, and its
 * status is kept; says so. */
int tt_running_make(struct tt_running *, pid_t);
int tt_running_gather(const struct tt_running *);
void tt_running_has_status(const struct tt_running *);

/* Turns a process's name, which the process chooses, into a file name: letters, digits
 * and "+-._", up to the end of the line. */
void tt_running_clean(char *name);

/* Runs it and ends like it; returns the status to exit with if it could not be run.
 * `prepare` is called in the child, and complains itself. */
int tt_running_go(struct tt_running *, int (*prepare)(void *arg), void *arg);

#endif
