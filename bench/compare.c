/* SPDX-License-Identifier: MIT */
/* compare.c - runs commands in turns and prints a table of what they say.
 *
 *      compare cost|share ROUNDS COLUMN... < rows
 *
 * A row is a line "LABEL<TAB>COMMAND<TAB>COMMAND…", one command a column; "-" is none.
 * A command prints "value X", and for a share also "clock X", what its own clock says;
 * when it prints neither but ends well, it has nothing to tell.  Exit status 1 when one
 * did not end well.
 * Each round runs every command once, and each round begins with another one: whatever
 * drifts, drifts for all of them.  The first row is the bare program.  What is printed is
 * worked out from differences and ratios to the bare run of the same round. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS_MAX = 64, COLUMNS_MAX = 4, ROUNDS_MAX = 101, LINE_SIZE = 4096 };

struct cell {
    char *command; /* borrowed from the row's line; NULL: none */
    double value[ROUNDS_MAX], clock[ROUNDS_MAX]; /* NaN: it had none */
};

static struct row {
    char *line; /* owned; begins with the label */
    struct cell cells[COLUMNS_MAX];
} rows[ROWS_MAX];

static int row_count, column_count, round_count, failure_count;
static char **column_names;

/* ── Reading ──────────────────────────────────────────────────────────────────────── */

static void read_row(struct row *row, const char *line)
{
    char *rest;

    rest = row->line = strdup(line);
    rest[strcspn(rest, "\n")] = '\0';
    strsep(&rest, "\t");
    for (int c = 0; c < column_count; c++) {
        char *command = strsep(&rest, "\t");

        row->cells[c].command = command && strcmp(command, "-") != 0 ? command : NULL;
    }
}

static void read_rows(void)
{
    char line[LINE_SIZE];

    while (row_count < ROWS_MAX && fgets(line, sizeof line, stdin))
        read_row(&rows[row_count++], line);
}

/* ── Running ──────────────────────────────────────────────────────────────────────── */

static void run(struct cell *cell, int round)
{
    char line[LINE_SIZE];
    FILE *answer;

    cell->value[round] = cell->clock[round] = NAN;
    if (!cell->command || !(answer = popen(cell->command, "r")))
        return;
    while (fgets(line, sizeof line, answer)) {
        sscanf(line, "value %lf", &cell->value[round]);
        sscanf(line, "clock %lf", &cell->clock[round]);
    }
    if (pclose(answer) == 0)
        return;
    cell->value[round] = NAN;
    printf("FAIL: %s\n", cell->command);
    failure_count++;
}

