// SPDX-License-Identifier: MIT
// overview.tsx - the first page: what ran, and where it went.
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { addressOfFrame, Flame, layOut } from "./flame";
import { amount, group, share } from "./format";
import type { Row, Table } from "./model";
import { addressOf, blockOf, brief, place } from "./names";
import { Answer } from "./parts";
import { useShell, useTable } from "./shell";
import { format, query, withView, withWords } from "./state";
import { BlockName } from "./table";

const factNames: [string, string][] = [
  ["program", "program"],
  ["command", "command"],
  ["host", "host"],
  ["started", "started"],
  ["lasted", "lasted"],
  ["cpu", "CPU time"],
  ["modes", "modes"],
  ["clock", "clock"],
  ["recursion", "recursion"],
  ["budget", "budget"],
  ["overhead.most", "overhead"],
  ["source", "source"],
  ["format", "format"],
  ["paths", "paths"],
  ["figures", "figures"],
];

function Facts({ table }: { table: Table }) {
  const shown = factNames
    .map(([name, title]) => {
      const facts = table.facts.filter((f) => f.name === name);
      const f = facts[0];
      if (!f) return null;
      const number = Number(f.number);
      if (title === "overhead")
        return [title, `up to ${(number / 1000).toFixed(1)} ns an activation`] as const;
      if (name === "started" && number) return [title, new Date(number / 1e6).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })] as const;
      const text = f.text ? facts.map((x) => x.text).slice(0, 6).join(", ") : name === "lasted" || name === "cpu" ? amount(number, "ns") : group(String(f.number));
      return [title, facts.length > 6 ? `${text} and ${facts.length - 6} others` : text] as const;
    })
    .filter((x) => x !== null);
  return (
    <dl class="facts">
      {shown.map(([k, v]) => (
        <div>
          <dt>{k}</dt>
          <dd>{v}</dd>
        </div>
      ))}
    </dl>
  );
}

// What a heap recording was made for, each with the words that say what it is.
const heapWords: [string, string][] = [
  ["peak", "alive at the peak"],
  ["live", "alive at the end"],
  ["allocated", "allocated in all"],
  ["temporary", "freed at once"],
];

function Heap() {
  const { state } = useShell();
  const { table: header } = useTable("view=header");
  const rows = new Map((header?.rows ?? []).filter((r) => header!.text(r, "metric")).map((r) => [header!.text(r, "metric"), r]));
  if (!header || !rows.has("peak")) return null;
  return (
    <p class="heap">
      Memory:{" "}
      {heapWords
        .filter(([metric]) => rows.has(metric))
        .map(([metric, words], i) => (
          <>
            {i ? ", " : ""}
            <a aria-current={state.words.metric === metric ? "true" : undefined} href={format(withWords(state, { metric }))}>
              {amount(header.number(rows.get(metric)!, "number"), metric === "temporary" ? "" : "bytes")} {words}
            </a>
          </>
        ))}
    </p>
  );
}

/* ── Where it went ────────────────────────────────────────────────────────────────── */

const ROWS = 10;
const NAMED = 6; // of those that are left out

function Top({ table, rows, sort, title, children }: { table: Table; rows: Row[]; sort: "self" | "inclusive"; title: string; children?: ComponentChildren }) {
  const shell = useShell();
  const shown = rows.filter((r) => (table.number(r, sort) ?? 0) > 0).slice(0, ROWS);
  const largest = Math.max(...shown.map((r) => table.number(r, sort + "_share") ?? 0), 1e-12);
  return (
    <div class="top">
      <h2>{title}</h2>
      <ol>
        {shown.map((r) => {
          const block = blockOf(table, r);
          const of = table.number(r, sort + "_share") ?? 0;
          return (
            <li>
              <button
                title={[block.name, place(table, r)].filter((t) => t).join("\n")}
                onClick={() => shell.go(withView(shell.state, "block", { block: addressOf(block) }))}
                onContextMenu={(e) => {
                  e.preventDefault();
                  shell.openMenu({ block, x: e.clientX, y: e.clientY });
                }}
              >
                <span class="fill" style={{ width: `${(of / largest) * 100}%` }} />
                <span class={"name" + (shell.find?.test(block.name) ? " hit" : "")}>
                  {brief(block.name)}
                  {block.apart ? <small class="place"> {block.apart}</small> : null}
                </span>
                <span class="amount">{amount(table.number(r, sort), table.unit)}</span>
                <span class="share">{share(of)}</span>
              </button>
            </li>
          );
        })}
      </ol>
      {children}
    </div>
  );
}

