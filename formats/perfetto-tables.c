/* SPDX-License-Identifier: MIT */
/* perfetto-tables.c - what packets of Perfetto's traces refer to by number: texts,
 * mappings, frames and stacks.
 *
 * The same stack may have several numbers, in several states.  So what a number means is
 * found by content: a frame by its module, address, name and file; a stack by the stack of
 * its caller and its frame. */
#include "perfetto-tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOT = 0 }; /* the node of an empty stack */

static int wrong(struct tt_perfetto_tables *t, const char *what)
{
    return tt_source_fail_at(t->s, tt_source_offset(t->s), "%s", what);
}

static int no_memory(struct tt_perfetto_tables *t) { return tt_source_no_memory(t->s); }

void tt_perfetto_tables_init(struct tt_perfetto_tables *t, struct tt_source *s,
                             struct tt_builder *b)
{
    t->s = s;
    t->b = b;
    tt_pairs_init(&t->number, s->memory);
    tt_pairs_init(&t->place, s->memory);
    tt_pairs_init(&t->stack, s->memory);
    tt_vector_init(&t->text, s->memory, 1);
    tt_vector_init(&t->start, s->memory, sizeof(size_t));
    tt_vector_init(&t->module, s->memory, sizeof(struct tt_perfetto_module));
    tt_vector_init(&t->frame, s->memory, sizeof(struct tt_perfetto_frame));
    tt_vector_init(&t->block, s->memory, sizeof(uint32_t));
    tt_vector_init(&t->named, s->memory, sizeof(struct tt_perfetto_frame));
    tt_vector_init(&t->node, s->memory, sizeof(uint32_t));
    tt_vector_init(&t->key, s->memory, 1);
    tt_frames_init(&t->known, b, s->memory);
}

/* ── Numbers ──────────────────────────────────────────────────────────────────────── */

/* A later definition of a number replaces the earlier one. */
static int define(struct tt_perfetto_tables *t, uint64_t state,
                  enum tt_perfetto_kind kind, uint64_t number, size_t index)
{
    uint32_t *at;
    int is_new;

    if (index >= UINT32_MAX - 1)
        return no_memory(t);
    at = tt_pairs_get(&t->number, state * TT_PERFETTO_KINDS + kind, number, &is_new);
    if (!at)
        return no_memory(t);
    *at = (uint32_t)index + 1;
    return 0;
}

/* Returns the index; TT_NONE: this number is not known. */
static uint32_t find(const struct tt_perfetto_tables *t, uint64_t state,
                     enum tt_perfetto_kind kind, uint64_t number)
{
    const uint32_t *at = tt_pairs_find(&t->number, state * TT_PERFETTO_KINDS + kind,
                                       number);

    return at ? *at - 1 : TT_NONE;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

size_t tt_perfetto_text(struct tt_perfetto_tables *t, struct tt_wire m)
{
    const size_t start = t->text.count, size = (size_t)(m.end - m.at);
    char *to = tt_vector_add(&t->text, size + 1);

    if (!to)
        return TT_PERFETTO_NO_TEXT;
    for (size_t i = 0; i < size; i++)
        to[i] = (char)(m.at[i] ? m.at[i] : '?');
    return start;
}

/* The id of a build: bytes become hexadecimal digits, and digits stay. */
static size_t id_text(struct tt_perfetto_tables *t, struct tt_wire m)
{
    enum { DIGITS = 33 }; /* as long as that, it is a text already */
    const size_t start = t->text.count, size = (size_t)(m.end - m.at);
    char *to;

    if (size >= DIGITS)
        return tt_perfetto_text(t, m);
    to = tt_vector_add(&t->text, 2 * size + 1);
    if (!to)
        return TT_PERFETTO_NO_TEXT;
    for (size_t i = 0; i < size; i++) {
        to[2 * i] = "0123456789abcdef"[m.at[i] >> 4];
        to[2 * i + 1] = "0123456789abcdef"[m.at[i] & 15];
    }
    return start;
}

static int take_text(struct tt_perfetto_tables *t, struct tt_wire m, uint64_t state,
                     enum tt_perfetto_kind kind)
{
    struct tt_wire_field f = {0};
    struct tt_wire text = {m.end, m.end};
    uint64_t number = 0;
    size_t at;
    int more;

