#!/bin/bash
# SPDX-License-Identifier: MIT
# Caliper's two forms: what was measured in each region of each rank is what was made.
. "$(dirname "$0")/formats.sh"


cat >"$dir/small.cali" <<'END'
__rec=node,id=12,attr=10,data=64,parent=3
__rec=node,id=14,attr=8,data=attribute.unit,parent=12
__rec=node,id=33,attr=14,data=sec,parent=5
__rec=node,id=35,attr=10,data=65,parent=33
__rec=node,id=36,attr=8,data=sum#time.duration,parent=35
__rec=node,id=60,attr=8,data=min#time.duration,parent=35
__rec=node,id=38,attr=10,data=65,parent=2
__rec=node,id=39,attr=8,data=count,parent=38
__rec=node,id=61,attr=8,data=aggregate.slot,parent=38
__rec=node,id=62,attr=10,data=193,parent=2
__rec=node,id=63,attr=8,data=hidden,parent=62
__rec=node,id=64,attr=8,data=note,parent=12
__rec=node,id=65,attr=64,data=so\=called\, or not
__rec=node,id=40,attr=10,data=276,parent=3
__rec=node,id=41,attr=8,data=region,parent=40
__rec=node,id=42,attr=41,data=main

__rec=ctx,ref=42=65,attr=36=60=39=61=63,data=0.5=0.1=2=1=9
__rec=node,id=47,attr=41,data=a\,b\=c,parent=42
__rec=ctx,attr=39=36,data=3=1.5e-5,ref=47
__rec=node,id=48,attr=8,data=loop,parent=40
__rec=node,id=49,attr=48,data=cycle,parent=42
__rec=ctx,ref=47,attr=36=39,data=0.000000001=1
__rec=ctx,ref=49=47,attr=39,data=7
__rec=globals,ref=65
END
try "times of nested regions are in ns" folds 'main 500000000
main;a,b=c 15001' "$dir/small.cali" sum#time.duration
try "other figures are as they are; nodes stand below those before them" folds 'main 2
main;a,b=c 4
main;cycle;main;a,b=c 7' "$dir/small.cali" count
metrics() { "$tallytree" report header --csv "$dir/small.cali" | cut -d, -f4- >"$dir/got"; "$tallytree" export --to pprof -o "$dir/pb" "$dir/small.cali" && go tool pprof -raw "$dir/pb" 2>/dev/null | grep -A1 '^Samples:' | grep -o '[^ ]*/' | sort | paste -sd ' ' | grep -x 'count/ sum#time.duration/'; }
try "what does not add up, is hidden or an order is no metric" metrics

# A tree of regions on three ranks, exclusive and inclusive, in either form; values come as
# they may: by rank, out of order, in several records.
cat >"$dir/make.py" <<'END'
import collections, json, random, sys
random.seed(7)
paths = [()]
for i in range(300): paths.append(random.choice(paths)[:12] + ("f%d" % random.randrange(20),))
paths = sorted({p for p in paths if p})
self = {(r, p): random.randrange(1, 10**6) for r in range(3) for p in paths}
below = collections.Counter()
for (r, p), n in self.items():
    for d in range(1, len(p) + 1): below[r, p[:d]] += n
rows = list(self); random.shuffle(rows)
cali = ["__rec=node,id=12,attr=10,data=64,parent=3", "__rec=node,id=14,attr=8,data=attribute.unit,parent=12",
        "__rec=node,id=33,attr=14,data=usec,parent=5", "__rec=node,id=35,attr=10,data=65,parent=33",
        "__rec=node,id=100,attr=8,data=work,parent=35", "__rec=node,id=101,attr=8,data=inclusive#sum#time.duration,parent=35",
        "__rec=node,id=38,attr=10,data=65,parent=1", "__rec=node,id=102,attr=8,data=mpi.rank,parent=38",
        "__rec=node,id=40,attr=10,data=276,parent=3", "__rec=node,id=41,attr=8,data=region,parent=40"]
