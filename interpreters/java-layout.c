/* SPDX-License-Identifier: MIT */
/* java-layout.c - reads HotSpot's tables of its types and fields.
 *
 *      type name, field name, field's type, is static, offset, address      a field
 *      type name, super type, three flags, size                             a type
 *
 * A table ends with an entry without a name.  Names of fields have changed with versions:
 * the first that is there is taken. */
#include "java-layout.h"

#include <stddef.h>
#include <string.h>

enum { ENTRIES = 1 << 14, TEXT = 48 };

struct field_entry {
    uint64_t type, name, of, is_static, offset, address;
};
struct type_entry {
    uint64_t name, super, flags[2], size;
};

struct wanted {
    const char *type, *name;
    uint16_t to; /* where it is stored */
};

#define TO(member) offsetof(struct tt_java_layout, member)

static const struct wanted variables[] = {
    {"CodeCache", "_heaps", TO(heaps)},
    {"StubRoutines", "_call_stub_return_address", TO(call_return)},
    {"Abstract_VM_Version", "_vm_major_version", TO(major)},
};

static const struct wanted fields[] = {
    {"GrowableArrayBase", "_len", TO(array.count)},
    {"GenericGrowableArray", "_len", TO(array.count)},
    {"GrowableArray<int>", "_data", TO(array.data)},
    {"VirtualSpace", "_low_boundary", TO(space.low)},
    {"VirtualSpace", "_high_boundary", TO(space.end)},
    {"VirtualSpace", "_low", TO(space.begin)},
    {"CodeHeap", "_memory", TO(heap.memory)},
    {"CodeHeap", "_segmap", TO(heap.map)},
    {"CodeHeap", "_log2_segment_size", TO(heap.shift)},
    {"HeapBlock::Header", "_used", TO(heap.used)},
    {"CodeBlob", "_name", TO(blob.name)},
    {"CodeBlob", "_code_begin", TO(blob.begin)},
    {"CodeBlob", "_code_end", TO(blob.end)},
    {"CodeBlob", "_code_offset", TO(blob.code)},
    {"CodeBlob", "_data_offset", TO(blob.data)},
    {"CodeBlob", "_frame_complete_offset", TO(blob.complete)},
    {"CodeBlob", "_frame_size", TO(blob.frame)},
    {"CompiledMethod", "_method", TO(compiled.method)},
    {"nmethod", "_method", TO(compiled.method)},
    {"CompiledMethod", "_scopes_data_begin", TO(compiled.scopes)},
    {"CompiledMethod", "_deopt_handler_begin", TO(compiled.deopt)},
    {"nmethod", "_deopt_handler_offset", TO(compiled.deopt_offset)},
    {"nmethod", "_scopes_data_offset", TO(compiled.scopes_offset)},
    {"nmethod", "_immutable_data", TO(compiled.fixed)},
    {"CodeBlob", "_mutable_data", TO(compiled.variable)},
    {"CodeBlob", "_relocation_size", TO(compiled.relocation)},
    {"nmethod", "_orig_pc_offset", TO(compiled.original)},
    {"nmethod", "_metadata_offset", TO(compiled.metadata)},
    {"nmethod", "_scopes_pcs_offset", TO(compiled.pcs)},
    {"nmethod", "_dependencies_offset", TO(compiled.pcs_end)},
    {"Method", "_constMethod", TO(method.constant)},
    {"ConstMethod", "_constants", TO(constant.pool)},
    {"ConstMethod", "_flags", TO(constant.flags)},
    {"ConstMethod", "_flags._flags", TO(constant.flags)},
    {"ConstMethod", "_code_size", TO(constant.code_size)},
    {"ConstMethod", "_name_index", TO(constant.name)},
    {"ConstantPool", "_pool_holder", TO(pool.holder)},
    {"ConstantPool", "_source_file_name_index", TO(pool.file)},
    {"Klass", "_name", TO(type.name)},
    {"InstanceKlass", "_constants", TO(type.pool)},
    {"InstanceKlass", "_source_file_name_index", TO(type.file)},
    {"Symbol", "_length", TO(symbol.length)},
    {"Symbol", "_body[0]", TO(symbol.body)},
    {"Symbol", "_hash_and_refcount", TO(symbol.hash)},
};

static const struct wanted sizes[] = {
    {"HeapBlock", NULL, TO(heap.head)},
    {"CodeBlob", NULL, TO(blob.size)},
    {"ConstMethod", NULL, TO(constant.size)},
    {"ConstantPool", NULL, TO(pool.size)},
};