    while ((more = tt_wire_next(&m, &f)) > 0) {
        if (f.number == 1)
            number = f.value;
        else if (f.number == 2 && f.wire == TT_WIRE_BYTES)
            text = f.inside;
    }
    if (more < 0)
        return wrong(t, "a text is damaged");
    at = kind == TT_PERFETTO_ID ? id_text(t, text) : tt_perfetto_text(t, text);
    if (at == TT_PERFETTO_NO_TEXT || tt_vector_push(&t->start, &at) != 0)
        return no_memory(t);
    return define(t, state, kind, number, t->start.count - 1);
}

/* Where the text of a number begins; an empty one if there is none. */
static size_t text_of(struct tt_perfetto_tables *t, uint64_t state,
                      enum tt_perfetto_kind kind, uint64_t number)
{
    uint32_t i = find(t, state, kind, number);
    struct tt_wire nothing = {NULL, NULL};

    return i == TT_NONE ? tt_perfetto_text(t, nothing) : ((size_t *)t->start.item)[i];
}

/* ── Modules ──────────────────────────────────────────────────────────────────────── */

static void put_key(struct tt_perfetto_tables *t, const char *text)
{
    if (tt_vector_text(&t->key, text, strlen(text)) == TT_NO_PLACE)
        t->known.failed = 1;
}

/* Returns the number of what the key is; NULL: no memory. */
static uint32_t *number_of_key(struct tt_perfetto_tables *t, int *is_new)
{
    return t->known.failed ? NULL
                           : tt_frames_find(&t->known, t->key.item, t->key.count, is_new);
}

/* Numbers a module by its path and id; TT_NONE: no memory. */
static uint32_t module_of(struct tt_perfetto_tables *t, size_t path, size_t id)
{
    uint32_t *number;
    int is_new;

    t->key.count = 0;
    put_key(t, "module");
    put_key(t, tt_perfetto_text_at(t, path));
    put_key(t, tt_perfetto_text_at(t, id));
    number = number_of_key(t, &is_new);
    if (!number)
        return TT_NONE;
    if (is_new)
        *number = (uint32_t)t->known.name.count;
    return *number;
}

/* "/system/lib64/libc.so" of its parts; Chrome has all of it in one. */
static int add_part(struct tt_perfetto_tables *t, size_t path, size_t part)
{
    size_t size = strlen(tt_perfetto_text_at(t, part));
    const char first = tt_perfetto_text_at(t, part)[0];
    const int is_whole = t->text.count == path && (first == '/' || first == '[');
    char *to = tt_vector_add(&t->text, size + !is_whole);

    if (!to)
        return no_memory(t);
    if (!is_whole)
        *to++ = '/';
    memcpy(to, tt_perfetto_text_at(t, part), size);
    return 0;
}

static int take_parts(struct tt_perfetto_tables *t, const struct tt_wire_field *f,
                      uint64_t state, size_t path)
{
    struct tt_wire packed = f->inside;
    uint64_t number = f->value;
    int error = 0, is_packed = f->wire == TT_WIRE_BYTES;

    while (!error && (!is_packed || tt_wire_varint(&packed, &number))) {
        uint32_t i = find(t, state, TT_PERFETTO_PATH, number);
        if (i != TT_NONE)
            error = add_part(t, path, ((size_t *)t->start.item)[i]);
        if (!is_packed)
            break;
    }
    return error;
}

static int take_mapping(struct tt_perfetto_tables *t, struct tt_wire m, uint64_t state)
{
    struct tt_perfetto_module *to;
    const size_t path = t->text.count;
    struct tt_wire_field f = {0};
    uint64_t number = 0, id = 0;
    int more, error = 0;

    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(t, "a mapping is damaged");
        if (f.number == 1)
            number = f.value;
        else if (f.number == 2)
            id = f.value;
        else if (f.number == 7)
            error = take_parts(t, &f, state, path);
    }
    if (error)
        return error;
    to = tt_vector_add(&t->text, 1) ? tt_vector_add(&t->module, 1) : NULL;
    if (!to)
        return no_memory(t);
    to->path = path;
    to->id = text_of(t, state, TT_PERFETTO_ID, id);
    if (to->id == TT_PERFETTO_NO_TEXT)
        return no_memory(t);
    to->number = module_of(t, to->path, to->id);
    if (to->number == TT_NONE)
        return no_memory(t);
    return define(t, state, TT_PERFETTO_MAPPING, number, t->module.count - 1);
}

