/* SPDX-License-Identifier: MIT */
/* jit.c - names of code that a run-time compiler has made, from the files it writes.
 *
 * Compilers put more than a name into the name of a function: Python its file, Node a
 * tier of its compiler, the file and the line.  A function is one block whatever compiled
 * it, so names are split.
 *
 * Node's debug records (version 20) differ from the format.  Addresses are 64 bytes too
 * high: those of the object file that perf makes of a function.  File names have the
 * right length, but any bytes.  Baseline code has offsets of byte-code. */
#include "jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demangle.h"
#include "sorted.h"
#include "spans.h"

enum { MOST_CODE = 1 << 24, LONGEST_NAME = 4096, MOST_BYTES = 1 << 30 };

struct line { /* of the source, from an offset in the code on */
    uint64_t offset;
    uint32_t line, column;
    char *file; /* owned */
};

struct code {
    uint64_t low, high;
    char *name, *file; /* owned */
    uint32_t line, column;
    struct line *lines; /* owned, unless the code was moved */
    size_t many_lines;
    int is_moved;
    uint64_t at;        /* of its bytes in the file; 0: there are none */
    unsigned char node; /* Node's mark: *, +, ^, ~; 1: none of these; 0: not Node's */
    size_t script;      /* of Node's: how long the name of its file is there */
};

struct tt_jit {
    struct code *code;
    size_t codes, room;
    struct tt_spans spans;
    struct tt_spot spot;
    int fd;           /* of a jitdump; -1: a perf map */
    unsigned machine; /* of ELF */
};

static struct code *add_code(struct tt_jit *j, uint64_t low, uint64_t size)
{
    struct code *more;

