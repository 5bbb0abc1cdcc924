#!/bin/bash
# SPDX-License-Identifier: MIT
# Lua: what runs, how often, and what it allocates, against what Lua itself counts.
. "$(dirname "$0")/tap.sh"
tallytree=${TT_BUILD:-build}/tallytree
module=$(realpath "${TT_BUILD:-build}/adapters/lua/libtallytree-lua.so")
if [ ! -e "$module" ]; then
    echo "1..0 # SKIP without the headers of Lua 5.4"
    exit
fi

# record NAME [FLAG...] - of $tmp/NAME.lua, in $tmp/NAME.tt; what it prints in $tmp/NAME.out.
record()
{
    local name=$1
    shift
    timeout -k 5 500 "$tallytree" lua -o "$tmp/$name.tt" "$@" "$tmp/$name.lua" one two \
        >"$tmp/$name.out" 2>"$tmp/$name.err"
}

# figure PROFILE VIEW NAME COLUMN - of the first row of that name.
figure()
{
    "$tallytree" report "$2" --limit 0 --csv "$1" 2>&1 | python3 -c '
import csv, sys
for row in csv.DictReader(l for l in sys.stdin if not l.startswith("#")):
    if row["name"].strip() == sys.argv[1]:
        print(row[sys.argv[2]])
        break' "$3" "$4"
}

calls()
{
    figure "$tmp/$1.tt" flat "$2" calls
}

# paths PROFILE - the calls of each path from main chunk on, folded.
paths()
{
    "$tallytree" export --to folded --metric calls "$tmp/$1.tt" | sed -n 's/.*main chunk;//p'
}

cat >"$tmp/calls.lua" <<'E'
local before = coroutine.create(function(n)
    local function inner(x) coroutine.yield(x) return x end
    for i = 1, n do inner(i) end
    return "end"
end)
coroutine.resume(before, 2)
function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local function loop(n) if n == 0 then return 0 end return loop(n - 1) end
local function bad(n) if n == 0 then error("x") end bad(n - 1) end
local function after() end
print(fib(15), loop(1000), ...)
pcall(function() bad(0) end)
for i = 1, 10 do pcall(bad, 5) end
after()
while coroutine.status(before) ~= "dead" do coroutine.resume(before) end
local made = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(fib(i)) end end)
made() made() made()
after()
table.sort({3, 1, 2}, function(a, b) return a < b end)
os.exit(7)
E
try "a script's status is that of the command" eval 'record calls; [ $? = 7 ]'
try "and its output and arguments are its own" \
    grep -qx "610	0	one	two" "$tmp/calls.out"
try "each call of a recursive function is counted" test "$(calls calls fib)" = $((1973 + 1 + 3 + 5))
try "a tail call is a call" test "$(calls calls loop)" = 1001
try "functions that an error left were called all the same" test "$(calls calls bad)" = 61
try "and the next call is where the error was caught" grep -qx 'after 2' <(paths calls)
try "a tail call takes its caller's place" eval '! paths calls | grep -q "loop;loop;loop"'
try "C functions have the names of their modules" test "$(calls calls coroutine.yield)" = 5
try "what a C function calls is below it" grep -q '^table.sort;' <(paths calls)
try "coroutines are stacks of their own" \
    grep -qE '^function <[^;]*calls.lua:1>;inner 2' <("$tallytree" export --to folded --metric calls "$tmp/calls.tt")

cat >"$tmp/before.lua" <<'E'
local before = coroutine.create(function(n)
    local function inner(x) coroutine.yield(x) return x end
    for i = 1, n do inner(i) end
end)
local wrapped = coroutine.wrap(function() local function deep() coroutine.yield() end deep() deep() end)
coroutine.resume(before, 3)
wrapped()
local tt = require "tallytree"
tt.start {output = arg[1]}
while coroutine.status(before) ~= "dead" do coroutine.resume(before) end
wrapped()
tt.stop()
tt.start {output = arg[1] .. ".again"}
tt.stop()
E
is_met()
{
    LUA_CPATH=$module lua5.4 "$tmp/before.lua" "$tmp/before.tt" &&
        "$tallytree" export --to folded --metric calls "$tmp/before.tt" >"$tmp/folded" &&
        cat "$tmp/folded" && grep -qE '^function <[^;]*before.lua:1>;[^;]* 3$' "$tmp/folded" &&
        grep -qE '^function <[^;]*before.lua:5>;deep 2$' "$tmp/folded"
}
try "coroutines that were made and begun before the start are seen when they go on" is_met

