#!/bin/bash
# SPDX-License-Identifier: MIT
# doc/json.md against the JSON of every view: the page is the schema, and says all of it.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

cat >"$tmp/schema.py" <<'END_OF_PYTHON'
import json, re, sys

page = open("doc/json.md").read()


def words_of(table):
    """The words in the first column of the table below a line: `a`, `b`."""
    lines = page[page.index(table):].split("|---|")[1].split("\n\n")[0].splitlines()[1:]
    return {w for line in lines for w in re.findall(r"`([a-z]+)`", line.split("|")[1])}


def keys_of(start):
    """The keys of the example that is between ` behind a bold word."""
    example = re.search(re.escape(start) + r"\*\* are\s+`(\{.*?\})`", page, re.S).group(1)
    return re.findall(r'"([a-z]+)":', example)


FIELDS = re.findall(r'^  "([a-z]+)":', page, re.M)
TYPES, ROLES = words_of("| type | value |"), words_of("| role | |")
FACT, COLUMN, ROW = keys_of("**facts"), keys_of("**columns"), keys_of("**rows")
REMARK = keys_of("**remarks")


def kinds():
    """The kinds of remarks, and how many arguments each has."""
    rows = page[page.index("| kind | arguments |"):].split("|---|---|\n")[1].split("\n\n")[0].splitlines()
    facts = re.findall(r'^        \{"([a-z. ]+)", "[a-z ]+",', open("profile/view.c").read(), re.M)
    assert len(facts) >= 15, facts
    found = {}
    for row in rows:
        names, arguments = row.strip("| ").split(" | ")
        for name in re.findall("`([^`]+)`", names):
            for fact in [f for f in facts if f.startswith("lost.")] if name == "lost.…" else [name]:
                found[fact] = 0 if arguments == "none" else len(arguments.split(", "))
    return found, facts


KINDS, LOSSES = kinds()


def kinds_in_code():
    """Those of the code; of each the arguments that its format prints."""
    import glob
    found = {fact: 1 for fact in LOSSES}
    for path in glob.glob("profile/*.c") + glob.glob("command/*.c"):
        for call in re.findall(r"tt_table_note\((.*?)\);", open(path).read(), re.S):
            strings = re.findall(r'"((?:[^"\\]|\\.)*)"', call)
            for kind in strings[:2] if "? \"" in call.split(",")[1] else strings[:1]:
                text = "".join(strings).replace("%%", "")
                if "losses[i].fact" not in call:
                    found[kind] = len(re.findall(r"%(?!-s)[0-9.*]*l*z*[a-z]", text))
    return found
LIMIT = 2 ** 53


def unique(pairs):
    keys = [k for k, _ in pairs]
    assert len(set(keys)) == len(keys), keys
    return dict(pairs)


def refuse(word):
    raise AssertionError(word + " is no JSON")


def integer(v, least):
    if isinstance(v, str):
        assert re.fullmatch("-?[1-9][0-9]*", v) and abs(int(v)) > LIMIT, v
        v = int(v)
    else:
        assert type(v) is int and abs(v) <= LIMIT, v
    assert v >= least, v


def value(kind, v):
    if v is None:
        return
    if kind == "text":
        assert type(v) is str
    elif kind == "amount":
        integer(v, 0)
    elif kind == "change":
        integer(v, -2 ** 63)
    else:
        assert type(v) in (int, float), v


