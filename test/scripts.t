#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of Perl, PHP and Ruby on the stacks of programs that were only started with `record`.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/pythons.sh"
tallytree=$TT_BUILD/tallytree
python=/usr/bin/python3

# Each script counts the steps of work that its functions ask for, and prints them.
cat >"$tmp/shapes.pl" <<'END'
use strict; use utf8; binmode STDOUT, ':utf8';
my %steps;
sub work { my ($n, $for) = @_; $steps{$for} += $n; my $s = 0; for (my $i = 0; $i < $n; $i++) { $s += $i % 7 } $s }
sub shape_plain { work(1000, 'shape_plain') }
package Über { sub new { bless {} } sub shape_method { main::work(2000, 'Über::shape_method') }
    sub DESTROY { main::work(1000, 'Über::DESTROY') } }
package main;
my $closure = sub { work(1500, 'main::__ANON__') };
sub by_number { work(200, 'main::by_number'); $a <=> $b }
sub shape_sort { my @a = sort by_number map { $_ * 7919 % 101 } 1 .. 10; scalar @a }
sub shape_eval { eval { work(700, 'main::shape_eval') }; eval "work(500, '(eval)'); 1" or die $@ }
sub inner { work(900, 'main::inner') }
sub shape_deep { my $n = shift; $n ? shape_deep($n - 1) : inner() }
sub shape_replace { my $x = 'ab' x 8; $x =~ s/a/work(200, 'main::shape_replace')/ge; length $x }
my $rounds = shift;
sub all_shapes { for (1 .. $rounds) { shape_plain(); Über->new->shape_method; $closure->(); shape_sort(); shape_eval();
    shape_deep(6); shape_replace() } }
all_shapes();
$steps{'main::shape_plain'} = delete $steps{shape_plain};
print "$_ $steps{$_}\n" for keys %steps;
END
cat >"$tmp/shapes.php" <<'END'
<?php
$steps = [];
function work($n, $for) { global $steps; $steps[$for] = ($steps[$for] ?? 0) + $n; $s = 0;
    for ($i = 0; $i < $n; $i++) { $s += $i % 7; } return $s; }
function shape_plain() { return work(2000, 'shape_plain'); }
class Über { static function shape_static() { return work(3000, 'Über::shape_static'); }
    function shape_method() { return work(4000, 'Über::shape_method'); }
    function __destruct() { work(1000, 'Über::__destruct'); } }
function by_number($a, $b) { work(400, 'by_number'); return $a <=> $b; }
function shape_sort() { $a = array_map(fn($x) => $x * 7919 % 101, range(1, 10)); usort($a, 'by_number'); return $a; }
function shape_steps() { for ($i = 0; $i < 5; $i++) { yield work(500, 'shape_steps'); } }
function shape_from() { yield from shape_steps(); }
function inner() { return work(1800, 'inner'); }
function shape_deep($n) { return $n ? shape_deep($n - 1) : inner(); }
function shape_eval() { return eval('return work(1500, "shape_eval");'); }
$closure = function() { return work(1200, '{closure}'); };
function all_shapes($rounds) { global $closure; for ($i = 0; $i < $rounds; $i++) {
    shape_plain(); Über::shape_static(); (new Über)->shape_method(); shape_sort(); foreach (shape_from() as $x) {}
    shape_deep(6); $closure(); array_map($closure, [1, 2]); shape_eval(); } }
all_shapes((int)$argv[1]);
foreach ($steps as $for => $n) { echo "$for $n\n"; }
END
cat >"$tmp/shapes.rb" <<'END'
$steps = Hash.new(0)
def work(n, by) = ($steps[by] += n; s = 0; i = 0; while i < n do s += i % 7; i += 1 end; s)
def shape_plain = work(2000, 'Object#shape_plain')
module Steps def each = 5.times { |x| yield work(400, 'block in Steps#each') } end
class Über
  include Steps, Enumerable
  attr_reader :n
  def initialize(n) = @n = n
  def self.shape_static = work(3000, 'Über.shape_static')
  def <=>(other) = (work(200, 'Über#<=>'); n <=> other.n)
  define_method(:shape_defined) { work(1500, 'block in <class:Über>') }
  def method_missing(name) = work(1200, 'Über#method_missing')
  def respond_to_missing?(*) = true
end
def shape_sort = (1..10).map { |x| Über.new(x * 7919 % 101) }.sort
def shape_rescue
  raise 'no' rescue work(1000, 'rescue in Object#shape_rescue')
ensure
  work(800, 'Object#shape_rescue')
