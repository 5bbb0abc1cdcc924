/* SPDX-License-Identifier: MIT */
/* java.h - Java on native stacks: HotSpot, OpenJDK's virtual machine. */
#ifndef TT_JAVA_H
#define TT_JAVA_H

#include "interpreters.h"
#include "java-layout.h"

struct dl_phdr_info;

enum { TT_JAVA_HEAPS = 8, TT_JAVA_NAMES = 4 };

struct tt_java {
    struct tt_interpreter base;    /* first */
    struct tt_generated generated; /* how its code is left */
    struct tt_java_layout layout;
    uint64_t tables; /* address of the first one */
    uint32_t version;
    /* Code is in up to three heaps, which are made at the start and stay.  Written by any
     * thread, each with the same values; `heaps` last. */
    uint32_t heaps;
    struct tt_java_heap {
        uint64_t low, end, begin, map;
        uint32_t shift;
    } heap[TT_JAVA_HEAPS];
    uint64_t name[TT_JAVA_NAMES]; /* addresses of the names of kinds of code, by kind */
    uint32_t failures; /* methods that could not be read before the first good one */
    int is_proved;
};

/* The virtual machine in this object; NULL: none, or no room. */
struct tt_interpreter *tt_java_find(const struct dl_phdr_info *);

/* What all have, with the layout set before. */
void tt_java_init(struct tt_java *, struct tt_peek *, const char *off);

#endif