# Lua has "integer index", "?" and "for iterator" for the names of such functions.
cat >"$tmp/index.lua" <<'E'
local f = {function() end, function() end, [2.5] = function() end}
local each = function(n, i) if i < n then return i + 1 end end
f[1]() f[2]() f[2]() f[2.5]() f[2.5]() f[2.5]()
for _ in each, 4, 0 do end
E
are_lines()
{
    record index
    paths index | sed -n 's/^function <.*index.lua:/line /p' >"$tmp/index.calls"
    printf 'line %s\n' "1> 6" "2> 5" | diff - "$tmp/index.calls"
}
try "a function that is called by no name has its line" are_lines

cat >"$tmp/lines.lua" <<'E'
local count = {}
local function work(n)
    local s = 0
    for i = 1, n do
        s = s + i
        if i % 3 == 0 then
            s = s - 1
        end
    end
    return s
end
if ... then
    work(100)
    work(7)
else
    debug.sethook(function(_, line) count[line] = (count[line] or 0) + 1 end, "l")
    work(100)
    work(7)
    debug.sethook()
    for line = 3, 10 do print(line, count[line] or 0) end
end
E
lines_agree()
{
    lua5.4 "$tmp/lines.lua" | awk '$2' >"$tmp/truth"
    record lines --mode lines || return
    "$tallytree" report flat --limit 0 --csv --prune='^[^:]*$' "$tmp/lines.tt" >/dev/null 2>&1
    for line in 3 4 5 6 7 10; do
        echo "$line	$(calls lines "$tmp/lines.lua:$line")"
    done | diff "$tmp/truth" -
}
try "each line is counted as Lua's own hook counts it" lines_agree

cat >"$tmp/heap.lua" <<'E'
local keep = {}
local function tables() for i = 1, 1000 do keep[i] = {} end end
local function threads() for i = 1, 50 do coroutine.create(print) end end
local function strings() for i = 1, 300 do local s = "s" .. i end end
tables() threads() strings()
collectgarbage() collectgarbage()
E
# objects FUNCTION TYPE - how many were allocated in it.
objects()
{
    "$tallytree" report space --limit 0 --csv --select "$1" "$tmp/heap.tt" |
        awk -F, -v type="$2" '$NF == type { print $4 " " $10 }'
}

has_objects()
{
    record heap --heap || return
    objects tables table
    objects threads thread
    [ "$(objects tables table)" = "1000 0" ] && [ "$(objects threads thread)" = "50 50" ]
}
try "every table is charged to the function that made it, and freed threads are not alive" has_objects

# The live memory is known at each step: a table has 56 bytes, and an array has room for a power of two.
cat >"$tmp/peak.lua" <<'E'
local tallytree, keep, file = require "tallytree", nil, ...
local function grow(n) keep = {} for i = 1, n do keep[i] = {} end end
local function drop() keep = nil collectgarbage() collectgarbage() end
collectgarbage("stop")
tallytree.start {heap = true, output = file, options = "space=alloc+copies+types+peak,series=block"}
grow(1000) drop() grow(32768) drop() grow(4096)
tallytree.stop()
E
at_peak()
{
    LD_LIBRARY_PATH=${TT_BUILD:-build} LUA_CPATH="$tmp/?.so" timeout -k 5 500 lua5.4 "$tmp/peak.lua" "$tmp/peak.tt" || return
    local peak last greatest
    peak=$("$tallytree" export --to folded --metric peak --select grow "$tmp/peak.tt" | awk '{ n += $NF } END { print n }')
    last=$("$tallytree" export --to folded --metric live --select grow "$tmp/peak.tt" | awk '{ n += $NF } END { print n }')
    greatest=$("$tallytree" report series --csv "$tmp/peak.tt" | awk -F, '$NF == "grow" && $5 > most { most = $5 } END { print most }')
    echo "$peak bytes at most, $last at last, $greatest in the series"
    [ "$peak" = $((32768 * 56 + 56 + 32768 * 16)) ] && [ "$last" = $((4096 * 56 + 56 + 4096 * 16)) ] &&
        [ "$greatest" -le "$peak" ] && [ "$greatest" -gt "$last" ]
}
ln -s "$module" "$tmp/tallytree.so"
try "what was alive when most was is known by function, and over time" at_peak

cat >"$tmp/picked.lua" <<'E'
local keep = {}
local function tables() local t for i = 1, 300000 do t = {} end end
local function callee(t) return #t end
local function kept() for i = 1, 200000 do keep[i] = {} callee(keep[i]) end end
local function grown() local t = {} for i = 1, 400000 do t[i] = i end end
local made = coroutine.wrap(function()
    local function inner() for i = 1, 200000 do local t = {} end end
    inner()
end)
tables() kept() grown() made()
collectgarbage() collectgarbage()
E
# near FUNCTION TYPE MADE FREED - within six times the standard error: one of 128 was picked.
near()
{
    "$tallytree" report space --limit 0 --csv ${1:+--select "$1"} "$tmp/picked.tt" |
        awk -F, -v type="$2" -v made="$3" -v freed="$4" '
            $NF == type { print; m += $4; f += $10 }
            END { exit !((m - made) ^ 2 <= 36 * 127 * made && (f - freed) ^ 2 <= 36 * 127 * freed) }'
}

