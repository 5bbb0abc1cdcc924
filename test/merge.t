#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree merge`: many recordings are one profile, whatever their order and number.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree
dir=$tmp

# record NUMBER - a recording of a separate strand, NUMBER ticks in a;b.
record()
{
    "$tallytree" replay -o "$dir/$1.rec" <<END
strand s$1
push a
tick 1
push b
tick $1
pop
pop
END
}

for i in 1 2 3 4 5; do record $i; done
"$tallytree" merge -o "$dir/all.tt" "$dir"/{1,2,3,4,5}.rec
try "recordings become a profile" test -s "$dir/all.tt"
"$tallytree" merge -o "$dir/other.tt" "$dir"/{4,1,5,3,2}.rec
try "their order does not matter" cmp "$dir/all.tt" "$dir/other.tt"
"$tallytree" merge -o "$dir/left.tt" "$dir"/{1,2}.rec
"$tallytree" merge -o "$dir/right.tt" "$dir"/{3,4,5}.rec
"$tallytree" merge -o "$dir/both.tt" "$dir"/{right,left}.tt
try "profiles merge as their recordings do" cmp "$dir/all.tt" "$dir/both.tt"
mkdir "$dir/folder" && mv "$dir"/?.rec "$dir/folder"
"$tallytree" merge -o "$dir/other.tt" "$dir/folder"
try "a folder is the recordings in it" cmp "$dir/all.tt" "$dir/other.tt"

# Thousands of inputs, of fifty strands, in the memory of a few.
inputs=$(for_long 2000 10000)
mkdir "$dir/many"
for i in $(seq 50); do
    record "$i" && "$tallytree" merge -o "$dir/$i.tt" "$dir/$i.rec" && rm "$dir/$i.rec"
done
perl -e 'symlink "../" . ($_ % 50 + 1) . ".tt", "$ARGV[0]/$_" or die "$!" for 1 .. $ARGV[1]' "$dir/many" "$inputs"
merge_many() { (ulimit -v 100000; "$tallytree" merge "$@" -o "$dir/many.tt" "$dir/many"); }
try "thousands of profiles merge in 100 MB" merge_many
equal "and all their ticks are there" "$("$tallytree" report flat --csv --metric ticks "$dir/many.tt" | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "self") self = i; next } $1 == "entry" { sum += $self } END { print sum }')" $((inputs * (50 + 50 * 51 / 2) / 50))

# In any number of jobs, in any order: the bytes of one process.
in_jobs() # NAME FLAGS... - of shuffled files
{
    local name=$1 jobs
    shift
    "$tallytree" merge -o "$dir/$name.one" "$dir"/[0-9]*.tt "$@" || return
    for jobs in 2 3 7; do
        find "$dir" -maxdepth 1 -name '[0-9]*.tt' | shuf | xargs "$tallytree" merge --jobs $jobs -o "$dir/$name.some" "$@" &&
            cmp "$dir/$name.one" "$dir/$name.some" || return
    done
}
try "any number of jobs in any order makes the same bytes" in_jobs plain
try "so it does with --summary, of equal figures too" in_jobs summary --summary
# Two recordings of one strand, and one of another with the same figures.
for i in 1 2 3; do printf 'strand %s\npush a\ntick 5\npop\n' $((i / 2)) | "$tallytree" replay -o "$dir/same$i.rec"; done
of_equals() # FILE... - merged by two jobs, and by one
{
    "$tallytree" merge --summary -o "$dir/one" "$@" && "$tallytree" merge --summary -j 2 -o "$dir/two" "$@" && cmp "$dir/one" "$dir/two"
}
for order in "1 2 3" "2 3 1" "3 1 2"; do
    # shellcheck disable=SC2086
    set -- $order
    try "and where files have a strand in common: $order" of_equals "$dir/same$1.rec" "$dir/same$2.rec" "$dir/same$3.rec"
    [ "$order" = "1 2 3" ] && mv "$dir/one" "$dir/first"
    [ "$order" = "1 2 3" ] || try "in any order: $order" cmp "$dir/first" "$dir/one"
done
equal "a wrong number of jobs is refused" "$("$tallytree" merge -j 0 -o "$dir/no.tt" "$dir/1.tt" 2>&1)" \
    "tallytree: merge: '--jobs' wants a number of processes from 1 to 256, not '0'"

touch "$dir/empty"
echo "not a recording" >"$dir/text"
for bad in empty text missing; do
    equal "merging what is no recording fails: $bad" "$("$tallytree" merge -o "$dir/no.tt" "$dir/folder/1.rec" "$dir/$bad" 2>/dev/null; echo $?)" 2
    try "and leaves no output: $bad" test ! -e "$dir/no.tt"
