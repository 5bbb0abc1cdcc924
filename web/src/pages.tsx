// SPDX-License-Identifier: MIT
// pages.tsx - one page for each way of looking.
import { useMemo, useRef } from "preact/hooks";
import { addressOfFrame, Flame, frameOf, isOfContext, layOut, opened, type Frame } from "./flame";
import { isBuildId } from "./format";
import type { Row, Table } from "./model";
import { addressOf, blockOf, withoutIdentity } from "./names";
import { Answer, Choice, More } from "./parts";
import { useShell, useTable } from "./shell";
import { besideOf, format, query, withView, withWords } from "./state";
import { Figures } from "./table";

// The metric that is looked at, and those that are beside it, as the engine takes them.
function useMetrics(): string {
  const { state } = useShell();
  const { table } = useTable("view=header");
  const beside = besideOf(state);
  const names = table?.metrics() ?? [];
  const main = state.words.metric || names[0] || "";
  return beside.length && main ? [main, ...beside.filter((b) => b !== main && names.includes(b))].join(",") : (state.words.metric ?? "");
}

// As many frames as could be seen: a pixel is the smallest.
function finest(): number {
  return Number((1 / Math.max(400, window.innerWidth)).toFixed(6));
}

const FRAMES = 8000;

/* ── Flame graphs ─────────────────────────────────────────────────────────────────── */

// What is to be seen of a context, by what there is of it: until the engine has answered all
// that is asked, the frames before it as they will stand then.
function framesOf(table: Table, path: Table | null, context: string, before: Frame[]): Frame[] {
  const rows = path?.rows.filter((r) => r.role === "entry") ?? [];
  const begin = table.rows[0];
  const end = rows[rows.length - 1];
  const isThere = (of: Table, row: Row | undefined) => row !== undefined && isOfContext(frameOf(of, row, 0, 0, 1), context);
  if (begin ? !isThere(table, begin) : context && context !== "0") return opened(before, context);
  if (end ? !isThere(path!, end) : context && context !== "0") return opened(before, context);
  const above = rows.slice(0, -1).map((row, depth) => frameOf(path!, row, depth, 0, 1));
  return [...above, ...layOut(table, table.rows, "inclusive", above.length)];
}

// Filters, or evictions of a live recording, may have taken away the context that is opened.
const isGone = (error: string | null) => error?.startsWith("no context has the path") ?? false;

export function FlamePage() {
  const shell = useShell();
  const { state } = shell;
  const wanted = state.words.context ?? "";
  const style = state.words.style ?? "icicle";
  const words = { threshold: finest(), limit: FRAMES };
  const part = useTable(query(state, "flame", { ...words, context: wanted }));
  const gone = wanted !== "" && isGone(part.error);
  const whole = useTable(gone ? query(state, "flame", words) : null);
  const asked = gone ? whole : part;
  const context = gone ? "" : wanted;
  const path = useTable(context ? query(state, "tree", { to: context }) : null);
  const up = style === "flame";

  const last = useRef<Frame[]>([]);
  const frames = useMemo(() => {
    if (asked.table) last.current = framesOf(asked.table, path.table, context, last.current);
    return last.current;
  }, [asked.table, path.table, context]);

  const open = (f: Frame) => {
    if (f.colour) shell.go(withWords(state, { context: addressOfFrame(f) }));
  };
  const leave = () => {
    const rows = path.table?.rows.filter((r) => r.role === "entry") ?? [];
    const parent = rows[rows.length - 2];
    if (context) shell.go(withWords(state, { context: parent ? addressOfFrame(frameOf(path.table!, parent, rows.length - 2, 0, 1)) : "" }));
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
        {wanted ? <button onClick={() => shell.go(withWords(state, { context: "" }))}>all</button> : null}
      </div>
      {gone ? (
        <p class="notice" role="status">
          The frame that was opened is not in what is shown now: filters changed its path, or it was evicted. All is shown.
        </p>
      ) : null}
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
  const asked = useTable(query(state, "flat", { sort, limit, block: state.words.block ?? "", metric: useMetrics() }));
  const shell = useShell();
  return (
    <section>
      <div class="bar">
        <Choice
          label="order"
          value={sort}
          options={[
            ["self", "self"],
            ["inclusive", "with all that was called"],
          ]}
          onChange={(v) => shell.go(withWords(state, { sort: v }))}
        />
        {state.words.block ? <button onClick={() => shell.go(withWords(state, { block: "" }))}>all blocks, not only {withoutIdentity(state.words.block)}</button> : null}
      </div>
      <Answer asked={asked}>
        {(table) => (
          <>
            <Figures table={table} caption="Each block: itself, and with all that it called" order={sort} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}

function TablePage({ view, caption, order = "self", words = {}, limit = 200, blocks = true }: { view: string; caption: string; order?: string; words?: Record<string, string>; limit?: number; blocks?: boolean }) {
  const { state } = useShell();
  const rows = Number(state.words.limit ?? limit);
  const asked = useTable(query(state, view, { ...words, sort: state.words.sort ?? "", limit: rows }));
  return (
    <Answer asked={asked}>
      {(table) => (
        <>
          <Figures table={table} caption={caption} blocks={blocks} order={order} />
          <More table={table} limit={rows} />
        </>
      )}
    </Answer>
  );
}

export const TreePage = () => <TablePage view="tree" caption="Contexts from the root, the largest first" order="inclusive" words={{ context: useShell().state.words.context ?? "", metric: useMetrics() }} />;
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
                if (!f.colour) shell.go(withWords(state, { as: "table" }));
                else shell.go(f.depth === 0 && !state.words.block ? withWords(state, { block: addressOf(blockOf(f.table, f.row)) }) : withView(state, "block", { block: addressOf(blockOf(f.table, f.row)) }));
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
    if (f.colour) shell.go(withView(state, "block", { block: addressOf(blockOf(f.table, f.row)) }));
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

// Where a block begins: its source, when the profile says a line.
function Place({ table, row }: { table: Table; row: Row | undefined }) {
  const { state } = useShell();
  const file = row ? table.text(row, "file") : "";
  const line = row ? table.text(row, "line") : "";
  if (!file || isBuildId(file) || !Number(line)) return null;
  return (
    <p class="hot">
      <a href={format(withView(state, "lines", { file, line }))}>{`${file}:${line}`}</a>
    </p>
  );
}

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
          const several = !sequence && of("entry").some((r) => table.at(r, "id") === null);
          return (
            <>
              {several ? <p class="notice">{table.notes[0]}</p> : null}
              <h2>{sequence || table.text(of("entry")[0] ?? table.rows[0]!, "name") || block}</h2>
              {sequence ? null : <Place table={table} row={of("entry")[0]} />}
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