ids, nodes = {(): None}, []
for p in paths:
    for d in range(1, len(p) + 1):
        if p[:d] not in ids:
            ids[p[:d]] = 1000 + 3 * len(ids)
            nodes.append({"label": p[d - 1], "column": "path", **({"parent": (ids[p[:d - 1]] - 1003) // 3} if d > 1 else {})})
            cali.append("__rec=node,id=%d,attr=41,data=%s" % (ids[p[:d]], p[d - 1]) + (",parent=%d" % ids[p[:d - 1]] if d > 1 else ""))
data = []
for r, p in rows:
    a = self[r, p] // 3
    for part in (a, self[r, p] - a):
        cali.append("__rec=ctx,ref=%d,attr=100=102,data=%d.%03d=%d" % (ids[p], part // 1000, part % 1000, r))
        data.append([part / 1000, None, r, (ids[p] - 1003) // 3, "text"])
for (r, p), n in below.items():
    cali.append("__rec=ctx,attr=102=101,data=%d=%d.%03d,ref=%d" % (r, n // 1000, n % 1000, ids[p]))
    data.append([None, n / 1000, r, (ids[p] - 1003) // 3, None])
open(sys.argv[1] + "/made.cali", "w").write("\n".join(cali) + "\n")
columns = ["work", "time (inc)", "rank", "path", "what"]
meta = [{"is_value": True, "attribute.unit": "usec"}] * 2 + [{"is_value": True}, {"is_value": False}, {"is_value": True}]
json.dump({"data": data, "columns": columns, "column_metadata": meta, "nodes": nodes}, open(sys.argv[1] + "/made.json", "w"))
all = collections.Counter()
for (r, p), n in self.items(): all[p] += n
open(sys.argv[1] + "/want", "w").writelines("%s %d\n" % (";".join(p), n) for p, n in all.items())
open(sys.argv[1] + "/ranks", "w").writelines("%d,%d\n" % (r, sum(n for (q, p), n in self.items() if q == r)) for r in range(3))
END
python3 "$dir/make.py" "$dir"
as_made() { "$tallytree" export --to folded --metric "$2" "$dir/$1" | LC_ALL=C sort | diff - <(LC_ALL=C sort "$dir/want"); }
ranks() { "$tallytree" report strands --metric "$2" --csv "$dir/$1" | python3 -c 'import csv, sys; print("\n".join(sorted("%s,%s" % (r["name"].split()[1], r["self"]) for r in csv.DictReader(sys.stdin) if r["role"] == "entry")))' | diff - "$dir/ranks"; }
for file in made.cali made.json; do
    inclusive=sum#time.duration
    [ $file = made.cali ] || inclusive="time"
    try "each region has what was measured in it, $file" as_made $file work
    try "what includes the regions below is theirs no more, $file" as_made $file "$inclusive"
    try "each rank is a strand, $file" ranks $file work
done
cat >"$dir/two.json" <<'END'
{"columns": ["count", "function", "loop", "rank"], "column_metadata": [{"is_value": true}, {"is_value": false}, {"is_value": false}, {"is_value": false}],
 "nodes": [{"label": "f", "column": "function"}, {"label": "g", "column": "function", "parent": 0}, {"label": "l", "column": "loop"}, {"label": "5", "column": "rank"}],
 "data": [[1, 0, null, 3], [2, 1, 2, 3], [4, 1, null, null], [8, null, 2, 3]]}
END
try "without a path, one column's nodes are below the one's before" folds 'f 1
f;g 4
f;g;l 2
l 8' "$dir/two.json" count

try "a node that is not there is refused" refuses 18 "there is no node 43" '18s/42/43/' "$dir/small.cali"
try "so is one of an attribute that is not there" refuses 16 "there is no node 99" '16s/41/99/' "$dir/small.cali"
try "so is one that is there already" refuses 19 "there are two nodes 42" '19s/47/42/' "$dir/small.cali"
try "so are fewer values than attributes" refuses 20 "a record has 2 attributes and 1 values" '20s/=1.5e-5//' "$dir/small.cali"
try "so is a figure that is none" refuses 20 "'many' is no number" '20s/1.5e-5/many/' "$dir/small.cali"
try "so is one below 0" refuses 20 "a figure is below 0" '20s/1.5e-5/-1/' "$dir/small.cali"
try "so is a line that is neither node nor record" refuses 20 "this is neither a node nor a record" '20s/ctx/odd/' "$dir/small.cali"
try "so is a value of what is no attribute" refuses 20 "the node 42 is no attribute" '20s/attr=39/attr=42/' "$dir/small.cali"
try "a row of a node that is not there is refused" refuses_byte "a node that is not there" 's/\[2, 1, 2, 3\]/[2, 9, 2, 3]/' "$dir/two.json"
try "so is one with too few cells" refuses_byte "fewer cells" 's/\[2, 1, 2, 3\]/[2, 1, 2]/' "$dir/two.json"
try "so is one with too many" refuses_byte "more cells" 's/\[2, 1, 2, 3\]/[2, 1, 2, 3, 4]/' "$dir/two.json"
try "so are nodes on one that comes later" refuses_byte "not before it" 's/"parent": 0/"parent": 1/' "$dir/two.json"
try "so is a column without metadata" refuses_byte "has no metadata" 's/, {"is_value": false}\]/]/' "$dir/two.json"
try "so is a file without its rows" refuses_byte "are missing" 's/"data"/"more"/' "$dir/two.json"

# Times without a unit: whole ones are microseconds of old versions, others are seconds, and
# so is what was scaled.  The file begins with the nodes that all take for granted, as in 2016.
old_cali()
{
    cat <<END
__rec=node,id=0,attr=9,data=usr
__rec=node,id=5,attr=9,data=double
__rec=node,id=8,attr=8,data=cali.attribute.name,parent=3
__rec=node,id=11,attr=10,data=148,parent=0
__rec=node,id=38,attr=10,data=65,parent=5
__rec=node,id=39,attr=8,data=sum#time.duration,parent=38
__rec=node,id=43,attr=8,data=scale#sum#cupti.host.duration,parent=38
__rec=node,id=44,attr=8,data=alloc.region.highwatermark,parent=38
__rec=node,id=40,attr=10,data=276,parent=3
__rec=node,id=41,attr=8,data=region,parent=40
__rec=node,id=42,attr=41,data=main
__rec=ctx,attr=39=43=44,data=0.000000=0.000000=7
__rec=ctx,ref=42,attr=39=43=44,data=$1=2.000000=9
END
}
old_cali 0.493788 >"$dir/seconds.cali"
old_cali 27.000000 >"$dir/whole.cali"
try "times that are not whole are seconds" folds 'main 493788000' "$dir/seconds.cali" sum#time.duration
try "whole ones are microseconds" folds 'main 27000' "$dir/whole.cali" sum#time.duration
try "what was scaled is in seconds" folds 'main 2000000000' "$dir/whole.cali" scale#sum#cupti.host.duration
no_level() { ! "$tallytree" report header --csv "$dir/whole.cali" | grep -q highwatermark; }
try "a highest level adds up to nothing" no_level
other_node() { sed 's/id=5,attr=9,data=double/id=5,attr=9,data=int/' "$dir/whole.cali" >"$dir/bad" && refused "$dir/bad" ":2: there are two nodes 5"; }
try "another node of that number is refused" other_node
finish
