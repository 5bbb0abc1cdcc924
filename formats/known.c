/* SPDX-License-Identifier: MIT */
/* known.c - files that are recognized but not read: what they are, and what converts
 * them.
 *
 * Each is recognized by its first bytes and, if that is not enough, by a word within its
 * first 64 KiB. */
#include "known.h"

#include <string.h>

struct kind {
    const char *magic;
    size_t size; /* of the magic, which may have zeros */
    size_t at;   /* where it is */
    const char *word, *what;
};
#define MAGIC(text) text, sizeof(text) - 1, 0

static const struct kind kinds[] = {
    {MAGIC("\24\0\0\0!FastSerialization.1"), NULL,
     "a trace of .NET Core 2, which PerfView reads; 'dotnet-trace' records what is read"},
    {MAGIC("SLOW"), NULL,
     "a method trace of Android; record by simpleperf, whose 'report-sample "
     "--protobuf' is read"},
    {MAGIC("JAVA PROFILE 1.0"), NULL,
     "a heap dump of Java, which has no stacks; record allocations by async-profiler"},
    {MAGIC("{"), "\"elapsed_time_sec\"",
     "a profile of Scalene, which has lines but no stacks; 'scalene --viewer' shows it"},
    {MAGIC("{"), "\"root_frame\"",
     "what pyinstrument prints as JSON; 'pyinstrument -r speedscope' prints what is "
     "read"},
    {MAGIC("MOJ"), NULL,
     "a file of austin; converted by 'mojo2austin FILE OUT' to what is read"},
    {MAGIC("hdrb"), NULL, "an event log of GHC; converted by 'hs-speedscope FILE'"},
    {MAGIC("v8-version,"), NULL,
     "a log of V8, which 'node --prof-process' prints; 'node --cpu-prof' writes what is "
     "read"},
    {MAGIC("Weight\t"), "Symbol Name",
     "a copy of Instruments' table; what 'xctrace export' makes of the recording is "
     "read"},
    {MAGIC("Running Time\t"), "Symbol Name",
     "a copy of Instruments' table; what 'xctrace export' makes of the recording is "
     "read"},
    {MAGIC("{\"label\":"), "\"profile\":{",
     "a recording of Firefox's older tools; record it again by profiler.firefox.com"},
    {MAGIC("<?xml"), "<svg", "a picture; read what it was drawn of"},
    {MAGIC("<svg"), NULL, "a picture; read what it was drawn of"},
    {MAGIC("<!DOCTYPE"), NULL, "a page to look at; read what it was made of"},
    {MAGIC("<!doctype"), NULL, "a page to look at; read what it was made of"},
    {MAGIC("<html"), NULL, "a page to look at; read what it was made of"},
    {MAGIC("Flat profile:"), NULL, "what gprof prints; gmon.out itself is read"},
    {MAGIC("# To display the perf.data header info"), NULL,
     "what perf report prints; what perf script prints is read"},
    {MAGIC("# ========\n# captured on"), NULL,
     "what perf prints of a file without samples, or in another form than perf script "
     "does"},
    {MAGIC("goroutine "),
     "]:", "a dump of Go's stacks; '?debug=1' instead of 2 gives what is read"},
    {MAGIC("{\"version\":1,\"recording\":{"), NULL,
     "a timeline of Safari, which only Safari reads"},
    {MAGIC("PK\3\4"), NULL, "an archive; unpack it, and read what is in it"},
    {"ustar", 5, 257, NULL, "an archive; unpack it, and read what is in it"},
    {MAGIC("\177ELF"), NULL, "a program; 'tallytree record' runs it"},
};

const char *tt_known_kind(const char *head, size_t size)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *k = &kinds[i];
        if (size >= k->at + k->size && memcmp(head + k->at, k->magic, k->size) == 0 &&
            (!k->word || memmem(head, size, k->word, strlen(k->word))))
            return k->what;
    }
    return NULL;
}
