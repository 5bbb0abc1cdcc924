/* SPDX-License-Identifier: MIT */
/* toggles.c - Lua or SQLite, whose functions are switched while eight threads run them.
 *
 *      thread ─ a separate state or database ─ gives the same result as without switching
 *
 * Every function has hooks beside its no-ops.  The hooks keep an independent account of calls,
 * and of the contexts of functions that are on.  PLAIN: without hooks, as optimized code. */
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tallytree-switch.h"
#include "tap.h"

enum { THREADS = 8, SAID = 400 };

/* ── What they do ─────────────────────────────────────────────────────────────────── */

#ifdef LUA
#include "lauxlib.h"
#include "lualib.h"

static const char script[] =
    "local seed = ...\n"
    "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) "
    "end\n"
    "local t, s, n, caught = {}, {}, 0, 0\n"
    "for i = 1, 300 do t[i] = (i * 7919 + seed) % 1009 end\n"
    "table.sort(t, function(a, b) return a < b end)\n"
    "for i = 1, 200 do s[i] = string.format('%d:%s', t[i], tostring(i * seed)) end\n"
    "for w in table.concat(s, ','):gmatch('%d+') do n = n + #w end\n"
    "for i = 1, 100 do\n"
    "    local ok, why = pcall(function() if i % 3 == 0 then error({i}) end return i "
    "end)\n"
    "    caught = caught + (ok and 1 or why[1])\n"
    "end\n"
    "local co = coroutine.wrap(function() for i = 1, 1e9 do coroutine.yield(fib(i % 5)) "
    "end end)\n"
    "for i = 1, 100 do n = n + co() end\n"
    "local chunk = load('return ' .. ('1 + '):rep(50) .. seed)\n"
    "collectgarbage()\n"
    "return table.concat({fib(10), n, caught, chunk(), table.concat(s, ',', 1, 9)}, ' "
    "')\n";

static void work(int seed, char *said)
{
    lua_State *l = luaL_newstate();

    luaL_openlibs(l);
    if (luaL_loadstring(l, script) == LUA_OK) {
        lua_pushinteger(l, seed);
        (void)lua_pcall(l, 1, 1, 0);
    }
    (void)snprintf(said, SAID, "%s", lua_tostring(l, -1));
    lua_close(l);
}
#else
#include "sqlite3.h"

static const char statements[] =
    "create table t(a integer primary key, b text);"
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400)"
    "insert into t select i, 'row ' || (i * %d %% 397) from n;"
    "create index u on t(b);"
    "select count(*), max(b), sum(length(hex(b))) from t"
    "    where b in (select b from t where a %% 3 = 0);"
    "update t set b = upper(b) where a %% 7 = 2; delete from t where a %% 5 = 1;"
    "begin; insert into t(b) values(randomblob(0)); rollback;"
    "select a, b from t order by b desc, a limit 9; pragma integrity_check;"
    "select no_such_function(1);";

static int add_row(void *said, int columns, char **text, char **name)
{
    (void)name;
    for (int i = 0; i < columns; i++) {
        size_t length = strlen(said);
        (void)snprintf((char *)said + length, SAID - length, "%s ",
                       text[i] ? text[i] : "");
    }
    return 0;
}

static void work(int seed, char *said)
{
    char *sql = sqlite3_mprintf(statements, 7919 + seed), *why = NULL;
    sqlite3 *db;

    said[0] = '\0';
    if (sqlite3_open(":memory:", &db) == SQLITE_OK) {
        (void)sqlite3_exec(db, sql, add_row, said, &why);
        (void)add_row(said, 1, &why, NULL);
    }
    sqlite3_free(why);
    sqlite3_free(sql);
    sqlite3_close(db);
}
#endif

static char alone[THREADS][SAID];
static int stop;
static unsigned done; /* how often all of it was done */

static void work_and_check(int seed)
{
    char said[SAID];

    work(seed, said);
    CHECK_STR(said, alone[seed]);
}

static void *work_once(void *seed)
{
    work_and_check((int)(intptr_t)seed);
    return NULL;
}

