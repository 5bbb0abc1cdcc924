/* SPDX-License-Identifier: MIT */
/* query-test.c - the meaning of queries and patterns, and the messages for wrong ones. */
#include <fnmatch.h>
#include <stdlib.h>

#include "apart.h"
#include "builder.h"
#include "failing.h"
#include "filter.h"
#include "finish.h"
#include "pattern.h"
#include "query.h"
#include "tap.h"
#include "view.h"
#include "views.h"

/* ── Queries ──────────────────────────────────────────────────────────────────────── */

static struct tt_query q;

static int ask(const char *text)
{
    tt_query_fini(&q);
    tt_query_init(&q, NULL);
    return tt_query_parse(&q, text);
}

static const struct tt_filter *filter(size_t i)
{
    static const struct tt_filter none = {.kind = TT_FILTERS, .pattern = "none"};

    return i < q.filter.count ? (const struct tt_filter *)q.filter.item + i : &none;
}

static int is_filter(size_t i, enum tt_filter_kind kind, const char *pattern)
{
    return CHECK_INT(filter(i)->kind, kind) & CHECK_STR(filter(i)->pattern, pattern);
}

static int refuses(const char *text, const char *error)
{
    return CHECK_INT(ask(text), -TT_ERR_OPTION) & CHECK_STR(q.error, error);
}

TEST(nothing_said_is_a_flat_view_of_everything)
{
    CHECK_INT(ask(""), 0);
    CHECK_STR(q.view, "flat");
    CHECK_STR(q.metric, NULL);
    CHECK_STR(q.block, NULL);
    CHECK_STR(q.sort, NULL);
    CHECK_INT(q.limit, TT_NONE);
    CHECK_INT(q.depth, 0);
    CHECK(q.threshold < 0);
    CHECK_INT(q.filter.count, 0);
    CHECK_INT(ask("&&"), 0);
}

TEST(each_key_is_read)
{
    CHECK_INT(ask("view=tree&metric=calls&block=parse*&sort=-self&limit=20&depth=3"
                  "&threshold=0.5%"),
              0);
    CHECK_STR(q.view, "tree");
    CHECK_STR(q.metric, "calls");
    CHECK_STR(q.block, "parse*");
    CHECK_STR(q.sort, "-self");
    CHECK_INT(q.limit, 20);
    CHECK_INT(q.depth, 3);
    CHECK(q.threshold > 0.00499 && q.threshold < 0.00501);
    CHECK_INT(ask("limit=all&depth=all&threshold=0.25"), 0);
    CHECK_INT(q.limit, 0);
    CHECK_INT(q.depth, 0);
    CHECK(q.threshold == 0.25);
    CHECK_INT(ask("nodecount=7&sample_index=ticks"), 0);
    CHECK_INT(q.limit, 7);
    CHECK_STR(q.metric, "ticks");
}

TEST(what_was_said_last_counts)
{
    CHECK_INT(ask("view=tree&limit=1&view=lines&limit=2"), 0);
    CHECK_STR(q.view, "lines");
    CHECK_INT(q.limit, 2);
}

TEST(filters_stay_in_their_order)
{
    CHECK_INT(ask("fold=a&select=b&exclude=c&root=d&prune=e&strand=f&select=a&fold=a"),
              0);
    CHECK_INT(q.filter.count, 8);
    is_filter(0, TT_FILTER_FOLD, "a");
    is_filter(1, TT_FILTER_SELECT, "b");
    is_filter(2, TT_FILTER_EXCLUDE, "c");
    is_filter(3, TT_FILTER_ROOT, "d");
    is_filter(4, TT_FILTER_PRUNE, "e");
    is_filter(5, TT_FILTER_STRAND, "f");
    is_filter(6, TT_FILTER_SELECT, "a");
    is_filter(7, TT_FILTER_FOLD, "a");
}

