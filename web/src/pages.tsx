// SPDX-License-Identifier: MIT
// pages.tsx - one page for each way of looking.
import { useMemo, useRef } from "preact/hooks";
import { contextOf, Flame, frameOf, layOut, opened, type Frame } from "./flame";
import type { Row, Table } from "./model";
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

// What is to be seen of a context, by what there is of it: until the engine has answered all
// that is asked, the frames before it as they will stand then.
function framesOf(table: Table, path: Table | null, context: string, before: Frame[]): Frame[] {
  const begin = table.rows[0] ? table.text(table.rows[0], "context") : context;
  const rows = path?.rows.filter((r) => r.role === "entry") ?? [];
  const end = rows.length ? path!.text(rows[rows.length - 1]!, "context") : "0";
  if (begin !== context || end !== context) return opened(before, context);
  const above = rows.slice(0, -1).map((row, depth) => frameOf(path!, row, depth, 0, 1));
  return [...above, ...layOut(table, table.rows, "inclusive", above.length)];
}

export function FlamePage() {
  const shell = useShell();
  const { state } = shell;
  const context = state.words.context ?? "";
  const style = state.words.style ?? "icicle";
  const asked = useTable(query(state, "flame", { context, threshold: finest(), limit: FRAMES }));
  const path = useTable(context ? query(state, "tree", { to: context }) : null);
  const up = style === "flame";

  const last = useRef<Frame[]>([]);
  const frames = useMemo(() => {
    if (asked.table) last.current = framesOf(asked.table, path.table, context || "0", last.current);
    return last.current;
  }, [asked.table, path.table, context]);

  const open = (f: Frame) => {
    const number = contextOf(f);
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
        {() => <Flame frames={frames} up={up} context={context} busy={asked.busy} label="Flame graph" onOpen={open} onLeave={leave} />}
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

// What the root leads to, without it.
const belowRoot = (rows: Row[]) => rows.filter((r) => r.depth > 0).map((r) => ({ ...r, depth: r.depth - 1 }));

function Sandwich({ block }: { block: string }) {
  const shell = useShell();
  const { state } = shell;
  const above = useTable(query(state, "callers", { block, limit: FRAMES, threshold: finest(), sort: "inclusive" }));
  const below = useTable(query({ ...state, filters: [...state.filters, { kind: "root", pattern: block }] }, "flame", { limit: FRAMES, threshold: finest() }));
  const callers = useMemo(() => (above.table ? layOut(above.table, above.table.rows.filter((r) => r.depth > 0 || r.role === "entry"), "inclusive") : []), [above.table]);
  const callees = useMemo(() => (below.table ? layOut(below.table, belowRoot(below.table.rows), "inclusive") : []), [below.table]);
  const open = (f: Frame) => {
    if (f.colour) shell.go(withView(state, "block", { block: exactly(f.name) }));
  };
  return (
    <div class="sandwich">
      <Answer asked={above} silent>{() => <Flame frames={callers} up={true} label="Who called it" onOpen={open} />}</Answer>
      <Answer asked={below} silent>{() => <Flame frames={callees} up={false} label="What it called" onOpen={open} />}</Answer>
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
