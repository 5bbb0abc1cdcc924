/* SPDX-License-Identifier: MIT */
/* tcl-text.c - finds a script's text in the file that it came from.
 *
 * Tcl reports only the file and the line where a body begins.  The text is searched on
 * that line, in the file as Tcl reads it: decoded, with Tcl's line ends; lines that a
 * backslash continues are one in the text. */
#include "tcl-text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tcl.h>

struct file {
    char *path, *text;
    size_t size, *line; /* where each begins */
    uint32_t lines;
    struct timespec changed;
    off_t length;
    struct file *next;
};

static struct {
    pthread_mutex_t lock;
    struct file *first;
} files = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { FILE_LARGEST = 64 << 20 };

static int is_continued(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

size_t tt_tcl_text_length(const char *text, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; i < size; i++)
        n += !is_continued(text[i]);
    return n;
}

/* ── Files ────────────────────────────────────────────────────────────────────────── */

static char *read_bytes(const char *path, size_t size)
{
    FILE *in = fopen(path, "rbe");
    char *bytes = in ? malloc(size + 1) : NULL;

    if (bytes && fread(bytes, 1, size, in) != size) {
        free(bytes);
        bytes = NULL;
    }
    if (in)
        fclose(in);
    return bytes;
}

/* As `source` has it: up to ^Z, without a mark of order, each end of line a newline. */
static size_t tidy(char *text, size_t size)
{
    const char *end = memchr(text, '\x1a', size);
    size_t n = 0, i = 0;

    if (end)
        size = (size_t)(end - text);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        i = 3;
    for (; i < size; i++) {
        if (text[i] == '\r' && i + 1 < size && text[i + 1] == '\n')
            continue;
        text[n++] = text[i] == '\r' ? '\n' : text[i];
    }
    return n;
}

static int read_text(struct file *f)
{
    char *bytes = read_bytes(f->path, (size_t)f->length);
    Tcl_DString utf;

    if (!bytes)
        return -1;
    Tcl_DStringInit(&utf);
    Tcl_ExternalToUtfDString(NULL, bytes, (int)f->length, &utf);
    free(bytes);
    f->size = tidy(Tcl_DStringValue(&utf), (size_t)Tcl_DStringLength(&utf));
    f->text = malloc(f->size + 1);
    if (f->text)
        memcpy(f->text, Tcl_DStringValue(&utf), f->size);
    Tcl_DStringFree(&utf);
    return f->text ? 0 : -1;
}

static int find_lines(struct file *f)
{
    uint32_t n = 0;

    for (size_t i = 0; i < f->size; i++)
        n += f->text[i] == '\n';
    f->line = malloc((n + 1) * sizeof *f->line);
    if (!f->line)
        return -1;
    f->line[0] = 0;
    f->lines = 1;
    for (size_t i = 0; i < f->size; i++)
        if (f->text[i] == '\n')
            f->line[f->lines++] = i + 1;
    return 0;
}

static void forget_text(struct file *f)
{
    free(f->text);
    free(f->line);
    f->text = NULL;
    f->line = NULL;
    f->size = f->lines = 0;
}

static struct file *file_of(const char *path)
{
    struct file *f = files.first;
    struct stat s;

    while (f && strcmp(f->path, path) != 0)
        f = f->next;
    if (!f) {
        f = calloc(1, sizeof *f);
        if (!f || !(f->path = strdup(path))) {
            free(f);
            return NULL;
        }
        f->next = files.first;
        files.first = f;
    }
    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size > FILE_LARGEST)
        return f->text ? f : NULL; /* as it was when it was there */
    if (f->text && f->length == s.st_size && f->changed.tv_sec == s.st_mtim.tv_sec &&
        f->changed.tv_nsec == s.st_mtim.tv_nsec)
        return f;
    forget_text(f);
    f->length = s.st_size;
    f->changed = s.st_mtim;
    if (read_text(f) == 0 && find_lines(f) == 0)
        return f;
    forget_text(f);
    return NULL;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

/* Behind a line's end that has a backslash, and the blanks of the next line. */
static size_t behind_join(const struct file *f, size_t at)
{
    at += 2;
    while (at < f->size && (f->text[at] == ' ' || f->text[at] == '\t'))
        at++;
    return at;
}

/* Whether the text is there in the file; its joins are counted, and written down where there
 * is room for them. */
static int matches(const struct file *f, size_t at, const char *text, size_t size,
                   struct tt_tcl_join *join, uint32_t *joins)
{
    *joins = 0;
    for (size_t i = 0; i < size; i++, at++) {
        int escapes = at + 1 < f->size && f->text[at] == '\\';
        if (at >= f->size)
            return 0;
        if (escapes && f->text[at + 1] == '\n' && text[i] == ' ') {
            size_t next = behind_join(f, at);
            if (join)
                join[*joins] = (struct tt_tcl_join){i, (uint32_t)(next - at - 1),
                                                    (uint32_t)(next - at - 2)};
            ++*joins;
            at = next - 1;
            continue;
        }
        if (text[i] != f->text[at])
            return 0;
        if (escapes && i + 1 < size && text[i + 1] == f->text[at + 1]) {
            i++; /* what it escapes is no backslash that escapes */
            at++;
        }
    }
    return 1;
}