static void run_all(void)
{
    for (int round = 0; round < round_count; round++) {
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\rround %d of %d \r", round + 1, round_count);
        for (int c = 0; c < column_count; c++)
            for (int i = 0; i < row_count; i++)
                run(&rows[(i + round) % row_count].cells[c], round);
    }
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

typedef double combine(const struct cell *, const struct cell *bare, int round);

static double time_itself(const struct cell *cell, const struct cell *bare, int round)
{
    (void)bare;
    return cell->value[round];
}

static double time_over(const struct cell *cell, const struct cell *bare, int round)
{
    return cell->value[round] - bare->value[round];
}

static double time_ratio(const struct cell *cell, const struct cell *bare, int round)
{
    return cell->value[round] / bare->value[round];
}

static double percent(const struct cell *cell, const struct cell *bare, int round)
{
    (void)bare;
    return 100 * cell->value[round];
}

static double off_truth(const struct cell *cell, const struct cell *bare, int round)
{
    return 100 * (cell->value[round] - bare->clock[round]);
}

static double off_own_clock(const struct cell *cell, const struct cell *bare, int round)
{
    (void)bare;
    return 100 * (cell->value[round] - cell->clock[round]);
}

/* The rounds in which it worked; returns how many. */
static size_t gather(combine *figure, const struct cell *cell, const struct cell *bare,
                     double *out)
{
    size_t n = 0;

    for (int round = 0; round < round_count; round++) {
        double x = figure(cell, bare, round);

        if (!isnan(x))
            out[n++] = x;
    }
    return n;
}

static double median(combine *figure, const struct cell *cell, const struct cell *bare)
{
    double values[ROUNDS_MAX];
    size_t n = gather(figure, cell, bare, values);

    return n ? bench_median(values, n) : NAN;
}

/* The mean, and its standard error. */
static double mean(combine *figure, const struct cell *cell, const struct cell *bare,
                   double *error)
{
    double values[ROUNDS_MAX], sum = 0, square = 0;
    size_t n = gather(figure, cell, bare, values);

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    for (size_t i = 0; i < n; i++)
        square += (values[i] - sum / (double)n) * (values[i] - sum / (double)n);
    *error = n > 1 ? sqrt(square / (double)(n - 1) / (double)n) : NAN;
    return n ? sum / (double)n : NAN;
}

/* ── Printing ─────────────────────────────────────────────────────────────────────── */

static void print_number(double x, const char *format)
{
    if (isnan(x))
        printf(" | %*s", (int)strtol(format + strspn(format, "%+"), NULL, 10), "-");
    else {
        printf(" | ");
        printf(format, x);
    }
}

/* The row whose label says so is what exact modes are held against. */
static const struct cell *find_clocks(int column)
{
    for (int i = 0; i < row_count; i++)
        if (strcmp(rows[i].line, "two clock reads") == 0)
            return &rows[i].cells[column];
    return NULL;
}

static void print_cost(const struct row *row, int c)
{
    const struct cell *cell = &row->cells[c], *bare = &rows[0].cells[c];
    const struct cell *clocks = find_clocks(c);

    print_number(median(time_itself, cell, bare), "%8.2f");
    print_number(median(time_over, cell, bare), "%8.2f");
    print_number(median(time_ratio, cell, bare), "%8.2f");
    if (clocks)
        print_number(median(time_over, cell, bare) / median(time_over, clocks, bare),
                     "%8.2f");
}

static void print_share(const struct row *row, int c)
{
    const struct cell *cell = &row->cells[c], *bare = &rows[0].cells[c];
    double error;

    print_number(mean(percent, cell, bare, &error), "%8.2f");
    print_number(mean(off_truth, cell, bare, &error), "%+8.2f");
    print_number(error, "%8.2f");
    print_number(mean(off_own_clock, cell, bare, &error), "%+8.2f");
}

static void print_heading(int share)
{
    int clocks = !share && find_clocks(0);

    printf("| %-28s", "");
    for (int c = 0; c < column_count; c++) {
        if (share)
            printf(" | %8.8s | off      | ±        | of run  ", column_names[c]);
        else
            printf(" | %8.8s | over     | × bare  ", column_names[c]);
        if (clocks)
            printf(" | ÷ clocks");
    }
    printf(" |\n|%s", ":-----------------------------");
    for (int c = 0; c < column_count; c++)
        for (int i = 0; i < 3 + (share || clocks); i++)
            printf("|---------:");
    printf("|\n");
}

int main(int argc, char **argv)
{
    int share = argc > 1 && strcmp(argv[1], "share") == 0;

    if (argc < 4 || argc > 3 + COLUMNS_MAX)
        return 2;
    round_count = atoi(argv[2]);
    column_names = argv + 3;
    column_count = argc - 3;
    if (round_count < 1 || round_count > ROUNDS_MAX)
        return 2;
    read_rows();
    run_all();
    if (failure_count)
        printf("\n");
    print_heading(share);
    for (int i = 0; i < row_count; i++) {
        printf("| %-28s", rows[i].line);
        for (int c = 0; c < column_count; c++)
            (share ? print_share : print_cost)(&rows[i], c);
        printf(" |\n");
    }
    for (int i = 0; i < row_count; i++)
        free(rows[i].line);
    return failure_count > 0;
}
