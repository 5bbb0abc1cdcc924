/* SPDX-License-Identifier: MIT */
/* perfdata-tree.c - samples by their addresses in files, until the files are completely
 * known.
 *
 *      file    path, build-id
 *      place   (file, offset in it)        without a file: an address of the process
 *      node    (node above, place)
 *      amount  (node, strand, event)       samples, sum of periods
 *
 * The program headers of a file turn an offset into an address of the file, if the file
 * still exists.  A file that was mapped below LOW was not moved, so its addresses are
 * those it ran at. */
#include "perfdata-tree.h"
#include "naming.h"
#include "perfdata.h"
#include "samples.h"
#include "sorted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOW (1ull << 30)

enum file_kind { ON_DISK, KERNEL, KERNEL_MODULE, JIT, NOWHERE };

struct file {
    uint32_t path, pid; /* path: a text; pid: of a JIT */
    enum file_kind kind;
    int is_low;
    uint64_t low_by; /* address less offset */
    unsigned char id[TT_PERFDATA_ID], id_size;
};

struct place {
    uint32_t file, block; /* block: set in the end */
    uint64_t offset;
};

struct node {
    uint32_t above, place;
};

struct strand {
    uint32_t pid, tid, comm;
};

struct amount {
    uint32_t node, strand, event;
    uint64_t samples, period;
};

/* Code that is in no file. */
static const char nowhere[] = "[unknown]";

void tt_perfdata_tree_init(struct tt_perfdata_tree *t, struct tt_source *s,
                           struct tt_builder *b)
{
    const struct tt_memory *memory = s->memory;

    t->s = s;
    t->b = b;
    t->timed = TT_NONE;
    tt_frames_init(&t->texts, b, memory);
    tt_vector_init(&t->file, memory, sizeof(struct file));
    tt_vector_init(&t->place, memory, sizeof(struct place));
    tt_vector_init(&t->node, memory, sizeof(struct node));
    tt_vector_init(&t->strand, memory, sizeof(struct strand));
    tt_vector_init(&t->amount, memory, sizeof(struct amount));
    tt_vector_init(&t->text, memory, sizeof(size_t));
    tt_vector_init(&t->chars, memory, 1);
    tt_pairs_init(&t->places, memory);
    tt_pairs_init(&t->nodes, memory);
    tt_pairs_init(&t->strands, memory);
    tt_pairs_init(&t->amounts, memory);
}

/* ── Texts and files ──────────────────────────────────────────────────────────────── */

uint32_t tt_perfdata_text(struct tt_perfdata_tree *t, const char *text, size_t length)
{
    int is_new;
    uint32_t *known = tt_frames_find(&t->texts, text, length, &is_new);
    size_t offset = t->chars.count;

    if (!known)
        return TT_NONE;
    if (!is_new)
        return *known;
    *known = (uint32_t)t->text.count;
    if (tt_vector_push(&t->text, &offset) != 0 ||
        tt_vector_text(&t->chars, text, length) == TT_NO_PLACE)
        return TT_NONE;
    return *known;
}

static const char *text_of(const struct tt_perfdata_tree *t, uint32_t text)
{
    return (const char *)t->chars.item + ((const size_t *)t->text.item)[text];
}

static int begins(const char *path, size_t length, const char *with)
{
    return length >= strlen(with) && memcmp(path, with, strlen(with)) == 0;
}

/* Is this the name of a mapping without a file, such as generated code? */
static int is_anonymous(const char *path, size_t length)
{
    static const char *const names[] = {"//anon", "/anon_hugepage", "/dev/zero", "[anon",
                                        "[heap",  "[stack",         "/memfd:",   "/SYSV"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins(path, length, names[i]))
            return 1;
    return !length;
}