end
def inner = "one\ntwo\n".each_line { work(900, 'block in Object#inner') }
def shape_deep(n) = n > 0 ? shape_deep(n - 1) : inner
def shape_eval = eval('work(1500, "Object#shape_eval")')
def shape_fiber
  fiber = Fiber.new { 3.times { Fiber.yield work(700, 'block (2 levels) in Object#shape_fiber') } }
  4.times { fiber.resume }
end
def all_shapes(rounds)
  rounds.times do
    shape_plain; Über.shape_static; Über.new(1).shape_defined; Über.new(1).unknown; Über.new(1).to_a
    shape_sort; shape_rescue; shape_deep(6); shape_eval; shape_fiber
  end
end
rounds = ARGV[0].to_i
[Thread.new { all_shapes(rounds / 2) }, Thread.new { all_shapes(rounds - rounds / 2) }].each(&:join)
$steps.each { |by, n| puts "#{by} #{n}" }
END

# Holds the callers of work to the steps; and a function is below those that call it.
cat >"$tmp/shares.py" <<'END'
import re, sys
steps = {}
for line in open(sys.argv[1], encoding="utf8"):
    name, count = line.rsplit(" ", 1)
    steps[name] = int(count)
above = dict(pair.split("<", 1) for pair in sys.argv[4:])
seen, wrong, work = dict.fromkeys(steps, 0), {}, sys.argv[3]
for line in open(sys.argv[2], encoding="utf8"):
    stack, samples = line.rstrip("\n").rsplit(" ", 1)
    frames = stack.split(";")
    for caller, callee in zip(frames, frames[1:]):
        if callee in above and not re.fullmatch(above[callee], caller):
            wrong[caller, callee] = wrong.get((caller, callee), 0) + int(samples)
    if work in frames:
        caller = frames[frames.index(work) - 1]
        # PHP names the code of an eval as that of a file.
        caller = frames[frames.index(work) - 2] if caller == "{main}" else caller
        named = caller if caller in seen else next((f for f in reversed(frames[:frames.index(work)]) if f in seen), "?")
        seen[named] = seen.get(named, 0) + int(samples)
total, chi = sum(seen.values()), 0
for name, count in sorted(seen.items()):
    expected = total * steps.get(name, 0) / sum(steps.values())
    chi += (count - expected) ** 2 / expected if expected else count
    print(f"{name:24} {count:6} samples, {expected:8.1f} expected")
# With ten degrees of freedom one run in a million is above 48.
print(f"{total} samples, chi-square {chi:.1f}; wrong neighbours {wrong}")
sys.exit(total < 50 or chi > 48 or bool(wrong))
END
# A processor that is busy takes few samples: then it runs again, for longer.
has_shares()
{
    local work=$1 time
    shift
    for time in 1 2 3 4 5; do
        "$tallytree" record --force -o "$tmp/tt" -- "${script[@]}" >"$tmp/steps" 2>"$tmp/messages" && folded || return
        [ "$(header stacks.interpreted)" -lt 100 ] || break
        script[-1]=$((script[-1] * 3))
        echo "few samples, time $time"
    done
    "$python" "$tmp/shares.py" "$tmp/steps" "$tmp/folded" "$work" "$@"
}
few_broken()
{
    echo "$(header stacks.broken) of $(header stacks.interpreted)"
    [ "$(($(header stacks.broken) * 20))" -lt "$(header stacks.interpreted)" ]
}
# described NAME MODULE FILE LINE - the function has these.
described()
{
    "$tallytree" report flat --select kind:interpreted --limit all --csv "$tmp/tt" | "$python" -c '
import csv, sys
rows = [[row[k] for k in ("module", "file", "line")]
        for row in csv.DictReader(line for line in sys.stdin if not line.startswith("#")) if row["name"] == sys.argv[1]]
print(rows)
sys.exit(rows != [sys.argv[2:]])' "$@"
}
# Each of fifty calls makes a text of a megabyte.
allocates()
{
    "$tallytree" record --heap --force -o "$tmp/tt" -- "${script[@]}" >/dev/null 2>"$tmp/messages" &&
        "$tallytree" export --to folded --metric allocated -o "$tmp/folded" --force "$tmp/tt" &&
        awk -v name=";$1[ ;]" '$0 ~ name { sum += $NF } END { print sum; exit !(sum >= 50e6 && sum < 200e6) }' "$tmp/folded"
}
# Two functions that C code allocates for, from the same places: each has what it asked for.
cat >"$tmp/two.pl" <<'END'
my @kept;
sub first { my $n = shift; push @kept, "x" x $n; }
sub second { my $n = shift; push @kept, "y" x $n; }
for (1 .. 1000) { first(10007); second(30011); }
END
cat >"$tmp/two.php" <<'END'
<?php
function first() { return str_repeat("x", 10007); }
function second() { return str_repeat("y", 30011); }
for ($i = 0; $i < 1000; $i++) { $a = first(); $b = second(); }
END
cat >"$tmp/two.rb" <<'END'
def first = "x" * 10007
def second = "y" * 30011
1000.times { first; second }
END
apart()
{
    "$tallytree" record --heap --force -o "$tmp/tt" -- "$@" >/dev/null 2>"$tmp/messages" &&
        "$tallytree" export --to folded --metric allocated -o "$tmp/folded" --force "$tmp/tt" &&
        awk '/;[^;]*first[; ]/ { first += $NF } /;[^;]*second[; ]/ { second += $NF }
             END { print first, second; exit !(first > 1e7 * 0.99 && first < 1.1e7 && second > 3e7 * 0.99 && second < 3.3e7) }' "$tmp/folded"
}
same_output()
{
    "${script[@]}" 2>&1 | sort >"$tmp/alone"
    "$tallytree" record --force -o "$tmp/again" "$@" -- "${script[@]}" 2>"$tmp/messages" | sort | cmp - "$tmp/alone"
}