static void *work_on(void *seed)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        work_and_check((int)(intptr_t)seed);
        __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

TEST(it_says_something_alone)
{
    for (int i = 0; i < THREADS; i++)
        work(i, alone[i]);
    CHECK(strlen(alone[0]) > 20 && strcmp(alone[0], alone[1]) != 0);
}

/* ── What their hooks say ─────────────────────────────────────────────────────────── */

enum { TEXT = 8 << 20, FUNCTIONS = 8192, PATHS = 1 << 18, DEEP = 1000 };

struct path {
    uint64_t key, calls, recorded; /* key: a hash of its functions; 0: none */
};
struct account {
    struct account *next;
    uint64_t calls[FUNCTIONS];
    int depth;
    struct open {
        uintptr_t frame;
        uint64_t path;
    } open[DEEP];
};
static uint16_t number_of[TEXT]; /* of the function there; 0: none yet */
static uint64_t offset_of[FUNCTIONS];
static unsigned functions = 1;
static struct account *accounts;   /* of the running thread; grows at its head */
static uint64_t closed[FUNCTIONS]; /* calls of threads that have ended */
static __thread struct account *mine;
static struct path paths[PATHS];
static int with_paths; /* while nothing is switched */

static int find_bias(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    *(uint64_t *)out = info->dlpi_addr;
    return 1; /* the first is the program */
}

static uint64_t bias;
static __attribute__((constructor)) void find_program(void)
{
    (void)dl_iterate_phdr(find_bias, &bias);
}

static unsigned get_number(uint64_t offset)
{
    uint16_t *at = &number_of[offset % TEXT], none = 0, number;

    number = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    if (number)
        return number;
    number = (uint16_t)__atomic_fetch_add(&functions, 1, __ATOMIC_RELAXED);
    if (number >= FUNCTIONS)
        abort();
    offset_of[number] = offset;
    if (!__atomic_compare_exchange_n(at, &none, number, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        offset_of[number] = UINT64_MAX;
        return none;
    }
    return number;
}

static struct account *get_mine(void)
{
    if (!mine) {
        mine = calloc(1, sizeof *mine);
        if (!mine)
            abort();
        do
            mine->next = __atomic_load_n(&accounts, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&accounts, &mine->next, mine, 0,
                                            __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    }
    return mine;
}

/* Closes the accounts of threads that have ended: all but this one. */
static void close_accounts(void)
{
    struct account *next;

    for (struct account *a = accounts; a; a = next) {
        next = a->next;
        if (a == mine)
            continue;
        for (unsigned i = 0; i < FUNCTIONS; i++)
            closed[i] += a->calls[i];
        free(a);
    }
    accounts = mine;
    if (mine)
        mine->next = NULL;
}

static uint64_t path_to(uint64_t from, uint64_t offset)
{
    uint64_t h = (from ^ (offset + 1)) * 0x9e3779b97f4a7c15u;

    return (h ^ h >> 29) | 1;
}

static struct path *get_path(uint64_t key)
{
    size_t i = (size_t)(key >> 20) % PATHS;
    uint64_t none;

    for (size_t n = 0; n < PATHS; n++, i = (i + 1) % PATHS) {
        none = 0;
        if (__atomic_load_n(&paths[i].key, __ATOMIC_RELAXED) == key ||
            __atomic_compare_exchange_n(&paths[i].key, &none, key, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED) ||
            none == key)
            return &paths[i];
    }
    abort();
}

/* As its code says: a jump. */
static int is_on(const void *function)
{
    return *(const volatile unsigned char *)function == 0xe9;
}

#define PUBLIC __attribute__((visibility("default")))
PUBLIC void __cyg_profile_func_enter(void *function, void *site);
PUBLIC void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
    struct account *a = get_mine();
    uint64_t offset = (uintptr_t)function - bias, *calls = &a->calls[get_number(offset)];
    uintptr_t frame = (uintptr_t)__builtin_frame_address(1);

    (void)site;
    __atomic_store_n(calls, *calls + 1, __ATOMIC_RELAXED);
    if (!with_paths || !is_on(function))
        return;
    while (a->depth && a->open[a->depth - 1].frame <= frame)
        a->depth--;
    if (a->depth == DEEP)
        abort();
    a->open[a->depth].frame = frame;
    a->open[a->depth].path = path_to(a->depth ? a->open[a->depth - 1].path : 0, offset);
    __atomic_fetch_add(&get_path(a->open[a->depth++].path)->calls, 1, __ATOMIC_RELAXED);
}

/* Whoever returns takes with it what longjmp has left. */
void __cyg_profile_func_exit(void *function, void *site)
{
    struct account *a = get_mine();
    uintptr_t frame = (uintptr_t)__builtin_frame_address(1);

    (void)function, (void)site;
    while (a->depth && a->open[a->depth - 1].frame <= frame)
        a->depth--;
}

static uint64_t calls_of(unsigned function)
{
    uint64_t sum = closed[function];

    for (struct account *a = __atomic_load_n(&accounts, __ATOMIC_ACQUIRE); a; a = a->next)
        sum += __atomic_load_n(&a->calls[function], __ATOMIC_RELAXED);
    return sum;
}

static unsigned count_functions(void)
{
    return __atomic_load_n(&functions, __ATOMIC_RELAXED);
}

static void add_calls(uint64_t *to, uint64_t sign)
{
    for (unsigned i = 1; i < count_functions(); i++)
        to[i] += sign * calls_of(i);
}

static void begin_threads(pthread_t *thread, void *(*run)(void *))
{
    __atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, run, (void *)i), 0);
}

