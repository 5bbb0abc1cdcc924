/* SPDX-License-Identifier: MIT */
/* tcl-home.c - the places in the source of texts in braces or quotes.
 *
 * Tcl knows the place of a body if it is a word of a command that keeps track of it:
 * [proc], [eval], [foreach].  A body that [after], [time], a constructor or an event runs
 * later is a text like any other.  So each such word is remembered by its text when the
 * statement around it is compiled.  If a text occurs twice, it belongs to the open
 * statement, the innermost first. */
#include "tcl-home.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tcl-mark.h"

struct home {
    uint64_t hash;
    size_t size; /* with its lines joined */
    const char *file;
    uint64_t index;
    uint32_t line, column;
    tt_block statement;
    const void *owner; /* a procedure with this body */
    struct home *next; /* of one bucket, the oldest first */
};

struct name {
    struct name *next;
    char text[];
};

enum { HOMES_MOST = 1 << 20 };

static struct {
    pthread_mutex_t lock; /* of all below, and of the homes */
    struct home **bucket;
    uint32_t count, size; /* a power of two */
    struct name *names;   /* of files */
} homes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

static uint64_t add_byte(uint64_t hash, char c)
{
    return (hash ^ (unsigned char)c) * 0x100000001b3u;
}

/* The same whether its lines are joined or not. */
static uint64_t hash_text(const char *text, size_t size, size_t *length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t n = 0;

    for (size_t i = 0; i < size; i++, n++) {
        int escapes = text[i] == '\\' && i + 1 < size;
        if (escapes && text[i + 1] == '\n') {
            for (i += 2; i < size && (text[i] == ' ' || text[i] == '\t'); i++)
                ;
            i--;
            hash = add_byte(hash, ' ');
            continue;
        }
        hash = add_byte(hash, text[i]);
        if (escapes) {
            hash = add_byte(hash, text[++i]);
            n++;
        }
    }
    *length = n;
    return hash;
}

/* ── The table ────────────────────────────────────────────────────────────────────── */

static const char *keep_name(const char *file)
{
    struct name *n = homes.names;
    size_t size = strlen(file) + 1;

    while (n && strcmp(n->text, file) != 0)
        n = n->next;
    if (n)
        return n->text;
    n = malloc(sizeof *n + size);
    if (!n)
        return NULL;
    memcpy(n->text, file, size);
    n->next = homes.names;
    homes.names = n;
    return n->text;
}

static void append(struct home **bucket, struct home *h)
{
    while (*bucket)
        bucket = &(*bucket)->next;
    h->next = NULL;
    *bucket = h;
}

static int grow(void)
{
    uint32_t size = homes.size ? homes.size * 2 : 1024;
    struct home **bucket = calloc(size, sizeof *bucket), *h, *next;

    if (!bucket)
        return homes.size ? 0 : -1;
    for (uint32_t i = 0; i < homes.size; i++)
        for (h = homes.bucket[i]; h; h = next) {
            next = h->next;
            append(&bucket[h->hash & (size - 1)], h);
        }
    free(homes.bucket);
    homes.bucket = bucket;
    homes.size = size;
    return 0;
}

static void add(const struct home *like)
{
    struct home *h;

    if (homes.count >= homes.size && grow() != 0)
        return;
    for (h = homes.bucket[like->hash & (homes.size - 1)]; h; h = h->next)
        if (h->hash == like->hash && h->index == like->index && h->file == like->file) {
            h->statement = like->statement;
            return;
        }
    h = homes.count < HOMES_MOST ? malloc(sizeof *h) : NULL;
    if (!h)
        return;
    *h = *like;
    append(&homes.bucket[h->hash & (homes.size - 1)], h);
    homes.count++;
}

void tt_tcl_home_add(tt_block statement, const char *file, const struct tt_tcl_place *at,
                     const char *text, size_t size)
{
    struct home h = {.index = at->index,
                     .line = at->line,
                     .column = at->column,
                     .statement = statement};

    h.hash = hash_text(text, size, &h.size);
    pthread_mutex_lock(&homes.lock);
    h.file = keep_name(file);
    if (h.file)
        add(&h);
    pthread_mutex_unlock(&homes.lock);
}

/* Returns how well it fits; 0: not at all.  Tcl's line is better evidence than open
 * statements, as bodies are compiled when they are called. */
static uint32_t fitness(const struct home *h, const struct tt_tcl_wanted *w)
{
    enum { OWN = 1 << 30, LINE = 1 << 29, FREE = 1 << 28, DEEPEST = (1 << 28) - 2 };
    uint32_t open = tt_tcl_books_height(h->statement);

    if (w->file && strcmp(h->file, w->file) != 0)
        return 0;
    if (w->owner && h->owner == w->owner)
        return OWN;
    return 1u + (w->line && h->line == w->line ? (uint32_t)LINE : 0) +
           (w->owner && !h->owner ? (uint32_t)FREE : 0) +
           (open < DEEPEST ? open : (uint32_t)DEEPEST);
}

static struct home *find_best(const struct tt_tcl_wanted *w, uint64_t hash, size_t size)
{
    struct home *best = NULL;
    uint32_t fits = 0;

    if (!homes.size)
        return NULL;
    for (struct home *h = homes.bucket[hash & (homes.size - 1)]; h; h = h->next) {
        uint32_t how = h->hash == hash && h->size == size ? fitness(h, w) : 0;
        if (how > fits) {
            fits = how;
            best = h;
        }
    }
    return best;
}

const char *tt_tcl_home_find(struct tt_tcl_text *t, const struct tt_tcl_wanted *w,
                             const char *text, size_t size)
{
    struct tt_tcl_text before = *t;
    struct home *h, at = {.file = NULL};
    size_t length;
    uint64_t hash = hash_text(text, size, &length);

    pthread_mutex_lock(&homes.lock);
    h = find_best(w, hash, length);
    if (h) {
        if (w->owner && !h->owner)
            h->owner = w->owner;
        at = *h;
    }
    pthread_mutex_unlock(&homes.lock);
    if (at.file && tt_tcl_text_find_at(t, at.file, at.line, at.column, text, size))
        return at.file;
    *t = before;
    return NULL;
}

void tt_tcl_home_claim(const void *owner, const char *text, size_t size)
{
    struct tt_tcl_wanted w = {.file = NULL};
    size_t length;
    uint64_t hash = hash_text(text, size, &length);
    struct home *best;

    pthread_mutex_lock(&homes.lock);
    best = find_best(&w, hash, length);
    for (struct home *h = best ? homes.bucket[hash & (homes.size - 1)] : NULL; h;
         h = h->next)
        if (h->owner == owner)
            h->owner = NULL; /* another one was at this address */
    if (best && tt_tcl_books_height(best->statement))
        best->owner = owner;
    pthread_mutex_unlock(&homes.lock);
}
