// SPDX-License-Identifier: MIT
// findings.tsx - what ran, in one sentence, and what matters most, by the kind of the recording:
// changes, memory, waiting, threads that are uneven, the hottest function, missing names.
import { libraryPattern } from "./allocators";
import { isAllNoise } from "./compare";
import { amount, group, many, share } from "./format";
import type { Row, Table } from "./model";
import { addressOf, blockOf, fitName } from "./names";
import { programsOf } from "./frame";
import { useShell, useTable } from "./shell";
import { addFilter, compareQuery, format, query, timeOf, withView, withWords, type State } from "./state";
import { hasWaits, waitsQuery } from "./waits";

/* ── What is known of the recording ───────────────────────────────────────────────── */

const factOf = (table: Table, name: string): number => Number(table.facts.find((f) => f.name === name)?.number ?? 0);

export interface Known {
  header: Table;
  numbers: Map<string, number>; // of contexts, strands …
  totals: Map<string, number>; // of metrics
}

export function useKnown(): Known | null {
  const { table: header } = useTable("view=header");
  if (!header) return null;
  const numbers = new Map<string, number>();
  const totals = new Map<string, number>();
  for (const r of header.rows) {
    const metric = header.text(r, "metric");
    if (metric) totals.set(metric, header.number(r, "number") ?? 0);
    else numbers.set(header.text(r, "name"), header.number(r, "number") ?? 0);
  }
  return { header, numbers, totals };
}

export const isHeap = (known: Known) => known.totals.has("peak");

/* ── One sentence ─────────────────────────────────────────────────────────────────── */

const sizeOf = (numbers: Map<string, number>) => `${many(numbers.get("blocks") ?? 0, "function")} on ${many(numbers.get("contexts") ?? 0, "path")}`;

function timesOf({ header, numbers }: Known): string {
  const lasted = factOf(header, "lasted");
  const cpu = factOf(header, "cpu");
  const threads = numbers.get("strands") ?? 0;
  const recordings = factOf(header, "recordings");
  const parts: string[] = [];
  // Several recordings may be of one time, or one after another: only sums and the longest are known.
  if (recordings > 1) parts.push(`ran in ${many(recordings, "recording")}${lasted ? `, the longest of ${amount(lasted, "ns")}` : ""}`);
  else if (lasted) parts.push(`ran ${amount(lasted, "ns")}`);
  if (cpu && recordings > 1) parts.push(`with ${amount(cpu, "ns")} of CPU time`);
  else if (cpu && lasted > cpu) parts.push(`of which ${amount(cpu, "ns")} on the CPU (${share(cpu / lasted)})`);
  else if (cpu) parts.push(lasted ? `with ${amount(cpu, "ns")} of CPU time (${(cpu / lasted).toFixed(2)} CPUs)` : `took ${amount(cpu, "ns")} on the CPU`);
  const all = threads > 1 && threads > recordings ? ` in ${many(threads, "thread")}` : "";
  return parts.length ? parts.join(", ") + (all ? `,${all}` : "") : `has ${sizeOf(numbers)}${all}`;
}

function heapOf({ totals }: Known): string {
  const of = (metric: string) => amount(totals.get(metric) ?? 0, "bytes");
  return `At the peak ${of("peak")} were alive, at the end ${of("live")}; ${of("allocated")} were allocated in all, in ${many(totals.get("objects") ?? 0, "object")}.`;
}

const LISTED = 6; // programs

export function Sentence({ known }: { known: Known }) {
  const { name, others, programs } = programsOf(known.header);
  const listed = programs.length > 1 && programs.length <= LISTED ? `${programs.slice(0, -1).join(", ")} and ${programs[programs.length - 1]}` : "";
  const what = listed || (name || "This profile") + (others ? ` and ${many(others, "other program")}` : "");
  return (
    <p class="sentence">
      <strong>{what}</strong> {timesOf(known)}. {isHeap(known) ? heapOf(known) : ""}
    </p>
  );
}

