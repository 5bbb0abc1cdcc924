/* SPDX-License-Identifier: MIT */
/* hints.c - words from other profilers, and the way to the same thing here. */
#include "hints.h"

#include <stddef.h>
#include <string.h>

static const struct hint {
    const char *where, *word, *text;
} hints[] = {
    {"record", "-c", "--counter NAME=PERIOD takes a sample of each PERIOD events"},
    {"record", "--count", "--counter NAME=PERIOD takes a sample of each PERIOD events"},
    {"record", "--event", "--counter NAME counts what the system counts"},
    {"record", "--freq", "--sampled=HZ is the rate of samples"},
    {"record", "--frequency", "--sampled=HZ is the rate of samples"},
    {"record", "--rate", "--sampled=HZ is the rate of samples"},
    {"record", "--call-graph", "stacks are always recorded, without frame pointers"},
    {"record", "--stacks-size", "--stack-size BYTES is how much of a stack is copied"},
    {"record", "--off-cpu", "--wall records what threads wait for"},
    {"record", "--offcpu", "--wall records what threads wait for"},
    {"record", "-t",
     "-p PID records all threads of a process; report --strand shows one"},
    {"record", "--tid",
     "-p PID records all threads of a process; report --strand shows one"},
    {"report", "-i", "files are named without a flag: tallytree report flat FILE"},
    {"report", "--input", "files are named without a flag: tallytree report flat FILE"},
    {"report", "--stdio", "reports are text; tallytree view is for a browser"},
    {"report", "-g", "the view 'tree' has callers above callees, 'callers' the reverse"},
    {"report", "--no-children", "--sort self sorts by what functions take themselves"},
    {"report", "--children",
     "--sort inclusive sorts by what functions take with all below"},
    {"report", "--top", "--limit N shows the first N rows"},
    {"view or file", "annotate",
     "'tallytree report lines FILE' shows lines, 'tallytree view FILE' beside their "
     "source"},
    {"view or file", "script",
     "'tallytree dump FILE' shows all of a recording, 'tallytree export --to folded' "
     "stacks"},
    {"view or file", "lua", "'tallytree lua' records a script"},
    {"view or file", "callees", "'graph' has the callees of each block"},
    {"view or file", "functions", "'flat' has all functions"},
    {"view or file", "top", "'flat' has the most expensive functions first"},
    {"view or file", "peek", "'block' shows one block: --block PATTERN"},
    {"view or file", "threads", "'strands' has threads and processes"},
    {"view or file", "heap",
     "'space' has what is allocated, 'series' how it went over time"},
    {"view or file", "memory",
     "'space' has what is allocated, 'series' how it went over time"},
    {"view or file", "source",
     "'lines' has files and lines, the viewer's Source page more"},
    {"command or program", "annotate",
     "'tallytree report lines FILE' shows lines, 'tallytree view FILE' beside their "
     "source"},
    {"command or program", "list", "'tallytree record --help' has what can be recorded"},
    {"command or program", "stat",
     "'tallytree record --counter NAME' counts what the system counts"},
    {"format", "svg",
     "the viewer saves its flame graph as SVG; 'html' is a page with it"},
    {"format", "png",
     "the viewer saves its flame graph as a picture; 'html' is a page with it"},
    {"format", "pdf", "'html' is a page that a browser prints"},
    {"format", "flamegraph", "'folded' is what flamegraph.pl reads"},
    {"format", "perf", "'folded' and 'pprof' are what tools around perf read"},
    {"format", "collapsed", "'folded' is the same"},
    {"format", "firefox-profiler", "'firefox' is the same"},
    {"format", "kcachegrind", "'callgrind' is what KCachegrind reads"},
    {"format", "perfetto", "'chrome' is what Perfetto reads"},
};

const char *tt_hint_find(const char *where, const char *word)
{
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (strcmp(hints[i].where, where) == 0 && strlen(hints[i].word) == length &&
            strncmp(hints[i].word, word, length) == 0)
            return hints[i].text;
    return NULL;
}
