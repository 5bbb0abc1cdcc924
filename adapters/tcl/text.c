/* SPDX-License-Identifier: MIT */
/* text.c - where a script's text stands in the file that it came from.
 *
 * Tcl tells the file and the line on which a body begins, and no more.  Its text is looked
 * for on that line, in the file as Tcl reads it: decoded, with line ends of its own. */
#include "text.h"

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

static void find_on_line(struct tt_tcl_place *place, const struct file *f, uint32_t line,
                         const char *text, size_t size)
{
    size_t start = f->line[line - 1], end = line < f->lines ? f->line[line] : f->size + 1;

    for (size_t at = start; at < end && at + size <= f->size; at++)
        if (memcmp(f->text + at, text, size) == 0) {
            place->index = tt_tcl_text_length(f->text, at);
            place->column = (uint32_t)tt_tcl_text_length(f->text + start, at - start) + 1;
            place->found = 1;
            return;
        }
}

void tt_tcl_text_find(struct tt_tcl_place *place, const char *path, uint32_t line,
                      const char *text, size_t size)
{
    const struct file *f;

    *place = (struct tt_tcl_place){.line = line, .column = 1};
    pthread_mutex_lock(&files.lock);
    f = file_of(path);
    if (f && line >= 1 && line <= f->lines)
        find_on_line(place, f, line, text, size);
    pthread_mutex_unlock(&files.lock);
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