static uint32_t line_of(const struct file *f, size_t at)
{
    uint32_t low = 0, high = f->lines;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (f->line[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low + 1;
}

static int take_if_there(struct tt_tcl_text *t, const struct file *f, size_t at,
                         const char *text, size_t size)
{
    uint32_t joins, line;

    if (!matches(f, at, text, size, NULL, &joins))
        return 0;
    t->join = joins ? malloc(joins * sizeof *t->join) : NULL;
    if (joins && !t->join)
        return 0;
    (void)matches(f, at, text, size, t->join, &t->joins);
    line = line_of(f, at);
    t->start = (struct tt_tcl_place){
        .index = tt_tcl_text_length(f->text, at),
        .line = line,
        .column = (uint32_t)tt_tcl_text_length(f->text + f->line[line - 1],
                                               at - f->line[line - 1]) +
                  1,
        .found = 1};
    return 1;
}

static size_t end_of_line(const struct file *f, uint32_t line)
{
    return line < f->lines ? f->line[line] : f->size + 1;
}

static int find_on_line(struct tt_tcl_text *t, const struct file *f, uint32_t line,
                        const char *text, size_t size)
{
    if (line < 1 || line > f->lines)
        return 0;
    for (size_t at = f->line[line - 1]; at < end_of_line(f, line); at++)
        if (take_if_there(t, f, at, text, size))
            return 1;
    return 0;
}

static int has_only_ascii(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] >= 0x80)
            return 0;
    return 1;
}

/* Tcl may have lost count of the lines; but a short text is at many places.  0: it is at none, in
 * whatever encoding the file is. */
static int find_anywhere(struct tt_tcl_text *t, const struct file *f, const char *text,
                         size_t size)
{
    enum { SHORT = 8 };
    size_t found = 0, count = 0;
    uint32_t joins;

    if (size < SHORT)
        return 1;
    for (size_t at = 0; at < f->size && count < 2; at++)
        if ((f->text[at] == *text || *text == ' ') &&
            matches(f, at, text, size, NULL, &joins)) {
            found = at;
            count++;
        }
    if (count == 1)
        (void)take_if_there(t, f, found, text, size);
    return count || !has_only_ascii(text, size);
}

void tt_tcl_text_find(struct tt_tcl_text *t, const char *path, uint32_t line,
                      const char *text, size_t size)
{
    const struct file *f;

    *t = (struct tt_tcl_text){.start = {.line = line, .column = 1}};
    pthread_mutex_lock(&files.lock);
    f = file_of(path);
    if (f)
        (void)find_on_line(t, f, line, text, size);
    pthread_mutex_unlock(&files.lock);
}

int tt_tcl_text_search(struct tt_tcl_text *t, const char *path, const char *text,
                       size_t size)
{
    const struct file *f;
    int may_be = 1;

    pthread_mutex_lock(&files.lock);
    f = file_of(path);
    if (f)
        may_be = find_anywhere(t, f, text, size);
    pthread_mutex_unlock(&files.lock);
    return may_be;
}

int tt_tcl_text_find_at(struct tt_tcl_text *t, const char *path, uint32_t line,
                        uint32_t column, const char *text, size_t size)
{
    const struct file *f;
    size_t at;

    *t = (struct tt_tcl_text){.start = {.line = line, .column = 1}};
    pthread_mutex_lock(&files.lock);
    f = file_of(path);
    if (f && line >= 1 && line <= f->lines) {
        for (at = f->line[line - 1]; at < f->size && column > 1; column--)
            do
                at++;
            while (at < f->size && is_continued(f->text[at]));
        (void)take_if_there(t, f, at, text, size);
    }
    pthread_mutex_unlock(&files.lock);
    return t->start.found;
}

void tt_tcl_text_fini(struct tt_tcl_text *t)
{
    free(t->join);
    t->join = NULL;
    t->joins = 0;
}

void tt_tcl_text_move(const struct tt_tcl_text *t, struct tt_tcl_place *place,
                      const char *text, size_t from, size_t to)
{
    uint32_t n = 0;

    for (; n < t->joins && t->join[n].at < to; n++) {
        const struct tt_tcl_join *j = &t->join[n];
        if (j->at < from)
            continue;
        *place = tt_tcl_text_at(place, text + from, j->at - from);
        place->index += j->longer + 1;
        place->line++;
        place->column = j->indent + 1;
        from = j->at + 1;
    }
    *place = tt_tcl_text_at(place, text + from, to - from);
}

struct tt_tcl_place tt_tcl_text_at(const struct tt_tcl_place *text_at, const char *text,
                                   size_t byte)
{
    struct tt_tcl_place place = *text_at;

    for (size_t i = 0; i < byte; i++) {
        if (is_continued(text[i]))
            continue;
        place.index++;
        place.column = text[i] == '\n' ? 1 : place.column + 1;
        place.line += text[i] == '\n';
    }
    return place;
}