/* ── Names of addresses ───────────────────────────────────────────────────────────── */

static int add_block(struct tt_perfetto_tables *t, const struct tt_block_info *info)
{
    char *(*demangle)(const char *) = t->s->reading->demangle;
    struct tt_block_info named = *info;
    char *name = NULL;
    uint32_t block;

    if (demangle && info->kind != TT_KIND_NATIVE && !(name = demangle(info->name)))
        return no_memory(t);
    if (name)
        named.name = name;
    block = tt_builder_block(t->b, &named);
    free(name);
    return block == TT_NONE || tt_vector_push(&t->block, &block) != 0 ? no_memory(t) : 0;
}

/* The first two fields of a message. */
static int take_texts(struct tt_wire m, struct tt_wire *one, struct tt_wire *two)
{
    struct tt_wire_field f = {0};
    int more;

    *one = *two = (struct tt_wire){NULL, NULL};
    while ((more = tt_wire_next(&m, &f)) > 0) {
        if (f.number == 1 && f.wire == TT_WIRE_BYTES)
            *one = f.inside;
        else if (f.number == 2 && f.wire == TT_WIRE_BYTES)
            *two = f.inside;
    }
    return more;
}

static int take_line(struct tt_perfetto_tables *t, struct tt_wire m, size_t path)
{
    struct tt_wire name, file;
    size_t name_at, file_at;

    if (take_texts(m, &name, &file) < 0)
        return wrong(t, "the name of an address is damaged");
    name_at = tt_perfetto_text(t, name);
    file_at = tt_perfetto_text(t, file);
    if (name_at == TT_PERFETTO_NO_TEXT || file_at == TT_PERFETTO_NO_TEXT)
        return no_memory(t);
    return add_block(t, &(struct tt_block_info){.name = tt_perfetto_text_at(t, name_at),
                                                .file = tt_perfetto_text_at(t, file_at),
                                                .module = tt_perfetto_text_at(t, path),
                                                .kind = TT_KIND_FUNCTION});
}

/* Lines of an address have the innermost function first. */
static void turn(uint32_t *block, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        uint32_t other = block[i];
        block[i] = block[count - 1 - i];
        block[count - 1 - i] = other;
    }
}

static int take_address(struct tt_perfetto_tables *t, struct tt_wire m, uint32_t module,
                        size_t path)
{
    const size_t first = t->block.count;
    struct tt_perfetto_frame *named;
    struct tt_wire_field f = {0};
    uint64_t address = 0;
    uint32_t *place;
    int more, is_new, error = 0;

    while (!error && (more = tt_wire_next(&m, &f)) != 0) {
        if (more < 0)
            return wrong(t, "the names of an address are damaged");
        if (f.number == 1)
            address = f.value;
        else if (f.number == 2 && f.wire == TT_WIRE_BYTES)
            error = take_line(t, f.inside, path);
    }
    if (error || t->block.count == first)
        return error;
    turn((uint32_t *)t->block.item + first, t->block.count - first);
    place = tt_pairs_get(&t->place, module, address, &is_new);
    named = tt_vector_add(&t->named, 1);
    if (!place || !named)
        return no_memory(t);
    *named = (struct tt_perfetto_frame){(uint32_t)first,
                                        (uint32_t)(t->block.count - first)};
    *place = (uint32_t)t->named.count;
    return 0;
}

