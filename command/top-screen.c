/* SPDX-License-Identifier: MIT */
/* top-screen.c - `tallytree top` on a terminal: a picture each interval, and keys.
 *
 *      state       tallytree top  wordtree  running  12.3 s  …
 *      keys        or the text that is being typed, or why something could not be done
 *      titles
 *      rows        those that the screen has room for, from t->scroll on; one is inverted:
 *                  what return shows more of
 *
 * After each key, the picture is made again from the last reading. */
#include <stdio.h>
#include <string.h>

#include "cmd-top.h"
#include "command.h"
#include "complain.h"
#include "pattern.h"
#include "progress.h"
#include "screen.h"
#include "table-print.h"
#include "top-screen.h"

/* ── The screen ───────────────────────────────────────────────────────────────────── */

static void put_choice(const struct tt_watch *t, struct tt_text *out)
{
    const char *sort = tt_watch_sort(t);

    tt_text_printf(out, "  %s%s%s", t->view, sort ? " by " : "", sort ? sort : "");
    if (t->metric[0]) {
        tt_text_put(out, "  ");
        (void)tt_text_show(out, t->metric, SIZE_MAX);
    }
    if (t->strand.filter[0][0]) {
        tt_text_put(out, "  ");
        (void)tt_text_show(out,
                           t->strand.filter[t->strand.filter[2][0]   ? 2
                                            : t->strand.filter[1][0] ? 1
                                                                     : 0],
                           SIZE_MAX);
    }
    if (t->pattern[0]) {
        tt_text_put(out, "  ");
        (void)tt_text_show(out, t->pattern, SIZE_MAX);
    }
    if (t->block[0]) {
        tt_text_put(out, "  ");
        (void)tt_text_show(out, t->block_name, SIZE_MAX);
    }
}

enum { ABOVE = 3 }; /* lines above the rows: the state, the keys, the titles */

