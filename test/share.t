#!/bin/bash
# SPDX-License-Identifier: MIT
# share.t - programs and plug-ins with separate copies of the runtime forward calls to the copy
# that records: the recording is the same as with one copy.
. test/tap.sh
tallytree=$TT_BUILD/tallytree

cat >"$tmp/program.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <tallytree.h>
#include <unistd.h>

static tt_block visited, alone, deep;
static tt_type thing;

static void *thread(void *arg)
{
    tt_thread_name("helper");
    for (int i = 0; i < 30; i++) {
        TT_SCOPE("of a thread");
        TT_ADD("things", 2);
    }
    return arg;
}

static void recurse(int n)
{
    TT_FUNCTION();
    if (n)
        recurse(n - 1);
}

static void pushes(void)
{
    tt_mark mark, outer = tt_push(visited);
    tt_context c = tt_context_capture(), kept;
    tt_fiber *f = tt_fiber_new(), *back;

    for (int i = 0; i < 10; i++) {
        mark = tt_push(deep);
        tt_replace(alone);
        tt_add(tt_metric_get("sheep", "head"), 3);
        tt_pop(mark);
    }
    mark = tt_mark_get();
    (void)tt_push(deep);
    (void)tt_push(deep);
    tt_unwind(mark);
    tt_pop(outer);
    mark = tt_context_enter(c);
    kept = tt_alloc(thing, 100, 16);
    (void)tt_alloc_at(kept, thing, 50, 0);
    tt_free(kept, thing, 100, 16, 0);
    (void)tt_object_new(7, thing, 24, 8);
    (void)tt_object_picked(8, thing, 24 * tt_object_weight(24), 8);
    tt_object_free(8);
    tt_object_use(7);
    tt_gc_begin(0);
    tt_object_survive(7, 9, 1);
    tt_retained(tt_retainers_with(0, deep), 24);
    tt_gc_end();
    tt_object_free(9);
    tt_pop(mark);
    back = tt_fiber_switch(f);
    (void)tt_push(alone);
    tt_fiber_switch(back);
    tt_fiber_free(f);
    mark = tt_push_as(alone, TT_CALL_STRICT);
    tt_pop(mark);
    tt_profiler_begin();
    tt_profiler_end();
    if (tt_context_block(c) != visited || tt_context_parent(c) == c)
        abort();
}

static int count_visited(const struct tt_visited *v, void *arg)
{
    (void)v;
    ++*(int *)arg;
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t t;
    int contexts = 0;

    visited = tt_block_get("visited", __FILE__, 0, 0);
    alone = tt_block_get("alone", NULL, 0, 0);
    deep = tt_block_get("deep", NULL, 0, 0);
    thing = tt_type_get("thing");
    if (tt_start("output=/nowhere/at/all") != 0) /* the command's options win */
        return 2;
    {
        TT_SCOPE_NAMED(argv[0][0] ? "named" : "");
        TT_BEGIN(hand, "by hand");
        for (int i = 0; i < 1000; i++) {
            TT_SCOPE("hot");
            recurse(3);
        }
        TT_END(hand);
    }
    pushes();
    if (pthread_create(&t, NULL, thread, NULL) != 0 || pthread_join(t, NULL) != 0)
        return 3;
    if (fork() == 0) {
        TT_SCOPE("child");
        recurse(1);
        _exit(0);
    }
    wait(NULL);
    for (int i = 1; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*work)(void);
        if (!plugin)
            return 4;
        *(void **)&work = dlsym(plugin, "work");
        if (work() != 5 || dlclose(plugin) != 0)
            return 5;
    }
    if (tt_pause() != 0)
        return 6;
    recurse(2);
    if (tt_resume() != 0 || tt_visit(count_visited, &contexts) != 0 || contexts < 10)
        return 7;
    if (tt_stop() != 0)
        return 8;
    TT_SCOPE("after the program's own stop");
    return 9;
}
END
cat >"$tmp/plugin.c" <<'END'
#include <tallytree.h>
int work(void);
int work(void)
{
    int n = 0;
    while (n < 5) {
        TT_SCOPE("plug-in");
        n++;
    }
    return n;
}
END
flags=(-O2 -Iinclude -pthread)
linked=(-L"$TT_BUILD" -ltallytree "-Wl,-rpath,$TT_BUILD")
tools/amalgamate "$tmp" &&
    cc "${flags[@]}" "$tmp/program.c" -o "$tmp/one" "${linked[@]}" &&
    cc "${flags[@]}" "$tmp/program.c" -o "$tmp/archive" "$TT_BUILD/libtallytree.a" &&
    cc "${flags[@]}" "$tmp/program.c" -o "$tmp/shown" "$TT_BUILD/libtallytree.a" -rdynamic &&
    cc -O1 -fPIC -pthread -c "$tmp/tallytree.c" -o "$tmp/tallytree.o" &&
    cc "${flags[@]}" "$tmp/program.c" "$tmp/tallytree.o" -o "$tmp/source" &&
    cc "${flags[@]}" -shared -fPIC "$tmp/plugin.c" -o "$tmp/plugin.so" "${linked[@]}" &&
    cc "${flags[@]}" -shared -fPIC "$tmp/plugin.c" "$tmp/tallytree.o" -o "$tmp/plugin-source.so" || exit

# figures PROGRAM ARGS... - of its recording: what was counted, where, and in which process.
figures()
{
    "$tallytree" record "${how[@]}" -o "$tmp/tt" "$@" 2>"$tmp/err"
    echo "status $?"
    grep -o '[0-9]* process[es]*' "$tmp/err"
    for metric in calls things sheep; do
        "$tallytree" report tree --metric $metric --limit all --threshold 0 --csv "$tmp/tt" 2>&1 |
            awk -F, -v m=$metric 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                $1 == "entry" && $at["self"] > 0 { print m, $2, $at["self"], $at["name"] }'
    done
    "$tallytree" report space --limit all --csv "$tmp/tt" 2>&1 |
        sed -n '/,visited,/{s/,0[.][0-9]*,visited,/,visited,/; s/,[0-9]*,\([0-9a-f]\{16\}\),/,\1,/p}' # but for the share, and the block's number
}

same_as_one()
{
    figures "$tmp/one" "$tmp/plugin.so" >"$tmp/wanted"
    grep -q "calls .*recurse" "$tmp/wanted" && grep -q "things .*60 of a thread" "$tmp/wanted" &&
        grep -q "status 9" "$tmp/wanted" || { cat "$tmp/wanted" "$tmp/err"; return 1; }
    figures "$@" >"$tmp/got"
    diff "$tmp/wanted" "$tmp/got" || { cat "$tmp/err"; return 1; }
}

for mode in calls exact; do
    how=("--$mode")
    for program in archive shown source; do
        for plugin in plugin plugin-source; do
            try "$mode: $program with $plugin" same_as_one "$tmp/$program" "$tmp/$plugin.so"
        done
    done
done
how=(--exact --heap)
try "before the allocator too" same_as_one "$tmp/archive" "$tmp/plugin-source.so"

# If none is recording, a copy works alone, and cannot write to the path of this program.
on_its_own()
{
    "$tmp/archive" "$tmp/plugin-source.so"
    [ $? = 2 ]
}
try "alone it decides itself" on_its_own
finish