done
for bad in empty text missing; do
    equal "several jobs say what one does: $bad" "$("$tallytree" merge -j 2 -o "$dir/no.tt" "$dir/folder/1.rec" "$dir/$bad" 2>&1; echo $?)" \
        "$("$tallytree" merge -o "$dir/no.tt" "$dir/folder/1.rec" "$dir/$bad" 2>&1; echo $?)"
done
message=$("$tallytree" merge -o "$dir/no.tt" "$dir/text" 2>&1)
try "the message names the file" grep -q "$dir/text" <(echo "$message")
cp "$dir/all.tt" "$dir/kept.tt"
"$tallytree" merge -o "$dir/kept.tt" "$dir/text" 2>/dev/null
try "a failure leaves an old output as it was" cmp "$dir/all.tt" "$dir/kept.tt"
head -c 1000 "$dir/all.tt" >"$dir/cut.tt"
equal "a cut profile is refused" "$("$tallytree" merge -o "$dir/no.tt" "$dir/cut.tt" 2>/dev/null; echo $?)" 2

# A folder is what processes left: one that was killed at birth, or a file that was cut, takes
# nothing from the others.
mkdir "$dir/left"
cp "$dir"/folder/?.rec "$dir/left"
: >"$dir/left/empty.77"
head -c 8192 /dev/zero >"$dir/left/begun.78"
head -c 100 "$dir/folder/1.rec" >"$dir/left/cut.79"
echo "a 1 b" >"$dir/left/text"
mkfifo "$dir/left/pipe"
timeout 500 "$tallytree" merge -o "$dir/left.tt" "$dir/left" 2>"$dir/said"
equal "a folder is merged without what cannot be read in it" "$?" 0
figures() { "$tallytree" report tree --limit all --threshold 0 --csv "$1"; }
equal "and all else is there" "$(figures "$dir/left.tt")" "$(figures "$dir/all.tt")"
try "the header says so" sh -c "'$tallytree' report flat '$dir/left.tt' | grep -q '^missing .*2 of .* recordings have nothing in them'"
for bad in cut.79 text pipe; do
    try "and names $bad" sh -c "'$tallytree' report header --csv '$dir/left.tt' | grep -q 'missing.*$bad\|$bad.*missing'"
    try "as the terminal has it: $bad" grep -q "^tallytree: $dir/left: $bad: " "$dir/said"
done
cp "$dir/said" "$dir/said.one"
timeout 500 "$tallytree" merge --jobs 3 -o "$dir/left.jobs" "$dir/left" 2>"$dir/said"
try "several jobs say the same of it" cmp "$dir/said.one" "$dir/said"
try "and make the same of it" cmp "$dir/left.tt" "$dir/left.jobs"
rm "$dir"/left/?.rec
equal "a folder of nothing else is an error" "$(timeout 500 "$tallytree" merge -o "$dir/no.tt" "$dir/left" 2>/dev/null; echo $?)" 2

# complains_below - of three files the second is slow, and the third is not there: the bar is
# drawn in between, on a terminal.
complains_below()
{
    mkfifo "$dir/slow" && { sleep 0.7; echo "a 1"; } >"$dir/slow" &
    patiently test -p "$dir/slow" &&
        script -qec "'$tallytree' merge -o '$dir/no.tt' '$dir/all.tt' '$dir/slow' '$dir/missing'" /dev/null >"$dir/shown"
    wait
    cat -v "$dir/shown"
    grep -q '###.* %' "$dir/shown" && grep -q "$(printf '\r\033\\[K')tallytree: .*missing" "$dir/shown" &&
        [ "$(grep -c '' "$dir/shown")" = 1 ]
}
try "what is wrong stands where the bar stood, and no bar behind it" complains_below