/* Files are identified by path and build-id, those of JITs by their processes. */
uint32_t tt_perfdata_file(struct tt_perfdata_tree *t, const char *path, size_t length,
                          uint32_t pid, const char *id, size_t id_size)
{
    char key[4200];
    const int jit = is_anonymous(path, length);
    uint32_t text, *known;
    struct file *f;
    size_t end;
    int is_new;

    if (length > 4096)
        length = 4096;
    if (id_size > TT_PERFDATA_ID)
        id_size = TT_PERFDATA_ID;
    key[0] = '\n'; /* so that it differs from other kinds of texts */
    memcpy(key + 1, path, length);
    end = length + 1;
    if (jit)
        end = (size_t)snprintf(key, sizeof key, "\n\n%u", (unsigned)pid);
    key[end++] = '\n';
    memcpy(key + end, id, id_size);
    known = tt_frames_find(&t->texts, key, end + id_size, &is_new);
    if (!known || !is_new)
        return known ? *known : TT_NONE;
    *known = (uint32_t)t->file.count;
    f = tt_vector_add(&t->file, 1);
    text = tt_perfdata_text(t, path, length);
    if (!f || text == TT_NONE)
        return TT_NONE;
    f->path = text;
    f->pid = pid;
    f->kind = jit ? JIT : begins(path, length, "[kernel.kallsyms") ? KERNEL : ON_DISK;
    f->id_size = (unsigned char)id_size;
    memcpy(f->id, id, id_size);
    return (uint32_t)t->file.count - 1;
}

/* A build-id of zeros is none. */
static int is_id(const char *id, size_t size)
{
    while (size && !id[size - 1])
        size--;
    return size > 0;
}

int tt_perfdata_file_id(struct tt_perfdata_tree *t, const char *path, size_t length,
                        const char *id, size_t id_size)
{
    uint32_t text = tt_perfdata_text(t, path, length);
    struct file *f = t->file.item;

    if (text == TT_NONE)
        return -TT_ERR_MEMORY;
    if (id_size > TT_PERFDATA_ID)
        id_size = TT_PERFDATA_ID;
    for (size_t i = 0; i < t->file.count; i++) {
        int is_it = f[i].path == text ||
                    (f[i].kind == KERNEL && begins(path, length, "[kernel.kallsyms]"));
        if (!is_it || f[i].id_size || !is_id(id, id_size))
            continue;
        memcpy(f[i].id, id, id_size);
        f[i].id_size = (unsigned char)id_size;
    }
    return 0;
}

static void put_id(const struct file *f, char id[2 * TT_PERFDATA_ID + 1])
{
    id[0] = '\0';
    for (int i = 0; i < f->id_size; i++)
        (void)snprintf(id + 2 * (size_t)i, 3, "%02x", f->id[i]);
}

