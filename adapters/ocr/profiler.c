/* SPDX-License-Identifier: MIT */
/* profiler.c - the rest of OCR's macros: starting by the environment, and the focus.
 *
 * With a focus, each thread has a stack of the recorded scopes, with their levels below
 * the focus.  A scope that is not recorded is not on it; its time belongs to the scope
 * around it.  A longjmp leaves entries of scopes whose stack frames are gone: the next
 * scope, whose frame is above theirs, drops them. */
#define OCR_RUNTIME_PROFILER
#define TT_OCR_BUILD
#include "profiler.h"

#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATTERNS = 512, NO_DEPTH = -1 };

struct focus { /* never changed once it is published, and never freed */
    uint32_t number;
    char name[128], peek[128]; /* "": none */
    char rt[PATTERNS], user[PATTERNS];
    int depth, other, ignore_rt;
};

enum verdict { IS_FOCUS = 1, IS_RT = 2, VERDICT_BITS = 2 };
enum flag { OTHER = 1, RT = 2 };

struct level {
    uintptr_t cfa;
    const char *name;
    uint32_t level, flags;
};

int tt_ocr_focused;
static struct focus *focus_now;
static uint32_t focuses;
static __thread struct levels {
    struct level *level; /* mapped, as a scope may be in a program's malloc */
    uint32_t count, room;
} levels;
static pthread_key_t levels_key; /* of threads that have some, to unmap them */
static struct tt_ocr_site other_site = {{0, 0, "EVENT_OTHER", ""}, 0};

/* ── Which scopes ─────────────────────────────────────────────────────────────────── */

static int is_among(const char *patterns, const char *name)
{
    char pattern[PATTERNS];

    for (size_t length; *patterns; patterns += length + (patterns[length] == ':')) {
        length = strcspn(patterns, ":");
        memcpy(pattern, patterns, length);
        pattern[length] = '\0';
        if (fnmatch(pattern, name, 0) == 0)
            return 1;
    }
    return 0;
}

static uint32_t verdict_of(struct tt_ocr_site *site, const struct focus *f)
{
    uint32_t verdict = __atomic_load_n(&site->verdict, __ATOMIC_RELAXED);
    const char *name = site->site.name;

    if (verdict >> VERDICT_BITS == f->number)
        return verdict;
    verdict = f->number << VERDICT_BITS;
    if (strcmp(name, f->name) == 0)
        verdict |= IS_FOCUS;
    else if (strcmp(name, f->peek) != 0 && is_among(f->rt, name) &&
             !is_among(f->user, name))
        verdict |= IS_RT;
    __atomic_store_n(&site->verdict, verdict, __ATOMIC_RELAXED);
    return verdict;
}

/* Is a scope recorded, and at which level?  Sets `*site` to EVENT_OTHER's if it is
 * outside. */
static int is_recorded(const struct focus *f, struct tt_ocr_site **site, struct level *l)
{
    const struct level *around = levels.count ? &levels.level[levels.count - 1] : NULL;
    uint32_t verdict = verdict_of(*site, f);

    l->flags = verdict & IS_RT ? RT : 0;
    if (!around || (around->flags & OTHER)) {
        if (!f->name[0] || (verdict & IS_FOCUS))
            return 1;
        if (around || !f->other)
            return 0;
        *site = &other_site;
        l->flags = OTHER;
        return 1;
    }
    l->level = around->level;
    if (strcmp(around->name, (*site)->site.name) == 0)
        return 1;
    l->level++;
    if (f->depth != NO_DEPTH && l->level > (uint32_t)f->depth)
        return 0;
    return !(f->ignore_rt && (l->flags & RT) && (around->flags & RT));
}

static void unmap_levels(void *mine)
{
    struct levels *l = mine;

    munmap(l->level, l->room * sizeof *l->level);
    *l = (struct levels){NULL, 0, 0};
}

static int make_room(void)
{
    enum { FIRST = 2048 };
    uint32_t room = levels.room ? 2 * levels.room : FIRST;
    void *more = levels.room
                     ? mremap(levels.level, levels.room * sizeof *levels.level,
                              room * sizeof *levels.level, MREMAP_MAYMOVE)
                     : mmap(NULL, room * sizeof *levels.level, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (more == MAP_FAILED)
        return 0;
    if (!levels.room)
        (void)pthread_setspecific(levels_key, &levels);
    levels.level = more;
    levels.room = room;
    return 1;
}

void tt_ocr_enter_focused(struct tt_ocr_site *site, struct tt_ocr_scope *scope,
                          uintptr_t cfa)
{
    const struct focus *f = __atomic_load_n(&focus_now, __ATOMIC_ACQUIRE);
    struct level l = {.cfa = cfa};

    while (levels.count && levels.level[levels.count - 1].cfa < cfa)
        levels.count--;
    scope->frame = NULL;
    if (!is_recorded(f, &site, &l) || (levels.count == levels.room && !make_room()))
        return;
    l.name = site->site.name;
    levels.level[levels.count++] = l;
    scope->place = levels.count;
    scope->frame = tt_scope_enter(&site->site, scope, cfa);
}

/* Entries above it are gone, and it may itself have been dropped. */
void tt_ocr_leave_focused(struct tt_ocr_scope *scope)
{
    if (levels.count >= scope->place)
        levels.count = scope->place - 1;
}

/* ── Words ────────────────────────────────────────────────────────────────────────── */

static int take_text(char *to, size_t size, const char *value)
{
    if (!*value || strlen(value) >= size)
        return -TT_ERR_OPTION;
    memcpy(to, value, strlen(value) + 1);
    return 1;
}

static int take_depth(struct focus *f, const char *value)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);

    if (*value < '0' || *value > '9' || *end || n > 1u << 20)
        return -TT_ERR_OPTION;
    f->depth = (int)n;
    return 1;
}