stands_for_all()
{
    record picked --mode sampled --heap &&
        near tables table 300000 300000 && near inner table 200000 200000 &&
        near kept table 200000 0 && near callee table 0 0 &&
        "$tallytree" report space --limit 0 --csv --select grown "$tmp/picked.tt" |
        awk -F, '$NF == "memory" { print; ok = $5 > 16.7e6 && $5 < 16.85e6 && $11 == $5 } END { exit !ok }'
}
try "at full speed a sample of the objects stands for all, where they were made" stands_for_all

# More threads than are asked: objects are charged all the same.
cat >"$tmp/many.lua" <<'E'
local all = {}
for i = 1, 300 do all[i] = coroutine.create(function() coroutine.yield() end) end
for i = 1, 300 do coroutine.resume(all[i]) end
for i = 1, 300000 do local t = {} end
E
with_many()
{
    cp "$tmp/many.lua" "$tmp/picked.lua"
    record picked --mode sampled --heap && near "" table 300000 300000
}
try "and with a great many threads they are all there" with_many

try "a collection is counted" eval '[ "$("$tallytree" report flat --metric collections --csv "$tmp/heap.tt" |
    grep -c collectgarbage)" -ge 1 ]'

cat >"$tmp/sampled.lua" <<'E'
local function hot() local x = 0 for i = 1, 4e7 do x = x + i end return x end
local made = coroutine.wrap(function() return hot() end)
hot()
made()
E
hot_share()
{
    record sampled --mode sampled --hz 250 || return
    figure "$tmp/sampled.tt" flat hot "self %" | tee /dev/stderr | awk '{ exit !($1 + 0 > 90) }'
}
try "samples find what runs, in coroutines too" hot_share

once_a_second()
{
    echo 'for i = 1, 1e6 do end' >"$tmp/once.lua"
    record once --mode sampled --hz 1 && cat "$tmp/once.err" && [ -s "$tmp/once.tt" ] && ! grep SIGPROF "$tmp/once.err"
}
try "once a second is a rate, too" once_a_second
too_long()
{
    lua5.4 -e "local tt = package.loadlib('$module', 'luaopen_tallytree')()
        print(pcall(tt.start, {output = '$tmp/long.tt', options = 'budget=' .. ('1'):rep(2000)}))" | tee "$tmp/said"
    grep -q 'false.*is too long' "$tmp/said"
}
try "options that are too long are refused, and not left out" too_long
wrong_option()
{
    lua5.4 -e "local tt = package.loadlib('$module', 'luaopen_tallytree')()
        print(pcall(tt.start, {output = '$tmp/wrong.tt', options = 'budget=1x'}))" | tee "$tmp/said"
    grep -q "false.*out of range: 'budget=1x'" "$tmp/said"
}
try "an option that is refused is named" wrong_option

echo 'local function f() error("broken") end f()' >"$tmp/error.lua"
dies_alike()
{
    lua5.4 "$tmp/error.lua" one two 2>"$tmp/plain"
    local status=$?
    record error
    [ $? = $status ] && diff <(grep -v '^tallytree' "$tmp/error.err") "$tmp/plain"
}
try "a script that fails says what it says without us" dies_alike

is_refused()
{
    "$tallytree" lua "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? = 125 ] && [ "$(grep -c '^tallytree: ' "$tmp/err")" = 1 ]
}
try "a script is wanted" is_refused
try "standard output is the script's" is_refused -o - "$tmp/calls.lua"
try "a value is no piece of Lua" is_refused --budget '"} os.exit(0) --' "$tmp/calls.lua"
for flag in '--mode foo' '--mode lines,calls' '--hz 0' '--hz 9e9' '--budget some' '--recursion much'; do
    # shellcheck disable=SC2086
    try "what no run can be is refused before there is one: $flag" is_refused $flag "$tmp/calls.lua"
done

is_hosted()
{
    # shellcheck disable=SC2046
    cc -o "$tmp/host" test/lua-host.c $(pkg-config --cflags --libs lua5.4) || return
    echo 'function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end fib(10)' \
        >"$tmp/host.lua"
    "$tmp/host" "$module" "$tmp/host.tt" "$tmp/host.lua" && [ "$(calls host fib)" = 177 ]
}
try "a program that has Lua in it is recorded by its module" is_hosted

finish
