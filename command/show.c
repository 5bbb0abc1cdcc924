/* SPDX-License-Identifier: MIT */
/* show.c - prints tables for people and for machines. */
#include "show.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "header.h"
#include "output.h"
#include "replacing.h"
#include "scratch.h"
#include "table-csv.h"
#include "table-json.h"

const struct tt_flag tt_show_flags[] = {
    {"json", 0, TT_SHOW_JSON, NULL, NULL, "print JSON; --csv: print CSV"},
    {"csv", 0, TT_SHOW_CSV, NULL, NULL, NULL},
    {"width", 0, TT_SHOW_WIDTH, "N", NULL,
     "limit text to N columns; 0: no limit; --color[=WHEN]"},
    {"color", 0, TT_SHOW_COLOR, "[WHEN]", "auto always never", NULL},
    {"output", 'o', TT_SHOW_OUTPUT, "OUT", "@files",
     "write to OUT; - is standard output"},
    {"force", 0, TT_REPLACING_FORCE, NULL, NULL, NULL},
    {"no-header", 0, TT_SHOW_BARE, NULL, NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

int tt_show_take(struct tt_show *s, int id, const char *value)
{
    switch (id) {
    case TT_SHOW_JSON:
        s->form = TT_FORM_JSON;
        return 1;
    case TT_SHOW_CSV:
        s->form = TT_FORM_CSV;
        return 1;
    case TT_SHOW_WIDTH:
        s->width = value;
        return 1;
    case TT_SHOW_COLOR:
        s->color = value;
        s->color_given = 1;
        return 1;
    case TT_SHOW_OUTPUT:
        s->out = strcmp(value, "-") == 0 ? NULL : value;
        return 1;
    case TT_SHOW_BARE:
        s->without_header = 1;
        return 1;
    default:
        return 0;
    }
}

int tt_show_is_colored(int fd)
{
    const char *plain = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(fd) && !(plain && *plain) && terminal && strcmp(terminal, "dumb") != 0;
}

static int find_color(const struct tt_show *s, int *color)
{
    static const char *const words[] = {"auto", "always", "never"};
    const char *when = s->color ? s->color : s->color_given ? "always" : "auto";

    if (strcmp(when, "auto") == 0)
        *color = !s->out && tt_show_is_colored(STDOUT_FILENO);
    else if (strcmp(when, "always") == 0 || strcmp(when, "never") == 0)
        *color = *when == 'a';
    else {
        (void)tt_complain_of("colour", when, words, 3);
        return -TT_ERR_OPTION;
    }
    return 0;
}

/* The width, from COLUMNS or the terminal. */
static uint32_t terminal_width(const struct tt_show *s)
{
    const char *columns = getenv("COLUMNS");
    struct winsize w;
    uint64_t n;

    if (s->out)
        return 0;
    if (columns && tt_flag_number(columns, 1, 9999, &n) == 0)
        return (uint32_t)n;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

int tt_show_terminal(const struct tt_show *s, uint32_t *width, int *color)
{
    uint64_t n = 0;
    int error = s->width ? tt_flag_number(s->width, 0, 100000, &n) : 0;

    *width = s->width ? (uint32_t)n : terminal_width(s);
    if (error) {
        tt_complain("%s: '--width' wants a number of columns, not '%s'", s->command,
                    s->width);
        return -TT_ERR_OPTION;
    }
    return find_color(s, color);
}

/* Only text is coloured by us: in data, colour sequences are part of a name. */
int tt_show_text(const struct tt_show *s, const struct tt_text *t)
{
    struct tt_output o;
    int error, closing;

    if (t->failed) {
        tt_complain("no memory");
        return -TT_ERR_MEMORY;
    }
    if ((error = tt_output_open(&o, s->out)) != 0)
        return error;
    o.has_colors = s->form == TT_FORM_TEXT;
    error = tt_output_put(&o, t->bytes.item, t->bytes.count);
    closing = tt_output_close(&o, !error);
    return error ?: closing;
}

int tt_show_table(const struct tt_show *s, const struct tt_table *t,
                  const struct tt_profile *profile)
{
    struct tt_text text;
    uint32_t width = 0;
    int color = 0, error = tt_show_terminal(s, &width, &color);

    if (error)
        return error;
    tt_text_init(&text, &tt_scratch);
    switch (s->form) {
    case TT_FORM_JSON:
        tt_text_json(&text, t, profile);
        break;
    case TT_FORM_CSV:
        tt_text_csv(&text, t);
        break;
    case TT_FORM_TEXT:
        if (!s->without_header)
            tt_text_header(&text, profile, color);
        tt_text_table(&text, t, width, color);
        break;
    }
    error = tt_show_text(s, &text);
    tt_text_fini(&text);
    return error;
}