/* 1: it was one of ours. */
static int take_word(struct focus *f, const char *word)
{
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : "";

#define IS(text) (length == sizeof text - 1 && memcmp(word, text, length) == 0)
    if (IS("focus"))
        return take_text(f->name, sizeof f->name, value);
    if (IS("peek"))
        return take_text(f->peek, sizeof f->peek, value);
    if (IS("rt"))
        return take_text(f->rt, sizeof f->rt, value);
    if (IS("user"))
        return take_text(f->user, sizeof f->user, value);
    if (IS("depth"))
        return take_depth(f, value);
    if (IS("other"))
        return *value ? -TT_ERR_OPTION : (f->other = 1);
    if (IS("ignore-rt"))
        return *value ? -TT_ERR_OPTION : (f->ignore_rt = 1);
#undef IS
    return 0;
}

/* Takes our words out of `words`, and leaves the rest there. */
static int take_words(struct focus *f, char *words)
{
    char *rest = words, *save, *word;
    int taken = 0, error;

    for (word = strtok_r(words, ", \t\n", &save); word;
         word = strtok_r(NULL, ", \t\n", &save)) {
        size_t length = strlen(word);
        error = take_word(f, word + strspn(word, "-"));
        if (error < 0)
            return error;
        taken |= error;
        if (error)
            continue;
        if (rest != words)
            *rest++ = ','; /* of the separators before this word */
        memmove(rest, word, length);
        rest += length;
    }
    *rest = '\0';
    return taken;
}

static void make_key(void) { (void)pthread_key_create(&levels_key, unmap_levels); }

static void publish(struct focus *f)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, make_key);
    f->number = __atomic_add_fetch(&focuses, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&focus_now, f, __ATOMIC_RELEASE);
    __atomic_store_n(&tt_ocr_focused, 1, __ATOMIC_RELEASE);
}

/* Reads words; *rest, to be freed, has those for tt_start. */
static int read_words(const char *words, char **rest)
{
    struct focus *f = calloc(1, sizeof *f);
    int taken = -TT_ERR_MEMORY;

    *rest = malloc(strlen(words) + 1);
    if (f && *rest) {
        memcpy(*rest, words, strlen(words) + 1);
        f->depth = NO_DEPTH;
        f->rt[0] = '*';
        taken = take_words(f, *rest);
    }
    if (taken > 0)
        publish(f);
    else
        free(f);
    if (taken == 0)
        __atomic_store_n(&tt_ocr_focused, 0, __ATOMIC_RELEASE);
    return taken < 0 ? taken : 0;
}

int tt_ocr_focus(const char *words)
{
    char *rest;
    int error = read_words(words ? words : "", &rest);

    if (!error && *rest)
        error = -TT_ERR_OPTION;
    free(rest);
    return error;
}

/* Is there "name=" among the words? */
static int has_word(const char *words, const char *name)
{
    for (const char *at = words; (at = strstr(at, name)); at++)
        if (at == words || at[-1] == ',' || at[-1] == '-')
            return 1;
    return 0;
}

/* OCR's figures need whole paths: a function's time excludes calls of itself through
 * others, which folded paths cannot show. */
static int start_with(const char *words)
{
    char host[64] = "", output[200] = "", *all;
    int error = -TT_ERR_MEMORY;

    (void)gethostname(host, sizeof host - 1);
    if (!has_word(words, "output="))
        (void)snprintf(output, sizeof output, "output=tallytree.%.80s.%s.%d,",
                       program_invocation_short_name, host, (int)getpid());
    if (asprintf(&all, "%s%s%s", output,
                 has_word(words, "recursion=") ? "" : "recursion=none,", words) < 0)
        return error;
    error = tt_start(all);
    free(all);
    return error;
}

int tt_ocr_start(const char *words)
{
    char *rest;
    int error = read_words(words ? words : "", &rest);

    if (!error)
        error = start_with(rest);
    free(rest);
    return error;
}

/* ── By the environment ───────────────────────────────────────────────────────────── */

static int started;

/* Then `tallytree record` starts the recording, later than this. */
static int is_recorded_already(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    return preloaded && strstr(preloaded, "libtallytree-record");
}

static int set_focus_alone(const char *words)
{
    char *rest;
    int error = read_words(words, &rest);

    free(rest);
    return error;
}

/* Errors are printed, since a user has set the variable. */
__attribute__((constructor)) static void start_by_environment(void)
{
    const char *words = secure_getenv("TALLYTREE_OCR");
    int error;

    if (!words)
        return;
    if (is_recorded_already()) {
        error = set_focus_alone(words);
    } else {
        error = tt_ocr_start(words);
        started = !error;
    }
    if (error)
        (void)fprintf(stderr, "tallytree: TALLYTREE_OCR=%s: %s\n", words,
                      tt_error_text(error));
}

__attribute__((destructor)) static void stop(void)
{
    if (started)
        (void)tt_stop();
}
