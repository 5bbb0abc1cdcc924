(* SPDX-License-Identifier: MIT *)
(* words.ml - prints the ten most frequent words of a file, and records what that allocates.

        ocamlfind ocamlopt -g -package tallytree,str -linkpkg words.ml -o words
        ./words FILE PROFILE *)

let read_words path =
  let file = open_in_bin path in
  let text = really_input_string file (in_channel_length file) in
  close_in file;
  Str.split (Str.regexp "[^a-z]+") (String.lowercase_ascii text)

let count words =
  let counts = Hashtbl.create 1000 in
  let add word =
    let n = Option.value (Hashtbl.find_opt counts word) ~default:0 in
    Hashtbl.replace counts word (n + 1) in
  List.iter add words;
  counts

let print counts =
  let pairs = Hashtbl.fold (fun word n all -> (-n, word) :: all) counts [] in
  List.sort compare pairs
  |> List.iteri (fun i (n, word) -> if i < 10 then Printf.printf "%7d %s\n" (-n) word)

let () =
  Tallytree.start ~rate:1. ("calls,output=" ^ Sys.argv.(2));
  print (count (read_words Sys.argv.(1)));
  Tallytree.stop ()