def check(text):
    t = json.loads(text, object_pairs_hook=unique, parse_constant=refuse)
    assert list(t) == FIELDS, list(t)
    assert t["tallytree"] == 1 and type(t["view"]) is str
    for f in t["facts"]:
        assert list(f) == FACT and type(f["name"]) is str and type(f["text"]) is str
        integer(f["number"], 0)
    for c in t["columns"]:
        assert list(c) == COLUMN and c["type"] in TYPES and c["key"], c
        assert all(type(v) is str for v in c.values())
    keys = [c["key"] for c in t["columns"]]
    assert len(set(keys)) == len(keys), keys
    for r in t["rows"]:
        assert [k for k in r if k != "left"] == ROW and r["role"] in ROLES, r
        if "left" in r:
            assert r["role"] == "remainder", r
            assert r["values"][keys.index("name")] == "%d more" % r["left"] != "0 more", r
        assert type(r["depth"]) is int and type(r["group"]) is int
        assert len(r["values"]) == len(keys)
        for c, v in zip(t["columns"], r["values"]):
            value(c["type"], v)
    assert all(type(n) is str for n in t["notes"])
    assert t["notes"] == [n["text"] for n in t["remarks"]]
    for n in t["remarks"]:
        assert list(n) == REMARK and n["kind"] in KINDS, n
        assert len(n["arguments"]) == KINDS[n["kind"]], n
        for v in n["arguments"]:
            value("text" if type(v) is str and not v.isdigit() else "real" if type(v) is float else "change", v)
    return t


assert FIELDS and FACT and COLUMN and ROW, "the page has no schema"


def words_in(name, path):
    source = open(path).read()
    return set(re.findall(r'"([a-z]+)"', re.search(name + r"\[\] = \{(.*?)\}", source, re.S).group(1)))


if sys.argv[1] == "words":
    assert TYPES == words_in("type_names", "report/table-json.c"), TYPES
    assert ROLES == words_in("words", "profile/table.c"), ROLES
    code = kinds_in_code()
    code["timed in part"] -= 1  # "%.*s" makes one of its arguments
    assert KINDS == code, set(KINDS.items()) ^ set(code.items())
else:
    t = check(open(sys.argv[2], "rb").read().decode("utf-8", "strict"))
    assert sys.argv[1] in ("any", t["view"]), t["view"]
    for wanted in sys.argv[3:]:
        assert any(wanted == str(v) for r in t["rows"] for v in r["values"]), wanted
END_OF_PYTHON

# Names of all kinds, arcs, a figure that no double holds, two metrics.
printf 'block plain file=a,b.c line=3
push main
push plain
push quo"te\\d
tick 9007199254740993
pop
push main
push plain
tick 5
pop
pop
pop
push \xff\xfe\xc3\x28-\xe6\x97\xa5
tick 7
count bytes 12
pop
push \x1b[31m\x7f
tick 1
pop
pop
' >"$tmp/events"
"$tallytree" replay -o "$tmp/rec" "$tmp/events" || exit
sed 's/^tick 5$/tick 50/; s/^tick 7$/tick 3/' "$tmp/events" >"$tmp/others"
"$tallytree" replay -o "$tmp/other" "$tmp/others" || exit

# holds VIEW VALUES -- COMMAND... - the JSON of a command keeps to the page.
holds()
{
    local view=$1 values=()
    shift
    while [ "$1" != -- ]; do
        values+=("$1")
        shift
    done
    shift
    "$@" >"$tmp/json"
    python3 "$tmp/schema.py" "$view" "$tmp/json" "${values[@]}"
}

views=(flat graph tree callers block groups flame lines strands header)

try "the page has the words for types and roles that the code has" python3 "$tmp/schema.py" words
for view in "${views[@]}"; do
    args=()
    [ "$view" = block ] && args=(--block plain)
    try "$view keeps to the page" holds "$view" -- \
        "$tallytree" report "$view" --json "${args[@]}" "$tmp/rec"
    try "$view of a kept profile does too" holds "$view" -- \
        "$tallytree" report "$view" --json ${args[0]:+--block parse} test/golden/profile-1.tt
done
try "no digit is lost" holds flat 9007199254740993 -- "$tallytree" report flat --json "$tmp/rec"
try "names are whole, and what is no UTF-8 is replaced byte by byte" \
    holds flat $'\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd(-日' $'\x1b[31m\x7f' 'quo"te\d' -- "$tallytree" report flat --json "$tmp/rec"
try "diff keeps to the page" holds any -- "$tallytree" diff --json "$tmp/rec" "$tmp/other"
try "diff --scaling keeps to the page" holds any -- \
    "$tallytree" diff --scaling --json "$tmp/rec" "$tmp/other"
try "check keeps to the page" holds any -- "$tallytree" check --json "$tmp/rec" "$tmp/rec"
finish