/* What may be absent: then inlined methods, or files, are not known. */
static const uint16_t optional[] = {
    TO(blob.begin),
    TO(blob.end),
    TO(blob.code),
    TO(blob.data),
    TO(compiled.scopes),
    TO(compiled.deopt),
    TO(compiled.original),
    TO(compiled.metadata),
    TO(compiled.pcs),
    TO(compiled.pcs_end),
    TO(compiled.deopt_offset),
    TO(compiled.scopes_offset),
    TO(compiled.fixed),
    TO(compiled.variable),
    TO(compiled.relocation),
    TO(constant.flags),
    TO(pool.file),
    TO(type.file),
    TO(symbol.hash),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Is this text at the address? */
static int is_text(struct tt_peek *peek, uint64_t address, const char *text)
{
    char found[TEXT];
    const size_t size = strlen(text) + 1;

    return size <= sizeof found && tt_peek_bytes(peek, address, found, size) &&
           memcmp(found, text, size) == 0;
}

static char *slot_of(struct tt_java_layout *l, uint16_t to) { return (char *)l + to; }

static uint32_t number_at(struct tt_java_layout *l, uint16_t to)
{
    uint32_t n;

    memcpy(&n, slot_of(l, to), sizeof n);
    return n;
}

/* Offsets and sizes are small; another one cannot be used. */
static void keep_number(struct tt_java_layout *l, uint16_t to, uint64_t value)
{
    enum { MOST = 1 << 12 };
    const uint32_t n = value < MOST ? (uint32_t)value : TT_JAVA_ABSENT;

    if (number_at(l, to) == TT_JAVA_ABSENT)
        memcpy(slot_of(l, to), &n, sizeof n);
}

static void take_field(struct tt_java_layout *l, struct tt_peek *peek,
                       const struct field_entry *e)
{
    const int is_static = (e->is_static & UINT32_MAX) != 0;
    const struct wanted *w = is_static ? variables : fields,
                        *end = is_static ? w + COUNT(variables) : w + COUNT(fields);

    for (; w < end; w++) {
        if (!is_text(peek, e->type, w->type) || !is_text(peek, e->name, w->name))
            continue;
        if (is_static)
            memcpy(slot_of(l, w->to), &e->address, sizeof e->address);
        else
            keep_number(l, w->to, e->offset);
        if (w->to == TO(blob.complete) && !is_static)
            l->blob.has_short_complete = is_text(peek, e->of, "int16_t");
        return;
    }
}

static void take_type(struct tt_java_layout *l, struct tt_peek *peek,
                      const struct type_entry *e)
{
    for (size_t i = 0; i < COUNT(sizes); i++)
        if (is_text(peek, e->name, sizes[i].type))
            keep_number(l, sizes[i].to, e->size);
}

static int is_optional(uint16_t to)
{
    for (size_t i = 0; i < COUNT(optional); i++)
        if (optional[i] == to)
            return 1;
    return 0;
}

static int has_all(struct tt_java_layout *l, const struct wanted *w, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_optional(w[i].to) && number_at(l, w[i].to) == TT_JAVA_ABSENT)
            return 0;
    return 1;
}

static int is_within(uint32_t at, uint32_t size, uint32_t most)
{
    return size <= most && at <= size && most - at >= sizeof(uint64_t);
}

/* Are fields that are read together within their structure? */
static int is_sane(const struct tt_java_layout *l)
{
    const int has_addresses = l->blob.begin != TT_JAVA_ABSENT;
    const uint32_t of_blob[] = {l->blob.name,
                                has_addresses ? l->blob.begin : l->blob.code,
                                has_addresses ? l->blob.end : l->blob.data,
                                l->blob.complete, l->blob.frame},
                   of_part[] = {l->constant.pool, l->constant.code_size,
                                l->constant.name};

    for (size_t i = 0; i < COUNT(of_blob); i++)
        if (!is_within(of_blob[i], l->blob.size, TT_JAVA_BLOB))
            return 0;
    for (size_t i = 0; i < COUNT(of_part); i++)
        if (!is_within(of_part[i], l->constant.size, TT_JAVA_PART))
            return 0;
    return 1;
}

const char *tt_java_layout(struct tt_java_layout *l, struct tt_peek *peek,
                           uint64_t structs, uint64_t types)
{
    struct field_entry field = {0};
    struct type_entry type = {0};
    uint64_t at;

    memset(l, 0xff, sizeof *l);
    l->heaps = l->call_return = l->major = 0;
    l->blob.has_short_complete = 0;
    if (!tt_peek_word(peek, structs, &at))
        return "its tables cannot be read";
    for (uint32_t i = 0; i < ENTRIES; i++, at += sizeof field) {
        if (!tt_peek_bytes(peek, at, &field, sizeof field) || !field.type)
            break;
        take_field(l, peek, &field);
    }
    if (!tt_peek_word(peek, types, &at))
        return "its tables cannot be read";
    for (uint32_t i = 0; i < ENTRIES; i++, at += sizeof type) {
        if (!tt_peek_bytes(peek, at, &type, sizeof type) || !type.name)
            break;
        take_type(l, peek, &type);
    }
    return l->heaps && has_all(l, fields, COUNT(fields)) &&
                   has_all(l, sizes, COUNT(sizes)) && is_sane(l)
               ? NULL
               : "the structures of this version are not known";
}
