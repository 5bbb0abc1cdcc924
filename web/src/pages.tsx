// SPDX-License-Identifier: MIT
// pages.tsx - one page for each way of looking.
import { useMemo } from "preact/hooks";
import { Flame, layOut, type Frame } from "./flame";
import { amount, group, share } from "./format";
import type { Table } from "./model";
import { Answer, Choice, More } from "./parts";
import { useShell, useTable } from "./shell";
import { exactly, query, withView, withWords } from "./state";
import { Figures } from "./table";

// As many frames as could be seen: a pixel is the smallest.
function finest(): number {
  return Number((1 / Math.max(400, window.innerWidth)).toFixed(6));
}

const FRAMES = 8000;

/* ── Flame graphs ─────────────────────────────────────────────────────────────────── */

export function FlamePage() {
  const shell = useShell();
  const { state } = shell;
  const context = state.words.context ?? "";
  const style = state.words.style ?? "icicle";
  const asked = useTable(query(state, "flame", { context, threshold: finest(), limit: FRAMES }));
  const path = useTable(context ? query(state, "tree", { to: context }) : null);
  const up = style === "flame";

  const frames = useMemo(() => {
    if (!asked.table) return [];
    const above = path.table ? path.table.rows.filter((r) => r.role === "entry").slice(0, -1) : [];
    const bars: Frame[] = above.map((row, depth) => ({
      row,
      name: path.table!.text(row, "name"),
      depth,
      left: 0,
      right: 1,
      colour: path.table!.text(row, "module") || path.table!.text(row, "name"),
    }));
    return [...bars, ...layOut(asked.table, asked.table.rows, "inclusive", bars.length)];
  }, [asked.table, path.table]);

  const open = (table: Table) => (f: Frame) => {
    const number = table.text(f.row, "context") || path.table?.text(f.row, "context") || "";
    if (f.row.role !== "remainder" && number !== "") shell.go(withWords(state, { context: number === "0" ? "" : number }));
  };
  const leave = () => {
    const rows = path.table?.rows.filter((r) => r.role === "entry") ?? [];
    const parent = rows[rows.length - 2];
    const number = parent ? path.table!.text(parent, "context") : "";
    if (context) shell.go(withWords(state, { context: number === "0" ? "" : number }));
  };
  return (
    <section>
      <div class="bar">
        <Choice
          label="direction"
          value={style}
          options={[
            ["icicle", "icicle"],
            ["flame", "flame"],
          ]}
          onChange={(v) => shell.go(withWords(state, { style: v === "icicle" ? "" : v }))}
        />
        {context ? <button onClick={leave}>one level out</button> : null}
        {context ? <button onClick={() => shell.go(withWords(state, { context: "" }))}>all</button> : null}
      </div>
      <Answer asked={asked}>
        {(table) => (
          <Flame table={table} frames={frames} up={up} busy={asked.busy} label="Flame graph" onOpen={open(table)} onLeave={leave} />
        )}
      </Answer>
    </section>
  );
}

/* ── Tables ───────────────────────────────────────────────────────────────────────── */