static void end_threads(const pthread_t *thread)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_join(thread[i], NULL), 0);
    close_accounts();
}

/* ── What is recorded ─────────────────────────────────────────────────────────────── */

struct recorded {
    uint64_t path[DEEP]; /* of the contexts down to the one that is visited */
    uint64_t calls[FUNCTIONS];
    uint64_t all, contexts, unlike;
    int by_path;
};

static int add_context(const struct tt_visited *v, void *arg)
{
    struct recorded *r = arg;

    if (!CHECK(v->depth < DEEP) || !CHECK_INT(v->elsewhere, 0))
        return 1;
    r->unlike += v->sum != v->total && v->depth != 0;
    if (v->depth == 0)
        return 0;
    r->path[v->depth] = path_to(v->depth > 1 ? r->path[v->depth - 1] : 0,
                                v->block.offset);
    r->calls[get_number(v->block.offset)] += v->calls;
    if (r->by_path)
        get_path(r->path[v->depth])->recorded += v->calls;
    r->all += v->calls;
    r->contexts++;
    return 0;
}

static struct recorded *new_recorded(int by_path)
{
    struct recorded *r = calloc(1, sizeof *r);

    if (!r)
        abort();
    r->by_path = by_path;
    CHECK_INT(tt_visit(add_context, r), 0);
    return r;
}

static void check_paths(void)
{
    int wrong = 0;

    for (size_t i = 0; i < PATHS; i++)
        wrong += paths[i].calls != paths[i].recorded;
    CHECK_INT(wrong, 0);
}

/* ── All the time ─────────────────────────────────────────────────────────────────── */

#ifndef PLAIN
static uint64_t last_calls; /* of the last */

static void check_whole(const char *options, const char *only)
{
    pthread_t thread[THREADS];
    struct recorded *r;

    memset(paths, 0, sizeof paths);
    CHECK_INT(tt_start(options), 0);
    CHECK_INT(tt_functions_on(only, NULL), 0);
    with_paths = 1;
    begin_threads(thread, work_once);
    end_threads(thread);
    with_paths = 0;
    CHECK_INT(tt_functions_off(NULL), 0);
    r = new_recorded(1);
    CHECK(r->all > 5000 && r->contexts > 100);
    check_paths();
    last_calls = r->all;
    free(r);
    CHECK_INT(tt_stop(), 0);
}

TEST(each_context_has_its_calls_when_it_is_on_all_the_time)
{
    check_whole("calls,hooks=calls,recursion=none,budget=200M", NULL);
    CHECK(last_calls > 1000000);
}

