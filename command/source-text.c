/* SPDX-License-Identifier: MIT */
/* source-text.c - the text of source files that a profile names. */
#include "source-text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "scratch.h"
#include "table-json.h"
#include "table-print.h"
#include "view.h"
#include "views.h"

enum { MOST_TEXT = 64 << 20 };

int tt_source_folders_add(struct tt_source_folders *f, const char *folder)
{
    if (f->count == TT_SOURCE_FOLDERS) {
        tt_complain("'--source' may be given %d times", TT_SOURCE_FOLDERS);
        return -TT_ERR_OPTION;
    }
    f->folder[f->count++] = folder;
    return 0;
}

/* ── One file ─────────────────────────────────────────────────────────────────────── */

static char *read_all(int fd, size_t *size, const char **reason)
{
    struct stat s;
    char *text;
    ssize_t n = 1;

    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) {
        *reason = "not an ordinary file";
        return NULL;
    }
    if (s.st_size > MOST_TEXT) {
        *reason = "larger than 64 MiB";
        return NULL;
    }
    text = malloc((size_t)s.st_size + 1);
    if (!text) {
        *reason = "no memory";
        return NULL;
    }
    for (*size = 0; n > 0; *size += n > 0 ? (size_t)n : 0)
        n = read(fd, text + *size, (size_t)s.st_size - *size);
    text[*size] = '\0';
    for (char *c = text; (c = memchr(c, '\0', *size - (size_t)(c - text))) != NULL;)
        *c = ' ';
    if (n >= 0)
        return text;
    *reason = strerror(errno);
    free(text);
    return NULL;
}

static char *read_text(const char *path, size_t *size, const char **reason)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text;

    if (fd < 0) {
        *reason = strerror(errno);
        return NULL;
    }
    text = read_all(fd, size, reason);
    close(fd);
    return text;
}

/* In a folder, a file is searched by its path, then without more and more leading
 * folders, down to its name alone. */
static char *read_below(const char *folder, const char *file, size_t *size)
{
    const char *reason;
    char *path, *text = NULL;

    for (const char *rest = file; !text && rest; rest = strchr(rest, '/')) {
        rest += strspn(rest, "/");
        if (asprintf(&path, "%s/%s", folder, rest) < 0)
            return NULL;
        text = read_text(path, size, &reason);
        free(path);
    }
    return text;
}

char *tt_source_text(const struct tt_source_folders *f, const char *file, size_t *size,
                     const char **reason)
{
    char *text = NULL;

    for (size_t i = 0; !text && i < f->count; i++)
        text = read_below(f->folder[i], file, size);
    return text ? text : read_text(file, size, reason);
}

/* ── All of them ──────────────────────────────────────────────────────────────────── */

/* Makes the table of files that have figures, those with the most self first. */
static int list_files(const struct tt_profile *p, struct tt_table *t)
{
    struct tt_query q;
    int error;

    tt_query_init(&q, &tt_scratch);
    tt_table_init(t, "lines", &tt_scratch);
    error = tt_query_parse(&q, "view=lines&by=file&limit=all");
    error = error ?: tt_view_lines(p, &q, t);
    tt_query_fini(&q);
    return error ? error : t->failed ? -TT_ERR_MEMORY : 0;
}

static void put_file(struct tt_text *json, const struct tt_source_folders *f,
                     const char *file, struct tt_source_counts *c)
{
    const char *reason;
    size_t size;
    char *text = tt_source_text(f, file, &size, &reason);

    if (!text) {
        c->missing++;
        if (!c->first_missing)
            c->first_missing = strdup(file);
    } else if (json->bytes.count + size > TT_SOURCES_MOST) {
        c->left++;
    } else {
        tt_text_put(json, c->put++ ? ",\n" : "");
        tt_text_json_string(json, file);
        tt_text_put(json, ":");
        tt_text_json_string(json, text);
    }
    free(text);
}

int tt_source_texts_put(const struct tt_profile *p, const struct tt_source_folders *f,
                        struct tt_text *json, struct tt_source_counts *c)
{
    struct tt_table t;
    int error = list_files(p, &t);
    const uint32_t file = tt_table_find(&t, "file");

    *c = (struct tt_source_counts){0};
    tt_text_put(json, "{");
    for (size_t i = 0; !error && i < tt_table_rows(&t); i++) {
        const union tt_value *v = tt_table_value(&t, i, file);
        if (tt_table_row_at(&t, i)->role == TT_ROW_ENTRY && v && *v->text)
            put_file(json, f, v->text, c);
    }
    tt_text_put(json, "}");
    tt_table_fini(&t);
    return error ? error : json->failed ? -TT_ERR_MEMORY : 0;
}
