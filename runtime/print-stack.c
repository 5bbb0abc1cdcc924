/* SPDX-License-Identifier: MIT */
/* print-stack.c - prints the context of a thread as text, when it crashes.
 *
 * It reads only the stack and the recording, and calls only write.  An activation is a
 * line; a captured context is a line, and below it the path that was captured, once. */
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "share.h"
#include "stack.h"

enum { WHERE_MOST = 20 };

struct where_line {
    char text[256];
    size_t length;
};

static void put_word(struct where_line *l, const char *word)
{
    size_t length = strlen(word), room = sizeof l->text - 1 - l->length;

    length = length < room ? length : room;
    memcpy(l->text + l->length, word, length);
    l->length += length;
}

static void put_line_number(struct where_line *l, uint32_t n)
{
    char digits[12], *p = digits + sizeof digits;

    *--p = '\0';
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    put_word(l, p);
}

static int write_line(int fd, struct where_line *l)
{
    size_t done = 0;

    l->text[l->length++] = '\n';
    while (done < l->length) {
        ssize_t n = write(fd, l->text + done, l->length - done);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return -TT_ERR_FILE;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static const char *string_at(const struct tt_recording *r, uint32_t at)
{
    return at ? r->base + 4 * (uint64_t)at + 4 : "";
}

static int write_block(int fd, const struct tt_recording *r, const char *before,
                       tt_block block)
{
    const struct tt_block_record *b = tt_block_record((struct tt_recording *)(uintptr_t)r,
                                                      block);
    struct where_line l = {.length = 0};

    put_word(&l, before);
    put_word(&l, block == TT_BLOCK_ROOT ? "[root]" : string_at(r, b->name));
    if (b->file) {
        put_word(&l, "  ");
        put_word(&l, string_at(r, b->file));
        if (b->line) {
            put_word(&l, ":");
            put_line_number(&l, b->line);
        }
    }
    return write_line(fd, &l);
}

static int write_text(int fd, const char *text)
{
    struct where_line l = {.length = 0};

    put_word(&l, text);
    return write_line(fd, &l);
}

static int write_path(int fd, const struct tt_thread *t, const struct tt_node *n)
{
    int error = 0;

    for (int i = 0; !error && i < WHERE_MOST && n->parent; i++) {
        error = write_block(fd, t->recording, "    ", n->key & TT_KEY_BLOCK);
        n = tt_parent(&t->tree, n);
    }
    return error;
}

static int write_stack(int fd, const struct tt_thread *t)
{
    const struct tt_frame *bottom = tt_stack_bottom(t->stack.fiber), *created = NULL;
    struct tt_frame *f = t->self->top;
    int error = write_text(fd, "stack:");

    if (tt_frame_flags(f) & TT_FRAME_SEAM)
        f = tt_frame_below(f) + 1;
    for (int i = 0; !error && f != bottom && i < WHERE_MOST; f = tt_frame_below(f)) {
        if (tt_frame_begins(f)) {
            created = created ? created : f;
        } else if (!(tt_frame_flags(f) & TT_FRAME_CONTEXT)) {
            error = write_block(fd, t->recording, "  ", tt_frame_block(t, f));
            i++;
        }
    }
    if (!error && created && created->node != t->tree.limbo) {
        error = write_text(fd, "  made, or left by a tail call, in:");
        error = error ? error : write_path(fd, t, created->node);
    }
    return error;
}

/* async-signal-safe */
int tt_print_stack(int fd)
{
    const struct tt_thread *t = tt_self.thread;
    int saved = errno, error;

    TT_HAND_ON(tt_print_stack, fd);
    if (!t || !t->recording || t->recording != tt_recording_now())
        return -TT_ERR_STATE;
    error = write_stack(fd, t);
    errno = saved;
    return error;
}