# Each file is whole, and together they are more than 64 bits hold.
echo 'a;b 9223372036854775808' >"$dir/half"
echo 'a;c 9223372036854775807' >"$dir/less"
"$tallytree" merge -o "$dir/half.tt" "$dir/half" && "$tallytree" merge -o "$dir/less.tt" "$dir/less"
too_much() # FILE COMMAND...
{
    "$tallytree" "${@:2}" >"$dir/said" 2>&1
    [ $? = 2 ] && [ "$(cat "$dir/said")" = "tallytree: $dir/$1: with this file the figures add up to more than 64 bits hold" ]
}
sum() { "$tallytree" report flat --csv --limit all "$@" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "inclusive") c = i; next } $1 == "total" { print $c }'; }
equal "figures of two files may fill 64 bits" "$(sum "$dir/half" "$dir/less") $(sum "$dir/less.tt" "$dir/half.tt")" "18446744073709551615 18446744073709551615"
try "more is refused, and the file is named" too_much less report "$dir/half" "$dir/less" "$dir/less"
try "so it is of profiles" too_much half.tt merge -o "$dir/no.tt" "$dir/less.tt" "$dir/half.tt" "$dir/half.tt"
try "with the strands added up" too_much half.tt merge --summary -o "$dir/no.tt" "$dir/half.tt" "$dir/half.tt"
try "by several jobs it is, too" too_much half.tt merge -j 2 -o "$dir/no.tt" "$dir/less.tt" "$dir/half.tt" "$dir/half.tt"
each_job_has_one() { for _ in {1..10}; do too_much half.tt merge -j 2 -o "$dir/no.tt" "$dir/half.tt" "$dir/half.tt" || return; done; }
try "once, if what each of them has read fits" each_job_has_one
try "and there is no output" test ! -e "$dir/no.tt"
printf '%s\n' 'desc: x' 'cmd: x' 'time_unit: ms' snapshot=0 time=1 mem_heap_B=18446744073709551615 \
    mem_heap_extra_B=7 mem_stacks_B=1 heap_tree=empty >"$dir/massif"
equal "a point of a series is what 64 bits hold at the most" \
    "$("$tallytree" report series --series memory --csv --limit all "$dir/massif" "$dir/massif" | awk -F, '$1 == "entry" { print $5 }' | tr '\n' ' ')" \
    "18446744073709551615 14 2 "

