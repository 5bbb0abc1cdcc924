#!/bin/bash
# SPDX-License-Identifier: MIT
# Our tables unwind the same stacks as libunwind and elfutils, frame by frame.
. "$(dirname "$0")/tap.sh"
built=$(realpath "${TT_BUILD:-build}")/test

# beside NAME PROGRAM ARGS... - the program, unwound twice at every signal.
beside()
{
    local name=$1
    shift
    timeout -k 5 500 env FRAMES="$tmp/$name" LD_PRELOAD="$built/libframes-preload.so" "$@" >/dev/null 2>&1 ||
        [ -s "$tmp/$name" ]
}

# agrees FILE LEAST - no frame differs, at least LEAST stacks were looked at, and 99 % of
# them reach the root.
agrees()
{
    awk -v least="$2" '
        /^#/ { print; next }
        { n[$1] = $2; print }
        END { exit !(n["samples"] >= least && n["differ"] == 0 &&
                     n["end0"] >= 0.99 * n["samples"] &&
                     n["shorter"] + n["astray"] <= 0.01 * n["samples"]) }
    ' "$1"
}

# program LEAST NAME ARGS... - one of Debian's, built without frame pointers.
program()
{
    local least=$1 name=$2
    shift 2
    if [ ! -x "/usr/bin/$name" ]; then
        skip "$name" "not installed"
        return
    fi
    beside "$name" "/usr/bin/$name" "$@"
    try "$name: at every sample the frames are libunwind's, up to the root" \
        agrees "$tmp/$name" "$least"
}

inputs()
{
    seq 1 400000 >"$tmp/numbers"
    seq 1 100000 >"$tmp/few"
    cat >"$tmp/in.sql" <<'EOF'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
    insert into t select i, hex(i * 7919), i * 1.5 from n;
create index x on t(b);
select b, count(*), sum(c) from t where b like '%A%' group by substr(b, 1, 2);
EOF
    cat >"$tmp/in.lua" <<'EOF'
local t, s = {}, 0
for i = 1, 100000 do t[i] = tostring(i * 7919 % 1000003) end
table.sort(t)
local co = coroutine.wrap(function() for i = 1, 100000 do coroutine.yield(i) end end)
for i = 1, 100000 do s = s + co() + #t[i]:gsub("1", "22"); pcall(error, "x") end
EOF
    cat >"$tmp/in.py" <<'EOF'
import json, re, zlib
d = [{"a": i, "b": str(i) * 3, "c": [i, i + 1]} for i in range(20000)]
s = json.dumps(d)
json.loads(s)
re.findall(r'(\d+)": "(\d+)', s)
sorted(s.split(','), key=lambda x: x[::-1])
zlib.compress(s.encode())
EOF
    cat >"$tmp/in.pl" <<'EOF'
my (%h, $n);
$h{"k" . ($_ * 7919 % 10007)} .= $_ for 1 .. 200000;
for (sort keys %h) { $n += length $h{$_}; $h{$_} =~ s/1(\d)/$1x/g; }
EOF
}

# steps FILE LEAST PROGRAM ARGS... - every frame is elfutils' at every instruction, reading the
# code misleads nowhere, and where all registers but two are unknown, as of a thread that
# sleeps, hardly a stack is cut off or other.
steps()
{
    local file=$1 least=$2
    shift 2
    "$built/frames-step" 300000 "$@" >"$file"
    awk -v least="$least" '
        { print }
        !/^#/ { n[$1] = $2 }
        END { exit !(n["samples"] >= least && n["differ"] == 0 && n["misread"] == 0 &&
                     n["again"] > 0.9 * n["read"] && n["differently"] == 0 &&
                     n["end0"] >= 0.97 * n["samples"] && n["read"] > n["unread"] &&
                     n["alone"] >= 0.9 * n["samples"] && n["other"] <= 0.005 * n["samples"]) }
    ' "$file"
}

# whole PROGRAM ARGS... - from within, each of its samples reaches the root.
whole()
{
    "$built/../tallytree" record -o "$tmp/tt" "$@" &&
        "$built/../tallytree" report header --csv "$tmp/tt" | awk -F, '
            $4 ~ /^stacks[.](broken|truncated)$/ { print; bad += $NF; n++ }
            END { exit bad || n != 2 }'
}

# strangers - what the objects that run in handlers need and may not; all that they may is
# async-signal-safe, or a system call and no more.  Assertions end the process.
strangers()
{
    nm -A "$built"/../libtallytree-collect.a 2>/dev/null |
        grep -E '[/:](unwind_)?(unwind|expression|rules|frame-info|rule-builder|peek|machine-[a-z0-9_]*|code-[a-z0-9_]*)\.c\.o:' |
        awk '$(NF - 1) == "U" { print $NF }' | sort -u | grep -vxE \
        'tt_.*|mem(cpy|move|set|cmp)|__mem.*_chk|__errno_location|getpid|syscall|write|abort|mmap(64)?|munmap|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__popcountdi2'
}

looked_at()
{
    [ "$(nm -A "$built"/../libtallytree-collect.a | grep -c ' T tt_native_unwind')" = 1 ]
}

if [ ! -e "$built/libframes-preload.so" ] || [ ! -e "$built/frames-step" ]; then
    echo "1..0 # SKIP built without libunwind or libdw"
    exit
fi
try "the objects of the unwinder are found" looked_at
none "what runs in handlers calls nothing that is not async-signal-safe" strangers
inputs
for seconds in $(for_long "2 5" 5) 20 60; do # a busy machine needs more of them
    beside workload "$built/frames-workload" "$seconds" "$built/frames-plugin.so"
    awk '$1 == "samples" { n = $2 } END { exit n < 1000 }' "$tmp/workload" && break
done
try "exceptions, coroutines, signals, plug-ins, threads: the frames are libunwind's" \
    agrees "$tmp/workload" 1000
program 50 sqlite3 :memory: ".read $tmp/in.sql"
program 50 xz -2 -k -c "$tmp/numbers"
program 50 python3 "$tmp/in.py"
program 50 lua5.4 "$tmp/in.lua"
program 20 perl "$tmp/in.pl"
program 20 sort -R "$tmp/few"
program 50 sed -E 's/([0-3])([4-9])/\2\1/g' "$tmp/numbers"
try "stepping through prologues, epilogues, PLTs and signals: the frames are elfutils'" \
    steps "$tmp/steps" 5000 "$built/frames-workload" 0 "$built/frames-plugin.so"
try "and so they are where .debug_frame alone says it" steps "$tmp/quiet" 3000 "$built/frames-quiet" 0
try "which a program reads of its own file" whole "$built/frames-quiet" 300000
finish