# check LANGUAGE MODULE WORK ROUNDS PAIRS...
check()
{
    local language=$1 module=$2 work=$3
    shift 3
    try "$language: shares are what the script counts, and no function is below a stranger" has_shares "$work" "$@"
    equal "$language: the header says which it is" "$(header interpreter)" "$module"
    try "$language: nearly all frames have a place" nearly_all_placed
}

script=(perl "$tmp/shapes.pl" 1000)
is_perl=
perl -MConfig -e 'exit !($Config{usethreads} && $] >= 5.036 && $] < 5.038)' && is_perl=1
if [ "$is_perl" ]; then
    check Perl "perl 5.36" main::work \
        'main::inner<main::shape_deep' 'main::by_number<(?!main::|Über).*' 'main::shape_plain<main::all_shapes' \
        'main::shape_eval<main::all_shapes' '(eval)<main::shape_eval|.*::BEGIN'
    try "Perl: a sub has its package and its file" described "Über::shape_method" "perl 5.36" "$tmp/shapes.pl" ""
    script[2]=50
    try "Perl: the output is the same, with --heap, too" eval "same_output && same_output --heap"
else
    skip "Perl" "it is not 5.36 with threads"
fi

# A line of each sub that runs.
lines()
{
    local time
    for time in 1 2 3 4 5; do
        "$tallytree" record --lines --force -o "$tmp/tt" -- "${script[@]}" >/dev/null 2>"$tmp/messages" && folded || return
        grep -o "$1;[^; ]*:[0-9]*${3:-}" "$tmp/folded" | sort | uniq -c >"$tmp/lines"
        [ ! -s "$tmp/lines" ] || break
        echo "no sample of it, time $time"
    done
    cat "$tmp/lines"
    [ -s "$tmp/lines" ] && ! grep -qvE "$2\$" "$tmp/lines"
}
cat >"$tmp/lines.pl" <<'END'
sub work {
    my ($n, $s) = @_;
    for (1 .. $n) {
        $s += $_ % 7;
    }
    return $s;
}
sub first {
    work(4000);
    return 1;
}
first() for 1 .. 200;
END
cat >"$tmp/heap.pl" <<'END'
my @all;
sub keep { push @all, pack('a*', 'x' x 1000000) }
keep() for 1 .. 50;
END
cat >"$tmp/heap.php" <<'END'
<?php
$all = [];
function keep() { global $all; $all[] = str_repeat('x', 1000000 + count($all)); }
for ($i = 0; $i < 50; $i++) keep();
END
cat >"$tmp/lines.php" <<'END'
<?php
function by($a, $b) {
    return $a <=> $b;
}
function first() {
    $a = range(1, 3000);
    shuffle($a);
    usort($a, 'by');
    return 1;
}
for ($i = 0; $i < 100; $i++)
    first();
