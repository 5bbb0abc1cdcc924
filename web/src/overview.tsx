// SPDX-License-Identifier: MIT
// overview.tsx - the first page: what ran, and where it went.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Findings, Sentence, useKnown } from "./findings";
import { addressOfFrame, Flame, layOut } from "./flame";
import { amount, group, share } from "./format";
import { Lines } from "./functions";
import type { Row, Table } from "./model";
import { addressOf, blockOf, place, rowName } from "./names";
import { Answer } from "./parts";
import { useShell, useTable } from "./shell";
import { format, query, withView } from "./state";
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
    <details class="recording">
      <summary>about this recording</summary>
      <dl class="facts">
        {shown.map(([k, v]) => (
          <div>
            <dt>{k}</dt>
            <dd>{v}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/* ── Where it went ────────────────────────────────────────────────────────────────── */

const ROWS = 10;
const NAMED = 6; // omitted ones that are named

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
                  {rowName(block.name)}
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

function Dominated({ graph, of }: { graph: Table; of: string }) {
  const { state } = useShell();
  const passed = useMemo(() => passedOver(graph), [graph]);
  const blocks = entriesOf(graph).filter((r) => isBlock(graph, r));
  const rows = blocks.filter((r) => !passed.has(r)).slice(0, ROWS);
  const last = rows[rows.length - 1];
  const left = blocks.slice(0, last ? blocks.indexOf(last) : 0).filter((r) => passed.has(r)); // they would be in it
  const others = left.length - NAMED;
  return (
    <Top table={graph} rows={rows} sort="inclusive" title={`Total, with all that was called${of}`}>
      {left.length ? (
        <p class="left-out">
          {"Left out, as 95 % of their total is that of one function they call: "}
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

const SEEN = "tallytree.seen";

function isFirstVisit(): boolean {
  try {
    return localStorage.getItem(SEEN) === null;
  } catch {
    return false;
  }
}

// What one needs to know, until it is sent away.
function First() {
  const [shown, show] = useState(isFirstVisit);
  if (!shown) return null;
  return (
    <div class="first">
      <ul>
        <li>Click a frame or a name to open it; a right click, ⋯ or <kbd>m</kbd> shows what else can be done with it.</li>
        <li><kbd>/</kbd> finds a function in the whole profile, and filters by it.</li>
        <li><kbd>u</kbd> or the browser's back button undoes; <kbd>?</kbd> lists the keys, <em>i</em> says what a page answers.</li>
      </ul>
      <button
        onClick={() => {
          localStorage.setItem(SEEN, "1");
          show(false);
        }}
      >
        understood
      </button>
    </div>
  );
}

export function OverviewPage() {
  const shell = useShell();
  const { state } = shell;
  const self = useTable(query(state, "flat", { sort: "self", limit: ROWS }));
  const calls = useTable(query(state, "graph", { sort: "inclusive", limit: 6 * ROWS }));
  const flame = useTable(query(state, "flame", { threshold: 0.002, limit: 2000, depth: 24 }));
  const known = useKnown();
  const frames = useMemo(() => (flame.table ? layOut(flame.table, flame.table.rows, "inclusive") : []), [flame.table]);
  const metric = state.words.metric ?? known?.header.metrics()[0] ?? "";
  const of = metric === "time" || !metric ? "" : ` (${metric})`;
  return (
    <section class="overview">
      <Answer asked={self}>
        {(table) => (
          <>
            {known ? <Sentence known={known} /> : null}
            {known ? <Findings known={known} before={shell.before} /> : null}
            <First />
            <Facts table={table} />
            <div class="two">
              <Top table={table} rows={entriesOf(table)} sort="self" title={`Self${of}`}>
                <Lines table={table} />
              </Top>
              {calls.table ? <Dominated graph={calls.table} of={of} /> : null}
            </div>
          </>
        )}
      </Answer>
      <Answer asked={flame} silent>
        {() => (
          <Flame
            frames={frames}
            up={false}
            label="As wide as its total, with all that it called"
            stem
            onOpen={(f) => {
              if (f.row.role !== "remainder") shell.go(withView(state, "flame", { context: addressOfFrame(f) }));
            }}
          />
        )}
      </Answer>
    </section>
  );
}
