/* SPDX-License-Identifier: MIT */
/* cali.c - the .cali files of Caliper: reading.
 *
 *      __rec=node,id=40,attr=10,data=276,parent=3     a node of the tree of metadata:
 *      __rec=node,id=41,attr=8,data=region,parent=40      an attribute, with its properties,
 *      __rec=node,id=42,attr=41,data=main                 a value of it,
 *      __rec=node,id=47,attr=41,data=init,parent=42       and one below that
 *      __rec=ctx,ref=47,attr=36=39,data=0.000015=2    a record: nodes, and values
 *
 * The values of nested attributes, from the root to a node, are a path of regions.
 * Twelve nodes exist from the start: types, and the properties of attributes. */
#include <string.h>

#include "caliper.h"
#include "naming.h"

enum { MOST_FIELDS = 1 << 16 };
enum { NAME = 8, TYPE = 9, PROPERTIES = 10, FIRST_NODES = 12 };
enum { IS_HIDDEN = 128, IS_NESTED = 256, IS_GLOBAL = 512 };

struct node {
    uint64_t attribute; /* id */
    uint32_t parent;    /* index; TT_NONE: none */
    uint32_t context;   /* of the path that ends here */
    size_t data;        /* in `text` */
    uint32_t column;    /* of an attribute: index + 1; 0: not looked at */
    int flags;          /* of an attribute */
};

struct list { /* values of a field: where they begin in the line, up to a NUL each */
    char **value;
    size_t count;
};

struct cali {
    struct tt_caliper shared;
    struct tt_source *s;
    struct tt_pairs ids;     /* of nodes: index + 1 */
    struct tt_vector node;   /* struct node */
    struct tt_vector text;   /* char */
    struct tt_vector column; /* struct tt_caliper_column */
    struct tt_vector fields; /* char *, of a line */
};

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

/* Splits "name=value=value,name=…" in place.  Each name and value is a string; a NULL
 * follows the last value of a field. */
static int split(struct cali *x, char *line)
{
    char *from = line, *to = line, *begin = line;
    char **field;

    x->fields.count = 0;
    for (;; from++) {
        char c = *from;
        if (c == '\\' && from[1]) {
            *to++ = (char)(*++from == 'n' ? '\n' : *from);
            continue;
        }
        if (c && c != ',' && c != '=') {
            *to++ = c;
            continue;
        }
        field = tt_vector_add(&x->fields, c == '=' ? 1 : 2);
        if (!field)
            return tt_source_no_memory(x->s);
        if (x->fields.count > MOST_FIELDS)
            return tt_source_fail(x->s, "there are more than %d values", MOST_FIELDS);
        *to++ = '\0';
        field[0] = begin;
        begin = to;
        if (!c)
            return 0;
    }
}

/* The values of a field. */
static struct list find(const struct cali *x, const char *name)
{
    char **field = x->fields.item, **end = field + x->fields.count;

    while (field < end) {
        struct list l = {field + 1, 0};
        while (field[1 + l.count])
            l.count++;
        if (strcmp(*field, name) == 0)
            return l;
        field += l.count + 2;
    }
    return (struct list){NULL, 0};
}

static int number_of(struct cali *x, const char *text, uint64_t *n)
{
    const char *at = text;

    if (!tt_take_digits(&at, n) || *at)
        return tt_source_fail(x->s, "'%.40s' is no id", text);
    return 0;
}

/* ── Nodes ────────────────────────────────────────────────────────────────────────── */

static struct node *node_at(const struct cali *x, uint32_t index)
{
    return (struct node *)x->node.item + index;
}

static int find_node(struct cali *x, const char *id, uint32_t *index)
{
    uint64_t n;
    const uint32_t *at;
    int error = number_of(x, id, &n);

    if (error)
        return error;
    at = tt_pairs_find(&x->ids, n, 0);
    if (!at)
        return tt_source_fail(x->s, "there is no node %.40s", id);
    *index = *at - 1;
    return 0;
}

/* Returns the data that the nearest of a node and its ancestors has for an attribute, or
 * NULL. */
static const char *data_of(const struct cali *x, uint32_t index, uint64_t attribute)
{
    for (; index != TT_NONE; index = node_at(x, index)->parent)
        if (node_at(x, index)->attribute == attribute)
            return (const char *)x->text.item + node_at(x, index)->data;
    return NULL;
}

/* The same for an attribute's name; "": nothing. */
static const char *data_named(const struct cali *x, uint32_t index, const char *name)
{
    const char *text = x->text.item;

    for (; index != TT_NONE; index = node_at(x, index)->parent) {
        const uint32_t *at = tt_pairs_find(&x->ids, node_at(x, index)->attribute, 0);
        if (at && strcmp(text + node_at(x, *at - 1)->data, name) == 0)
            return text + node_at(x, index)->data;
    }
    return "";
}

static int keep_text(struct cali *x, const char *text, size_t *at)
{
    *at = tt_vector_text(&x->text, text, strlen(text));
    return *at == TT_NO_PLACE ? tt_source_no_memory(x->s) : 0;
}

