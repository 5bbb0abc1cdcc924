(* SPDX-License-Identifier: MIT *)
(** What an OCaml program allocates, by call stack: how much, what of it the minor collector
    copies, how long it lives, and how much is alive over time.

    Every word has the same chance of being looked at, whatever it is in, and counts for as
    many as it stands for, so that bytes are right on average at any rate; at the rate 1 they
    are exact.  Numbers of objects are of those that were looked at.  What is made in the
    major heap at once is of the types [large …], and told of as if it were copied there.  The
    time of minor collections goes to [\[gc\]], that of slices of major ones to
    [\[major gc\]]. *)

(** [start ~rate ~depth words] begins to record.  [words] are those of tt_start, as
    ["output=prog.tallytree"]; [rate] is the share of words that are looked at, 1e-3 unless
    told; [depth] how much of a stack is kept, 100 frames unless told.
    @raise Failure when it cannot be begun, or was begun before. *)
val start : ?rate:float -> ?depth:int -> string -> unit

(** Ends the recording.  What is alive by then stays alive in it. *)
val stop : unit -> unit

(** Writes a copy of the current recording. *)
val write : string -> unit