/* ── Findings ─────────────────────────────────────────────────────────────────────── */

interface Finding {
  text: string;
  link?: string;
  to?: string; // what the link leads to
}

const entry = (table: Table | null): Row | undefined => table?.rows.find((r) => r.role === "entry");
const opened = (state: State, table: Table, row: Row) => format(withView(state, "block", { block: addressOf(blockOf(table, row)) }));
const nameOf = (table: Table, row: Row) => fitName(table.text(row, "name"), 70);

function changes(state: State, table: Table): Finding[] {
  const compare = format(withView(state, "diff", { against: "" }));
  if (isAllNoise(table)) return [{ text: "The largest changes may all be chance.", link: compare, to: "compare" }];
  return table.rows
    .filter((r) => r.role === "entry" && table.text(r, "self.verdict") !== "noise" && (table.number(r, "self.change") ?? 0) !== 0)
    .slice(0, 3)
    .map((r) => {
      const by = table.number(r, "self.change") ?? 0;
      const unit = table.column("self.change")?.unit ?? "";
      return { text: `${nameOf(table, r)} itself costs ${amount(Math.abs(by), unit)} ${by > 0 ? "more" : "less"} than before (${amount(table.number(r, "self.a") ?? 0, unit)}, now ${amount(table.number(r, "self.b") ?? 0, unit)}).`, link: compare, to: "compare" };
    });
}

// A metric, and the function that has most of it.
function most(state: State, table: Table | null, metric: string, text: (name: string, part: string) => string): Finding[] {
  const row = entry(table);
  if (!table || !row || !(table.number(row, "self") ?? 0)) return [];
  return [{ text: text(nameOf(table, row), share(table.number(row, "self_share"))), link: format(withView(withWords(state, { metric }), "flat", { metric })), to: "all of them" }];
}

const WAITS = 0.5; // less of the time than this on the CPU is worth a word
const MANY = 1e6; // contexts: to filter them takes a second
const UNEVEN = 0.25; // above the mean
const NAMELESS = 0.05;
const SAME = 100; // threads among which others of one name are looked for
const nameless = "/\\+0x[0-9a-f]+$/"; // what native code without a symbol is called

// Waits are rows among functions: "[waits: futex]". What for; undefined: it is no wait.
const waitOf = (table: Table, row: Row) => /^\[waits: (.*)\]$/.exec(table.text(row, "name"))?.[1];

// The thread with the most; if others have its name, by its number.
function busiestOf(threads: Table | null, name: string): string {
  const same = threads?.rows.filter((r) => r.role === "entry" && threads.text(r, "name") === name) ?? [];
  return same.length > 1 && threads!.text(same[0]!, "thread") ? `${name} ${threads!.text(same[0]!, "thread")}` : name;
}

// The lock, or another thing, that was waited for longest in all.
function longestWait(state: State, table: Table | null): Finding[] {
  const row = entry(table);
  if (!table || !row) return [];
  const waits = table.number(row, "count") ?? 0;
  return [{ text: `Threads waited ${amount(table.number(row, "self"), table.unit)} for ${nameOf(table, row)}${waits ? `, in ${many(waits, "wait")}, the longest of ${amount(table.number(row, "longest"), table.unit)}` : ""}.`, link: format(withView(withWords(state, { metric: "" }), "waits")), to: "all waits" }];
}