    if (j->codes == MOST_CODE || !size || size > UINT64_MAX - low)
        return NULL;
    more = tt_array_grow(j->code, j->codes, &j->room, sizeof *more);
    if (!more)
        return NULL;
    j->code = more;
    j->code[j->codes] = (struct code){.low = low, .high = low + size};
    return &j->code[j->codes++];
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static char *last_colon(char *text, char **end)
{
    char *colon = strrchr(text, ':');

    if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
        return NULL;
    *end = colon;
    return colon + 1;
}

/* "FILE:LINE:COLUMN" or "FILE:LINE", cut in place. */
static void split_place(struct code *c, char *place)
{
    char *end, *number = last_colon(place, &end), *before;

    if (!number)
        return;
    *end = 0;
    c->line = (uint32_t)strtoul(number, NULL, 10);
    before = last_colon(place, &end);
    if (!before)
        return;
    *end = 0;
    c->column = c->line;
    c->line = (uint32_t)strtoul(before, NULL, 10);
}

/* Node's "JS:*name file:///app/x.js:3:5", with ~, ^, + or * for the tier. */
static int split_node(struct code *c, char *text)
{
    static const char *const kinds[] = {
        "JS:", "LazyCompile:", "Function:", "Eval:", "Script:"};
    char *name = NULL, *place;

    for (size_t i = 0; !name && i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
            name = text + strlen(kinds[i]);
    if (!name)
        return 0;
    c->node = *name && strchr("*~^+", *name) ? (unsigned char)*name : 1;
    name += strspn(name, "*~^+");
    place = strrchr(name, ' ');
    if (!place)
        return 0;
    *place++ = 0;
    split_place(c, place);
    c->name = strdup(*name ? name : "(anonymous)");
    c->script = strlen(place);
    c->file = strdup(strncmp(place, "file://", 7) == 0 ? place + 7 : place);
    return 1;
}

/* Python's "py::name:/path/file.py". */
static int split_python(struct code *c, char *text)
{
    char *place;

    if (strncmp(text, "py::", 4) != 0 || !(place = strchr(text + 4, ':')))
        return 0;
    *place++ = 0;
    c->name = strdup(text + 4);
    c->file = strdup(place);
    return 1;
}

/* Splits the text, which it modifies. */
static int name_code(struct code *c, char *text)
{
    if (!split_node(c, text) && !split_python(c, text)) {
        c->name = tt_demangle(text);
        c->file = strdup("");
    }
    return c->name && c->file ? 0 : -1;
}

/* ── Perf maps ────────────────────────────────────────────────────────────────────── */

static int read_line(struct tt_jit *j, char *line)
{
    char *at = line, *end;
    uint64_t low, size;
    struct code *c;

    low = strtoull(at, &end, 16);
    if (end == at || *end != ' ')
        return 0;
    at = end + 1;
    size = strtoull(at, &end, 16);
    if (end == at || *end != ' ' || !end[1])
        return 0;
    c = add_code(j, low, size);
    return c ? name_code(c, end + 1) : 0;
}

static int read_map(struct tt_jit *j, const char *bytes, size_t size)
{
    char line[LONGEST_NAME];
    int error = 0;

    for (size_t at = 0; !error && at < size;) {
        const char *end = memchr(bytes + at, '\n', size - at);
        size_t length = end ? (size_t)(end - bytes) - at : size - at;
        if (end && length < sizeof line) { /* or it has not been written yet */
            memcpy(line, bytes + at, length);
            line[length] = 0;
            error = read_line(j, line);
        }
        at += length + 1;
    }
    return error;
}

/* ── Jitdump ──────────────────────────────────────────────────────────────────────── */

enum {
    JITDUMP_MAGIC = 0x4a695444, /* "JiTD" in the writer's byte order, which is ours */
    JIT_CODE_LOAD = 0,
    JIT_CODE_MOVE = 1,
    JIT_CODE_DEBUG_INFO = 2,
    HEADER = 40,
    RECORD = 16,
    NODE_SHIFT = 64
};

static uint32_t u32_at(const char *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t u64_at(const char *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
}

struct record {
    const char *bytes; /* NULL: none */
    size_t size;
};

/* Neighbours may share a name. */
static void free_lines(struct line *line, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || line[i].file != line[i + 1].file)
            free(line[i].file);
    free(line);
}

/* Reads a line at `at`, whose name has `length` bytes.  0: it is in the code. */
static int read_source_line(struct code *c, const char *at, const char *name,
                            size_t length)
{
    const uint64_t address = u64_at(at) - (c->node ? NODE_SHIFT : 0);
    struct line *l = &c->lines[c->many_lines];

    if (address < c->low || address >= c->high)
        return -1;
    *l = (struct line){
        .offset = address - c->low, .line = u32_at(at + 8), .column = u32_at(at + 12)};
    /* "\377" means the previous name. */
    l->file = length == 1 && *name == '\377' && c->many_lines ? l[-1].file
                                                              : strndup(name, length);
    c->many_lines += l->file != NULL;
    return l->file ? 0 : -1;
}

/* Lines of Node's code: all names are as long as that of the function's file. */
static void read_node_lines(struct code *c, struct record d, uint64_t count)
{
    const size_t each = 16 + c->script + 1;

    if (c->node != '*' && c->node != '+')
        return;
    for (size_t i = 0; i < count && 16 + (i + 1) * each <= d.size; i++)
        if (read_source_line(c, d.bytes + 16 + i * each, c->file, strlen(c->file)) != 0)
            return;
}

/* code_addr, nr_entry, then of each: addr, lineno, discrim, name with a NUL. */
static int read_lines(struct code *c, struct record d)
{
    uint64_t count = d.size >= 16 ? u64_at(d.bytes + 8) : 0;
    size_t at = 16;

    if (!count || count > (d.size - 16) / 17 || u64_at(d.bytes) != c->low)
        return 0;
    c->lines = calloc((size_t)count, sizeof *c->lines);
    if (!c->lines)
        return -1;
    if (c->node) {
        read_node_lines(c, d, count);
        return 0;
    }
    while (c->many_lines < count && at + 17 <= d.size) {
        const char *name = d.bytes + at + 16, *end = memchr(name, 0, d.size - at - 16);
        if (!end || read_source_line(c, d.bytes + at, name, (size_t)(end - name)) != 0)
            break;
        at = (size_t)(end - d.bytes) + 1;
    }
    return 0;
}

/* A function begins at its first line, unless its name has a line. */
static int take_lines(struct code *c, struct record d)
{
    if (d.bytes && read_lines(c, d) != 0)
        return -1;
    if (!c->many_lines || *c->file)
        return 0;
    free(c->file);
    c->file = strdup(c->lines->file);
    c->line = c->lines->line;
    return c->file ? 0 : -1;
}

/* pid, tid, vma, code_addr, code_size, code_index, name with a NUL, the code.  `at`: where
 * the body is in the file. */
static int read_load(struct tt_jit *j, struct record r, uint64_t at, struct record debug)
{
    const char *end = r.size > 40 ? memchr(r.bytes + 40, 0, r.size - 40) : NULL;
    char name[LONGEST_NAME];
    struct code *c;

    if (!end)
        return 0;
    (void)snprintf(name, sizeof name, "%s", r.bytes + 40);
    c = add_code(j, u64_at(r.bytes + 16), u64_at(r.bytes + 24));
    if (!c)
        return 0;
    if (r.size - (size_t)(end + 1 - r.bytes) >= c->high - c->low)
        c->at = at + (uint64_t)(end + 1 - r.bytes);
    return name_code(c, name) != 0 ? -1 : take_lines(c, debug);
}

/* pid, tid, vma, old_code_addr, new_code_addr, code_size, code_index */
static int read_move(struct tt_jit *j, struct record r)
{
    uint64_t from = r.size >= 48 ? u64_at(r.bytes + 16) : 0;

    for (size_t i = j->codes; r.size >= 48 && i-- > 0;) {
        const struct code *old = &j->code[i];
        struct code *c;
        if (old->low != from)
            continue;
        c = add_code(j, u64_at(r.bytes + 24), u64_at(r.bytes + 32));
        if (!c)
            return 0;
        old = &j->code[i];
        c->name = strdup(old->name);
        c->file = strdup(old->file);
        c->line = old->line;
        c->column = old->column;
        c->at = c->high - c->low <= old->high - old->low ? old->at : 0;
        c->lines = old->lines;
        c->many_lines = old->many_lines;
        c->is_moved = 1;
        return c->name && c->file ? 0 : -1;
    }
    return 0;
}

static int read_dump(struct tt_jit *j, const char *bytes, size_t size)
{
    struct record debug = {NULL, 0}; /* the lines of the code that comes next */
    size_t at = size >= HEADER ? u32_at(bytes + 8) : size;
    int error = 0;

    j->machine = u32_at(bytes + 12);
    while (!error && at < size && size - at >= RECORD) {
        uint32_t kind = u32_at(bytes + at), length = u32_at(bytes + at + 4);
        struct record r = {bytes + at + RECORD, length - RECORD};
        if (length < RECORD || length > size - at)
            break;
        if (kind == JIT_CODE_LOAD)
            error = read_load(j, r, at + RECORD, debug);
        else if (kind == JIT_CODE_MOVE)
            error = read_move(j, r);
        if (kind == JIT_CODE_DEBUG_INFO)
            debug = r;
        else if (kind == JIT_CODE_LOAD)
            debug.bytes = NULL;
        at += length;
    }
    return error;
}

/* ── Questions ────────────────────────────────────────────────────────────────────── */

void tt_jit_find(struct tt_jit *j, uint64_t address, struct tt_spots *spots)
{
    const struct tt_span *s = tt_spans_find(&j->spans, address);
    const struct code *c = s ? &j->code[s->item] : NULL;
    uint64_t from = 0;

    *spots = (struct tt_spots){.spot = &j->spot,
                               .reason = "the run-time compiler did not name it"};
    if (!c)
        return;
    j->spot = (struct tt_spot){.function = c->name,
                               .file = c->file,
                               .line = c->line,
                               .column = c->column,
                               .at_file = ""};
    for (size_t i = 0; i < c->many_lines; i++) {
        if (c->lines[i].offset > address - c->low || c->lines[i].offset < from)
            continue;
        from = c->lines[i].offset;
        j->spot.at_file = c->lines[i].file;
        j->spot.at_line = c->lines[i].line;
        j->spot.at_column = c->lines[i].column;
    }
    spots->count = 1;
}

void tt_jit_code(struct tt_jit *j, uint64_t address, struct tt_code *code)
{
    const struct tt_span *s = tt_spans_find(&j->spans, address);
    const struct code *c = s ? &j->code[s->item] : NULL;
    size_t size = c ? (size_t)(c->high - c->low) : 0;

    *code = (struct tt_code){.machine = j->machine,
                             .reason = j->fd < 0 ? "a perf map has no code; a jitdump has"
                                                 : "its jitdump has no code there"};
    if (!c || !c->at || size > MOST_BYTES)
        return;
    code->start = c->low;
    code->bytes = malloc(size);
    if (code->bytes && pread(j->fd, code->bytes, size, (off_t)c->at) == (ssize_t)size) {
        code->size = size;
        return;
    }
    free(code->bytes);
    code->bytes = NULL;
    code->reason = "its jitdump cannot be read";
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

/* Later code has overwritten earlier code: of two that overlap the earlier is dropped. */
static int by_address(const void *a, const void *b)
{
    const struct tt_span *x = a, *y = b;

    return TT_ORDER(x->low, y->low) ?: TT_ORDER(x->item, y->item);
}

static int add_spans(struct tt_jit *j)
{
    struct tt_spans all = {0};
    size_t kept = 0;

    for (size_t i = 0; i < j->codes; i++)
        if (tt_spans_add(&all, j->code[i].low, j->code[i].high, (uint32_t)i) != 0) {
            tt_spans_fini(&all);
            return -1;
        }
    tt_sort(all.span, all.count, sizeof *all.span, by_address);
    for (size_t i = 0; i < all.count; i++) {
        struct tt_span s = all.span[i];
        while (kept && all.span[kept - 1].high > s.low &&
               all.span[kept - 1].item < s.item)
            kept--;
        if (!kept || all.span[kept - 1].high <= s.low)
            all.span[kept++] = s;
    }
    all.count = kept;
    tt_spans_sort(&all);
    j->spans = all;
    return 0;
}

static int read_bytes(struct tt_jit *j, const char *bytes, size_t size)
{
    const int is_dump = size >= HEADER && u32_at(bytes) == JITDUMP_MAGIC;
    int error = is_dump ? read_dump(j, bytes, size) : read_map(j, bytes, size);

    if (!is_dump) {
        close(j->fd);
        j->fd = -1;
    }

    return error ?: add_spans(j);
}

/* All of a file: one that is cut short meanwhile must not hurt, as a mapped one would. */
static char *read_file(int fd, size_t *size)
{
    struct stat s;
    char *bytes;
    ssize_t got = 1;

    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size > MOST_BYTES)
        return NULL;
    bytes = malloc((size_t)s.st_size + 1);
    for (*size = 0; bytes && got > 0 && *size < (size_t)s.st_size; *size += (size_t)got) {
        got = read(fd, bytes + *size, (size_t)s.st_size - *size);
        if (got < 0)
            got = 0;
    }
    return bytes;
}

struct tt_jit *tt_jit_open(int fd)
{
    struct tt_jit *j = calloc(1, sizeof *j);
    size_t size = 0;
    char *bytes = j ? read_file(fd, &size) : NULL;
    int error = -1;

    if (j)
        j->fd = fd;
    else
        close(fd);
    if (bytes)
        error = read_bytes(j, bytes, size);
    free(bytes);
    if (!error)
        return j;
    tt_jit_close(j);
    return NULL;
}

void tt_jit_close(struct tt_jit *j)
{
    if (!j)
        return;
    for (size_t i = 0; i < j->codes; i++) {
        free(j->code[i].name);
        free(j->code[i].file);
        if (!j->code[i].is_moved)
            free_lines(j->code[i].lines, j->code[i].many_lines);
    }
    if (j->fd >= 0)
        close(j->fd);
    free(j->code);
    tt_spans_fini(&j->spans);
    free(j);
}
