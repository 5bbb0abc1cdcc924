#!/bin/bash
# SPDX-License-Identifier: MIT
# Call graphs to be drawn: dot takes them, and they are those of the view `graph`.
. "$(dirname "$0")/formats.sh"

cat >"$dir/small" <<'END'
main;parse;read 30
main;read 10
main;parse;parse;read 7
main;a "quoted" \ <name>|#1;x;y 3
END
python3 - "$dir" <<'END'
import random, sys
random.seed(4)
with open(sys.argv[1] + "/large", "w") as out:
    for i in range(150):
        path = [i]
        while path[-1]: path.append(max(0, (path[-1] - 1) // 3 - random.randrange(2)))
        print(";".join("f%d" % n for n in reversed(path)), random.randrange(10000), file=out)
END

cat >"$dir/compare.py" <<'END'
import csv, io, re, shlex, subprocess, sys
tallytree, file, to, limit = sys.argv[1:]
def run(*words, **more): return subprocess.run(words, capture_output=True, text=True, check=True, **more).stdout
drawn = run(tallytree, "export", "--to", to, file)
if to == "dot":
    lines = [shlex.split(l.replace("\\n", "\n")) for l in run("dot", "-Tplain", input=drawn).replace("\\\n", "").splitlines()]
    boxes = {l[1]: l[6].split("\n") for l in lines if l[0] == "node" and l[1] != "rest"}
    arrows = {(l[1], l[2]) for l in lines if l[0] == "edge"}
    costs = {(a, b): c.split("\\n")[0] for a, b, c in re.findall(r'(b\d+) -> (b\d+) \[label="([^"]*)"', drawn)}
else:
    assert drawn.startswith("flowchart TD\n")
    unescape = lambda t: re.sub(r"#(\d+);", lambda m: chr(int(m[1])), t)
    boxes = {b: [unescape(p) for p in t.split("<br/>")] for b, t in re.findall(r'^    (b\d+)\["([^"]*)"\]$', drawn, re.M)}
    costs = {(a, b): c.split("<br/>")[0] for a, c, b in re.findall(r'^    (b\d+) -->\|"([^"]*)"\| (b\d+)$', drawn, re.M)}
    arrows = set(costs)
    assert len(boxes) + len(costs) + 1 + ("rest[" in drawn) == len(drawn.splitlines())
rows = list(csv.DictReader(io.StringIO(run(tallytree, "report", "graph", "--csv", "--limit", limit, file))))
entries = {"b" + r["block"]: r for r in rows if r["role"] == "entry"}
assert set(boxes) == set(entries), (set(boxes), set(entries))
for b, r in entries.items():
    name = boxes[b][0].replace("\\\\", "\\").replace('\\"', '"') if to == "dot" else boxes[b][0]
    assert re.sub(r"[\\]", "", name) == re.sub(r"[\\]", "", r["name"]), (boxes[b], r)
    assert boxes[b][1] == "%s, %.2f %%" % (r["inclusive"], float(r["inclusive_share"]) * 100), (boxes[b], r)
    assert (boxes[b][2:] or ["self 0, 0.00 %"])[0].split(",")[0] == "self " + r["self"], (boxes[b], r)
want, group = {}, None
for r in rows:
    if r["role"] == "entry": group = "b" + r["block"]
    if r["role"] == "callee" and "b" + r["block"] in entries and float(r["inclusive_share"]) >= .001: want[group, "b" + r["block"]] = r["inclusive"]
assert arrows == set(want) == set(costs) and len(want) > 4
assert costs == want, [(k, costs[k], want[k]) for k in want if costs[k] != want[k]][:5]
END
for to in dot:80 mermaid:40; do
    for f in small large; do
        try "${to%:*} shows what the view graph says: $f" python3 "$dir/compare.py" "$tallytree" "$dir/$f" "${to%:*}" "${to#*:}"
    done
done
printf 'a\377b;c\303 4\n' >"$dir/bytes"
for to in dot mermaid; do
    text() { "$tallytree" export --to "$to" "$dir/bytes" | iconv -f UTF-8 -t UTF-8 >"$dir/got" && grep -q 'a�b' "$dir/got" && grep -q 'c�' "$dir/got"; }
    try "names that are no UTF-8 are text all the same: $to" text
done
rest() { "$tallytree" export --to dot "$dir/large" | grep -q 'rest .*[0-9] more: self [1-9]'; }
try "what is left out is said" rest
filtered() { "$tallytree" export --to dot --exclude parse "$dir/small" | dot -Tplain | grep -c ^node | grep -qx 6; }
try "filters apply" filtered
units() { printf 'push a\ntick 1500000\npop\n' | "$tallytree" replay -o "$dir/rec" && "$tallytree" export --to mermaid --metric calls "$dir/rec" | grep -q '"1'; }
try "any metric is drawn" units
none() { "$tallytree" replay -o "$dir/none" </dev/null; "$tallytree" export --to dot --metric nothing "$dir/rec" 2>&1 | grep -q "there is no metric"; }
try "a metric that is not there is refused" none

# Of several programs, the one that began first has started the others, whatever their names.
program_of() { "$tallytree" export --to dot "$@" | sed -n 's/.*label="\([^:]*\): .*/\1/p' | head -1; }
printf '#!/bin/bash\nawk "BEGIN { for (i = 0; i < 2000000; i++) x += i }"\n' >"$dir/starter"
printf '#!/bin/bash\nx=0; for ((i = 0; i < 300000; i++)); do x=$((x + i)); done\n' >"$dir/alone"
chmod +x "$dir/starter" "$dir/alone"
for program in starter alone; do
    "$tallytree" record -o "$dir/$program.tt" -- "$dir/$program" >"$dir/log" 2>&1
done
"$tallytree" merge -o "$dir/both.tt" "$dir/alone.tt" "$dir/starter.tt"
equal "a profile of several programs has the name of the one that was started" "$(program_of "$dir/starter.tt")" starter
equal "and after a merge, that which was started first" "$(program_of "$dir/both.tt")" starter
listed() { "$tallytree" report "$dir/starter.tt" >"$dir/got" && grep -q '^program .*awk, starter' "$dir/got" && ! grep -q '^began' "$dir/got"; }
try "the header has all of them" listed
finish
