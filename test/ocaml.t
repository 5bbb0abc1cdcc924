#!/bin/bash
# SPDX-License-Identifier: MIT
# OCaml: what a program allocates and what becomes of it, against what it is known to do.
. "$(dirname "$0")/tap.sh"
build=$(realpath "${TT_BUILD:-build}")
tallytree=$build/tallytree
if [ ! -e "$build/adapters/ocaml/tallytree.cmxa" ]; then
    echo "1..0 # SKIP without OCaml 4.13 or 4.14, and findlib"
    exit
fi

cat >"$tmp/prog.ml" <<'E'
let rec make n acc = if n = 0 then acc else make (n - 1) (n :: acc)
let keep = ref []
let build n = keep := make n []
let waste n = ignore (Sys.opaque_identity (make n []))
let large () = ignore (Sys.opaque_identity (Array.make 5000 0))
let () =
  let rate = float_of_string Sys.argv.(2) and n = int_of_string Sys.argv.(3) in
  Gc.full_major ();
  Tallytree.start ~rate ("calls,output=" ^ Sys.argv.(1));
  build n;
  Gc.minor ();
  waste n;
  Gc.full_major ();
  large ();
  Tallytree.stop ();
  print_int (List.length !keep)
E

# As findlib has it once it is installed: a folder of that name among others.
mkdir "$tmp/lib"
ln -s "$build/adapters/ocaml" "$tmp/lib/tallytree"
builds()
{
    (cd "$tmp" && OCAMLPATH=$tmp/lib ocamlfind ocamlopt -g -package tallytree -linkpkg prog.ml -o prog)
}
try "a program is built with the library that findlib finds" builds

# objects FUNCTION - number, bytes, overhead, copied, its bytes.
objects()
{
    "$tallytree" report space --limit 0 --csv --select "$1" "$tmp/profile" |
        awk -F, '$1 == "total" { print $4, $5, $6, $7, $8 }'
}

# alive FUNCTION - how many bytes were, at the end.
alive()
{
    "$tallytree" export --to folded --metric live --select "$1" "$tmp/profile" |
        awk '{ n += $NF } END { print n + 0 }'
}

runs()
{
    "$tmp/prog" "$tmp/profile" "$1" "$2" >"$tmp/out" && [ "$(cat "$tmp/out")" = "$2" ]
}
try "and it prints what it would" runs 1 1000
try "a thousand cells that are kept are all copied out of the minor heap" \
    test "$(objects Prog.build)" = "1000 16000 8000 1000 16000"
try "and are alive at the end" test "$(alive Prog.build)" = 16000
try "of a thousand that are dropped none is" eval \
    '[ "$(objects Prog.waste)" = "1000 16000 8000 0 0" ] && [ "$(alive Prog.waste)" = 0 ]'
try "what is large has a type of its own" eval \
    '"$tallytree" report space --csv --select Prog.large "$tmp/profile" | grep -q "1,40000,8,.*large block"'
try "collections have their time and number" \
    eval '"$tallytree" export --to folded --metric calls "$tmp/profile" | grep -q "^\[gc\] [1-9]"'
try "functions have their files and lines" \
    eval '"$tallytree" report lines --csv --metric allocated "$tmp/profile" | grep -q "prog.ml:1"'

# A hundredth of the words: the standard error of 2e6 words is 0.7 %.
is_unbiased()
{
    runs 0.01 1000000 || return
    objects Prog.build
    objects Prog.waste
    for function in build waste; do
        objects Prog.$function | awk '{ exit !($2 > 15.4e6 && $2 < 16.6e6 && $3 > 7.7e6 && $3 < 8.3e6) }' ||
            return
    done
    [ "$(alive Prog.waste)" = 0 ] && [ "$(alive Prog.build)" = "$(objects Prog.build | cut -d ' ' -f 2)" ]
}
try "a sample of a hundredth stands for the whole" is_unbiased