function useFindings(known: Known, before: boolean): Finding[] {
  const { state } = useShell();
  const heap = isHeap(known);
  const diff = useTable(before ? compareQuery(state, false, "flat", { limit: 12 }) : null);
  // The program's own functions, if that does not take long.
  const own = (known.numbers.get("contexts") ?? 0) < MANY ? addFilter(state, "fold", libraryPattern) : state;
  const of = (metric: string) => (heap && (known.totals.get(metric) ?? 0) > 0 ? query(withWords(own, { metric }), "flat", { limit: 1 }) : null);
  const peak = useTable(of("peak"));
  const live = useTable(of("live"));
  const temporary = useTable(of("temporary"));
  const threads = known.numbers.get("strands") ?? 0;
  const spread = useTable(threads > 1 ? query(state, "strands", { by: "context", limit: 1 }) : null);
  const largest = useTable(threads > 1 ? query(state, "strands", { limit: SAME }) : null);
  const waited = useTable(hasWaits(known.header) && !timeOf(state) ? waitsQuery(state, { limit: 1 }) : null);
  const hot = useTable(heap ? null : query(state, "flat", { limit: 1 }));
  const unresolved = known.header.facts.some((f) => f.name === "unresolved");
  const without = useTable(heap || !unresolved ? null : query(state, "flat", { block: nameless, limit: 1 }));
  const out: Finding[] = [];
  if (diff.table) out.push(...changes(state, diff.table));
  out.push(...most(own, peak.table, "peak", (name, part) => `${part} of what was alive at the peak was allocated by ${name}.`));
  out.push(...most(own, live.table, "live", (name, part) => `${amount(known.totals.get("live") ?? 0, "bytes")} were never freed, ${part} of them allocated by ${name}.`));
  out.push(...most(own, temporary.table, "temporary", (name, part) => `Objects that were freed before anything else was allocated: ${group(String(known.totals.get("temporary") ?? 0))}, ${part} of them by ${name}.`));
  const lasted = factOf(known.header, "lasted");
  const cpu = factOf(known.header, "cpu");
  if (!heap && lasted && cpu && factOf(known.header, "recordings") === 1 && cpu / lasted < WAITS && !factOf(known.header, "wall"))
    out.push({ text: `For ${share(1 - cpu / lasted)} of the time nothing ran on the CPU: record with --wall to see what was waited for.` });
  out.push(...longestWait(state, waited.table));
  const root = entry(spread.table);
  const first = entry(largest.table);
  const ran = root ? (spread.table!.number(root, "strands") ?? 0) : 0; // a thread that only waits for others is none of them
  const total = root ? (spread.table!.number(root, "inclusive") ?? 0) : 0;
  const part = root && total ? (spread.table!.number(root, "spread_max") ?? 0) / total : 0;
  const uneven = part * ran - 1;
  const byChance = part - 1 / Math.max(1, ran) < ((first && largest.table!.number(first, "self_error")) ?? 0);
  if (root && uneven > UNEVEN && !byChance && known.header.facts.filter((f) => f.name === "program").length < 2)
    out.push({ text: `Threads are uneven: ${busiestOf(largest.table, spread.table!.text(root, "max_strand"))} has ${share(uneven)} more than the mean of ${many(ran, "thread")} that ran.`, link: format(withView(state, "strands")), to: "threads" });
  const top = entry(hot.table);
  if (hot.table && top && (hot.table.number(top, "self_share") ?? 0) > 0) {
    const waits = waitOf(hot.table, top);
    out.push({ text: `${waits ? `Waits (${waits}) took most` : `${nameOf(hot.table, top)} took most itself`}: ${share(hot.table.number(top, "self_share"))}, ${amount(hot.table.number(top, "self"), hot.table.unit)}.`, link: opened(state, hot.table, top), to: waits ? "the waits" : "the function" });
  }
  const unnamed = (without.table?.rows ?? []).filter((r) => r.role === "entry" || (r.left ?? 0) > 0).reduce((n, r) => n + (without.table!.number(r, "self_share") ?? 0), 0);
  if (unnamed > NAMELESS)
    out.push({ text: `${share(unnamed)} is in functions without a name: install their debug symbols, then run tallytree symbolize.`, link: format(withView(state, "flat", { block: nameless })), to: "which" });
  return out.slice(0, 3);
}

export function Findings({ known, before }: { known: Known; before: boolean }) {
  const findings = useFindings(known, before);
  if (!findings.length) return null;
  return (
    <ul class="findings" aria-label="what matters most">
      {findings.map((f) => (
        <li>
          {f.text} {f.link ? <a href={f.link}>{f.to}</a> : null}
        </li>
      ))}
    </ul>
  );
}