export function FlatPage() {
  const { state } = useShell();
  const limit = Number(state.words.limit ?? 100);
  const sort = state.words.sort ?? "self";
  const asked = useTable(query(state, "flat", { sort, limit }));
  const besideMetric = state.words.beside ?? "";
  const beside = useTable(besideMetric ? query(state, "flat", { metric: besideMetric, limit: 4000 }) : null);
  const shell = useShell();
  return (
    <section>
      <div class="bar">
        <Choice
          label="order"
          value={sort}
          options={[
            ["self", "self times"],
            ["inclusive", "dominated times"],
          ]}
          onChange={(v) => shell.go(withWords(state, { sort: v }))}
        />
      </div>
      <Answer asked={asked}>
        {(table) => (
          <>
            <Figures table={table} caption="Each block: itself, and with all that it called" beside={besideMetric ? beside.table : null} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}

function TablePage({ view, caption, words = {}, limit = 200, blocks = true }: { view: string; caption: string; words?: Record<string, string>; limit?: number; blocks?: boolean }) {
  const { state } = useShell();
  const rows = Number(state.words.limit ?? limit);
  const asked = useTable(query(state, view, { ...words, sort: state.words.sort ?? "", limit: rows }));
  return (
    <Answer asked={asked}>
      {(table) => (
        <>
          <Figures table={table} caption={caption} blocks={blocks} />
          <More table={table} limit={rows} />
        </>
      )}
    </Answer>
  );
}

export const TreePage = () => <TablePage view="tree" caption="Contexts from the root, the largest first" words={{ context: useShell().state.words.context ?? "" }} />;
export const GroupsPage = () => <TablePage view="groups" caption="Sets of mutually recursive blocks, each taken as one" limit={60} />;

/* ── Inverted ─────────────────────────────────────────────────────────────────────── */

export function CallersPage() {
  const shell = useShell();
  const { state } = shell;
  const asTable = state.words.as === "table";
  const limit = asTable ? Number(state.words.limit ?? 200) : FRAMES;
  const asked = useTable(query(state, "callers", { block: state.words.block ?? "", limit, threshold: asTable ? "" : finest() }));
  const frames = useMemo(() => (asked.table ? layOut(asked.table, asked.table.rows, "self") : []), [asked.table]);
  return (
    <section>
      <div class="bar">
        <Choice
          label="shape"
          value={asTable ? "table" : ""}
          options={[
            ["", "icicle"],
            ["table", "table"],
          ]}
          onChange={(v) => shell.go(withWords(state, { as: v }))}
        />
        {state.words.block ? <button onClick={() => shell.go(withWords(state, { block: "" }))}>all blocks</button> : null}
      </div>
      <Answer asked={asked}>
        {(table) =>
          asTable ? (
            <>
              <Figures table={table} caption="Each block, then who called it" />
              <More table={table} limit={limit} />
            </>
          ) : (
            <Flame
              table={table}
              frames={frames}
              up={false}
              busy={asked.busy}
              label="Inverted: each block, below it who called it"
              onOpen={(f) => {
                if (f.colour) shell.go(f.depth === 0 && !state.words.block ? withWords(state, { block: exactly(f.name) }) : withView(state, "block", { block: exactly(f.name) }));
              }}
              onLeave={() => shell.go(withWords(state, { block: "" }))}
            />
          )
        }
      </Answer>
    </section>
  );
}

/* ── A block ──────────────────────────────────────────────────────────────────────── */

function Sandwich({ block }: { block: string }) {
  const shell = useShell();
  const { state } = shell;
  const above = useTable(query(state, "callers", { block, limit: FRAMES, threshold: finest(), sort: "inclusive" }));
  const below = useTable(query({ ...state, filters: [...state.filters, { kind: "root", pattern: block }] }, "flame", { limit: FRAMES, threshold: finest() }));
  const callers = useMemo(() => (above.table ? layOut(above.table, above.table.rows.filter((r) => r.depth > 0 || r.role === "entry"), "inclusive") : []), [above.table]);
  const callees = useMemo(() => (below.table ? layOut(below.table, below.table.rows, "inclusive") : []), [below.table]);
  const open = (f: Frame) => {
    if (f.colour) shell.go(withView(state, "block", { block: exactly(f.name) }));
  };
  return (
    <div class="sandwich">
      <Answer asked={above}>{(table) => <Flame table={table} frames={callers} up={true} label="Who called it" onOpen={open} />}</Answer>
      <Answer asked={below}>{(table) => <Flame table={table} frames={callees} up={false} label="What it called" onOpen={open} />}</Answer>
    </div>
  );
}

// Of a call; the block's own row has them.
const spare = ["self", "self_share", "min", "max", "deviation"];

export function BlockPage() {
  const shell = useShell();
  const { state } = shell;
  const block = state.words.block ?? "";
  const sequence = state.words.sequence ?? "";
  const asked = useTable(block || sequence ? query(state, "block", sequence ? { sequence } : { block }) : null);
  if (!block && !sequence)
    return <p class="empty">No block is chosen: open one in another view, or look for one with <kbd>/</kbd>.</p>;
  return (
    <section>
      <Answer asked={asked}>
        {(table) => {
          const of = (role: string) => table.rows.filter((r) => r.role === role);
          return (
            <>
              <h2>{sequence || table.text(of("entry")[0] ?? table.rows[0]!, "name") || block}</h2>
              <Figures table={table} caption="The block" rows={of("entry")} sortable={false} leave={["edge_share", "by_arcs"]} />
              <div class="two">
                <Figures table={table} caption="Going in: what would be got back if this call were taken away" rows={of("caller")} sortable={false} leave={spare} nameTitle="caller" />
                <Figures table={table} caption="Going out" rows={of("callee")} sortable={false} leave={spare} nameTitle="callee" />
              </div>
            </>
          );
        }}
      </Answer>
      {block ? <Sandwich block={block} /> : null}
    </section>
  );
}

/* ── Overview ─────────────────────────────────────────────────────────────────────── */

const factNames: [string, string][] = [
  ["program", "program"],
  ["command", "command"],
  ["host", "host"],
  ["lasted", "lasted"],
  ["modes", "modes"],
  ["clock", "clock"],
  ["recursion", "recursion"],
  ["budget", "budget"],
  ["overhead", "overhead"],
  ["source", "source"],
];

function Facts({ table }: { table: Table }) {
  const shown = factNames
    .map(([name, title]) => {
      const facts = table.facts.filter((f) => f.name === name);
      const f = facts[0];
      if (!f) return null;
      const number = Number(f.number);
      const text = f.text ? facts.map((x) => x.text).slice(0, 6).join(", ") : name === "lasted" ? amount(number, "ns") : group(String(f.number));
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

function Top({ table, sort, title }: { table: Table; sort: "self" | "inclusive"; title: string }) {
  const shell = useShell();
  const rows = table.rows.filter((r) => r.role === "entry");
  const largest = Math.max(...rows.map((r) => table.number(r, sort + "_share") ?? 0), 1e-12);
  return (
    <div class="top">
      <h2>{title}</h2>
      <ol>
        {rows.map((r) => {
          const name = table.text(r, "name");
          const of = table.number(r, sort + "_share") ?? 0;
          return (
            <li>
              <button
                onClick={() => shell.go(withView(shell.state, "block", { block: exactly(name) }))}
                onContextMenu={(e) => {
                  e.preventDefault();
                  shell.openMenu({ name, x: e.clientX, y: e.clientY });
                }}
              >
                <span class="fill" style={{ width: `${(of / largest) * 100}%` }} />
                <span class="name">{name}</span>
                <span class="amount">{amount(table.number(r, sort), table.unit)}</span>
                <span class="share">{share(of)}</span>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

export function OverviewPage() {
  const shell = useShell();
  const { state } = shell;
  const self = useTable(query(state, "flat", { sort: "self", limit: 10 }));
  const all = useTable(query(state, "flat", { sort: "inclusive", limit: 10 }));
  const flame = useTable(query(state, "flame", { threshold: 0.002, limit: 2000, depth: 24 }));
  const frames = useMemo(() => (flame.table ? layOut(flame.table, flame.table.rows, "inclusive") : []), [flame.table]);
  return (
    <section class="overview">
      <Answer asked={self}>
        {(table) => (
          <>
            <Facts table={table} />
            <div class="two">
              <Top table={table} sort="self" title="Where it went" />
              {all.table ? <Top table={all.table} sort="inclusive" title="With all that was called" /> : null}
            </div>
          </>
        )}
      </Answer>
      <Answer asked={flame}>
        {(table) => (
          <Flame
            table={table}
            frames={frames}
            up={false}
            label="From the root"
            onOpen={(f) => {
              if (f.row.role !== "remainder") shell.go(withView(state, "flame", { context: table.text(f.row, "context") }));
            }}
          />
        )}
      </Answer>
    </section>
  );
}