TEST(characters_are_written_as_in_an_address)
{
    CHECK_INT(ask("select=a+b%26c%3d%2B&fold=50%25&exclude=%e2%9F%b2"), 0);
    is_filter(0, TT_FILTER_SELECT, "a b&c=+");
    is_filter(1, TT_FILTER_FOLD, "50%");
    is_filter(2, TT_FILTER_EXCLUDE, "\xe2\x9f\xb2");
    CHECK_INT(ask("sel%65ct=a=b"), 0);
    is_filter(0, TT_FILTER_SELECT, "a=b");
    refuses("select=%4", "'%4' is no character; % is written %25");
    refuses("select=a%b&fold=b", "'%b' is no character; % is written %25");
    CHECK_INT(ask("select=a%&prune=0.5%"), 0);
    is_filter(0, TT_FILTER_SELECT, "a%");
    refuses("select=%zz", "'%zz' is no character; % is written %25");
    refuses("select=a%00b", "'%00' is no character; % is written %25");
}

TEST(pprof_words_are_regular_expressions_also_of_files)
{
    CHECK_INT(ask("focus=a|b&ignore=^c&hide=d/e&show_from=f/i"), 0);
    is_filter(0, TT_FILTER_SELECT, "/a|b/f");
    is_filter(1, TT_FILTER_EXCLUDE, "/^c/f");
    is_filter(2, TT_FILTER_FOLD, "/d/e/f");
    is_filter(3, TT_FILTER_ROOT, "/f/i/f");
    CHECK_INT(ask("nodefraction=0.005"), 0);
    is_filter(0, TT_FILTER_PRUNE, "0.005");
    CHECK(filter(0)->share == 0.005);
    CHECK_INT(ask("nodefraction=0"), 0);
    CHECK_INT(q.filter.count, 0);
    refuses("focus=", "'focus' wants a regular expression");
    refuses("nodefraction=5", "'nodefraction' wants a share such as 0.005, not '5'");
}

static void check_prune(const char *value, double share, uint64_t amount,
                        const char *metric, const char *unit)
{
    const struct tt_filter *f = filter(0);

    tt_query_fini(&q);
    tt_query_init(&q, NULL);
    CHECK_INT(tt_query_set(&q, "prune", value), 0);
    f = filter(0);
    if (!is_filter(0, TT_FILTER_PRUNE, value))
        return;
    CHECK(f->share > share - 1e-12 && f->share < share + 1e-12);
    CHECK_INT(f->amount, amount);
    CHECK_STR(f->metric, metric);
    CHECK_STR(f->unit, unit);
}

TEST(parts_are_pruned_by_share_amount_or_name)
{
    check_prune("0.5%", 0.005, 0, NULL, NULL);
    check_prune("100%", 1, 0, NULL, NULL);
    check_prune("1000", 0, 1000, NULL, NULL);
    check_prune("10ms", 0, 10000000, "time", "ns");
    check_prune("1.5us", 0, 1500, "time", "ns");
    check_prune("1.5\302\265s", 0, 1500, "time", "ns");
    check_prune("1.5\316\274s", 0, 1500, "time", "ns");
    check_prune("1.5ns", 0, 2, "time", "ns");
    check_prune("2min", 0, 120000000000, "time", "ns");
    check_prune("1h", 0, 3600000000000, "time", "ns");
    check_prune("64K", 0, 65536, NULL, "bytes");
    check_prune("1.5M", 0, 1572864, NULL, "bytes");
    check_prune("2kB", 0, 2000, NULL, "bytes");
    check_prune("calls<1000", 0, 1000, "calls", NULL);
    check_prune("calls<10%", 0.1, 0, "calls", NULL);
    check_prune("copied<1MiB", 0, 1048576, "copied", "bytes");
    check_prune("parse", 0, 0, NULL, NULL);
    check_prune("list.c:12", 0, 0, NULL, NULL);
    check_prune("vector<int>", 0, 0, NULL, NULL);
    check_prune("2d_transform", 0, 0, NULL, NULL);
    check_prune("/^1000$/", 0, 0, NULL, NULL);
    check_prune("18446744073709551615s", 0, 0, NULL, NULL);
}