TEST(and_those_of_some_functions_when_only_these_are_on)
{
    static const char *const only[] = {"*e*", "[ls]*[!t]", "*[a-m]?[a-m]*"};

    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        check_whole("calls,hooks=calls,recursion=none,budget=200M", only[i]);
}

TEST(and_when_they_are_timed)
{
    check_whole("exact,hooks=exact,recursion=none,budget=200M", NULL);
}
#endif

/* ── Now and then ─────────────────────────────────────────────────────────────────── */

static int count_toggles(void)
{
    const char *wanted = getenv("TT_TOGGLES");

    return wanted ? atoi(wanted) : 40;
}

static void rest(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    usleep((*state >> 16) % 1000);
}

/* Until some thread has done all of it, however busy the machine is. */
static void wait_for_work(void)
{
    unsigned before = __atomic_load_n(&done, __ATOMIC_RELAXED);

    while (__atomic_load_n(&done, __ATOMIC_RELAXED) - before <= THREADS)
        usleep(1000);
}

/* Certain: calls made while all was on.  Possible: while any may have been. */
struct bounds {
    uint64_t certain[FUNCTIONS], possible[FUNCTIONS], times;
};

static void toggle(struct bounds *b, unsigned *state)
{
    static const char *const only[] = {NULL, "*e*", NULL, "[ls]*[!t]"};
    const char *name = only[b->times++ % 4];

    rest(state);
    add_calls(b->possible, -UINT64_C(1));
    CHECK_INT(tt_functions_on(name, NULL), 0);
    if (!name)
        add_calls(b->certain, -UINT64_C(1));
    if (b->times == 1)
        wait_for_work();
    rest(state);
    if (!name)
        add_calls(b->certain, 1);
    CHECK_INT(tt_functions_off(NULL), 0);
    add_calls(b->possible, 1);
}

static void check_bounds(const struct bounds *b, const struct recorded *r)
{
    uint64_t less = 0, more = 0;

    for (unsigned i = 1; i < count_functions(); i++) {
        less += b->certain[i] > r->calls[i] ? b->certain[i] - r->calls[i] : 0;
        more += r->calls[i] > b->possible[i] ? r->calls[i] - b->possible[i] : 0;
    }
    /* One of each thread may have been on the way. */
    CHECK(less <= THREADS * b->times);
    CHECK(more <= THREADS * b->times);
}

static void check_round(const char *options, int is_whole, int toggles)
{
    struct bounds *b = calloc(1, sizeof *b);
    pthread_t thread[THREADS];
    struct recorded *r;
    unsigned state = 1;

    if (!CHECK(b != NULL) || !CHECK_INT(tt_start(options), 0))
        return;
    begin_threads(thread, work_on);
    for (int i = 0; i < toggles; i += 2)
        toggle(b, &state);
    end_threads(thread);
    r = new_recorded(0);
    CHECK(r->all > 1000);
    if (is_whole) /* times of activations are those of all that is below */
        CHECK_INT(r->unlike, 0);
#ifndef PLAIN
    check_bounds(b, r);
#endif
    printf("# %llu switched on and off, %llu calls in %llu contexts\n",
           (unsigned long long)b->times, (unsigned long long)r->all,
           (unsigned long long)r->contexts);
    free(r);
    free(b);
    CHECK_INT(tt_stop(), 0);
}

/* Makes that many recordings: stacks that are partly on are separate contexts. */
static void check_toggles(const char *options, int is_whole)
{
    enum { ROUND = 40 };

    for (int left = count_toggles(); left > 0; left -= ROUND)
        check_round(options, is_whole, left < ROUND ? left : ROUND);
}

TEST(all_say_the_same_and_calls_add_up_while_it_is_switched)
{
    check_toggles("calls,hooks=calls,recursion=none,budget=200M", 1);
}

TEST(and_while_it_is_timed)
{
    check_toggles("exact,hooks=exact,recursion=none,budget=200M", 1);
}

TEST(and_in_a_profile) { check_toggles("exact,hooks=exact,output=toggled", 0); }