# A profile of 50,000 contexts with their activations has 9 MB of figures by strand; as that of twelve
# processes it is too much.
wide()
{
    awk 'BEGIN { for (i = 0; i < 500; i++) { print "push f" i; for (k = 0; k < 100; k++) print "push g" k "\ntick 5000000\npop"; print "pop" } }' |
        "$tallytree" replay -o "$dir/wide.rec" && "$tallytree" merge -o "$dir/wide.tt" "$dir/wide.rec" && mkdir "$dir/wide" &&
        python3 - "$dir" "$("$tallytree" report strands --csv "$dir/wide.tt" | awk -F, '$1 == "entry" { print $11 }')" <<'END'
import struct, sys
data, pid = open(sys.argv[1] + '/wide.tt', 'rb').read(), int(sys.argv[2])
def row(pid): return struct.pack('<QQ', pid, pid) # of the process, and of its thread
assert data.count(row(pid)) == 1
for i in range(12):
    open(f'{sys.argv[1]}/wide/{i:02}.tt', 'wb').write(data.replace(row(pid), row(3000000 + i)))
END
}
too_wide()
{
    wide && "$tallytree" merge -o "$dir/wide.tt" "$dir/wide" && "$tallytree" merge --summary -o "$dir/other.tt" "$dir/wide" &&
        cmp "$dir/wide.tt" "$dir/other.tt"
}
try "more than 100 MB of figures by strand are summed up" too_wide
# 11 strands have 93 MB.  With a file again there are more bytes than 100 MB, which add up to
# 93 MB; they are added up again only after 25 MB more.
is_summary()
{
    "$tallytree" merge --force -o "$dir/wide.tt" "$dir/wide" && "$tallytree" merge --summary --force -o "$dir/other.tt" "$dir/wide" &&
        if cmp -s "$dir/wide.tt" "$dir/other.tt"; then echo yes; else echo no; fi
}
ln "$dir/wide/00.tt" "$dir/wide/10-again.tt"
equal "too much by the last file is noticed at the end" "$(is_summary)" yes
rm "$dir/wide/11.tt"
equal "one strand in two files has its figures once" "$(is_summary)" no
rm "$dir"/wide/0[0-4].tt "$dir/wide/10-again.tt"
not_too_wide()
{
    "$tallytree" merge -o "$dir/wide.tt" "$dir/wide" && "$tallytree" report strands --csv "$dir/wide.tt" | grep -c '^entry.*,main,'
}
equal "less is kept for each strand" "$(not_too_wide)" 6
rm -r "$dir/wide" "$dir/wide.tt"
"$tallytree" merge -o - "$dir/all.tt" >"$dir/other.tt"
try "- is standard output" cmp "$dir/all.tt" "$dir/other.tt"
"$tallytree" merge -o "$dir/closed.tt" "$dir/all.tt" >&-
try "a file is one where standard output is closed too" cmp "$dir/all.tt" "$dir/closed.tt"
equal "no file is left beside the output" "$(find "$dir" -name '*.tt.*')" ""
# ── By ranks ─────────────────────────────────────────────────────────────────────────
# What a launcher of MPI says in the environment is all that makes a rank; mpi.t has a real one.
# ranks N ARGS... - merges by so many; their statuses are in $status, what they say in $dir/said.
ranks()
{
    local size=$1 rank pids=() pid
    shift
    for ((rank = 0; rank < size; rank++)); do
        PMI_RANK=$rank PMI_SIZE=$size timeout -k 5 500 "$tallytree" merge "$@" >"$dir/out.$rank" 2>"$dir/err.$rank" &
        pids+=($!)
    done
    status=
    for pid in "${pids[@]}"; do
        wait "$pid"
        status+=$?
    done
    cat "$dir"/out.* "$dir"/err.* >"$dir/said"
    rm "$dir"/out.* "$dir"/err.*
}
# same_by_ranks "N..." ARGS... - the bytes of one process, and its words, by so many ranks
same_by_ranks()
{
    local size sizes=$1
    shift
    "$tallytree" merge -o "$dir/one.tt" "$@" 2>"$dir/said.one" || return
    for size in $sizes; do
        ranks "$size" -o "$dir/some.tt" "$@"
        [[ $status =~ ^0+$ ]] && cmp "$dir/one.tt" "$dir/some.tt" && diff "$dir/said.one" "$dir/said" || return
        rm "$dir/some.tt"
    done
}
leaves_nothing() { [ ! -e "$dir/no.tt" ] && [ -z "$(find "$dir" -name '.*.ranks')" ]; }
# fails_once TEXT FILE... - of three ranks one says what is wrong, and nothing is left.
fails_once()
{
    ranks 3 -o "$dir/no.tt" "${@:2}"
    cat "$dir/said"
    [ "$status" = 222 ] && [ "$(wc -l <"$dir/said")" = 1 ] && grep -qE "$1" "$dir/said" && leaves_nothing
}
try "any number of ranks makes the same bytes" same_by_ranks "1 2 3 5 8" "$dir/folder"
try "so they do of fewer files than ranks, and of profiles" same_by_ranks 5 "$dir/left.tt" "$dir/folder/1.rec"
try "so they do with --summary" same_by_ranks "2 5" --summary "$dir/folder" "$dir/all.tt"
try "and where files have a strand in common" same_by_ranks "2 3" --summary "$dir"/same?.rec
try "and where all files are of one strand" same_by_ranks 2 --summary "$dir/same2.rec" "$dir/same3.rec"
cp "$dir"/folder/?.rec "$dir/left"
for i in 1 2 3 4 5 6 7 8; do echo "not a recording" >"$dir/left/wrong.$i"; done
try "files that are left out are named as one process does it" same_by_ranks "3 5" "$dir/left"
# Each file has fewer strands than are kept apart, and two have more.
for i in 1 2; do
    for k in $(seq 2100); do printf 'strand s%d.%d\npush a\ntick %d\npop\n' $i "$k" "$k"; done | "$tallytree" replay --budget 64M -o "$dir/many$i.rec"
