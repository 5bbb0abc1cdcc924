/* SPDX-License-Identifier: MIT */
/* image.h - an ELF object, in this process's memory or in a file. */
#ifndef TT_IMAGE_H
#define TT_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#include "mapped-array.h"
#include "rules.h"

enum { TT_BUILD_ID_MAX = 32 };

struct tt_image {
    const Elf64_Phdr *phdr; /* borrowed, or in `headers` */
    unsigned phdrs;
    int fd;        /* borrowed; -1: in memory */
    uint64_t bias; /* in memory: address there = link-time address + bias */
    int stays;     /* in memory: for as long as the process lives */
    struct tt_mapped_array headers, contents, table, debug; /* of files: the parts read */
    Elf64_Ehdr header;                                      /* of files */
    const uint8_t *map; /* of files: all of it, in place of the parts; NULL: not mapped */
    size_t map_size;
};

/* Loaded at `bias`, and staying there while the image is used. */
void tt_image_of_memory(struct tt_image *, uint64_t bias, const Elf64_Phdr *, unsigned);

/* 0, -TT_ERR_FORMAT: no ELF object of this machine, -TT_ERR_FILE, -TT_ERR_MEMORY. */
int tt_image_of_file(struct tt_image *, int fd);
void tt_image_fini(struct tt_image *);

/* Maps the file, so that only what is looked at is read; it kills a reader that looks at what
 * was cut off meanwhile.  Without success it is read as before. */
void tt_image_map(struct tt_image *);

/* Sets the bias from a mapping of its code: at `start`, from `offset` in the file on.
 * Returns 0 if no code is there. */
int tt_image_lies_at(struct tt_image *, uint64_t start, uint64_t offset);

/* Finds .eh_frame; `info` points into the image.  0; -TT_ERR_FORMAT: there is none. */
int tt_image_frame_info(struct tt_image *, struct tt_frame_info *info);

/* Adds .debug_frame, which only files have, to the description of .eh_frame, which may be
 * empty.  Returns 0; -TT_ERR_FORMAT: it has none, or it is compressed. */
int tt_image_debug_frame(struct tt_image *, struct tt_frame_info *info);

/* The bytes of its build-id; 0 without one. */
unsigned tt_image_build_id(struct tt_image *, uint8_t id[TT_BUILD_ID_MAX]);

/* Of a file: copies its bytes at a link-time address.  Returns 0 or -TT_ERR_FORMAT. */
int tt_image_read(const struct tt_image *, uint64_t address, void *to, size_t size);

#endif