TEST(nothing_is_smaller_than_nothing)
{
    CHECK_INT(ask("prune=0&prune=0%25&prune=0ms"), 0);
    CHECK_INT(q.filter.count, 0);
}

TEST(numbers_that_are_none_are_refused)
{
    refuses("limit=x", "'limit' wants a number of rows or 'all', not 'x'");
    refuses("limit=", "'limit' wants a number of rows or 'all', not ''");
    refuses("limit=1.5", "'limit' wants a number of rows or 'all', not '1.5'");
    refuses("limit=-1", "'limit' wants a number of rows or 'all', not '-1'");
    refuses("limit=4294967295",
            "'limit' wants a number of rows or 'all', not '4294967295'");
    refuses("depth=1x", "'depth' wants a number of levels or 'all', not '1x'");
    refuses("threshold=x", "'threshold' wants a share such as 0.5% or 0.005, not 'x'");
    refuses("threshold=5", "'threshold' wants a share such as 0.5% or 0.005, not '5'");
    refuses("threshold=101%25",
            "'threshold' wants a share such as 0.5% or 0.005, not '101%'");
    refuses("prune=0.5", "'prune' wants a share such as 0.5%, an amount such as 1000 or "
                         "10ms, or a pattern, not '0.5'");
    refuses("prune=150%25", "'prune' wants a share such as 0.5%, an amount such as 1000 "
                            "or 10ms, or a pattern, not '150%'");
}

TEST(a_wrong_word_names_the_right_one)
{
    refuses("slect=a", "there is no key 'slect'; did you mean 'select'?");
    refuses("exlcude=a", "there is no key 'exlcude'; did you mean 'exclude'?");
    refuses("thresh=a", "there is no key 'thresh'; did you mean 'threshold'?");
    refuses("zzzzzz=a", "there is no key 'zzzzzz'");
    refuses("=a", "there is no key ''");
    refuses("view=tere", "there is no view 'tere'; did you mean 'tree'?");
    refuses("view=caller", "there is no view 'caller'; did you mean 'callers'?");
    refuses("view=qqqqq", "there is no view 'qqqqq'");
    refuses("select=", "'select' wants a pattern");
    refuses("select", "'select' wants a pattern");
    refuses("metric=", "'metric' wants a name");
    CHECK_INT(ask("select=/(/"), -TT_ERR_OPTION);
    CHECK(strncmp(q.error, "select: '/(/' is no regular expression: ", 39) == 0);
    CHECK_INT(ask("block=/[/"), -TT_ERR_OPTION);
    CHECK(strncmp(q.error, "block: ", 7) == 0);
}

TEST(a_suggestion_is_near)
{
    static const char *const known[] = {"flat", "flame", "lines", "select", "o"};

    CHECK_STR(tt_query_suggest("falt", known, 5), "flat");
    CHECK_STR(tt_query_suggest("flam", known, 5), "flame");
    CHECK_STR(tt_query_suggest("line", known, 5), "lines");
    CHECK_STR(tt_query_suggest("selekt", known, 5), "select");
    CHECK_STR(tt_query_suggest("xyz", known, 5), NULL);
    CHECK_STR(tt_query_suggest("x", known, 5), NULL);
    CHECK_STR(tt_query_suggest("", known, 5), NULL);
    CHECK_STR(
        tt_query_suggest("selectselectselectselectselectselectselectselect", known, 5),
        NULL);
}

TEST(a_key_of_one_view_is_no_key_of_another)
{
    const struct tt_named_view *v = tt_views;
    char text[100];

    while (v->name && !v->key->name)
        v++;
    if (!CHECK(v->name != NULL))
        return;
    (void)snprintf(text, sizeof text, "%s=x&view=%s", v->key->name, v->name);
    CHECK_INT(ask(text), 0);
    CHECK_STR(tt_query_other(&q, v->key->name), "x");
    (void)snprintf(text, sizeof text, "view=header&%s=x", v->key->name);
    CHECK_INT(ask(text), -TT_ERR_OPTION);
    CHECK(strncmp(q.error, "the view 'header' has no '", 26) == 0);
    CHECK_STR(tt_query_other(&q, "nothing"), NULL);
}

