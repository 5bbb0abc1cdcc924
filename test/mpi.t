#!/bin/bash
# SPDX-License-Identifier: MIT
# MPI programs: what every rank did, in one profile that is what merging their files gives.
. "$(dirname "$0")/tap.sh"

tallytree=$(realpath "$TT_BUILD")/tallytree
flags=(-Wall -Wextra -Werror -O2 -Iinclude -Iadapters/mpi)
libraries=(-L"$TT_BUILD/adapters/mpi" -L"$TT_BUILD" -ltallytree-reduce -ltallytree
    "-Wl,-rpath,$TT_BUILD/adapters/mpi:$TT_BUILD")
export OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_oob_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1

try "the user's mpicc builds it, from one file" \
    mpicc "${flags[@]}" -shared -fPIC adapters/mpi/tallytree-mpi.c -o "$tmp/libtallytree-mpi.so" "${libraries[@]}"
try "a program in C" mpicc -O2 test/mpi-program.c -o "$tmp/c" -pthread
try "one in C++, linked to it" \
    mpicxx -O2 -x c++ test/mpi-program.c -x none -o "$tmp/c++" "$tmp/libtallytree-mpi.so" "-Wl,-rpath,$tmp" -pthread
try "one in Fortran" mpifort -cpp -O2 test/mpi-program.f90 -J "$tmp" -o "$tmp/fortran"
try "and with its newer binding" mpifort -cpp -DF08 -O2 test/mpi-program.f90 -J "$tmp" -o "$tmp/fortran08"
try "a stencil" mpicc -O2 examples/mpi/stencil.c -o "$tmp/stencil" -lm
try "an unbalanced solver" mpicc -fopenmp "${flags[@]}" examples/mpi/unbalanced.c -o "$tmp/unbalanced" \
    -L"$TT_BUILD" -ltallytree "-Wl,-rpath,$TT_BUILD" -lm

# mpi N [VARIABLE=VALUE...] PROGRAM ARGS... - without recording; its output is in $tmp/said.
mpi()
{
    local ranks=$1
    shift
    (cd "$tmp" && timeout -k 5 500 mpirun --allow-run-as-root --oversubscribe -n "$ranks" "$@") \
        >"$tmp/said" 2>"$tmp/err" </dev/null
}

# profiled N WORDS PROGRAM ARGS... - with recording, into the profile $tmp/out.
profiled()
{
    local ranks=$1 words=$2
    shift 2
    rm -rf "$tmp"/out*
    mpi "$ranks" -x LD_PRELOAD="$tmp/libtallytree-mpi.so" -x TALLYTREE_MPI="output=$tmp/out,$words" "$@"
}

# calls NAME - of how many calls of MPI the profile knows.
calls()
{
    "$tallytree" report flat --metric calls --csv "$tmp/out" |
        awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["name"] == name { print $at["self"] }'
}

# strands FILE - of ranks, in it
strands() { "$tallytree" report strands --csv "$1" | grep -c '^entry.*,rank '; }

merged() { "$tallytree" merge "$@" -o "$tmp/merged" "$tmp"/out.ranks.*; }

for ranks in $(for_long 5 "2 5"); do
    mpi "$ranks" ./stencil 64 40
    cut -d, -f1 "$tmp/said" >"$tmp/alone"
    profiled "$ranks" keep ./stencil 64 40
    equal "$ranks ranks end as without us" "$? $(cat "$tmp/said" "$tmp/err" | cut -d, -f1)" "0 $(cat "$tmp/alone")"
    merged
    try "their profile is that of their files, byte by byte" cmp "$tmp/out" "$tmp/merged"
    equal "every call is there" "$(calls MPI_Sendrecv) $(calls MPI_Allreduce) $(calls MPI_Cart_create)" \
        "$((80 * ranks)) $((4 * ranks)) $ranks"
    equal "and every rank" "$(strands "$tmp/out")" "$ranks"
done
# Files are merged by ranks of any launcher; those of five ranks are here.
for ranks in $(for_long 3 "1 2 3 5"); do
    mpi "$ranks" "$tallytree" merge -o "$tmp/by-ranks" "$tmp"/out.ranks.*
    equal "files are merged by mpirun with $ranks ranks" "$? $(cat "$tmp/said" "$tmp/err")" "0 "
    try "into the same bytes" cmp "$tmp/by-ranks" "$tmp/merged"
done
echo nothing >"$tmp/wrong"
mpi 3 "$tallytree" merge -o "$tmp/no" "$tmp"/out.ranks.* wrong
equal "a file that a rank cannot read is reported once, and there is no output" "$? $(grep -c '^tallytree: .*wrong: ' "$tmp/err") $(find "$tmp" -mindepth 1 -name 'no' -o -mindepth 1 -name '.no.*')" "2 1 "
waits() { "$tallytree" report strands --by wait --csv "$tmp/out" | grep '^entry' | grep -o ',rank [^,]*,[0-9]*,rank [0-9]*$' | sort | tr '\n' ' '; }
profiled 3 "" ./stencil 64 40
equal "who waits for whom, in a part of all ranks" "$(waits)" \
    ",rank 0 for rank 1,0,rank 1 ,rank 1 for rank 0,1,rank 0 ,rank 1 for rank 2,1,rank 2 ,rank 2 for rank 1,2,rank 1 "
