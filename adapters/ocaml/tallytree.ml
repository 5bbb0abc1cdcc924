(* SPDX-License-Identifier: MIT *)
(* The tracker that Gc.Memprof calls: call stacks become contexts, and its events go to
   tallytree_stubs.c, which keeps the stacks that it has seen.  A frame is made into blocks
   once; functions that were inlined into it are separate blocks. *)

external start_recording : string -> float -> unit = "tt_ml_start"
external stop_recording : unit -> unit = "tt_ml_stop"
external write : string -> unit = "tt_ml_write"
external block : string -> string -> int -> int = "tt_ml_block"

(* The origin of a stack, a number; below 0: unknown. *)
external find : Printexc.raw_backtrace -> int = "tt_ml_find" [@@noalloc]

(* It leads to the context of these blocks, innermost first. *)
external learn : Printexc.raw_backtrace -> int array -> int = "tt_ml_learn"

(* The origin of a stack; words; is it in the major heap?  Returns the object if it is
   recorded: the answer to Memprof, to which no other reference may be kept. *)
external alloc : int -> int -> Gc.Memprof.allocation_source -> bool -> int option
  = "tt_ml_alloc"
  [@@noalloc]

external promote : int -> int option = "tt_ml_promote" [@@noalloc]
external free : int -> unit = "tt_ml_free" [@@noalloc]

let known : (Printexc.raw_backtrace_slot, int list) Hashtbl.t = Hashtbl.create 1024

let block_of_slot slot =
  let slot = Printexc.convert_raw_backtrace_slot slot in
  let name = Option.value (Printexc.Slot.name slot) ~default:"?" in
  match Printexc.Slot.location slot with
  | Some l -> block name l.Printexc.filename l.Printexc.line_number
  | None -> block name "" 0

let blocks_of slot =
  match Hashtbl.find_opt known slot with
  | Some blocks -> blocks
  | None ->
      let rec all slot =
        block_of_slot slot
        :: (match Printexc.get_raw_backtrace_next_slot slot with
           | Some next -> all next
           | None -> [])
      in
      let blocks = all slot in
      Hashtbl.add known slot blocks;
      blocks

let path stack =
  let rec from i =
    if i = Printexc.raw_backtrace_length stack then []
    else blocks_of (Printexc.get_raw_backtrace_slot stack i) @ from (i + 1)
  in
  Array.of_list (from 0)

let told major (a : Gc.Memprof.allocation) =
  let known = find a.callstack in
  let origin = if known >= 0 then known else learn a.callstack (path a.callstack) in
  match alloc origin a.size a.source major with
  | Some it when major -> promote it
  | answer -> answer

(* Objects that die in the minor heap existed when the collection began; they need no event. *)
let tracker =
  {
    Gc.Memprof.alloc_minor = told false;
    alloc_major = told true;
    promote;
    dealloc_minor = ignore;
    dealloc_major = free;
  }

let is_started = ref false

let stop () =
  if !is_started then begin
    is_started := false;
    Gc.Memprof.stop ();
    stop_recording ()
  end

let start ?(rate = 1e-3) ?(depth = 100) words =
  if !is_started then failwith "Tallytree.start: begun before";
  if not (rate > 0. && rate <= 1.) then failwith "Tallytree.start: no rate";
  start_recording words rate;
  (try Gc.Memprof.start ~sampling_rate:rate ~callstack_size:depth tracker
   with e -> stop_recording (); raise e);
  is_started := true;
  at_exit stop