/* ── No memory ────────────────────────────────────────────────────────────────────── */

TEST(a_query_without_memory_is_an_error_and_loses_none)
{
    int error = -TT_ERR_MEMORY;
    long n = 0;

    for (; error && n < 100; n++) {
        struct tt_query asked;
        failing_after = n;
        tt_query_init(&asked, &failing);
        error = tt_query_parse(&asked, "metric=calls&prune=time<10ms&select=a&fold=/b/");
        CHECK(!error || error == -TT_ERR_MEMORY);
        tt_query_fini(&asked);
        CHECK_INT(failing_pieces, 0);
    }
    CHECK(n > 8 && n < 100);
}

/* ── Patterns ─────────────────────────────────────────────────────────────────────── */

static int matches(const char *pattern, const char *text)
{
    char error[160] = "";
    struct tt_pattern *p = tt_pattern_new(pattern, error, sizeof error);
    int result = p && tt_pattern_matches(p, text);

    if (!CHECK(p != NULL))
        fprintf(stderr, "# %s\n", error);
    tt_pattern_free(p);
    return result;
}

TEST(a_name_matches_the_whole_name)
{
    CHECK(matches("parse", "parse"));
    CHECK(!matches("parse", "parser"));
    CHECK(!matches("parse", "Parse"));
    CHECK(!matches("arse", "parse"));
    CHECK(matches("operator[]", "operator[]"));
    CHECK(matches("b[0002X]", "b[0002X]"));
    CHECK(matches("f*", "f*"));
    CHECK(matches("a\\b", "a\\b"));
    CHECK(matches("/", "/"));
    CHECK(matches("//", "//"));
    CHECK(matches("/usr/lib", "/usr/lib"));
}

TEST(a_glob_matches_the_whole_name)
{
    CHECK(matches("*", ""));
    CHECK(matches("p*e", "parse"));
    CHECK(!matches("p*e", "parser"));
    CHECK(matches("p?rse", "parse"));
    CHECK(!matches("p?rse", "prse"));
    CHECK(matches("?", "\xc3\xa4"));
    CHECK(matches("?", "\xe2\x9f\xb2"));
    CHECK(matches("?", "\xf0\x9f\x8c\xb2"));
    CHECK(!matches("?", "ab"));
    CHECK(matches("?", "\xff"));
    CHECK(matches("[a-c]x", "bx"));
    CHECK(!matches("[!a-c]x", "bx"));
    CHECK(matches("[^a-c]x", "dx"));
    CHECK(matches("[]a]", "]"));
    CHECK(matches("[a-]", "-"));
    CHECK(matches("[\xc3\xa4-\xc3\xbc]", "\xc3\xb6"));
    CHECK(matches("[*", "[x"));
    CHECK(matches("operator[]*", "operator[](int)"));
    CHECK(matches("a\\*", "a*"));
    CHECK(!matches("a\\*", "ab"));
    CHECK(matches("*/*", "a/b"));
}

TEST(a_regular_expression_is_looked_for_in_the_name)
{
    CHECK(matches("/ars/", "parse"));
    CHECK(!matches("/^ars/", "parse"));
    CHECK(!matches("/PARSE/", "parse"));
    CHECK(matches("/PARSE/i", "parse"));
    CHECK(matches("/a|b/", "b"));
    CHECK(matches("/^(foo|bar)+[0-9]{2}$/", "foobar12"));
    CHECK(matches("/a/b/", "xa/bx"));
    CHECK(matches("/a/b/if", "xA/Bx"));
    CHECK(matches("/^(a|b*)?c{1,2}(x+y)*\\*$/", "bbccxyxxy*"));
    CHECK(matches("/[*+?]{3}|^x$/", "+?*"));
}