END
script=(perl "$tmp/heap.pl")
try "Perl: --heap has the sub that allocates" allocates main::keep
try "Perl: and each of two that call the same function" apart perl "$tmp/two.pl"
script=(perl "$tmp/lines.pl")
try "Perl: --lines has the lines that were running" lines main::work ';lines.pl:[2346]'
try "Perl: --lines has the lines that called" lines main::first ';lines.pl:9'
if [ -x /usr/bin/php8.2 ]; then
    script=(/usr/bin/php8.2 -n "$tmp/shapes.php" 1700)
    check PHP "php 8.2" work 'inner<shape_deep' 'by_number<(?!shape_|Über|inner|work|all_).*' 'shape_plain<all_shapes' \
        'Über::shape_static<all_shapes' 'Über::shape_method<all_shapes'
    try "PHP: a method has its class, its file and its line" described "Über::shape_method" "php 8.2" "$tmp/shapes.php" 7
    script[3]=50
    try "PHP: the output is the same, with --heap, too" eval "same_output && same_output --heap"
    script=(env USE_ZEND_ALLOC=0 /usr/bin/php8.2 -n "$tmp/heap.php")
    try "PHP: --heap has the function that allocates" allocates keep
    try "PHP: and each of two that call the same function" apart env USE_ZEND_ALLOC=0 /usr/bin/php8.2 -n "$tmp/two.php"
    script=(/usr/bin/php8.2 -n "$tmp/lines.php")
    try "PHP: --lines has the lines that called" lines first ';lines.php:[678]'
    # Code that PHP's compiler makes runs in the frame of the loop, and has no tables.
    hows=(tracing)
    is_long && hows+=(function)
    for how in "${hows[@]}"; do
        script=(/usr/bin/php8.2 -n -d zend_extension=opcache -d opcache.enable_cli=1
            -d opcache.jit_buffer_size=32M -d "opcache.jit=$how")
        if [ "$("${script[@]}" -r 'echo opcache_get_status()["jit"]["on"] ? "on" : "off";' 2>/dev/null)" != on ]; then
            skip "PHP, compiled ($how)" "it has no compiler"
            continue
        fi
        script+=("$tmp/shapes.php" 2500)
        check "PHP, compiled ($how)" "php 8.2" work 'inner<shape_deep' 'by_number<(?!shape_|Über|inner|work|all_).*' \
            'shape_plain<all_shapes' 'Über::shape_static<all_shapes' 'Über::shape_method<all_shapes'
        try "PHP, compiled ($how): stacks are whole" few_broken
        script[-1]=50
        try "PHP, compiled ($how): the output is the same, with --heap, too" eval "same_output && same_output --heap"
    done
else
    skip "PHP" "php8.2 is not installed"
fi

cat >"$tmp/lines.rb" <<'END'
def work(n)
  s = 0
  n.times do |i|
    s += i % 7
    s ^= i
  end
  s
end
def first
  work(3000)

  1
end
def long(w)
  x = 1; y = 2; z = 3; u = 5
  x = y + z; y = x + z; z = x + y
  w += x + y + z + u
  x = y + z; y = x + z; z = x + y
  w += x + y + z + u
  w += x + y + z + u
  first
  x = y + z; y = x + z; z = x + y
  w += x + y + z + u
  first if w > x
end
500.times { long(0) }
END
cat >"$tmp/heap.rb" <<'END'
def keep(all) = all << 'x' * 1000000
all = []
50.times { keep(all) }
END
if [ -x /usr/bin/ruby3.1 ]; then
    script=(/usr/bin/ruby3.1 "$tmp/shapes.rb" 1000)
    check Ruby "ruby 3.1" 'Object#work' 'Object#inner<Object#shape_deep' \
        'Object#shape_plain<block in Object#all_shapes' 'Über.shape_static<block in Object#all_shapes' \
        'block in Steps#each<(?!Object#|block|Über).*' 'rescue in Object#shape_rescue<Object#shape_rescue'
    try "Ruby: a method has its class, its file and its line" described "Über.shape_static" "ruby 3.1" "$tmp/shapes.rb" 9
    try "Ruby: a method in C has its name, and no file" described "Integer#times" "ruby 3.1" "" ""
    try "Ruby: it has its name, too, if it jumped to another function" described "String#each_line" "ruby 3.1" "" ""
    # Without gems there are fewer events before the script begins.
    script=(/usr/bin/ruby3.1 --disable-gems "$tmp/shapes.rb" 50)
    try "Ruby: the output is the same, with --heap, too" eval "same_output && same_output --heap"
    script=(/usr/bin/ruby3.1 --disable-gems "$tmp/heap.rb")
    try "Ruby: --heap has the method that allocates" allocates 'Object#keep'
    try "Ruby: and each of two that call the same function" apart /usr/bin/ruby3.1 --disable-gems "$tmp/two.rb"
    script=(/usr/bin/ruby3.1 --disable-gems "$tmp/lines.rb")
    try "Ruby: --lines has the lines that were running" lines 'block in Object#work' ';lines.rb:[3456]'
    try "Ruby: --lines has the lines that called" lines 'Object#first' ';lines.rb:10;Object#work' ';Object#work'
    try "Ruby: --lines has the lines of a long method that called" lines 'Object#long' ';lines.rb:(21|24);Object#first' ';Object#first'