# Five thousand cells are alive at once, then a thousand.
cat >"$tmp/peak.ml" <<'E'
let rec make n acc = if n = 0 then acc else make (n - 1) (n :: acc)
let keep = ref []
let build n = keep := make n []
let drop () = keep := []; Gc.full_major ()
let () =
  Gc.full_major ();
  Tallytree.start ~rate:1. ("calls,space=alloc+copies+types+peak,series=block,output=" ^ Sys.argv.(1));
  build 500; drop (); build 5000; drop (); build 1000; Gc.full_major ();
  Tallytree.stop ();
  print_int (List.length !keep)
E
at_peak()
{
    (cd "$tmp" && OCAMLPATH=$tmp/lib ocamlfind ocamlopt -g -package tallytree -linkpkg peak.ml -o peak) &&
        "$tmp/peak" "$tmp/profile" >"$tmp/out" || return
    local peak last
    peak=$("$tallytree" export --to folded --metric peak --select Peak.build "$tmp/profile" | awk '{ n += $NF } END { print n }')
    last=$("$tallytree" report series --csv "$tmp/profile" | awk -F, '$NF == "Peak.make" { last = $5 } END { print last }')
    echo "$peak bytes at most, $(alive Peak.build) at last, $last in the series"
    [ "$peak" = 80000 ] && [ "$(alive Peak.build)" = 16000 ] && [ "$last" = 16000 ]
}
try "what was alive when most was is known by function, and over time" at_peak

refuses()
{
    "$tmp/prog" "$@" 10 2>"$tmp/err"
    [ $? = 2 ] && cat "$tmp/err" && grep -q Failure "$tmp/err"
}
try "a rate above 1 is none" refuses "$tmp/profile" 2
try "a file that cannot be made is an error" refuses "$tmp/no/such/folder" 1

cat >"$tmp/busy.ml" <<'E'
let start () = Tallytree.start ("calls,output=" ^ Sys.argv.(1))
let () =
  Gc.Memprof.start ~sampling_rate:1e-6 Gc.Memprof.null_tracker;
  (try start () with Failure _ -> print_string "refused ");
  Gc.full_major ();
  Gc.Memprof.stop ();
  if Array.length Sys.argv > 2 then exit 0;
  start ();
  Tallytree.stop ();
  print_string "recorded"
E
busy()
{
    (cd "$tmp" && OCAMLPATH=$tmp/lib ocamlfind ocamlopt -g -package tallytree -linkpkg busy.ml -o busy) &&
        [ "$("$tmp/busy" "$tmp/profile")" = "refused recorded" ]
}
try "where another profiler of its kind runs there is an error, and later a recording" busy
ended()
{
    [ "$("$tmp/busy" "$tmp/ended" alone)" = "refused " ] && "$tallytree" report header "$tmp/ended" >"$tmp/header" &&
        grep -q '^lasted' "$tmp/header" && ! grep '^open' "$tmp/header"
}
try "what was begun before the error has ended" ended

# The compiler, on a large file: through its native frames.
compiler()
{
    for ((i = 0; i < 1500; i++)); do
        echo "let rec f$i x = if x < $i then g$i (x + 1) :: [] else [x * $i]"
        echo "and g$i x = match f$i (x - 1) with [] -> $i | y :: _ -> y + List.length [x; $i]"
    done >"$tmp/large.ml"
    (cd "$tmp" && "$tallytree" record --sampled -o "$tmp/compiler" -- ocamlopt.opt -c large.ml) \
        >"$tmp/log" 2>&1 || return
    [ -e "$tmp/large.cmx" ] || return
    "$tallytree" report flat --limit 400 --csv "$tmp/compiler" >"$tmp/flat" || return
    grep -c ',caml' "$tmp/flat"
    [ "$(grep -cE 'caml[A-Z][a-zA-Z_]*__' "$tmp/flat")" -ge 10 ]
}
try "the compiler's own functions are found where it spends its time" compiler
finish