static void check_no_pattern(const char *text, const char *why)
{
    char error[160] = "";
    struct tt_pattern *p = tt_pattern_new(text, error, sizeof error);

    CHECK(!p);
    if (!CHECK(strstr(error, why)))
        fprintf(stderr, "# %s\n", error);
    tt_pattern_free(p);
}

TEST(what_is_no_pattern_is_said)
{
    char deep[300] = "/";

    for (int i = 0; i < 200; i++)
        strcat(deep, "(");
    strcat(deep, "/");
    check_no_pattern("", "empty");
    check_no_pattern("/(/", "'/(/' is no regular expression: ");
    check_no_pattern("/a{2,1}/", "'/a{2,1}/' is no regular expression: ");
    check_no_pattern("/((((a{99}){99}){99}){99})/", "it repeats too much");
    check_no_pattern("/((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+/",
                     "it repeats too much");
    check_no_pattern("/(a)\\1/", "it refers back");
    check_no_pattern("/a+?/", "there is nothing to repeat before '*', '+', '?' or '{'");
    check_no_pattern("/*a/", "there is nothing to repeat before '*', '+', '?' or '{'");
    check_no_pattern("/a|*/", "there is nothing to repeat before '*', '+', '?' or '{'");
    check_no_pattern("/(*)/", "there is nothing to repeat before '*', '+', '?' or '{'");
    check_no_pattern("/(^(^a*)*)*/", "it repeats an anchor");
    check_no_pattern("/(a|b$)+/", "it repeats an anchor");
    check_no_pattern("/a\\b*/", "it repeats an anchor");
    check_no_pattern(deep, "its brackets are too deep");
    CHECK(matches("/[(((]{20}\\([+]+/", "(((((((((((((((((((((+"));
}

TEST(ten_thousand_globs_mean_what_the_library_says)
{
    static const char *const piece[] = {"a", "b",     "*",   "?",   "[ab]", "[!a]",
                                        "*", "[a-c]", "\\*", "\\b", "*b",   "[]b]"};
    static const char letters[] = "abc*]";
    uint64_t state = 1;
    int agreed = 0, matched = 0;

    for (int i = 0; i < 10000; i++) {
        char glob[64] = "", text[16] = "";
        int expected;
        for (int n = (int)(state >> 33) % 5 + 1; n--;) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            strcat(glob, piece[(state >> 33) % (sizeof piece / sizeof *piece)]);
        }
        for (size_t n = (state >> 40) % 6, j = 0; j < n; j++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            text[j] = letters[(state >> 33) % 5];
        }
        state = state * 6364136223846793005u + 1442695040888963407u;
        expected = fnmatch(glob, text, 0) == 0 || strcmp(glob, text) == 0;
        matched += expected;
        agreed += matches(glob, text) == expected ||
                  (fprintf(stderr, "# %s %s\n", glob, text), 0);
    }
    CHECK_INT(agreed, 10000);
    CHECK(matched > 1000 && matched < 9000);
}

TEST(a_glob_of_many_stars_takes_no_time)
{
    char glob[2000] = "", text[5000];

    for (int i = 0; i < 900; i++)
        strcat(glob, "*a");
    strcat(glob, "*b");
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CHECK(!matches(glob, text));
}

/* ── Blocks and strands ───────────────────────────────────────────────────────────── */

static struct tt_profile profile;
static void *image;
static size_t image_size;

static void make_profile(void)
{
    static const struct tt_block_info blocks[] = {
        {.name = "append", .module = "libx.so", .file = "/home/u/src/list.c", .line = 12},
        {.name = "append", .file = "tree.c", .line = 7},
        {.name = "std::sort", .module = "/usr/lib/liby.so", .file = "sort.cpp"},
        {.name = "gc"},
    };
    static const struct tt_strand_info strands[] = {
        {.host = "h1",
         .process = "make",
         .pid = 10,
         .thread = 10,
         .name = "main",
         .rank = 3},
        {.host = "h2", .process = "cc1", .pid = 11, .thread = 12, .rank = TT_NONE},
    };
    struct tt_builder *b = tt_builder_new(NULL);
    uint32_t metric = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME);

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        uint32_t c = tt_builder_context(b, TT_BUILDER_ROOT,
                                        tt_builder_block(b, &blocks[i]));
        (void)tt_builder_strand(b, &strands[i % 2]);
        tt_builder_add(b, TT_ROLE_SELF, c, metric, 1);
    }
    CHECK_INT(tt_builder_finish(b, &image, &image_size), 0);
    tt_builder_free(b);
    CHECK_INT(tt_profile_open(&profile, image, image_size, NULL), 0);
}

