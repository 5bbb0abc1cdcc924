// SPDX-License-Identifier: MIT
// timeline.ts - use over time, as the view `timeline` answers it, and ranges of time as the
// filter `time` is written.  Times are in ns from the beginning of the run.
import { amount } from "./format";
import type { Row, Table } from "./model";
import type { State } from "./state";

export interface Range {
  from: number;
  to: number;
}

export interface Use {
  name: string;
  role: Row["role"];
  total: number;
  buckets: number[];
}

export interface Timeline {
  begin: bigint; // ns since 1970: exact, as two are subtracted
  bucket: number; // ns
  span: number; // ns: of all buckets
  rows: Use[]; // without the total
  all: Use;
  most: number; // of all, in one bucket
  unit: string;
  per: string; // what a ns of use in each ns is
}

export function timelineOf(table: Table): Timeline | null {
  const use = (row: Row): Use => ({
    name: table.text(row, "name"),
    role: row.role,
    total: table.number(row, "self") ?? 0,
    buckets: table.text(row, "buckets").split(" ").map(Number),
  });
  const last = table.total();
  if (!last) return null;
  const all = use(last);
  const bucket = table.number(last, "length") ?? 0;
  return {
    begin: BigInt(table.text(last, "from")),
    bucket,
    span: bucket * all.buckets.length,
    rows: table.rows.filter((r) => r.role !== "total").map(use),
    all,
    most: Math.max(...all.buckets),
    unit: table.unit,
    per: table.facts.some((f) => f.name === "wall" && Number(f.number)) ? "threads" : "CPUs",
  };
}

// How many samples the log has; 0: there is no log.
export const samplesOf = (header: Table | null): number => {
  const row = header?.rows.find((r) => header.text(r, "name") === "log");
  return row ? (header!.number(row, "number") ?? 0) : 0;
};

/* ── Ranges ───────────────────────────────────────────────────────────────────────── */

const trimmed = (text: string) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);

// Written as briefly as the precision `within` allows.
const seconds = (ns: number, within: number) => trimmed((ns / 1e9).toFixed(Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(within)))))) + "s";

// A range as a filter: an end that is the run's is left out, so that it grows with the run.
export function textOf(range: Range, run: number, within: number): string {
  const from = range.from > 0 ? seconds(range.from, within) : "";
  const to = range.to < run ? seconds(range.to, within) : "";
  return from || to ? `${from}..${to}` : "";
}

// What textOf writes, and "-10s.."; null: the engine knows what else there is.
export function rangeOf(text: string, run: number): Range | null {
  const last = /^-([\d.]+)s\.\.$/.exec(text);
  if (last) return { from: Math.max(0, run - Number(last[1]) * 1e9), to: run };
  const parts = /^(?:([\d.]+)s)?\.\.(?:([\d.]+)s)?$/.exec(text);
  return parts && { from: Number(parts[1] ?? 0) * 1e9, to: Math.min(run, parts[2] ? Number(parts[2]) * 1e9 : run) };
}

// Of the same length, as near as the bounds allow.
export function movedInto(range: Range, bounds: Range): Range {
  const length = Math.min(range.to - range.from, bounds.to - bounds.from);
  const from = Math.max(bounds.from, Math.min(bounds.to - length, range.from));
  return { from, to: from + length };
}

const ALL = "all"; // a live strip shows its last minute when nothing is said
const SHORTEST = 1e4; // ns, of what is shown

// The part of the run that the strip shows; "": all of it.
export function zoomOf(state: State, live: boolean): string {
  const written = state.words.strip ?? (live ? "-60s.." : ALL);
  return written === ALL ? "" : written;
}

// The part that is as near to a range as can be shown, as the address has it.
export function partText(range: Range, run: number, width: number, live: boolean): string {
  const length = Math.max(SHORTEST, Math.min(run, range.to - range.from));
  const middle = (range.from + range.to) / 2;
  const bounds = movedInto({ from: middle - length / 2, to: middle + length / 2 }, { from: 0, to: run });
  return textOf(bounds, run, length / Math.max(1, width)) || (live ? ALL : "");
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

// Of an axis: the shortest step, in ns, of which no more than `most` are in the span.
export function stepOf(span: number, most: number): number {
  const s = span / 1e9 / Math.max(1, most);
  if (s > 1) return (steps.find((x) => x >= s) ?? 86400 * Math.ceil(s / 86400)) * 1e9;
  const power = 10 ** Math.floor(Math.log10(s));
  return [1, 2, 5, 10].find((x) => x * power >= s * 0.999)! * power * 1e9;
}

const two = (n: number) => String(n).padStart(2, "0");

// A moment, as precise as steps of this length want: 0.25 s, 12 s, 1:05, 2:00:00.
export function moment(ns: number, step: number): string {
  const digits = Math.max(0, Math.min(9, Math.ceil(9 - Math.log10(step) - 1e-9)));
  if (ns < 60e9) return (ns / 1e9).toFixed(digits) + "\u202fs";
  const whole = Math.floor(ns / 1e9 + 10 ** -digits / 2);
  const part = digits ? (ns / 1e9 - Math.floor(ns / 1e9)).toFixed(digits).slice(1) : "";
  const minutes = Math.floor(whole / 60);
  return (minutes < 60 ? String(minutes) : `${Math.floor(minutes / 60)}:${two(minutes % 60)}`) + `:${two(whole % 60)}${part}`;
}

// What was used in a bucket: of time how many at once, of other things how much.
export const useText = (n: number, t: Timeline) => (t.unit === "ns" ? `${(n / t.bucket).toFixed(2)}\u202f${t.per}` : amount(n, t.unit));