const char *tt_perfdata_file_path(const struct tt_perfdata_tree *t, uint32_t file,
                                  char id[2 * TT_PERFDATA_ID + 1])
{
    const struct file *f = (const struct file *)t->file.item + file;

    put_id(f, id);
    return text_of(t, f->path);
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

/* Returns the only file of a kind that has no path. */
static uint32_t other_file(struct tt_perfdata_tree *t, enum file_kind kind)
{
    const char *name = kind == KERNEL ? "[kernel.kallsyms]" : nowhere;
    uint32_t file = tt_perfdata_file(t, name, strlen(name), 0, "", 0);

    if (file != TT_NONE)
        ((struct file *)t->file.item)[file].kind = kind;
    return file;
}

static uint32_t find_place(struct tt_perfdata_tree *t, uint64_t address,
                           const struct tt_perfdata_region *region, int is_kernel)
{
    const int in_kernel = is_kernel &&
                          (!region ||
                           ((struct file *)t->file.item)[region->file].kind == KERNEL);
    uint32_t file = in_kernel ? other_file(t, KERNEL)
                    : region  ? region->file
                              : other_file(t, NOWHERE);
    uint64_t offset = region ? address - region->start + region->offset : 0;
    struct file *f = t->file.item;
    uint32_t *known;
    int is_new;

    if (file == TT_NONE)
        return TT_NONE;
    f += file;
    if (is_kernel && region && !in_kernel)
        f->kind = KERNEL_MODULE;
    if (f->kind == ON_DISK && region && region->start < LOW && !is_kernel) {
        f->is_low = 1;
        f->low_by = region->start - region->offset;
    }
    if (f->kind == KERNEL || f->kind == KERNEL_MODULE || f->kind == JIT)
        offset = address;
    known = tt_pairs_get(&t->places, file, offset, &is_new);
    if (!known || !is_new)
        return known ? *known : TT_NONE;
    *known = (uint32_t)t->place.count;
    if (tt_vector_push(
            &t->place,
            &(struct place){.file = file, .block = TT_NONE, .offset = offset}) != 0)
        return TT_NONE;
    return (uint32_t)t->place.count - 1;
}

/* Node 0 is the root: nodes count from 1. */
uint32_t tt_perfdata_below(struct tt_perfdata_tree *t, uint32_t above, uint64_t address,
                           const struct tt_perfdata_region *region, int is_kernel)
{
    /* After a failure a known node may be invalid: looks up nothing more. */
    uint32_t place = above == TT_NONE ? TT_NONE
                                      : find_place(t, address, region, is_kernel);
    uint32_t *known;
    int is_new;

    known = place == TT_NONE ? NULL : tt_pairs_get(&t->nodes, above, place, &is_new);
    if (!known || !is_new)
        return known ? *known : TT_NONE;
    if (tt_vector_push(&t->node, &(struct node){above, place}) != 0)
        return TT_NONE;
    *known = (uint32_t)t->node.count;
    return *known;
}

static uint32_t find_strand(struct tt_perfdata_tree *t, uint32_t pid, uint32_t tid,
                            uint32_t comm)
{
    int is_new;
    uint32_t *known = tt_pairs_get(&t->strands, (uint64_t)pid << 32 | tid, comm, &is_new);

    if (!known || !is_new)
        return known ? *known : TT_NONE;
    *known = (uint32_t)t->strand.count;
    if (tt_vector_push(&t->strand, &(struct strand){pid, tid, comm}) != 0)
        return TT_NONE;
    return (uint32_t)t->strand.count - 1;
}

int tt_perfdata_add(struct tt_perfdata_tree *t, uint32_t node, uint32_t pid, uint32_t tid,
                    uint32_t comm, struct tt_perfdata_event *e, uint32_t event,
                    uint64_t period, uint64_t time)
{
    uint32_t strand = find_strand(t, pid, tid, comm), *known;
    struct amount *a;
    int is_new;

    known = node == TT_NONE || strand == TT_NONE
                ? NULL
                : tt_pairs_get(&t->amounts, node, (uint64_t)event << 32 | strand,
                               &is_new);
    if (!known)
        return -TT_ERR_MEMORY;
    if (__builtin_add_overflow(e->sum, period, &e->sum))
        return -TT_ERR_FORMAT;
    e->samples = 0; /* the event has samples */
    if (is_new) {
        *known = (uint32_t)t->amount.count;
        if (tt_vector_push(
                &t->amount,
                &(struct amount){.node = node, .strand = strand, .event = event}) != 0)
            return -TT_ERR_MEMORY;
    }
    a = (struct amount *)t->amount.item + *known;
    a->samples++;
    a->period += period;
    if (t->timed == TT_NONE)
        t->timed = event;
    if (time && event == t->timed)
        tt_builder_sample_later(t->b, node, strand, time, period ? period : 1);
    return 0;
}

/* ── Addresses that files are linked to ───────────────────────────────────────────── */

/* The head of an ELF file, to check its build-id and to turn offsets into addresses. */
struct elf {
    const char *at;
    size_t size;
    int is_big, wide;
    uint64_t headers, header_size, count;
};

static uint64_t number(const struct elf *e, uint64_t at, int size)
{
    return at <= e->size && (uint64_t)size <= e->size - at
               ? tt_perfdata_number(e->at + at, size, e->is_big)
               : 0;
}

static int open_elf(struct elf *e, const char *at, size_t size)
{
    if (size < 52 || memcmp(at, "\177ELF", 4) != 0)
        return 0;
    *e = (struct elf){.at = at, .size = size, .is_big = at[5] == 2, .wide = at[4] == 2};
    e->headers = number(e, e->wide ? 32 : 28, e->wide ? 8 : 4);
    e->header_size = number(e, e->wide ? 54 : 42, 2);
    e->count = number(e, e->wide ? 56 : 44, 2);
    return e->header_size >= (e->wide ? 56 : 32);
}

struct segment {
    uint64_t type, flags, offset, address, size;
};

static struct segment segment_at(const struct elf *e, uint64_t i)
{
    uint64_t at = e->headers + i * e->header_size;

    if (!e->wide)
        return (struct segment){number(e, at, 4), number(e, at + 24, 4),
                                number(e, at + 4, 4), number(e, at + 8, 4),
                                number(e, at + 16, 4)};
    return (struct segment){number(e, at, 4), number(e, at + 4, 4), number(e, at + 8, 8),
                            number(e, at + 16, 8), number(e, at + 32, 8)};
}

/* Returns the build-id among the notes there; NULL: there is none. */
static const char *find_id(const struct elf *e, uint64_t at, uint64_t end, uint64_t *size)
{
    enum { BUILD_ID = 3 };

    while (at + 12 <= end) {
        uint64_t name = number(e, at, 4), begin = at + 12 + ((name + 3) & ~3ull);
        *size = number(e, at + 4, 4);
        if (begin > e->size || *size > e->size - begin)
            return NULL;
        if (number(e, at + 8, 4) == BUILD_ID && name == 4 &&
            memcmp(e->at + at + 12, "GNU", 4) == 0)
            return e->at + begin;
        at = begin + ((*size + 3) & ~3ull);
    }
    return NULL;
}

/* Is the file's build-id the expected one, if there is one? */
static int may_be(const struct elf *e, const struct file *f)
{
    enum { NOTE = 4 };

    for (uint64_t i = 0; f->id_size && i < e->count; i++) {
        struct segment s = segment_at(e, i);
        uint64_t size;
        const char *id = s.type == NOTE && s.size < e->size && s.offset < e->size
                             ? find_id(e, s.offset, s.offset + s.size, &size)
                             : NULL;
        if (id)
            return size == f->id_size && memcmp(id, f->id, f->id_size) == 0;
    }
    return 1;
}

/* Finds the difference between an address and its offset: 1; 0: there is no code. */
static int address_by(const struct elf *e, uint64_t offset, uint64_t *by)
{
    enum { LOAD = 1, EXECUTABLE = 1 };

    for (uint64_t i = 0; i < e->count; i++) {
        struct segment s = segment_at(e, i);
        if (s.type == LOAD && s.flags & EXECUTABLE && offset >= s.offset &&
            offset - s.offset < s.size) {
            *by = s.address - s.offset;
            return 1;
        }
    }
    return 0;
}

/* Turns the offsets of a file's places into addresses. */
static void link_places(struct tt_perfdata_tree *t, uint32_t file, struct place *const *p,
                        size_t count)
{
    enum { HEAD = 1 << 16 };
    const struct file *f = (const struct file *)t->file.item + file;
    const char *path = text_of(t, f->path);
    struct tt_source *beside = *path == '/' ? tt_source_beside(t->s, path) : NULL;
    int64_t have = beside ? tt_source_want(beside, HEAD) : -1;
    struct elf e;
    int is_it = have > 0 && open_elf(&e, tt_source_at(beside), (size_t)have) &&
                may_be(&e, f);

    for (size_t i = 0; i < count; i++) {
        uint64_t by = 0;
        if (!(is_it && address_by(&e, p[i]->offset, &by)) && f->is_low)
            by = f->low_by;
        p[i]->offset += by;
    }
    tt_source_close(beside);
}

static int by_file(const void *a, const void *b)
{
    const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;

    return TT_ORDER(x->file, y->file) ?: TT_ORDER(x->offset, y->offset);
}

static int link_all(struct tt_perfdata_tree *t)
{
    struct file *file = t->file.item;
    struct tt_vector order;
    struct place **p;
    size_t count = t->place.count, end;

    tt_vector_init(&order, t->s->memory, sizeof *p);
    p = count ? tt_vector_add(&order, count) : NULL;
    if (count && !p)
        return -TT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        p[i] = (struct place *)t->place.item + i;
    tt_sort(p, count, sizeof *p, by_file);
    for (size_t i = 0; i < count; i = end) {
        for (end = i; end < count && p[end]->file == p[i]->file; end++)
            ;
        if (file[p[i]->file].kind == ON_DISK)
            link_places(t, p[i]->file, p + i, end - i);
    }
    tt_vector_fini(&order);
    return 0;
}

/* ── The kernel ───────────────────────────────────────────────────────────────────── */

/* Is the running kernel the recorded one?  If the recording has no build-id, the release
 * is compared.  Sets the identity of the kernel. */
static int runs_now(struct tt_perfdata_tree *t, const struct file *kernel)
{
    enum { NOTES = 4096 };
    struct tt_source *notes = tt_source_beside(t->s, "/sys/kernel/notes");
    struct tt_source *release = tt_source_beside(t->s, "/proc/sys/kernel/osrelease");
    int64_t have = notes ? tt_source_want(notes, NOTES) : -1;
    struct elf e = {.size = have > 0 ? (size_t)have : 0};
    struct file own = {.kind = KERNEL};
    uint64_t size = 0;
    const char *id = NULL;
    size_t length;
    char *line;
    int is_it = 0;

    if (e.size) {
        e.at = tt_source_at(notes);
        id = find_id(&e, 0, e.size, &size);
    }
    if (id && size <= TT_PERFDATA_ID) {
        memcpy(own.id, id, (size_t)size);
        own.id_size = (unsigned char)size;
        is_it = kernel ? size == kernel->id_size &&
                             memcmp(id, kernel->id, kernel->id_size) == 0
                       : release && tt_source_line(release, &line, &length) > 0 &&
                             strcmp(line, t->kernel) == 0;
    }
    if (is_it || kernel)
        put_id(kernel ? kernel : &own, t->kernel);
    if (!t->kernel[0]) /* otherwise any kernel would match */
        memcpy(t->kernel, "unknown", sizeof "unknown");
    tt_source_close(release);
    tt_source_close(notes);
    return is_it;
}

/* The kernel may have moved since.  Finds how far, by where its text begins now.  Then
 * only its own symbols are used, as modules are placed at other addresses after each
 * boot. */
static void find_kernel(struct tt_perfdata_tree *t)
{
    const struct file *f = t->file.item, *kernel = NULL;
    struct tt_source *s;
    size_t length;
    char *line, *end;

    for (size_t i = 0; i < t->file.count; i++)
        if (f[i].kind == KERNEL && f[i].id_size)
            kernel = f + i;
    if (!runs_now(t, kernel) || !t->text_at)
        return;
    s = tt_source_beside(t->s, "/proc/kallsyms");
    for (int i = 0; s && i < 100000 && tt_source_line(s, &line, &length) > 0; i++) {
        uint64_t address = strtoull(line, &end, 16);
        if (strcmp(end, " T _text") != 0 && strcmp(end, " T _stext") != 0)
            continue;
        t->is_same_kernel = address != 0;
        t->moved = address ? address - t->text_at : 0;
        break;
    }
    tt_source_close(s);
}

/* ── Into the builder ─────────────────────────────────────────────────────────────── */

static uint32_t native_block(struct tt_perfdata_tree *t, const char *path, const char *id,
                             uint64_t address)
{
    const char *slash = strrchr(path, '/');
    char name[300];

    (void)snprintf(name, sizeof name, "%.250s+0x%llx", slash ? slash + 1 : path,
                   (unsigned long long)address);
    return tt_builder_block(t->b, &(struct tt_block_info){.name = name,
                                                          .module = path,
                                                          .file = id,
                                                          .offset = address,
                                                          .kind = TT_KIND_NATIVE});
}

static uint32_t unknown_block(struct tt_perfdata_tree *t, const char *module)
{
    return tt_builder_block(t->b, &(struct tt_block_info){.name = nowhere,
                                                          .module = module,
                                                          .kind = TT_KIND_FUNCTION});
}

/* Returns the block of a JIT's code, with a name if its process left a map file. */
static uint32_t jit_block(struct tt_perfdata_tree *t, const struct file *f,
                          uint64_t address)
{
    char map[40];
    struct tt_source *s;

    (void)snprintf(map, sizeof map, "/tmp/perf-%u.map", (unsigned)f->pid);
    s = tt_source_beside(t->s, map);
    if (!s)
        return unknown_block(t, text_of(t, f->path));
    tt_source_close(s);
    return native_block(t, "[jit]", map, address);
}

static uint32_t make_block(struct tt_perfdata_tree *t, const struct place *p)
{
    const struct file *f = (const struct file *)t->file.item + p->file;
    const char *path = text_of(t, f->path);
    char id[2 * TT_PERFDATA_ID + 1];

    put_id(f, id);
    switch (f->kind) {
    case NOWHERE:
        return unknown_block(t, nowhere);
    case JIT:
        return jit_block(t, f, p->offset);
    case KERNEL_MODULE:
        if (t->is_same_kernel && !t->moved)
            return native_block(t, "[kernel]", t->kernel, p->offset);
        return native_block(t, path, id, p->offset);
    case KERNEL:
        return native_block(t, "[kernel]", t->kernel, p->offset + t->moved);
    default:
        return native_block(t, path, id, p->offset);
    }
}

static int make_metrics(struct tt_perfdata_tree *t, struct tt_perfdata_events *events)
{
    struct tt_perfdata_event *e = events->event.item;
    int is_first = 1;

    for (size_t i = 0; i < events->event.count; i++) {
        char text[64], name[80];
        const char *called = tt_perfdata_event_called(e + i, text);
        int is_clock = strncmp(called, "cpu-clock", 9) == 0 ||
                       strncmp(called, "task-clock", 10) == 0;
        if (e[i].samples == TT_NONE)
            continue;
        (void)snprintf(name, sizeof name, is_first ? "samples" : "samples of %s", called);
        e[i].samples = tt_builder_metric(t->b, name, "", 0);
        if (e[i].sum)
            e[i].amount = tt_builder_metric(t->b, called, is_clock ? "ns" : "",
                                            is_first ? TT_METRIC_TIME | TT_METRIC_SAMPLED
                                                     : 0);
        is_first = 0;
    }
    return 0;
}

/* Makes contexts of nodes; each node comes after its parent. */
static uint32_t *make_contexts(struct tt_perfdata_tree *t, struct tt_vector *to)
{
    const struct node *n = t->node.item;
    struct place *place = t->place.item;
    uint32_t *context = tt_vector_add(to, t->node.count + 1);

    if (!context)
        return NULL;
    context[0] = TT_BUILDER_ROOT;
    for (size_t i = 0; i < t->node.count; i++) {
        struct place *p = place + n[i].place;
        if (p->block == TT_NONE)
            p->block = make_block(t, p);
        context[i + 1] = tt_builder_context(t->b, context[n[i].above], p->block);
        if (context[i + 1] == TT_NONE)
            return NULL;
    }
    return context;
}

static int take_strand(struct tt_perfdata_tree *t, const struct strand *s)
{
    char name[24];
    const char *comm = name;

    (void)snprintf(name, sizeof name, s->pid ? ":%u" : "swapper", (unsigned)s->tid);
    if (s->comm != TT_NONE)
        comm = text_of(t, s->comm);
    return tt_builder_strand(t->b, &(struct tt_strand_info){.process = comm,
                                                            .name = comm,
                                                            .pid = s->pid,
                                                            .thread = s->tid,
                                                            .rank = TT_NONE,
                                                            .members = 1}) == TT_NONE
               ? -TT_ERR_MEMORY
               : 0;
}

int tt_perfdata_finish(struct tt_perfdata_tree *t, struct tt_perfdata_events *events)
{
    const struct tt_perfdata_event *event = events->event.item;
    const struct amount *a = t->amount.item;
    struct tt_vector contexts;
    const uint32_t *context;
    uint32_t strand = TT_NONE, main = 0,
             *strands = tt_memory_get(t->s->memory, t->strand.count * sizeof *strands);
    int error = link_all(t);

    tt_vector_init(&contexts, t->s->memory, sizeof(uint32_t));
    find_kernel(t);
    error = error ?: make_metrics(t, events);
    context = error ? NULL : make_contexts(t, &contexts);
    if (!context || !strands)
        error = -TT_ERR_MEMORY;
    while (main < events->event.count && event[main].samples == TT_NONE)
        main++;
    for (size_t i = 0; !error && i < t->amount.count; i++) {
        const struct tt_perfdata_event *e = event + a[i].event;
        if (a[i].strand != strand) {
            strand = a[i].strand;
            error = take_strand(t, (const struct strand *)t->strand.item + strand);
            strands[strand] = tt_builder_current(t->b);
        }
        tt_builder_add(t->b, TT_ROLE_SELF, context[a[i].node], e->samples, a[i].samples);
        if (a[i].period)
            tt_builder_add(t->b, TT_ROLE_SELF, context[a[i].node], e->amount,
                           a[i].period);
    }
    if (!error && t->timed != TT_NONE) /* the main metric has a range's figures */
        tt_builder_place_samples(
            t->b, event[main].sum ? event[main].amount : event[main].samples,
            t->timed == main ? context : NULL, strands);
    tt_memory_put(t->s->memory, strands);
    tt_vector_fini(&contexts);
    return error;
}