/* Which blocks, in the profile's order (their file's first letter, or their name's). */
static const char *found(const char *pattern)
{
    static char letters[20];
    char error[160] = "", *p = letters;
    struct tt_pattern *pattern_of = tt_pattern_new(pattern, error, sizeof error);
    unsigned char *has;

    if (!profile.image)
        make_profile();
    if (!pattern_of)
        return error[0] ? "error" : NULL;
    has = tt_pattern_blocks(pattern_of, &profile);
    for (uint32_t i = 1; i < profile.blocks; i++) {
        const char *file = strrchr(tt_profile_string(&profile, profile.block[i].file),
                                   '/');
        file = file ? file + 1 : tt_profile_string(&profile, profile.block[i].file);
        if (has[i])
            *p++ = *file ? *file : *tt_block_name(&profile, i);
    }
    *p = '\0';
    free(has);
    tt_pattern_free(pattern_of);
    return letters;
}

TEST(a_block_is_found_by_its_name)
{
    CHECK_STR(found("append"), "tl");
    CHECK_STR(found("gc"), "g");
    CHECK_STR(found("*"), "tlgs");
    CHECK_STR(found("std::*"), "s");
    CHECK_STR(found("/^a/"), "tl");
    CHECK_STR(found("list"), "");
    CHECK_STR(found("list*"), "");
    CHECK_STR(found("/list/"), "");
}

TEST(a_block_is_found_with_its_file_or_module)
{
    CHECK_STR(found("list.c:append"), "l");
    CHECK_STR(found("src/list.c:append"), "l");
    CHECK_STR(found("/home/u/src/list.c:append"), "l");
    CHECK_STR(found("ist.c:append"), "");
    CHECK_STR(found("list.c:12"), "l");
    CHECK_STR(found("list.c:1"), "");
    CHECK_STR(found("append:7"), "t");
    CHECK_STR(found("libx.so:append"), "l");
    CHECK_STR(found("libx.so:*"), "l");
    CHECK_STR(found("liby.so:std::sort"), "s");
    CHECK_STR(found("/^list.c:/"), "l");
    CHECK_STR(found("/\\.c:append$/"), "tl");
    CHECK_STR(found("/[[:digit:]]/"), "");
    CHECK_STR(found("gc:0"), "");
    CHECK_STR(found(":gc"), "");
}

TEST(a_regular_expression_with_f_looks_into_files_and_modules)
{
    CHECK_STR(found("/list/f"), "l");
    CHECK_STR(found("/LIST/fi"), "l");
    CHECK_STR(found("/lib/f"), "ls");
    CHECK_STR(found("/gc/f"), "g");
}

static uint32_t blocks_of_name(const struct tt_profile *p, const char *name)
{
    uint32_t count = 0;

    for (uint32_t i = 1; i < p->blocks; i++)
        count += strcmp(tt_block_name(p, i), name) == 0;
    return count;
}

static uint32_t pick(uint64_t *seed, uint32_t of)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % of;
}

