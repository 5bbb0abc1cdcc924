/* SPDX-License-Identifier: MIT */
/* wake-paths.c - paths of functions that one process can hand to another.
 *
 * They are in the board, where any process may add to them, and may be killed meanwhile:
 * an entry is filled before its number is put into a table.  Numbers that are read from
 * there are checked, as other processes may have overwritten the memory. */
#include "wake-paths.h"

#include <errno.h>
#include <string.h>

#include "block.h"
#include "wake-board.h"

enum { TRIES = 64 };

static uint32_t shared_path[TT_LOCK_PATHS]; /* of a path here; 0: not so far */
static tt_block made[TT_WAKE_BLOCKS];       /* of a shared block; 0: not so far */
static int is_used;

static uint32_t take_number(uint32_t *count, uint32_t most)
{
    uint32_t number;

    if (__atomic_load_n(count, __ATOMIC_RELAXED) + 1 >= most)
        return 0;
    number = __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
    return number < most ? number : 0;
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

static uint64_t hash_of(const struct tt_wake_block *b)
{
    uint64_t hash = (0xcbf29ce484222325u ^ b->offset) + b->kind;

    hash = (hash ^ b->line) * 0x100000001b3u + b->column;
    for (uint32_t i = 0; i < b->size; i++)
        hash = (hash ^ (unsigned char)b->text[i]) * 0x100000001b3u;
    return hash;
}

static int append(struct tt_wake_block *b, const char *text)
{
    const size_t size = strlen(text ? text : "") + 1;

    if (size > sizeof b->text - b->size)
        return 0;
    memcpy(b->text + b->size, text ? text : "", size);
    b->size += (uint32_t)size;
    return 1;
}

static int fill(struct tt_wake_block *b, const struct tt_block_info *info)
{
    b->kind = (uint32_t)info->kind;
    b->offset = info->offset;
    b->line = info->line;
    b->column = info->column;
    b->size = 0;
    if (!append(b, info->name) || !append(b, info->module) || !append(b, info->file))
        return 0;
    b->hash = hash_of(b);
    return 1;
}

static int is_same(const struct tt_wake_block *a, const struct tt_wake_block *b)
{
    return a->hash == b->hash && a->offset == b->offset && a->kind == b->kind &&
           a->line == b->line && a->column == b->column && a->size == b->size &&
           memcmp(a->text, b->text, b->size) == 0;
}

static uint32_t share_block(const struct tt_block_info *info)
{
    enum { SLOTS = sizeof tt_wake_board->block_slot / sizeof(uint32_t) };
    struct tt_wake_block b, *room;
    uint32_t number = 0, found;

    if (!fill(&b, info))
        return 0;
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t *slot = &tt_wake_board->block_slot[(b.hash + i) % SLOTS];
        found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (!found) {
            if (!number &&
                !(number = take_number(&tt_wake_board->blocks, TT_WAKE_BLOCKS)))
                return 0;
            room = &tt_wake_board->block[number];
            memcpy(room, &b, offsetof(struct tt_wake_block, text) + b.size);
            if (__atomic_compare_exchange_n(slot, &found, number, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return number;
        }
        if (found < TT_WAKE_BLOCKS && is_same(&tt_wake_board->block[found], &b))
            return found;
    }
    return 0;
}

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

static uint32_t share_step(uint32_t parent, uint32_t block)
{
    enum { SLOTS = sizeof tt_wake_board->step_slot / sizeof(uint32_t) };
    const uint64_t hash = ((uint64_t)parent << 32 | block) * 0x9e3779b97f4a7c15u;
    uint32_t number = 0, found;

    for (uint32_t i = 0; block && i < TRIES; i++) {
        uint32_t *slot = &tt_wake_board->step_slot[((hash >> 40) + i) % SLOTS];
        const struct tt_wake_step *s;
        found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
        if (!found) {
            if (!number && !(number = take_number(&tt_wake_board->steps, TT_WAKE_STEPS)))
                return 0;
            tt_wake_board->step[number] = (struct tt_wake_step){parent, block};
            if (__atomic_compare_exchange_n(slot, &found, number, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return number;
        }
        s = &tt_wake_board->step[found % TT_WAKE_STEPS];
        if (s->parent == parent && s->block == block)
            return found;
    }
    return 0;
}

static uint32_t share_program(void)
{
    char name[80] = "[process ";
    struct tt_block_info info = {
        .kind = TT_KIND_NATIVE, .name = name, .module = "", .file = ""};
    size_t length = strlen(name);

    strncat(name, program_invocation_short_name, sizeof name - length - 2);
    strncat(name, "]", 2);
    return share_step(0, share_block(&info));
}

uint32_t tt_wake_path_share(uint32_t path, tt_block room[TT_LOCK_PATH_DEPTH])
{
    uint32_t shared = __atomic_load_n(&shared_path[path], __ATOMIC_RELAXED), count;

    if (!shared && tt_wake_board) {
        count = tt_lock_path_blocks(path, room);
        shared = share_program();
        for (uint32_t i = 0; shared && i < count; i++)
            shared = share_step(shared, share_block(&tt_block_entry(room[i])->info));
        __atomic_store_n(&shared_path[path], shared, __ATOMIC_RELAXED);
        is_used = 1;
    }
    return shared ? shared | TT_WAKE_PATH_SHARED : 0;
}

void tt_wake_paths_forked(void)
{
    if (is_used)
        memset(shared_path, 0, sizeof shared_path);
    is_used = 0;
}

/* ── Blocks of another process ────────────────────────────────────────────────────── */

static tt_block make_block(uint32_t number)
{
    struct tt_wake_block b = tt_wake_board->block[number];
    struct tt_block_info info = {.kind = (enum tt_kind)b.kind,
                                 .offset = b.offset,
                                 .line = b.line,
                                 .column = b.column};
    const char *end = b.text + sizeof b.text;

    b.text[sizeof b.text - 1] = b.text[sizeof b.text - 2] = b.text[sizeof b.text - 3] = 0;
    info.name = b.text;
    info.module = info.name + strlen(info.name) + 1;
    info.file = info.module < end ? info.module + strlen(info.module) + 1 : end;
    if (info.file >= end || b.kind >= TT_KINDS)
        return 0;
    return tt_block_interpreted(&info);
}

static tt_block block_of(struct tt_recording *r, uint32_t number)
{
    if (!number || number >= TT_WAKE_BLOCKS)
        return 0;
    if (!made[number])
        made[number] = make_block(number);
    return made[number] ? tt_block_publish(r, made[number]) : 0;
}

uint32_t tt_wake_path_blocks(struct tt_recording *r, uint32_t path,
                             tt_block out[TT_LOCK_PATH_DEPTH])
{
    uint32_t count = 0, at = TT_LOCK_PATH_DEPTH;
    tt_block block;

    path &= ~(uint32_t)TT_WAKE_PATH_SHARED;
    while (tt_wake_board && path && path < TT_WAKE_STEPS && at) {
        const struct tt_wake_step s = tt_wake_board->step[path];
        if (s.parent >= path || !(block = block_of(r, s.block)))
            return 0;
        out[--at] = block;
        count++;
        path = s.parent;
    }
    memmove(out, out + at, count * sizeof *out);
    return count;
}