static void put_keys(const struct tt_watch *t, struct tt_text *out)
{
    if (t->is_typing) {
        tt_text_put(out, "/");
        (void)tt_text_show(out, t->typed, SIZE_MAX);
        tt_text_put(out, "_  (a regular expression; return takes it, escape does not)");
    } else if (t->reason[0]) {
        (void)tt_text_show(out, t->reason, SIZE_MAX);
    } else {
        /* The last ones have no room on a narrow screen. */
        tt_text_printf(
            out, "q quit  nNsic sort  v view  %s  / filter  %s  [ ] strand  m metric",
            t->block[0] ? "escape back" : "return callers",
            t->is_paused ? "space go on" : "space pause");
    }
    tt_text_put(out, "\n");
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

/* The window has the cursor. */
static void place_window(struct tt_watch *t)
{
    if (t->cursor >= t->rows)
        t->cursor = t->rows ? t->rows - 1 : 0;
    if (t->scroll > t->cursor)
        t->scroll = t->cursor;
    if (t->scroll + t->room <= t->cursor)
        t->scroll = t->cursor + 1 - t->room;
    if (t->scroll + t->room > t->rows)
        t->scroll = t->rows > t->room ? t->rows - t->room : 0;
}

/* The line of the cursor, inverted, without other colours. */
static void put_chosen(const char *line, struct tt_text *out)
{
    const char *end = line + strcspn(line, "\n");

    tt_text_put(out, "\033[7m");
    while (line < end) {
        size_t plain = strcspn(line, "\033\n");
        tt_text_bytes(out, line, plain);
        line += plain;
        if (line < end)
            line += strcspn(line, "m\n") + 1;
    }
    tt_text_put(out, "\033[0m\n");
}

/* The titles, and the rows from t->scroll on. */
static void put_window(struct tt_watch *t, const char *table, struct tt_text *out)
{
    const char *line = next_line(table);

    t->rows = 0;
    for (const char *p = line; *p; p = next_line(p))
        t->rows++;
    place_window(t);
    tt_text_bytes(out, table, (size_t)(line - table));
    for (size_t i = 0; *line && i < t->scroll + t->room; i++, line = next_line(line)) {
        if (i == t->cursor)
            put_chosen(line, out);
        else if (i >= t->scroll)
            tt_text_bytes(out, line, (size_t)(next_line(line) - line));
    }
}

/* ── The row of the cursor ────────────────────────────────────────────────────────── */

static const char *text_at(const struct tt_table *table, size_t row, const char *key)
{
    const uint32_t column = tt_table_find(table, key);
    const char *text = column == TT_NONE ||
                               tt_table_row_at(table, row)->missing >> column & 1
                           ? NULL
                           : tt_table_value(table, row, column)->text;

    return text ? text : "";
}

/* What a row is about.  Nothing: of a sum, or of a row that is not at its number's line, as there
 * are groups. */
static struct tt_watch_row row_at(const struct tt_table *table, size_t row)
{
    const uint32_t pid = tt_table_find(table, "pid");
    struct tt_watch_row r = {.pid = 0};
    const struct tt_row *at;

    if (row >= tt_table_rows(table))
        return r;
    at = tt_table_row_at(table, row);
    if (at->group != tt_table_row_at(table, 0)->group || at->role == TT_ROW_REMAINDER ||
        at->role == TT_ROW_TOTAL || at->role == TT_ROW_HEADING)
        return r;
    (void)snprintf(r.id, sizeof r.id, "%s", text_at(table, row, "id"));
    (void)snprintf(r.name, sizeof r.name, "%s", text_at(table, row, "name"));
    if (pid != TT_NONE && !(at->missing >> pid & 1))
        r.pid = tt_table_value(table, row, pid)->n;
    return r;
}

static int is_same_row(const struct tt_watch_row *a, const struct tt_watch_row *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0 && a->pid == b->pid;
}

/* The cursor goes where its row is now, if keys have chosen that. */
static void follow_row(struct tt_watch *t, const struct tt_table *table)
{
    struct tt_watch_row r;

    for (size_t i = 0; t->is_held && t->row.name[0] && i < tt_table_rows(table); i++) {
        r = row_at(table, i);
        if (is_same_row(&r, &t->row)) {
            t->cursor = i;
            break;
        }
    }
}

static void put_screen(struct tt_watch *t, const char *table, struct tt_text *out)
{
    struct tt_text window;

    tt_text_init(&window, NULL);
    put_window(t, table, &window);
    tt_watch_state(t, out);
    if (t->is_paused)
        tt_text_put(out, "  PAUSED");
    put_choice(t, out);
    if (t->rows > t->room)
        tt_text_printf(out, "  lines %zu-%zu of %zu", t->scroll + 1, t->scroll + t->room,
                       t->rows);
    tt_text_put(out, "\n");
    put_keys(t, out);
    tt_text_bytes(out, window.bytes.item, window.bytes.count);
    out->failed |= window.failed;
    tt_text_fini(&window);
}

/* If a view cannot be sorted like that, its own order is used; the reason is shown. */
static int look(struct tt_watch *t, struct tt_query *q, struct tt_table *table)
{
    int error = tt_watch_look(t, q, table);

    if (error != -TT_ERR_OPTION || strcmp(t->sort, "now") == 0)
        return error;
    tt_table_fini(table);
    tt_query_fini(q);
    t->sort = "now";
    return tt_watch_look(t, q, table);
}

/* Without a table, the reason is shown. */
static int draw(struct tt_watch *t)
{
    struct tt_text text, screen;
    struct tt_table table;
    struct tt_query q;
    uint32_t width, height;
    int error = look(t, &q, &table);

    tt_screen_size(&width, &height);
    t->room = height > ABOVE ? height - ABOVE : 1;
    tt_text_init(&text, NULL);
    tt_text_init(&screen, NULL);
    if (!error) {
        follow_row(t, &table);
        tt_text_table(&text, &table, width, t->color);
    }
    put_screen(t, tt_text_string(&text), &screen);
    if (!error)
        t->row = row_at(&table, t->cursor);
    if (error == -TT_ERR_OPTION)
        error = 0;
    if (!error && (screen.failed || text.failed))
        error = -TT_ERR_MEMORY;
    if (!error)
        tt_screen_show(&screen);
    tt_table_fini(&table);
    tt_query_fini(&q);
    tt_text_fini(&screen);
    tt_text_fini(&text);
    return error;
}

/* ── Keys ─────────────────────────────────────────────────────────────────────────── */

static void go_to_top(struct tt_watch *t)
{
    t->cursor = t->scroll = 0;
    t->is_held = 0;
    t->reason[0] = '\0';
}

static void change_filters(struct tt_watch *t)
{
    t->filters++;
    go_to_top(t);
}

static void sort_by(struct tt_watch *t, const char *column)
{
    t->sort = column;
    go_to_top(t);
}

/* Back from the callers of a function; or else to all strands. */
static void go_back(struct tt_watch *t)
{
    if (t->block[0])
        t->view = t->back;
    else
        t->strand = (struct tt_watch_strand){{""}};
    t->block[0] = '\0';
    change_filters(t);
}

static void next_view(struct tt_watch *t)
{
    int i = 0;

    t->block[0] = '\0';
    while (tt_watch_views[i] && strcmp(t->view, tt_watch_views[i]) != 0)
        i++;
    t->view = tt_watch_views[i] && tt_watch_views[i + 1] ? tt_watch_views[i + 1]
                                                         : tt_watch_views[0];
    sort_by(t, t->sort);
}

static void next_metric(struct tt_watch *t)
{
    const struct tt_profile *p = &t->now->in.profile;
    const char *metric = t->metric[0] ? t->metric : NULL;
    uint32_t i;

    for (size_t k = 0; !metric && k < t->given.count; k++) {
        const struct tt_watch_flag *g = (const struct tt_watch_flag *)t->given.item + k;
        if (strcmp(g->flag->name, "metric") == 0)
            metric = g->value;
    }
    i = tt_metric_find(p, metric);
    if (p->metrics == 0)
        return;
    i = i == TT_NONE ? 0 : (i + 1) % p->metrics;
    (void)snprintf(t->metric, sizeof t->metric, "%s", p->metric[i].name);
    sort_by(t, t->sort);
}

/* A name as a pattern that matches only this name; in brackets no character is
 * special. */
static void quote(const char *name, char *pattern, size_t size)
{
    size_t at = strlen(pattern);

    for (; *name && at + 4 < size; name++) {
        const int is_special = strchr("*?[\\/", *name) != NULL;
        if (is_special)
            pattern[at++] = '[';
        pattern[at++] = *name;
        if (is_special)
            pattern[at++] = ']';
    }
    pattern[at] = '\0';
}

static struct tt_watch_strand filters_of(const struct tt_profile *p, uint32_t strand)
{
    const struct tt_strand_row *s = &p->strand[strand];
    const char *name = tt_profile_string(p, s->name);
    struct tt_watch_strand f = {{""}};

    (void)snprintf(f.filter[0], sizeof f.filter[0], "pid:%llu",
                   (unsigned long long)s->pid);
    (void)snprintf(f.filter[1], sizeof f.filter[1], "thread:%llu",
                   (unsigned long long)s->thread);
    (void)snprintf(f.filter[2], sizeof f.filter[2], "%s", *name ? "name:" : "");
    quote(name, f.filter[2], sizeof f.filter[2]);
    return f;
}

/* Moves to the next strand, or the one before; the end of the list is all strands. */
static void step_strand(struct tt_watch *t, int is_next)
{
    const struct tt_profile *p = &t->now->in.profile;
    const uint32_t many = p->strands + 1;
    uint32_t at = p->strands;

    for (uint32_t i = 0; i < p->strands; i++) {
        struct tt_watch_strand f = filters_of(p, i);
        if (memcmp(&f, &t->strand, sizeof f) == 0)
            at = i;
    }
    at = (is_next ? at + 1 : at + many - 1) % many;
    t->strand = (struct tt_watch_strand){{""}};
    if (at < p->strands)
        t->strand = filters_of(p, at);
    change_filters(t);
}

static void move(struct tt_watch *t, size_t up, size_t down)
{
    t->cursor = t->cursor > up ? t->cursor - up : 0;
    if (t->cursor < t->rows)
        t->cursor += down; /* place_window finds the end */
    t->is_held = t->cursor != 0;
    t->row.name[0] = '\0'; /* another one is chosen */
}

/* Shows the callers and callees of the function at the cursor, or what its process does. */
static void go_into(struct tt_watch *t)
{
    const struct tt_watch_row *r = &t->row;

    if (strcmp(t->view, "strands") == 0 && r->name[0]) {
        t->strand = (struct tt_watch_strand){{""}};
        if (r->pid) {
            (void)snprintf(t->strand.filter[0], sizeof t->strand.filter[0], "pid:%llu",
                           (unsigned long long)r->pid);
        } else {
            memcpy(t->strand.filter[0], "name:", sizeof "name:");
            quote(r->name, t->strand.filter[0], sizeof t->strand.filter[0]);
        }
        t->view = "flat";
        change_filters(t);
    } else if (r->id[0]) {
        if (!t->block[0])
            t->back = t->view;
        (void)snprintf(t->block, sizeof t->block, "#%s", r->id);
        (void)snprintf(t->block_name, sizeof t->block_name, "%s", r->name);
        t->view = "block";
        go_to_top(t);
    }
}

/* Takes the typed pattern, unless it is invalid. */
static void take_pattern(struct tt_watch *t)
{
    char before[sizeof t->pattern], error[160];
    struct tt_pattern *x;

    memcpy(before, t->pattern, sizeof before);
    t->is_typing = 0;
    /* "/text" gets a closing slash; "/text/i" has one */
    (void)snprintf(t->pattern, sizeof t->pattern, "%s%s%s", t->typed[0] ? "/" : "",
                   t->typed, t->typed[0] && !strchr(t->typed, '/') ? "/" : "");
    change_filters(t);
    if (!t->pattern[0])
        return;
    x = tt_pattern_new(t->pattern, error, sizeof error);
    if (!x) {
        memcpy(t->pattern, before, sizeof before);
        (void)snprintf(t->reason, sizeof t->reason, "%s", error);
    }
    tt_pattern_free(x);
}

static void type(struct tt_watch *t, int key)
{
    size_t length = strlen(t->typed);

    if (key == '\r' || key == '\n') {
        take_pattern(t);
    } else if (key == TT_KEY_ESCAPE) {
        t->is_typing = 0;
    } else if (key == 0x7f || key == '\b') {
        while (length && ((unsigned char)t->typed[length - 1] & 0xc0) == 0x80)
            length--; /* the rest of a character */
        t->typed[length ? length - 1 : 0] = '\0';
    } else if (key >= ' ' && key < 256 && length < sizeof t->typed - 1) {
        t->typed[length] = (char)key;
        t->typed[length + 1] = '\0';
    }
}

static void take_move(struct tt_watch *t, int key)
{
    switch (key) {
    case TT_KEY_UP:
        move(t, 1, 0);
        break;
    case TT_KEY_DOWN:
        move(t, 0, 1);
        break;
    case TT_KEY_PAGE_UP:
        move(t, t->room, 0);
        break;
    case TT_KEY_PAGE_DOWN:
        move(t, 0, t->room);
        break;
    case TT_KEY_HOME:
        move(t, t->rows, 0);
        break;
    case TT_KEY_END:
        move(t, 0, t->rows);
        break;
    default:
        break;
    }
}

static void take_letter(struct tt_watch *t, int key)
{
    static const struct {
        char key;
        const char *column;
    } sorts[] = {{'n', "now"},
                 {'N', "inclusive_rate"},
                 {'s', "self"},
                 {'i', "inclusive"},
                 {'c', "calls"}};

    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
        if (key == sorts[i].key)
            sort_by(t, sorts[i].column);
    if (key == 'v')
        next_view(t);
    else if (key == '\r' || key == '\n')
        go_into(t);
    else if (key == TT_KEY_ESCAPE || key == 0x7f || key == '\b')
        go_back(t);
    else if (key == 'm')
        next_metric(t);
    else if (key == '[' || key == ']')
        step_strand(t, key == ']');
    else if (key == ' ')
        t->is_paused = !t->is_paused;
    else if (key == '/') {
        t->is_typing = 1;
        t->typed[0] = '\0';
    }
}

/* Handles a key; 0: it ends the program. */
static int take_key(struct tt_watch *t, int key)
{
    if (key == TT_KEY_GONE || (key == 'q' && !t->is_typing))
        return 0;
    if (t->is_typing)
        type(t, key);
    else if (key < 256)
        take_letter(t, key);
    else
        take_move(t, key);
    return 1;
}

/* Runs until a key ends it, or there is no memory. */
static int watch(struct tt_watch *t)
{
    double next = tt_live_snapshot_clock() + t->interval;
    int error, goes_on = 1;

    while ((error = draw(t)) == 0 && goes_on) {
        double left = next - tt_live_snapshot_clock();
        int key = left > 0 ? tt_screen_key(left) : TT_KEY_NONE;
        goes_on = take_key(t, key);
        if (tt_live_snapshot_clock() < next)
            continue;
        if (!t->is_paused) {
            t->reason[0] = '\0';
            (void)tt_watch_read(t);
        }
        next = tt_live_snapshot_clock() + t->interval;
    }
    return error;
}

int tt_watch_screen(struct tt_watch *t)
{
    int error = tt_screen_open();

    if (error) {
        tt_complain("top: there is no terminal to read keys from");
        return error;
    }
    (void)tt_complain_into((struct tt_complaints){t->reason, sizeof t->reason});
    tt_progress_stop();
    error = watch(t);
    tt_screen_close();
    (void)tt_complain_into((struct tt_complaints){NULL, 0});
    if (error)
        tt_complain("top: %s", t->reason[0] ? t->reason : tt_error_text(error));
    return error;
}
