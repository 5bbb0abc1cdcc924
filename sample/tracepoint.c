/* SPDX-License-Identifier: MIT */
/* tracepoint.c - the system's tracepoints of its scheduler.
 *
 *      /sys/kernel/tracing/events/sched/sched_switch/id
 *                                                   /format
 *              field:long prev_state;	offset:32;	size:8;	signed:1; */
#include "tracepoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tallytree.h"

enum { FORMAT_MAX = 16 << 10, RECORD_MAX = 1 << 16 };

/* ── Fields ───────────────────────────────────────────────────────────────────────── */

/* Does the declaration "unsigned char common_flags" end in this name? */
static int declares(const char *text, size_t length, const char *name)
{
    const size_t size = strlen(name);

    return length > size && memcmp(text + length - size, name, size) == 0 &&
           (text[length - size - 1] == ' ' || text[length - size - 1] == '*');
}

/* The number after "offset:" or "size:" in the rest of the line. */
static int take_number(const char *line, size_t length, const char *key, uint32_t *out)
{
    const size_t size = strlen(key);
    uint32_t n = 0;

    for (size_t i = 0; i + size < length; i++) {
        if (memcmp(line + i, key, size) != 0)
            continue;
        for (i += size; i < length && line[i] >= '0' && line[i] <= '9'; i++)
            if ((n = n * 10 + (uint32_t)(line[i] - '0')) > RECORD_MAX)
                return 0;
        *out = n;
        return i < length && line[i] == ';';
    }
    return 0;
}

static int take_field(const char *line, size_t length, const char *name,
                      struct tt_trace_field *f)
{
    static const char begin[] = "field:";
    const char *at = memchr(line, 'f', length), *end;

    if (!at || (size_t)(line + length - at) < sizeof begin ||
        memcmp(at, begin, sizeof begin - 1) != 0)
        return 0;
    at += sizeof begin - 1;
    end = memchr(at, ';', (size_t)(line + length - at));
    return end && declares(at, (size_t)(end - at), name) &&
           take_number(end, (size_t)(line + length - end), "offset:", &f->offset) &&
           take_number(end, (size_t)(line + length - end), "size:", &f->size) &&
           (f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

int tt_trace_field_find(const char *format, const char *name, struct tt_trace_field *f)
{
    for (const char *line = format; *line;) {
        const size_t length = strcspn(line, "\n");
        if (take_field(line, length, name, f))
            return 1;
        line += length + (line[length] != '\0');
    }
    return 0;
}

int tt_trace_field_read(struct tt_trace_field f, const char *record, size_t size,
                        uint64_t *out)
{
    uint8_t byte;
    uint16_t half;
    uint32_t word;

    if (f.offset > size || f.size > size - f.offset)
        return 0;
    record += f.offset;
    if (f.size == sizeof *out) {
        memcpy(out, record, sizeof *out);
    } else if (f.size == sizeof word) {
        memcpy(&word, record, sizeof word);
        *out = word;
    } else if (f.size == sizeof half) {
        memcpy(&half, record, sizeof half);
        *out = half;
    } else {
        memcpy(&byte, record, sizeof byte);
        *out = byte;
    }
    return 1;
}

/* ── tracefs ──────────────────────────────────────────────────────────────────────── */

static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};

/* The bytes read; less than 0: -errno. */
static long read_file(const char *folder, const char *event, const char *name, char *text,
                      size_t size)
{
    char path[PATH_MAX];
    size_t n;
    FILE *f;

    *text = '\0';
    (void)snprintf(path, sizeof path, "%s/events/sched/%s/%s", folder, event, name);
    if (!(f = fopen(path, "re")))
        return -errno;
    n = fread(text, 1, size - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    return (long)n;
}

/* Reads one event: its number, and the text of its format.  0 or -errno. */
static int read_event(const char *folder, const char *event, uint64_t *id,
                      char format[FORMAT_MAX])
{
    char number[32];
    long n = read_file(folder, event, "id", number, sizeof number);

    if (n < 0)
        return (int)n;
    *id = strtoull(number, NULL, 10);
    n = read_file(folder, event, "format", format, FORMAT_MAX);
    return n < 0 ? (int)n : 0;
}

static int read_events(struct tt_sched *s, const char *folder)
{
    char format[FORMAT_MAX];
    int error = read_event(folder, "sched_switch", &s->switches, format);

    if (error)
        return error;
    if (!tt_trace_field_find(format, "prev_state", &s->state))
        return -EINVAL;
    error = read_event(folder, "sched_waking", &s->wakings, format);
    if (error)
        return error;
    return tt_trace_field_find(format, "pid", &s->woken) &&
                   tt_trace_field_find(format, "common_flags", &s->flags)
               ? 0
               : -EINVAL;
}

static void say_why(char *reason, size_t size, int error)
{
    if (error == -EACCES || error == -EPERM)
        (void)snprintf(reason, size,
                       "waits from outside need the system's tracepoints, and %s may not "
                       "be read: run tallytree as root",
                       folders[0]);
    else if (error == -ENOENT && access("/sys/kernel/tracing/events", F_OK) != 0)
        (void)snprintf(reason, size,
                       "waits from outside need the system's tracepoints, and tracefs is "
                       "not mounted: run 'mount -t tracefs tracefs %s' as root",
                       folders[0]);
    else
        (void)snprintf(reason, size,
                       "waits from outside need the tracepoints sched_switch and "
                       "sched_waking, which this system does not have (%s): leave out "
                       "--locks",
                       strerror(-error));
}

/* Tracepoints number threads as the initial PID namespace does; the other events do so as
 * ours does.  The initial one's number is fixed by the system. */
static int is_in_container(void)
{
    const ino_t initial = 0xEFFFFFFC;
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != initial;
}

int tt_sched_find(struct tt_sched *s, char *reason, size_t size)
{
    int error = 0, first = 0;

    if (is_in_container()) {
        (void)snprintf(reason, size,
                       "waits from outside need the initial PID namespace, because the "
                       "system's tracepoints number threads as it does: run tallytree "
                       "outside of the container");
        return -TT_ERR_STATE;
    }
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        error = read_events(s, folders[i]);
        if (!error)
            return 0;
        first = first ? first : error;
    }
    say_why(reason, size, first);
    return -TT_ERR_STATE;
}