/* Files of 2016 contain the nodes that later files assume. */
static int is_same(const struct cali *x, uint32_t index, uint64_t attribute,
                   const char *data, uint32_t parent)
{
    const struct node *n = node_at(x, index);

    return n->attribute == attribute && n->parent == parent &&
           strcmp((const char *)x->text.item + n->data, data) == 0;
}

static int add_node(struct cali *x, uint64_t id, uint64_t attribute, const char *data,
                    uint32_t parent)
{
    struct node n = {.attribute = attribute, .parent = parent};
    int is_new, error = keep_text(x, data, &n.data);
    uint32_t *at = error ? NULL : tt_pairs_get(&x->ids, id, 0, &is_new);

    if (!at)
        return error ?: tt_source_no_memory(x->s);
    /* The last of these was added in a later version. */
    if (!is_new && id == FIRST_NODES - 1 && *at == FIRST_NODES)
        is_new = 1;
    if (!is_new && id < FIRST_NODES && is_same(x, *at - 1, attribute, data, parent)) {
        x->text.count = n.data;
        return 0;
    }
    if (!is_new)
        return tt_source_fail(x->s, "there are two nodes %llu", (unsigned long long)id);
    n.context = parent == TT_NONE ? TT_BUILDER_ROOT : node_at(x, parent)->context;
    if (attribute == NAME && parent != TT_NONE) {
        const char *flags = data_of(x, parent, PROPERTIES);
        n.flags = flags ? (int)tt_caliper_number(flags) : 0;
    }
    *at = (uint32_t)x->node.count + 1;
    return tt_source_append(x->s, &x->node, &n);
}

/* Adds the nodes that every file assumes: types, and the properties of attributes. */
static int add_first_nodes(struct cali *x)
{
    static const struct {
        uint64_t attribute;
        const char *data;
        uint32_t parent;
    } nodes[FIRST_NODES] = {
        {TYPE, "usr", TT_NONE},           {TYPE, "int", TT_NONE},
        {TYPE, "uint", TT_NONE},          {TYPE, "string", TT_NONE},
        {TYPE, "addr", TT_NONE},          {TYPE, "double", TT_NONE},
        {TYPE, "bool", TT_NONE},          {TYPE, "type", TT_NONE},
        {NAME, "cali.attribute.name", 3}, {NAME, "cali.attribute.type", 7},
        {NAME, "cali.attribute.prop", 1}, {TYPE, "ptr", TT_NONE},
    };
    int error = 0;

    for (uint32_t i = 0; !error && i < FIRST_NODES; i++)
        error = add_node(x, i, nodes[i].attribute, nodes[i].data, nodes[i].parent);
    return error;
}

static int take_node(struct cali *x)
{
    struct list id = find(x, "id"), attr = find(x, "attr"), data = find(x, "data"),
                parent = find(x, "parent");
    uint32_t above = TT_NONE, of = 0;
    uint64_t number = 0, attribute = 0;
    int error;

    if (id.count != 1 || attr.count != 1 || data.count > 1 || parent.count > 1)
        return tt_source_fail(x->s, "a node has an id, an attribute and a value");
    error = number_of(x, id.value[0], &number);
    error = error ?: number_of(x, attr.value[0], &attribute);
    error = error ?: find_node(x, attr.value[0], &of);
    if (!error && parent.count)
        error = find_node(x, parent.value[0], &above);
    if (!error)
        error = add_node(x, number, attribute, data.count ? data.value[0] : "", above);
    if (!error && attribute != NAME && node_at(x, of)->flags & IS_NESTED) {
        struct node *n = node_at(x, (uint32_t)x->node.count - 1);
        n->context = tt_caliper_context(&x->shared, n->context,
                                        (const char *)x->text.item + n->data);
        if (n->context == TT_NONE)
            return tt_source_no_memory(x->s);
    }
    return error;
}

/* ── Records ──────────────────────────────────────────────────────────────────────── */

/* The column of an attribute; NULL: an error. */
static struct tt_caliper_column *column_of(struct cali *x, const char *id, int *error)
{
    uint32_t index = 0;
    struct node *n;

    *error = find_node(x, id, &index);
    n = node_at(x, index);
    if (!*error && n->attribute != NAME)
        *error = tt_source_fail(x->s, "the node %.40s is no attribute", id);
    if (*error)
        return NULL;
    if (!n->column) {
        struct tt_caliper_column *c = tt_vector_add(&x->column, 1);
        const char *type = n->parent == TT_NONE ? "" : data_of(x, n->parent, TYPE);
        int is_number = type && (strcmp(type, "int") == 0 || strcmp(type, "uint") == 0 ||
                                 strcmp(type, "double") == 0);
        if (!c) {
            *error = tt_source_no_memory(x->s);
            return NULL;
        }
        if (is_number && !(n->flags & (IS_HIDDEN | IS_GLOBAL)))
            *c = tt_caliper_column(&x->shared, (const char *)x->text.item + n->data,
                                   data_named(x, n->parent, "attribute.unit"));
        n->column = (uint32_t)x->column.count;
    }
    return (struct tt_caliper_column *)x->column.item + n->column - 1;
}

