/* SPDX-License-Identifier: MIT */
/* cmd-top.h - the state of `tallytree top`, for its two outputs. */
#ifndef TT_CMD_TOP_H
#define TT_CMD_TOP_H

#include <sys/stat.h>
#include <sys/types.h>

#include "live-snapshot.h"
#include "name-blocks.h"
#include "show.h"
#include "source-text.h"
#include "watch-machine.h"

struct tt_read_listing;

struct tt_watch_flag {
    const struct tt_flag *flag;
    const char *value;
};

struct tt_watch_strand { /* filters that leave one; "": all */
    char filter[3][200];
};

struct tt_watch_row {
    char id[40], name[160]; /* of a block; id "": it is none */
    uint64_t pid;           /* of a strand; 0: of no single process */
};

struct tt_watch {
    struct tt_watched_machine machine; /* its recording is private to this process */
    int is_machine;
    char **path;
    int paths;
    char found[4200], *found_path[1]; /* of the process that was asked for */
    pid_t pid;                        /* 0: none was */
    struct tt_show show;
    int color;              /* may there be any? */
    struct tt_vector given; /* struct tt_watch_flag: the query's flags, in order */
    int clean;              /* --clean is among them */
    double interval;
    unsigned long looks; /* 0: until it ends */

    /* The query; keys change it. */
    const char *view, *sort; /* sort: "now", or a column's key */
    char metric[80];         /* "": what the flags say */
    struct tt_watch_strand strand;
    char pattern[128]; /* a filter; "": none */
    uint64_t filters;  /* a number that changes with the filters */
    int is_paused, is_typing;
    char typed[96]; /* of the pattern, while it is being typed */

    struct tt_live_snapshot *last, *now; /* last: NULL: there is nothing before now */
    struct tt_read_listing *listing;     /* of source text and code */
    struct tt_source_folders source;     /* where it looks for them */
    struct tt_names_wanted names;
    struct stat read;          /* the file, when the last reading began */
    size_t scroll, rows, room; /* the first line shown, all lines, those on the screen */
    size_t cursor;             /* the line that keys are about */
    int is_held;             /* it stays with what it is about; 0: it stays where it is */
    struct tt_watch_row row; /* what it is about */
    char block[48]; /* a pattern: whose callers and callees are shown; "": none */
    char block_name[160];
    const char *back; /* the view before that */
    char reason[300]; /* why something could not be done; "" */
};

/* Reads again.  0, or an error, after a complaint; then the last reading is kept. */
int tt_watch_read(struct tt_watch *);
/* Answers the query; both must be freed in either case.  Complains. */
int tt_watch_look(struct tt_watch *, struct tt_query *, struct tt_table *);
/* "tallytree top  PROGRAM  running …", without an end of the line. */
void tt_watch_state(const struct tt_watch *, struct tt_text *);
/* The column that rows are sorted by; NULL: the view's own. */
const char *tt_watch_sort(const struct tt_watch *);

/* The views that show growth, up to a NULL. */
extern const char *const tt_watch_views[];

#endif
