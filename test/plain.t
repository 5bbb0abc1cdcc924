#!/bin/bash
# SPDX-License-Identifier: MIT
# Names may hold what a terminal obeys.  It does not get there, by any command.
. "$(dirname "$0")/tap.sh"
build=$(cd "$TT_BUILD" && pwd)
tallytree=$build/tallytree
cd "$tmp" || exit 1
export COLUMNS=200

# Whether the text of a file is plain, decided without any code of ours: for each line of FILE
# WORD..., one with the answer.
cat >plain.py <<'END2'
import re, sys
def wrong(file, *words):
    text = open(file, "rb").read()
    if "terminal" in words:
        text = text.replace(b"\r\n", b"\n")
        if "data" not in words:
            text = re.sub(rb"\x1b\[[0-9;]*m", b"", text)
    if not text:
        return ("there is nothing")
    try:
        text = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return ("it is no UTF-8: %s" % error)
    for i, c in enumerate(text):
        n = ord(c)
        if (n < 32 and c not in "\n\t") or 127 <= n < 160 or 0x202a <= n <= 0x202e or 0x2066 <= n <= 0x2069:
            return ("U+%04X in %r" % (n, text[max(0, i - 30):i + 30]))
    for line in text.split("\n"):
        if "data" not in words and line.lstrip().startswith("INJECTED"):
            return ("a name has a line for itself: %r" % line)
for line in sys.stdin:
    print(wrong(*line.split()) or "plain", flush=True)
END2
cat >make.py <<'END2'
import json
names = ["esc\x1b[31mred\x1b]0;title\x07", "csi\u009b31m", "two\nINJECTED\rback", "del\x7fbell\x07",
         "turn\u202eback", "tab\there\\;x"]
json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json",
           "shared": {"frames": [{"name": n, "file": "/src/" + n + ".c", "line": 3} for n in names]},
           "profiles": [{"type": "sampled", "name": "thread " + n, "unit": "milliseconds", "startValue": 0,
                         "endValue": 60, "samples": [[0], [0, 1], [0, 1, 2], [3], [3, 4], [5]],
                         "weights": [10, 10, 10, 10, 10, 10]} for n in names]}, open("names.json", "w"))
names = [n.encode() for n in names if "\n" not in n] + [b"raw\x9b31mbytes", b"no\xff\xfeutf"]
with open("events", "wb") as f:
    for n in names:
        f.write(b"push " + n.replace(b" ", b"_").replace(b"\t", b"_") + b"\n")
    for n in names:
        f.write(b"pop\n")
END2
python3 make.py
"$tallytree" replay events -o recording || exit 1
"$tallytree" merge -o names.tt names.json || exit 1
"$tallytree" merge -o merged names.json recording || exit 1

coproc judge { exec python3 "$tmp/plain.py"; }
# is_plain FILE WORD...
is_plain()
{
    local answer
    echo "$*" >&"${judge[1]}"
    read -r answer <&"${judge[0]}" && [ "$answer" = plain ] || { echo "$answer"; return 1; }
}

# shows COMMAND... - all that it prints is plain, and the command does not fail otherwise.
shows()
{
    "$tallytree" "$@" >out 2>&1 </dev/null
    [ $? -lt 128 ] && is_plain out
}
# The same in a separate terminal; data may have names of more than one line, but no colours.
shows_there()
{
    local command
    printf -v command '%q ' "$tallytree" "$@"
    script -qec "$command" /dev/null >out </dev/null
    case " $* " in
    *" --csv "* | *" export "*) is_plain out terminal data ;;
    *) is_plain out terminal ;;
    esac
}

views=$("$tallytree" report --help | sed -n '/^Views/,/^Layouts/p' | awk '/^  / { print $1 }' | grep -v '[^a-z-]')
try "there are views" [ "$(wc -w <<<"$views")" -ge 10 ]
for file in recording merged; do
    for view in $views; do
        try "report $view of $file" shows report "$view" "$file"
    done
    for layout in fble ghc mlworks tdk ocr; do
        try "report $layout of $file" shows report "$layout" "$file"
    done
    try "report by strands of $file" shows report flat --by strand "$file"
    try "check of $file" shows check --fail-if 'esc' "$file"
    try "diff of $file" shows diff "$file" names.tt
    try "top of $file" shows top --count 1 "$file"
done
try "dump of a recording" shows dump recording
# The names that dump shows can be read back: the same bytes that were pushed.
read_back()
{
    "$tallytree" dump recording | python3 -c '
import re, sys
got = set()
for line in sys.stdin.buffer.read().decode().split("\n"):
    field = line.split("\t")
    if field[0] == "block":
        text, out, i = field[1] if not field[1].isdigit() else field[2], b"", 0
        while i < len(text):
            m = re.match(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\(.)", text[i:])
            if not m:
                out += text[i].encode(); i += 1; continue
            out += (bytes([int(m[1], 16)]) if m[1] else chr(int(m[2], 16)).encode() if m[2] else
                    {"n": b"\n", "t": b"\t"}.get(m[3], m[3].encode()))
            i += m.end()
        got.add(out)
want = set(l[5:] for l in open("events", "rb").read().split(b"\n") if l.startswith(b"push"))
sys.exit(not want <= got and "got %r\nwant %r" % (got, want))'
}
try "and read back" read_back

# Data for machines has what the names are, but not in a terminal.
if command -v script >/dev/null; then
    for view in $views; do
        for form in "" --csv --json --color; do
            # shellcheck disable=SC2086
            try "in a terminal: report $view $form" shows_there report "$view" $form merged
        done
    done
    for format in csv json folded callgrind pprof dot mermaid speedscope html pgcl; do
        try "in a terminal: export --to $format" shows_there export --to "$format" merged
    done
    "$tallytree" report flat --csv merged >piped
    try "a pipe has the names as they are" grep -q "$(printf '\033\[31mred')" piped
else
    skip "in a terminal" "there is no script(1)"
fi

# Messages.
evil=$(printf 'a\033[31m\302\233b\nINJECTED\177')
for command in report diff merge symbolize dump export check view serve record "record -p" on off replay; do
    # shellcheck disable=SC2086
    try "$command complains of a name plainly" shows $command "$evil"
done
try "report complains of a view plainly" shows report "$evil" recording
try "export complains of a format plainly" shows export --to "$evil" recording
try "and of a metric" shows report --metric "$evil" recording
try "and of a filter" shows report --select "$evil" recording
try "of a flag" shows report "--$evil" recording
cp /bin/true "$evil"
try "record names its output and its program plainly" shows record -o "$evil.tt" "./$evil"
try "and shows a report plainly" shows report flat "$evil.tt"
mkdir folder
cp recording "folder/$evil"
head -c 100 recording >"folder/$evil.torn"
try "a folder's files are named plainly" shows report flat folder
finish