/* Finds the context of a node.  If *context is not the root, the node's path is added
 * below it. */
static int enter(struct cali *x, uint32_t index, uint32_t *context)
{
    struct tt_vector path;

    if (*context == TT_BUILDER_ROOT) {
        *context = node_at(x, index)->context;
        return 0;
    }
    tt_vector_init(&path, x->s->memory, sizeof(uint32_t));
    for (; index != TT_NONE; index = node_at(x, index)->parent) {
        uint32_t parent = node_at(x, index)->parent,
                 above = parent == TT_NONE ? TT_BUILDER_ROOT
                                           : node_at(x, parent)->context;
        if (node_at(x, index)->context == above)
            continue;
        if (tt_vector_push(&path, &index) != 0)
            *context = TT_NONE;
    }
    for (size_t i = path.count; i-- > 0 && *context != TT_NONE;) {
        size_t data = node_at(x, ((uint32_t *)path.item)[i])->data;
        *context = tt_caliper_context(&x->shared, *context,
                                      (const char *)x->text.item + data);
    }
    tt_vector_fini(&path);
    return *context == TT_NONE ? tt_source_no_memory(x->s) : 0;
}

/* Takes the rank, the thread and the time of a record from its values, and then its
 * figures. */
static int take_values(struct cali *x, const struct list *attr, const struct list *data,
                       uint32_t context)
{
    uint32_t rank = TT_NONE, thread = TT_NONE;
    int error = 0;

    x->shared.time = UINT64_MAX;
    for (size_t i = 0; !error && i < attr->count; i++) {
        struct tt_caliper_column *c = column_of(x, attr->value[i], &error);
        if (c && c->kind == TT_CALIPER_RANK)
            rank = tt_caliper_number(data->value[i]);
        else if (c && c->kind == TT_CALIPER_THREAD)
            thread = tt_caliper_number(data->value[i]);
        else if (c && c->kind == TT_CALIPER_TIME)
            tt_caliper_time(&x->shared, c, data->value[i]);
    }
    if (!error && (rank != x->shared.rank || thread != x->shared.thread))
        error = tt_caliper_strand(&x->shared, rank, thread);
    for (size_t i = 0; !error && i < attr->count; i++) {
        struct tt_caliper_column *c = column_of(x, attr->value[i], &error);
        if (c && c->kind == TT_CALIPER_METRIC)
            error = tt_caliper_add(&x->shared, c, context, data->value[i]);
    }
    return error;
}

static int take_record(struct cali *x)
{
    struct list ref = find(x, "ref"), attr = find(x, "attr"), data = find(x, "data");
    uint32_t context = TT_BUILDER_ROOT, index = 0;
    int error = 0;

    if (attr.count != data.count)
        return tt_source_fail(x->s, "a record has %zu attributes and %zu values",
                              attr.count, data.count);
    for (size_t i = 0; !error && i < ref.count; i++) {
        error = find_node(x, ref.value[i], &index);
        if (!error && node_at(x, index)->context != TT_BUILDER_ROOT)
            error = enter(x, index, &context);
    }
    return error ?: take_values(x, &attr, &data, context);
}

static int take_line(struct cali *x, char *line)
{
    struct list kind;
    int error;

    if (!*line)
        return 0;
    error = split(x, line);
    if (error)
        return error;
    kind = find(x, "__rec");
    if (kind.count == 1 && strcmp(kind.value[0], "node") == 0)
        return take_node(x);
    if (kind.count == 1 && strcmp(kind.value[0], "ctx") == 0)
        return take_record(x);
    if (kind.count == 1 && strcmp(kind.value[0], "globals") == 0)
        return 0;
    return tt_source_fail(x->s, "this is neither a node nor a record");
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int read_cali(struct tt_source *s, struct tt_builder *b)
{
    struct cali x = {.s = s};
    size_t length;
    char *line;
    int error, more = 0;

    tt_caliper_init(&x.shared, s, b);
    tt_pairs_init(&x.ids, s->memory);
    tt_vector_init(&x.node, s->memory, sizeof(struct node));
    tt_vector_init(&x.text, s->memory, 1);
    tt_vector_init(&x.column, s->memory, sizeof(struct tt_caliper_column));
    tt_vector_init(&x.fields, s->memory, sizeof(char *));
    error = add_first_nodes(&x);
    while (!error && (more = tt_source_line(s, &line, &length)) > 0)
        error = take_line(&x, line);
    error = error ?: more;
    return error ?: tt_caliper_finish(&x.shared);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(tt_head_begins(head, size, "__rec="));
}

const struct tt_format tt_format_cali = {
    .name = "cali",
    .about = "Caliper's own files",
    .detect = detect,
    .read = read_cali,
};
