#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples of Ruby: a file has the stacks that `stackprof` finds in it, or where it has no stacks, the
# functions with the samples that Ruby reads there.
. "$(dirname "$0")/formats.sh"

# ── By hand ──
cat >"$dir/small" <<'END'
{"version":1.2,"mode":"wall","interval":500,"samples":7,"gc_samples":1,"missed_samples":2,"metadata":{},
"frames":{"7":{"name":"Object#a","file":"a.rb","line":3,"total_samples":6,"samples":1,"edges":{"9007199254740993":5}},
"9007199254740993":{"name":"b","file":"a.rb","total_samples":5,"samples":5,"lines":{"9":[5,5]}},"1":{"name":null,"file":"","samples":1,"total_samples":1}},
"raw":[2,7,9007199254740993,3,1,7,1,3,7,9007199254740993,9007199254740993,2,1,1,1],"raw_timestamp_deltas":[1,2]}
END
stacks=$'(unknown) 1\nObject#a 1\nObject#a;b 3\nObject#a;b;b 2'
try "stacks have as many samples as they say" folds "$stacks" "$dir/small" samples
try "and the time of these" folds "$(sed 's/\([0-9]*\)$/\1 * 500000/; s/\([0-9]*\) \* 500000/\1/' <<<"$stacks" | awk '{ $NF *= 500000; print }')" "$dir/small" "sampled time"
try "what stackprof missed is counted" sh -c "'$tallytree' report header '$dir/small' | grep -q '2 *lost.samples'"
try "a note says so" sh -c "'$tallytree' report --no-header '$dir/small' | grep -q '^lost: 2 samples were lost'"
sed '/^"raw"/d; s/"total_samples":1}},$/"total_samples":1}}}/' "$dir/small" >"$dir/graph"
try "without stacks it is a call graph" folds $'(unknown) 1\nObject#a 1\nObject#a;b 5' "$dir/graph" samples
try "a stack that is not whole is refused" refuses_byte "the last stack is not whole" 's/,1,1,1\]/,1,1]/' "$dir/small"
try "so is a frame that there is not" refuses_byte "no frame of this id" 's/\[2,7,/[2,8,/' "$dir/small"
try "so are two frames of one id" refuses_byte "two frames of one id" 's/"1":{"name":null/"7":{"name":null/' "$dir/small"
try "so are more samples than 64 bits hold" refuses_byte "add up to more" 's/,3,1,7,1,3,7/,9223372036854775807,1,7,9223372036854775807,3,7/' "$dir/small"
try "so is a file without frames" refuses_byte "there are no frames" 's/"frames"/"fames"/' "$dir/small"
try "so is one that is cut off" truncated 60 17 2 "$dir/small"

# ── Ruby's own ──
if ! ruby -rstackprof -e 1 2>/dev/null; then
    skip "dumps and JSON of stackprof have the stacks that it finds there" "Ruby or its stackprof is not installed"
    skip "dumps without stacks have the figures that Ruby finds there" "Ruby or its stackprof is not installed"
    skip "a dump that is cut off is refused" "Ruby or its stackprof is not installed"
    finish
fi
cat >"$dir/w.rb" <<'END'
require 'stackprof'
require 'json'
class Tree
  def initialize(d); @kids = d > 0 ? Array.new(3) { Tree.new(d - 1) } : []; @name = "n\"#{d}"; end
  def walk(&b); b.call(self); @kids.each { |k| k.walk(&b) }; end
  attr_reader :name
end
def work(n) n.times { t = Tree.new(5); sum = 0; t.walk { |x| sum += x.name.size } } end
def odd(n) n > 0 ? even(n - 1) : work(1) end
def even(n) n > 0 ? odd(n - 1) : work(2) end
[[:cpu, 500], [:wall, 500], [:object, 50], [:custom, 1]].each do |mode, interval|
  [true, false].each do |raw|
    p = StackProf.run(mode: mode, raw: raw, interval: interval) do
      7.times { |i| work(3); odd(i); 3.times { StackProf.sample } if mode == :custom }
    end
    File.binwrite("#{ARGV[0]}/#{mode}.#{raw}.dump", Marshal.dump(p))
    File.write("#{ARGV[0]}/#{mode}.#{raw}.json", JSON.generate(p))
  end
end
END
ruby "$dir/w.rb" "$dir"

sums() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) print s, sum[s] }' | LC_ALL=C sort; }
same_stacks()
{
    local mode
    for mode in cpu wall object custom; do
        stackprof --stackcollapse "$dir/$mode.true.dump" | sums >"$dir/truth"
        [ -s "$dir/truth" ] || [ $mode = cpu ] || return
        for file in dump json; do
            "$tallytree" export --to folded --metric samples "$dir/$mode.true.$file" | sums | diff "$dir/truth" - >"$dir/diff" ||
                { head -5 "$dir/diff"; echo "$mode $file"; return 1; }
        done
    done
    echo "$(wc -l <"$dir/truth") stacks at last"
}
try "dumps and JSON of stackprof have the stacks that it finds there" same_stacks

# Frames of one function are within each other here.
figures() { ruby -e 'Marshal.load(File.binread(ARGV[0]))[:frames].values.group_by { |f| [f[:name], f[:file], f[:line] || 0] }.each { |k, f| puts [f.sum { |g| g[:samples] }, f.map { |g| g[:total_samples] }.max, *k].join(" ") if f.any? { |g| g[:total_samples] > 0 } }' "$1" | LC_ALL=C sort; }
ours_of() { "$tallytree" report flat --csv --limit all --threshold 0 --metric samples "$1" | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry": print(r["self"], r["inclusive"], r["name"], r["file"], r["line"] or 0)' | LC_ALL=C sort; }
same_figures()
{
    local mode
    for mode in cpu wall object custom; do
        figures "$dir/$mode.false.dump" >"$dir/truth"
        for file in dump json; do
            ours_of "$dir/$mode.false.$file" | diff "$dir/truth" - || { echo "$mode $file"; return 1; }
        done
    done
    [ "$(wc -l <"$dir/truth")" -gt 5 ]
}
try "dumps without stacks have the figures that Ruby finds there" same_figures
try "a dump that is cut off is refused" truncated 600 37 1 "$dir/custom.true.dump"
finish