int tt_perfetto_symbols(struct tt_perfetto_tables *t, struct tt_wire m)
{
    struct tt_wire again = m, path, id;
    struct tt_wire_field f = {0};
    size_t path_at, id_at;
    uint32_t module;
    int error = 0;

    if (take_texts(m, &path, &id) < 0)
        return wrong(t, "the names of addresses are damaged");
    path_at = tt_perfetto_text(t, path);
    id_at = id_text(t, id);
    if (path_at == TT_PERFETTO_NO_TEXT || id_at == TT_PERFETTO_NO_TEXT)
        return no_memory(t);
    module = module_of(t, path_at, id_at);
    if (module == TT_NONE)
        return no_memory(t);
    while (!error && tt_wire_next(&again, &f) > 0)
        if (f.number == 3 && f.wire == TT_WIRE_BYTES)
            error = take_address(t, f.inside, module, path_at);
    return error;
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

struct place {
    const struct tt_perfetto_module *module; /* or NULL */
    size_t name, file;
    uint64_t address;
};

/* A place that has no name in the trace: an address in its file, to be named by symbols
 * later. */
static int add_native(struct tt_perfetto_tables *t, const struct place *p)
{
    const char *path = p->module ? tt_perfetto_text_at(t, p->module->path) : "";
    const char *slash = strrchr(path, '/');
    char name[300];

    (void)snprintf(name, sizeof name, "%.250s%s0x%llx", slash ? slash + 1 : path,
                   *path ? "+" : "", (unsigned long long)p->address);
    return add_block(t, &(struct tt_block_info){
                            .name = name,
                            .module = path,
                            .file = *path ? tt_perfetto_text_at(t, p->module->id) : "",
                            .offset = *path ? p->address : 0,
                            .kind = *path == '/' ? TT_KIND_NATIVE : TT_KIND_FUNCTION});
}

static int make_frame(struct tt_perfetto_tables *t, const struct place *p)
{
    const uint32_t *named = p->module
                                ? tt_pairs_find(&t->place, p->module->number, p->address)
                                : NULL;
    struct tt_perfetto_frame *to = tt_vector_add(&t->frame, 1);

    if (!to)
        return no_memory(t);
    if (named) {
        *to = ((struct tt_perfetto_frame *)t->named.item)[*named - 1];
        return 0;
    }
    *to = (struct tt_perfetto_frame){(uint32_t)t->block.count, 1};
    if (!*tt_perfetto_text_at(t, p->name))
        return add_native(t, p);
    return add_block(
        t, &(struct tt_block_info){
               .name = tt_perfetto_text_at(t, p->name),
               .module = p->module ? tt_perfetto_text_at(t, p->module->path) : "",
               .file = tt_perfetto_text_at(t, p->file),
               .kind = TT_KIND_FUNCTION});
}

static int add_frame(struct tt_perfetto_tables *t, const struct place *p, uint64_t state,
                     uint64_t number)
{
    char numbers[40];
    uint32_t *index, made;
    int is_new, error = 0;

    (void)snprintf(numbers, sizeof numbers, "%x %llx", p->module ? p->module->number : 0,
                   (unsigned long long)p->address);
    t->key.count = 0;
    put_key(t, "frame");
    put_key(t, numbers);
    put_key(t, tt_perfetto_text_at(t, p->name));
    put_key(t, tt_perfetto_text_at(t, p->file));
    index = number_of_key(t, &is_new);
    if (!index)
        return no_memory(t);
    if (is_new) {
        *index = (uint32_t)t->frame.count;
        made = *index;
        error = make_frame(t, p);
    } else {
        made = *index;
    }
    return error ?: define(t, state, TT_PERFETTO_FRAME, number, made);
}

static int take_frame(struct tt_perfetto_tables *t, struct tt_wire m, uint64_t state)
{
    uint64_t number = 0, name = 0, file = 0, mapping = 0;
    struct place p = {0};
    struct tt_wire_field f = {0};
    uint32_t at;
    int more;

    while ((more = tt_wire_next(&m, &f)) > 0) {
        switch (f.number) {
        case 1:
            number = f.value;
            break;
        case 2:
            name = f.value;
            break;
        case 3:
            mapping = f.value;
            break;
        case 4:
            p.address = f.value;
            break;
        case 5:
            file = f.value;
            break;
        default:
            break;
        }
    }
    if (more < 0)
        return wrong(t, "a frame is damaged");
    at = find(t, state, TT_PERFETTO_MAPPING, mapping);
    p.name = text_of(t, state, TT_PERFETTO_NAME, name);
    p.file = text_of(t, state, TT_PERFETTO_FILE, file);
    if (p.name == TT_PERFETTO_NO_TEXT || p.file == TT_PERFETTO_NO_TEXT)
        return no_memory(t);
    if (at != TT_NONE)
        p.module = (struct tt_perfetto_module *)t->module.item + at;
    return add_frame(t, &p, state, number);
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

/* Goes from a node to the one of a frame that it calls. */
static int step(struct tt_perfetto_tables *t, uint32_t *node, uint32_t frame)
{
    const struct tt_perfetto_frame *f = (struct tt_perfetto_frame *)t->frame.item + frame;
    const uint32_t *block = (uint32_t *)t->block.item + f->first;
    uint32_t *at, context;
    int is_new;

    if (!t->node.count)
        (void)tt_vector_push(&t->node, &(uint32_t){TT_BUILDER_ROOT});
    at = t->node.count ? tt_pairs_get(&t->stack, *node, frame, &is_new) : NULL;
    if (!at)
        return no_memory(t);
    if (is_new) {
        context = ((uint32_t *)t->node.item)[*node];
        for (uint32_t i = 0; i < f->count && context != TT_NONE; i++)
            context = tt_builder_context(t->b, context, block[i]);
        if (context == TT_NONE || tt_vector_push(&t->node, &context) != 0)
            return no_memory(t);
        *at = (uint32_t)t->node.count - 1;
    }
    *node = *at;
    return 0;
}

/* A stack has the outermost frame first.  One with a frame that is not known stays
 * unknown. */
static int take_stack(struct tt_perfetto_tables *t, struct tt_wire m, uint64_t state)
{
    struct tt_wire_field f = {0};
    uint64_t number = 0, frame = 0;
    uint32_t node = ROOT, at = 0;
    int more, error = 0;

    while (!error && at != TT_NONE && (more = tt_wire_next(&m, &f)) != 0) {
        struct tt_wire packed = f.inside;
        if (more < 0)
            return wrong(t, "a stack is damaged");
        if (f.number == 1)
            number = f.value;
        if (f.number != 2)
            continue;
        frame = f.value;
        if (f.wire == TT_WIRE_BYTES && !tt_wire_varint(&packed, &frame))
            continue;
        do {
            at = find(t, state, TT_PERFETTO_FRAME, frame);
            error = at == TT_NONE ? 0 : step(t, &node, at);
        } while (!error && at != TT_NONE && f.wire == TT_WIRE_BYTES &&
                 tt_wire_varint(&packed, &frame));
    }
    if (error || at == TT_NONE || node == ROOT)
        return error;
    return define(t, state, TT_PERFETTO_STACK, number, node);
}

int tt_perfetto_stack(const struct tt_perfetto_tables *t, uint64_t state, uint64_t number,
                      uint32_t *node, uint32_t *context)
{
    *node = find(t, state, TT_PERFETTO_STACK, number);
    if (*node == TT_NONE)
        return 0;
    *context = ((const uint32_t *)t->node.item)[*node];
    return 1;
}

/* ── A packet's tables ────────────────────────────────────────────────────────────── */

/* The fields of each kind, in the order in which they refer to each other. */
static const struct {
    enum tt_perfetto_kind kind;
    uint32_t field, old; /* 0: none */
} table[] = {
    {TT_PERFETTO_NAME, 5, 1},  {TT_PERFETTO_PATH, 17, 1},    {TT_PERFETTO_ID, 16, 1},
    {TT_PERFETTO_FILE, 18, 0}, {TT_PERFETTO_MAPPING, 19, 4}, {TT_PERFETTO_FRAME, 6, 2},
    {TT_PERFETTO_STACK, 7, 3},
};

int tt_perfetto_take(struct tt_perfetto_tables *t, struct tt_wire m, uint64_t state,
                     int old)
{
    int error = 0, more = 0;

    for (size_t i = 0; !error && i < sizeof table / sizeof *table; i++) {
        struct tt_wire again = m;
        struct tt_wire_field f = {0};
        while (!error && (more = tt_wire_next(&again, &f)) > 0) {
            if (f.wire != TT_WIRE_BYTES ||
                f.number != (old ? table[i].old : table[i].field))
                continue;
            if (table[i].kind == TT_PERFETTO_MAPPING)
                error = take_mapping(t, f.inside, state);
            else if (table[i].kind == TT_PERFETTO_FRAME)
                error = take_frame(t, f.inside, state);
            else if (table[i].kind == TT_PERFETTO_STACK)
                error = take_stack(t, f.inside, state);
            else
                error = take_text(t, f.inside, state, table[i].kind);
        }
        if (!error && more < 0)
            return wrong(t, "a table is damaged");
    }
    return error;
}