done
try "too many strands are summed up by all ranks" same_by_ranks 2 "$dir"/many?.rec "$dir/folder"
"$tallytree" merge --summary -o "$dir/other.tt" "$dir"/many?.rec "$dir/folder"
try "which they are" cmp "$dir/one.tt" "$dir/other.tt"
pipe()
{
    ranks 3 -o "$dir/some.tt" <(echo "a;b 7")
    [ "$status" = 000 ] && "$tallytree" export --to folded "$dir/some.tt" | grep -qx "a;b 7"
}
try "a pipe is read by rank 0" pipe
try "a file that one of them cannot read is told of once" fails_once "^tallytree: rank [12]: $dir/text: " "$dir/folder/1.rec" "$dir/folder/2.rec" "$dir/text"
try "so is one that is not there" fails_once "^tallytree: .*missing: No such file" "$dir/folder" "$dir/missing"
try "so is more than 64 bits hold" fails_once "^tallytree: $dir/half.tt: with this file the figures add up to more than 64 bits hold" "$dir/less.tt" "$dir/half.tt" "$dir/half.tt"
other_files() # - on one of two machines
{
    mkdir "$dir/here" "$dir/there"
    cp "$dir/folder/1.rec" "$dir/here"
    cp "$dir"/folder/[12].rec "$dir/there"
    (cd "$dir/here" && PMI_RANK=0 PMI_SIZE=2 exec "$tallytree" merge -o "$dir/no.tt" . 2>"$dir/said") & local first=$!
    (cd "$dir/there" && PMI_RANK=1 PMI_SIZE=2 exec "$tallytree" merge -o "$dir/no.tt" . 2>"$dir/said.one")
    [ $? = 2 ] && ! wait $first && [ ! -s "$dir/said.one" ] && cat "$dir/said" &&
        grep -q 'finds other files than rank 1 (1, and 2 there)' "$dir/said" && leaves_nothing
}
try "ranks that see other files are told of" other_files
alone()
{
    PMI_RANK=0 PMI_SIZE=3 TALLYTREE_MPI=limit=0.1 "$tallytree" merge -o "$dir/no.tt" "$dir/folder" 2>"$dir/said"
    [ $? = 2 ] && cat "$dir/said" && grep -q 'PMI_SIZE is 3, but only 1 have come .*: rank 1 has not' "$dir/said" && leaves_nothing
}
try "who waits in vain for the others says so" alone
# What a job that was killed has left does not disturb.
killed()
{
    PMI_RANK=1 PMI_SIZE=2 "$tallytree" merge -o "$dir/some.tt" "$dir/folder" 2>/dev/null & local pid=$!
    patiently test -e "$dir/.some.tt.ranks/hello.1" || { kill -KILL $pid; return 1; }
    kill -KILL $pid
    wait $pid 2>/dev/null
    echo 0123456789abcdef >"$dir/.some.tt.ranks/welcome" || return
    ranks 2 -o "$dir/some.tt" "$dir/folder"
    [ "$status" = 00 ] && "$tallytree" merge -o "$dir/one.tt" "$dir/folder" && cmp "$dir/one.tt" "$dir/some.tt" && leaves_nothing
}
try "files of a job that was killed do not disturb the next one" killed
ranks 2 -o - "$dir/folder"
try "several ranks do not write to standard output" grep -q 'need a file as OUT' "$dir/said"
ranks_jobs() { local rank; for rank in 1 0; do PMI_RANK=$rank PMI_SIZE=2 timeout -k 5 500 "$tallytree" merge -j 2 -o "$dir/jobs.tt" "$dir/folder" 2>"$dir/said.$rank" & done; wait; cmp "$dir/one.tt" "$dir/jobs.tt" && grep -q -- '-j has no effect' "$dir/said.0" && [ ! -s "$dir/said.1" ]; }
try "that ranks do not read several files at a time is said once" ranks_jobs
equal "other variables make no ranks" "$(PMI_RANK=2 PMI_SIZE=2 OMPI_COMM_WORLD_RANK=x OMPI_COMM_WORLD_SIZE=3 SLURM_NTASKS=2 SLURM_PROCID=0 "$tallytree" merge -o "$dir/some.tt" "$dir/folder" 2>&1; cmp "$dir/one.tt" "$dir/some.tt" 2>&1)" ""

# Four hundred thousand functions below each other: by steps as many as there are pairs of them it
# would take minutes.
deep()
{
    awk 'BEGIN { for (i = 0; i < 400000; i++) printf "%sf%d", i ? ";" : "", i; print " 5" }' >"$dir/deep"
    (ulimit -t 40 && "$tallytree" merge -o "$dir/deep.tt" "$dir/deep" && "$tallytree" export --to folded "$dir/deep.tt") |
        cmp - "$dir/deep"
}
try "deep stacks merge in time that grows as their depth does" deep

# The loader finds the C library in /lib, or in /usr/lib if a program looks there first.
if [ -L /lib ] && libc=$(ldd "$(command -v awk)" | grep -o '/lib/.*/libc\.so[^ ]*') && [ "$(readlink /lib)" = usr/lib ]; then
    for folder in / "/usr${libc%/*}"; do
        LD_LIBRARY_PATH=$folder "$tallytree" record -o "$tmp/usr${#folder}.tt" -- awk 'BEGIN { for (i = 0; i < 300000; i++) s = sprintf("%f", i); print "x" | "cat"; close("cat"); system("true") }' >/dev/null 2>&1
    done
    "$tallytree" merge -o "$tmp/usr.tt" "$tmp"/usr[0-9]*.tt
    libc_modules() { "$tallytree" report --csv --limit all "$tmp/usr.tt" | grep -o '[^,]*/libc\.so[^,]*' | sort -u; }
    equal "a library that is reached by /lib and by /usr/lib is one module" "$(libc_modules)" "/usr$libc"
else
    skip "a library that is reached by /lib and by /usr/lib is one module" "/lib is no link to /usr/lib, or awk has no shared library"
fi
finish
