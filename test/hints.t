#!/bin/bash
# SPDX-License-Identifier: MIT
# Words of other profilers: what means the same is taken, and what there is not leads to what
# there is.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cd "$tmp" || exit
printf 'push main\npush parse\ntick 5\npop\npop\n' >events
tallytree replay -o rec events || exit

# ── What is taken ────────────────────────────────────────────────────────────────────
# modes ARGUMENTS... - the modes and rates of recording: the header without figures.
modes()
{
    tallytree record -o taken "$@" sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' 2>err || { cat err; return 1; }
    tallytree report header --csv taken | cut -d, -f4,5 | grep -E '^(modes|source|metric),'
}
as_perf()
{
    modes -F 99 -g >one && modes --sampled=99 >two && diff one two && grep "99 Hz" one
}
try "-F is the rate of samples, and -g does nothing" as_perf
counts() { modes -e page-faults=1 >one && modes --counter page-faults=1 >two && diff one two && grep page-faults one; }
if tallytree record --kernel -o taken true 2>err; then
    try "-e is a counter" counts
else
    skip "-e is a counter" "$(tail -n 1 err)"
fi

# ── What is said ─────────────────────────────────────────────────────────────────────
# says TEXT STATUS ARGUMENTS... - one line that has this text.
says()
{
    local text=$1 status=$2
    shift 2
    tallytree "$@" >out 2>err
    [ $? = "$status" ] && [ ! -s out ] && grep -F -- "$text" err || { cat out err; return 1; }
}
try "--freq leads to --sampled" says "--sampled=HZ" 125 record --freq=99 true
try "--call-graph leads nowhere, as stacks are there" says "stacks are always recorded" 125 record --call-graph dwarf true
try "a flag that no tool has is said to be none" says "there is no option '--nonsense'" 125 record --nonsense true
no_value()
{
    ! tallytree record 999 2>err && grep "there is no such program" err
}
try "a program that is not there is no value where no flag may have one" no_value
try "the view comes before the files" says "tallytree report flat rec" 2 report rec flat
try "and there is one of them" says "one view at a time: 'header'" 2 report header flat rec
two_files()
{
    cp rec flat && tallytree report rec flat >out && rm flat && grep "parse" out
}
try "a file may be called as a view" two_files
try "block says how its block is given" says "--block PATTERN" 2 report block rec
try "slowest says how activations are kept" says "--slowest SCOPE:K" 2 report slowest rec
try "annotate leads to lines" says "tallytree report lines" 2 report annotate rec
try "so it does as a command" says "tallytree report lines" 127 annotate rec
try "svg leads to the viewer" says "the viewer saves" 2 export --to svg rec

range_is_said()
{
    local command
    for command in export merge replay; do
        says "'--budget' cannot be '1K'; it may be 128K to 16G, or 64nodes" 2 $command --budget 1K -o x rec || return
        says "'--recursion' cannot be 'x'; there are: edge repeat:" 2 $command --recursion x -o x rec || return
    done
    says "'--log' cannot be '1'; it may be none, or 16K" 125 record --log 1 true
}
try "a value out of range leads to the range" range_is_said
try "a folder is no file to write" says "-o wants a file, and '.' is a folder" 2 export --to folded -o . rec
try "nor is no name" says "-o wants a file, and '' is no name" 2 export --to folded -o '' rec

# ── The flags of a view ──────────────────────────────────────────────────────────────
# Each flag that acts in a view is shown on its page; others are refused, and not shown.
pages()
{
    local view flag
    for view in flat graph tree callers block groups flame lines assembly source strands series timeline chart parallel \
        whatif bursts space slowest waits header; do
        tallytree report "$view" --help | grep -oE '^  (-., )?--[a-z_-]+' | grep -oE '[a-z_]+$' >shown
        tallytree --complete report "$view" -- | sed 's/^--//; s/\t.*//' >offered
        for flag in context to sequence rings file uncovered series buckets span columns thread speedup bytes \
            block sort limit depth threshold metric; do
            if tallytree report "$view" "--$flag=1" rec 2>&1 | grep -q "has no '$flag'; 'tallytree report $view --help'"; then
                ! grep -qx "$flag" shown || echo "$view: --$flag is shown and not known"
                ! grep -qx "$flag" offered || echo "$view: --$flag is completed and not known"
            else
                grep -qx "$flag" shown || echo "$view: --$flag is known and not shown"
                grep -qx "$flag" offered || echo "$view: --$flag is known and not completed"
            fi
        done
    done
}
none "the page of a view has its flags, and no others'" pages

# What a view prints is another with a flag that it takes: no flag is taken and ignored.
cat >many <<'END'
block main file=a.c line=1
block even file=a.c line=2
block odd file=a.c line=3
block leaf file=b.c line=4
strand one
push main
push even
push odd
tick 9
push even
tick 1
pop
pop
pop
push leaf
tick 12
pop
pop
strand two
push main
tick 7
pop
END
tallytree replay --recursion none -o many.rec many || exit
ignored()
{
    local view flag
    for view in flat graph tree callers groups flame lines "strands --by context"; do
        # shellcheck disable=SC2086
        tallytree report $view many.rec >plain
        for flag in --block=leaf --sort=-name --limit=1 --nodecount=1 --depth=1 --threshold=90% --metric=calls; do
            # shellcheck disable=SC2086
            if tallytree report $view $flag many.rec >with 2>err; then
                ! cmp -s plain with || echo "report $view $flag: ignored"
            else
                grep -q "has no '" err || cat err
            fi
        done
    done
}
none "no flag is ignored" ignored
try "levels of strands are those of contexts" says "add '--by context'" 2 report strands --depth 1 many.rec
try "nor is a view's flag in a layout" says "the layout 'ocr' has no 'limit'" 2 report ocr --limit 1 many.rec
try "nor a folder of source text" says "the view 'flat' has no 'source'" 2 report flat --source . many.rec
try "nor one beside what is printed once" says "the view 'header' has no 'limit'" 2 top --view header --limit 1 many.rec
try "a view in a flag and another" says "one view at a time: 'tree'" 2 report --view tree flat rec
try "a file that is replaced is named" says "add -o FILE" 2 report --force rec
finish