else
    skip "Ruby" "ruby3.1 is not installed"
fi

# A second of sleep, in a function of the first thread or of another one.
cat >"$tmp/wall.pl" <<'END'
sub waits { select(undef, undef, undef, 0.02) for 1 .. 50 }
if ($ARGV[0]) { require threads; threads->create(\&waits)->join } else { waits() }
END
cat >"$tmp/wall.php" <<'END'
<?php
function waits() { for ($i = 0; $i < 50; $i++) usleep(20000); }
waits();
END
cat >"$tmp/wall.rb" <<'END'
def waits = 50.times { sleep 0.02 }
case ARGV[0]
when 'thread' then Thread.new { waits }.join
when 'ractor' then Ractor.new { waits }.take
else waits
end
END
# The function has a second of waiting, whatever the processor's load.
waits()
{
    "$tallytree" record --wall --force -o "$tmp/tt" -- "${script[@]}" >/dev/null 2>"$tmp/messages" &&
        "$tallytree" export --to folded --metric time -o "$tmp/folded" --force "$tmp/tt" &&
        awk -v name=";$1;" 'index($0, name) { sum += $NF } END { print sum; exit !(sum >= 0.9e9) }' "$tmp/folded"
}
for script in "perl $tmp/wall.pl" "perl $tmp/wall.pl thread" "php8.2 -n $tmp/wall.php" "ruby3.1 $tmp/wall.rb" \
    "ruby3.1 $tmp/wall.rb thread" "ruby3.1 $tmp/wall.rb ractor"; do
    read -ra script <<<"$script"
    case ${script[0]} in perl) waiting=main::waits ;; php8.2) waiting=waits ;; *) waiting='Object#waits' ;; esac
    what="--wall has the function that waits: ${script[*]##*/}"
    if [ -x "/usr/bin/${script[0]}" ] && { [ "${script[0]}" != perl ] || [ "$is_perl" ]; }; then try "$what" waits $waiting; else skip "$what" "it is not installed"; fi
done

# outside NAME COMMAND... - of a process that runs, native functions are shown, and why.
outside()
{
    local name=$1 pid status
    : >"$tmp/begun"
    "${@:2}" >"$tmp/begun" &
    pid=$!
    patiently [ -s "$tmp/begun" ] &&
        "$tallytree" record --force -o "$tmp/tt" --duration 0.2 -p $pid 2>"$tmp/messages"
    status=$?
    kill $pid
    reap $pid
    rm -f "/tmp/perf-$pid.map"
    cat "$tmp/messages"
    [ $status = 0 ] && grep -qx "tallytree: functions of $name, not shown: it is recorded from outside" "$tmp/messages" &&
        "$tallytree" report header "$tmp/tt" | grep -q "^interpreter *$name, not shown: it is recorded from outside$"
}
# tried NAME COMMAND... - the same, or why it is not tried.
tried()
{
    local what="from outside, the header says that functions of $1 are not shown"
    if ! type "$2" >/dev/null 2>&1; then
        skip "$what" "it is not installed"
    elif ! "$tallytree" record --force -o "$tmp/tt" --counter page-faults true 2>/dev/null; then
        skip "$what" "not permitted"
    else
        try "$what" outside "$@"
    fi
}
tried perl perl -e '$| = 1; print "begun\n"; 1 while 1'
tried php php8.2 -n -r 'echo "begun\n"; while (1);'
tried ruby ruby3.1 -e 'STDOUT.sync = true; puts "begun"; loop { }'
tried node node -e 'console.log("begun"); for (;;);'
asked()
{
    rm -f "$tmp/tt"
    outside node node --perf_basic_prof_only_functions -e 'console.log("begun"); for (;;);' && return 1
    "$tallytree" report header "$tmp/tt" >"$tmp/header" && ! grep "not shown" "$tmp/header" "$tmp/messages" &&
        outside node node -e 'console.log("begun"); for (;;);' script.js --perf-basic-prof
}
what="but not if Node was asked to write their names"
if ! type node >/dev/null 2>&1; then
    skip "$what" "it is not installed"
elif ! "$tallytree" record --force -o "$tmp/tt" --counter page-faults true 2>/dev/null; then
    skip "$what" "not permitted"
else
    try "$what" asked
fi
finish