/* A profile of blocks that mostly share their names with others. */
static void *make_namesakes(uint64_t seed, size_t *size)
{
    static const char *const names[] = {"go", "a|b", "a\\|line=1", "op[]",
                                        "f*", "/x/", "="};
    static const char *const modules[] = {"", "m", "n", "o"};
    static const char *const files[] = {"", "a.c", "b.c"};
    struct tt_builder *b = tt_builder_new(NULL);
    const uint32_t metric = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME),
                   count = 1 + pick(&seed, 60), few = 1 + pick(&seed, 3);
    void *made = NULL;

    for (uint32_t i = 0; i < count; i++) {
        const struct tt_block_info info = {.name = names[pick(&seed, 7)],
                                           .module = modules[pick(&seed, few + 1)],
                                           .file = files[pick(&seed, few)],
                                           .line = 10 + pick(&seed, few),
                                           .column = 20 + pick(&seed, few),
                                           .offset = 30 + pick(&seed, 2),
                                           .length = 40 + pick(&seed, few),
                                           .kind = (enum tt_kind)pick(&seed, few)};
        tt_builder_add(b, TT_ROLE_SELF,
                       tt_builder_context(b, TT_BUILDER_ROOT, tt_builder_block(b, &info)),
                       metric, 1);
    }
    CHECK_INT(tt_builder_finish(b, &made, size), 0);
    tt_builder_free(b);
    return made;
}

/* Does the distinguishing text match no other block of that name? */
static void check_apart(const struct tt_profile *p, const struct tt_profile *whole,
                        uint32_t b)
{
    const char *name = tt_block_name(p, b);
    char mine[400], other[400];

    if (!tt_block_apart(p, b, mine, sizeof mine)) {
        /* the one that lacks all that the others have */
        CHECK(blocks_of_name(whole, name) == 1 || !p->block[b].module);
        return;
    }
    CHECK(blocks_of_name(whole, name) > 1);
    for (uint32_t i = 1; i < whole->blocks; i++) {
        (void)tt_block_apart(whole, i, other, sizeof other);
        if (strcmp(tt_block_name(whole, i), name) == 0)
            CHECK((tt_block_compare(p, b, whole, i) == 0) == (strcmp(mine, other) == 0));
    }
}

TEST(what_tells_namesakes_apart_is_of_one_block_whatever_filters_leave)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct tt_profile whole = {0};
        struct tt_filtered left;
        size_t size;
        void *made = make_namesakes(seed, &size);
        CHECK_INT(tt_profile_open(&whole, made, size, NULL), 0);
        for (uint32_t b = 1; b < whole.blocks; b++)
            check_apart(&whole, &whole, b);
        CHECK_INT(ask("exclude=m:*&select=/[a-g]/"), 0);
        CHECK_INT(tt_filter_apply(&whole, &q, &left), 0);
        for (uint32_t b = 1; b < left.profile->blocks; b++)
            check_apart(left.profile, &whole, b);
        tt_filter_close(&left, NULL);
        tt_profile_close(&whole);
        tt_memory_put(NULL, made);
    }
}

static int finds_strand(const char *pattern)
{
    char error[160];
    struct tt_pattern *p = tt_pattern_new(pattern, error, sizeof error);
    int found_in = 0;

    if (!profile.image)
        make_profile();
    for (uint32_t i = 0; p && i < profile.strands; i++)
        if (tt_pattern_matches_strand(p, &profile, i))
            found_in |= strcmp(tt_profile_string(&profile, profile.strand[i].host), "h1")
                            ? 2
                            : 1;
    tt_pattern_free(p);
    return found_in;
}

TEST(a_strand_is_found_by_whose_it_is)
{
    CHECK_INT(finds_strand("main"), 1);
    CHECK_INT(finds_strand("h2"), 2);
    CHECK_INT(finds_strand("h?"), 3);
    CHECK_INT(finds_strand("make"), 1);
    CHECK_INT(finds_strand("process:make"), 1);
    CHECK_INT(finds_strand("name:make"), 0);
    CHECK_INT(finds_strand("pid:11"), 2);
    CHECK_INT(finds_strand("thread:1?"), 3);
    CHECK_INT(finds_strand("rank:3"), 1);
    CHECK_INT(finds_strand("rank:*"), 1);
    CHECK_INT(finds_strand("/^rank:[0-2]$/"), 0);
    CHECK_INT(finds_strand("10"), 0);
    CHECK_INT(finds_strand("/./"), 3);
}