profiled 16 keep,most=0 ./stencil 64 40
merged --summary
try "what is too large keeps how figures spread, as a summary does" cmp "$tmp/out" "$tmp/merged"
profiled 4 keep,most=0,sum=4 ./stencil 64 40
merged --summary
total() { "$tallytree" report flat --csv --metric "$1" "$2" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "total" { print $at["self"] }'; }
equal "what is too large even so loses small contexts, and no cost" \
    "$(total calls "$tmp/out") $(total time "$tmp/out")" "$(total calls "$tmp/merged") $(total time "$tmp/merged")"
try "and is smaller then" test "$(stat -c %s "$tmp/out")" -lt "$(stat -c %s "$tmp/merged")"
profiled 4 "" ./c ring
equal "files go when they are not needed" "$(cat "$tmp/said") $(cd "$tmp" && echo out*)" "done out"
equal "the time between the calls is the program's" \
    "$("$tallytree" report tree --csv "$tmp/out" | grep -c ',c,')" 1
equal "requests are known by whom they are from" "$(waits)" \
    ",rank 0 for rank 1,0,rank 1 ,rank 0 for rank 3,0,rank 3 ,rank 1 for rank 0,1,rank 0 ,rank 1 for rank 2,1,rank 2 ,rank 2 for rank 1,2,rank 1 ,rank 2 for rank 3,2,rank 3 ,rank 3 for rank 0,3,rank 0 ,rank 3 for rank 2,3,rank 2 "
profiled 5 "" ./c split
equal "communicators of a part of them" "$(sort -n "$tmp/said" | grep -v 'done' | tr '\n' ' ')$(calls MPI_Irecv) $(calls MPI_Comm_split)" \
    "0 6 1 4 2 6 3 4 4 6 50 5"
profiled 4 "" ./c threads
equal "threads that all send and receive" "$(cat "$tmp/said") $(calls MPI_Recv) $(calls MPI_Isend)" "done 400 400"
equal "have a strand each" "$(strands "$tmp/out")" 20
for program in c++ fortran fortran08; do
    if [ $program = c++ ]; then
        rm -rf "$tmp"/out*
        mpi 3 -x TALLYTREE_MPI="output=$tmp/out" ./c++ ring
    else
        profiled 3 "" ./$program
    fi
    equal "$program: every call" "$(tr -d ' \n' <"$tmp/said") $(calls MPI_Irecv) $(calls MPI_Send) $(calls MPI_Wait) $(calls MPI_Barrier)" \
        "done 30 30 30 3"
done
profiled 4 "" ./unbalanced 5
equal "scopes and OpenMP's threads are in it" "$("$tallytree" report tree --metric calls --csv "$tmp/out" | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["name"] == "solve" { n += $at["self"] } END { print n }')" 80

# Ends without warning.
profiled 4 "" ./c dies
merged
equal "a rank that is killed leaves its file" "$(strands "$tmp/merged")" 4
try "and no profile is there" test ! -e "$tmp/out"
profiled 3 "" ./c aborts
merged
equal "so do those of a job that aborts" "$(strands "$tmp/merged")" 3
rm -rf "$tmp"/out*
(cd "$tmp" && TALLYTREE_MPI="output=$tmp/out" exec mpirun --allow-run-as-root --oversubscribe \
    -n 4 -x LD_PRELOAD="$tmp/libtallytree-mpi.so" -x TALLYTREE_MPI ./c endless) >/dev/null 2>&1 &
for _ in $(seq 300); do # until all are under way
    sleep 0.2
    merged 2>/dev/null && cp "$tmp/merged" "$tmp/out" && [ "$(calls MPI_Barrier)" -ge 4 ] && break
done 2>/dev/null
kill -TERM $!
reap $! 2>/dev/null
merged
cp "$tmp/merged" "$tmp/out"
try "and of one that ran out of time" test "$(calls MPI_Barrier)" -ge 4
profiled 3 limit=1 ./c late
equal "who waits too long gives up, and says so once" "$(cat "$tmp/said") $(grep -c 'merges their files' "$tmp/err")" "done 1"
merged
equal "the files are whole" "$(strands "$tmp/merged")" 3
profiled 2 limit=0 ./c ring
equal "without a limit files alone are wanted" "$(cd "$tmp" && echo out*/*)" "$(cd "$tmp" && echo out.ranks.*/rank-00000{0,1})"
# A machine that does not see rank 0's folder, simulated by a mount for one rank.
mkdir "$tmp/far" "$tmp/near"
blind=(unshare -m sh -c "mount -t tmpfs -o ro none '$tmp/far' && exec \"\$@\"" sh)
far()
{
    local with=(env LD_PRELOAD="$tmp/libtallytree-mpi.so" TALLYTREE_MPI="output=$tmp/far/out$1" TMPDIR="$tmp/near")
    mpi 1 "${with[@]}" ./c ring : -n 1 "${blind[@]}" "${with[@]}" ./c ring &&
        cp "$tmp/far/out" "$tmp/out"
}
if "${blind[@]}" true 2>/dev/null; then
    try "a rank that does not see the folder has its own" far ,keep
    equal "with its file, if that is to stay" "$(cd "$tmp/near" && echo */*)" "$(cd "$tmp/near" && echo tallytree-1-*/rank-000001)"
    rm -rf "$tmp/near/"*
    try "and else" far ''
    equal "none" "$(ls "$tmp/near")" ""
    equal "and is in the profile" "$(strands "$tmp/out") $(calls MPI_Send)" "2 20"
else
    echo "# nothing can be mounted here: a rank that does not see the folder is not tried"
fi
profiled 2 "nonsense" ./c ring
equal "wrong words are told of, and the program runs" "$(cat "$tmp/said") $(grep -c '^tallytree: ' "$tmp/err")" "done 1"
finish
