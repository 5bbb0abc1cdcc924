/* SPDX-License-Identifier: MIT */
/* oracle-dump.h - the half of oracle.c that prints what it found. */
/* ── The dump ─────────────────────────────────────────────────────────────────────── */

/* Strands in their order; parents first; children by name. */
static int compare_contexts(const struct context *a, const struct context *b)
{
    int order;

    if (a->strand != b->strand)
        return a->strand - b->strand;
    for (int i = 0; i < a->depth && i < b->depth; i++)
        if ((order = strcmp(blocks[a->path[i]].name, blocks[b->path[i]].name)) != 0)
            return order;
    return a->depth - b->depth;
}

static int compare_context_pointers(const void *a, const void *b)
{
    return compare_contexts(*(struct context *const *)a, *(struct context *const *)b);
}

static int compare_arcs(const void *a, const void *b)
{
    const struct arc *x = a, *y = b;
    int order = compare_contexts(&contexts[x->from], &contexts[y->from]);

    return order ? order : strcmp(blocks[x->block].name, blocks[y->block].name);
}

static int compare_blocks(const void *a, const void *b)
{
    const struct block *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static void add_up(void)
{
    for (int i = 0; i < context_count; i++) {
        struct context *c = &contexts[i];
        for (int d = 0; d <= c->depth; d++)
            contexts[find_context(c->strand, c->path, d, 0)].total += c->self;
        stamp++;
        for (int d = 0; d < c->depth; d++) {
            struct block *b = &blocks[c->path[d]];
            b->tree += b->seen != stamp ? c->self : 0;
            b->seen = stamp;
        }
        if (c->depth)
            blocks[c->path[c->depth - 1]].self += c->self;
    }
}

static void print_name(const char *name)
{
    for (; *name; name++) {
        if (strchr(";\\", *name))
            putchar('\\');
        putchar(*name);
    }
}

static void print_path(const struct context *c)
{
    putchar('\t');
    if (c->depth == 0)
        fputs("[root]", stdout);
    for (int i = 0; i < c->depth; i++) {
        if (i)
            putchar(';');
        print_name(blocks[c->path[i]].name);
    }
}

static void print_wide(const char *name, wide n)
{
    char digits[40], *p = digits + sizeof digits;

    *--p = '\0';
    do
        *--p = (char)('0' + (int)(n % 10));
    while (n /= 10);
    printf("\t%s=%s", name, p);
}

static void print_times(const struct statistics *t)
{
    if (!t->count)
        return;
    print_wide("activations", t->count);
    print_wide("sum", t->sum);
    print_wide("min", t->min);
    print_wide("max", t->max);
    print_wide("square", t->square);
    print_wide("children", t->children);
    print_wide("children_square", t->children_square);
    print_wide("recursive", t->recursive);
    print_wide("recursive_square", t->recursive_square);
}

static void print_context(const struct context *c)
{
    fputs("context", stdout);
    print_path(c);
    printf("\tcalls=%" PRIu64 "\tself=%" PRIu64 "\tsamples=%" PRIu64 "\ttotal=%" PRIu64
           "\telsewhere=0\tmissed=0",
           c->calls, c->self, c->samples, c->total);
    print_times(&c->times);
    for (int i = 0; i < c->metrics; i++)
        printf("\t%s=%" PRIu64, metrics[c->metric[i]], c->amount[i]);
    putchar('\n');
}

static void print_arc(const struct arc *a)
{
    fputs("arc", stdout);
    print_path(&contexts[a->from]);
    print_path(&contexts[a->to]);
    printf("\tcalls=%" PRIu64, a->calls);
    print_times(&a->times);
    putchar('\n');
}

static void print_block(const struct block *b)
{
    fputs("block\t", stdout);
    print_name(b->name);
    printf("\tcalls=%" PRIu64 "\tself=%" PRIu64 "\tinclusive=%" PRIu64 "\thidden=%" PRIu64
           "\tevicted=0\n",
           b->calls, b->self, b->inclusive, b->inclusive - b->tree);
}

static void print_dump(void)
{
    struct context **sorted = allocate(NULL,
                                       ((size_t)context_count + 1) * sizeof *sorted);

    for (int i = 0; i < context_count; i++)
        sorted[i] = &contexts[i];
    qsort(sorted, (size_t)context_count, sizeof *sorted, compare_context_pointers);
    if (arc_count)
        qsort(arcs, (size_t)arc_count, sizeof *arcs, compare_arcs);
    puts("tallytree 1");
    for (int s = 0; s < strand_count; s++) {
        printf("strand\t%d\t%s\n", s, strands[s].name);
        for (int i = 0; i < context_count; i++)
            if (sorted[i]->strand == s)
                print_context(sorted[i]);
        for (int i = 0; i < arc_count; i++)
            if (contexts[arcs[i].from].strand == s)
                print_arc(&arcs[i]);
    }
    if (block_count)
        qsort(blocks, (size_t)block_count, sizeof *blocks, compare_blocks);
    for (int i = 0; i < block_count; i++)
        print_block(&blocks[i]);
}