const entriesOf = (table: Table) => table.rows.filter((r) => r.role === "entry");

// What is dominated by main, and by what starts it, is all; they say nothing.  Blocks that
// have nearly all they have from one call, in favour of what it leads to; where such calls go
// in a ring, its largest block stays.
const NEARLY = 0.95;

function passedOver(graph: Table): Set<Row> {
  const entries = entriesOf(graph);
  const ofGroup = new Map(entries.map((r) => [r.group, r]));
  const ofBlock = new Map(entries.map((r) => [graph.text(r, "block"), r]));
  const leads = new Map<Row, Row>();
  for (const call of graph.rows.filter((r) => r.role === "callee").reverse()) {
    const from = ofGroup.get(call.group);
    const to = ofBlock.get(graph.text(call, "block"));
    if (!from || !to || from === to || (graph.number(call, "edge_share") ?? 0) < NEARLY) continue;
    let end = to;
    while (end !== from && leads.has(end)) end = leads.get(end)!;
    if (end !== from) leads.set(from, to);
  }
  return new Set(leads.keys());
}

// The root is no block.
const isBlock = (graph: Table, row: Row) => graph.text(row, "block") !== "0";

function Dominated({ graph }: { graph: Table }) {
  const { state } = useShell();
  const passed = useMemo(() => passedOver(graph), [graph]);
  const blocks = entriesOf(graph).filter((r) => isBlock(graph, r));
  const rows = blocks.filter((r) => !passed.has(r)).slice(0, ROWS);
  const last = rows[rows.length - 1];
  const left = blocks.slice(0, last ? blocks.indexOf(last) : 0).filter((r) => passed.has(r)); // they would be in it
  const others = left.length - NAMED;
  return (
    <Top table={graph} rows={rows} sort="inclusive" title="With all that was called">
      {left.length ? (
        <p class="left-out">
          {"Left out, as nearly all they took is in one call of theirs: "}
          {left.slice(0, NAMED).map((r, i) => (
            <>
              {i ? ", " : ""}
              <BlockName block={blockOf(graph, r)} title={share(graph.number(r, "inclusive_share"))} />
            </>
          ))}
          {others > 0 ? " and " : ""}
          {others > 0 ? <a href={format(withView(state, "flat", { sort: "inclusive" }))}>{others} more</a> : null}
        </p>
      ) : null}
    </Top>
  );
}

export function OverviewPage() {
  const shell = useShell();
  const { state } = shell;
  const self = useTable(query(state, "flat", { sort: "self", limit: ROWS }));
  const calls = useTable(query(state, "graph", { sort: "inclusive", limit: 6 * ROWS }));
  const flame = useTable(query(state, "flame", { threshold: 0.002, limit: 2000, depth: 24 }));
  const frames = useMemo(() => (flame.table ? layOut(flame.table, flame.table.rows, "inclusive") : []), [flame.table]);
  return (
    <section class="overview">
      <Answer asked={self}>
        {(table) => (
          <>
            <Facts table={table} />
            <Heap />
            <div class="two">
              <Top table={table} rows={entriesOf(table)} sort="self" title="Where it went" />
              {calls.table ? <Dominated graph={calls.table} /> : null}
            </div>
          </>
        )}
      </Answer>
      <Answer asked={flame} silent>
        {() => (
          <Flame
            frames={frames}
            up={false}
            label="From the root"
            onOpen={(f) => {
              if (f.row.role !== "remainder") shell.go(withView(state, "flame", { context: addressOfFrame(f) }));
            }}
          />
        )}
      </Answer>
    </section>
  );
}
