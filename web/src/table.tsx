// SPDX-License-Identifier: MIT
// table.tsx - any answer as a table: sorted by any column, read by any reader, copied as CSV.
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { cell, exact, share } from "./format";
import type { Column, Row, Table, Value } from "./model";
import { addressOf, blockOf, place, placeEnd, rowName, type Block } from "./names";
import { heaviestPath, isParent, nodesOf, shownOf, useOutline, type Node } from "./outline";
import { isLong, ROW, runsOf, useRows } from "./long";
import { Scroll } from "./parts";
import { useShell } from "./shell";
import { format, withView, withWords, type State } from "./state";

// Those that are shown in other columns' cells, or are for machines.
const folded = new Set(["self_low", "inclusive_low", "self_error", "inclusive_error", "block", "id", "apart", "context", "path", "module", "file", "line", "column", "offset", "length", "estimated"]);

const headings: Record<string, string> = {
  self_share: "self %",
  self: "self",
  inclusive_share: "total %",
  inclusive: "total",
  edge_share: "% of the function",
  calls_inside: "calls inside",
  away: "away from the median",
  "self.change": "self change",
  "total.change": "total change",
  change: "change %",
  thread: "thread number",
  number: "objects",
  blocks: "functions",
  contexts: "paths",
  copied_number: "copied objects",
  copied_bytes: "copied bytes",
  copied_overhead: "copied overhead",
  freed_number: "freed objects",
  freed_bytes: "freed bytes",
  freed_overhead: "freed overhead",
};

const ofView: Record<string, Record<string, string>> = {
  groups: { members: "functions" },
  waits: { self: "waited", self_share: "waited %" },
};

// Of a comparison the columns of both sides; of others, as the engine or we call them.
function headingOf(table: Table, column: Column): string {
  const [what, side] = column.key.split(".");
  if (side === "a" || side === "b") return `${what} ${table.sides[side === "a" ? 0 : 1]}`;
  return ofView[table.view]?.[column.key] ?? headings[column.key] ?? column.title;
}

// A cell on the page: one or two columns of the answer.
interface Shown {
  key: string;
  title: string;
  column: Column;
  low?: string;
  error?: string;
}

// Of a comparison: what has changed comes first, and then both sides.
const compared = ["self.change", "self.verdict", "self.a", "self.b", "total.change", "change", "total.verdict", "total.a", "total.b"];

function inOrder(table: Table): Column[] {
  if (!table.has("self.change")) return table.columns;
  return [...compared.map((key) => table.column(key)!), ...table.columns.filter((c) => !compared.includes(c.key))];
}

const isBlank = (value: Value) => value === null || value === "";

function shownColumns(table: Table, rows: Row[], leave: Set<string>): Shown[] {
  const out: Shown[] = [];
  for (const column of inOrder(table)) {
    if (folded.has(column.key) || leave.has(column.key) || column.key === "name") continue;
    if (rows.every((r) => isBlank(table.at(r, column.key)))) continue;
    const shown: Shown = { key: column.key, title: headingOf(table, column), column };
    if (table.has(column.key + "_low")) shown.low = column.key + "_low";
    const error = column.key.replace(/_share$/, "_error");
    if (error !== column.key && table.has(error)) shown.error = error;
    out.push(shown);
  }
  return out;
}

function Figure({ table, row, shown }: { table: Table; row: Row; shown: Shown }) {
  const value = table.at(row, shown.key);
  const { column } = shown;
  if (value === null) return <td class="figure none" aria-label="not known" />;
  const low = shown.low ? table.number(row, shown.low) : null;
  const error = shown.error ? table.number(row, shown.error) : null;
  const high = Number(value);
  const uncertain = low !== null && high > 0 && (high - low) / high > 0.2;
  const title =
    low !== null && low < high
      ? `between ${exact(table.at(row, shown.low ?? ""), column.unit)} and ${exact(value, column.unit)}: measuring itself may have added the difference`
      : exact(value, column.unit);
  if (column.type === "share" && column.key !== "change") {
    const width = column.key === "imbalance" ? 0 : Math.max(0, Math.min(1, high)) * 100; // that is no part of a whole
    return (
      <td class="figure share" title={String(value)}>
        <span class="measure" style={{ width: width + "%" }} />
        <span class="text">
          {share(high)}
          {error ? <small> ±{share(error)}</small> : null}
        </span>
      </td>
    );
  }
  return (
    <td class={"figure" + (uncertain ? " uncertain" : "")} title={title}>
      {cell(value, column)}
      {uncertain ? <span class="bracket" aria-label={title}> ⩾{cell(low, column)}</span> : null}
    </td>
  );
}

// Columns that the address leaves out.
const withoutOf = (state: State) => (state.words.without ?? "").split(",").filter((k) => k);

function Columns({ table, rows, leave }: { table: Table; rows: Row[]; leave: string[] }) {
  const shell = useShell();
  const without = withoutOf(shell.state);
  const all = shownColumns(table, rows, new Set(leave));
  if (all.length < 2) return null;
  return (
    <details class="drop">
      <summary>columns</summary>
      <fieldset>
        <legend>columns</legend>
        {all.map((c) => (
          <label class="check">
            <input
              type="checkbox"
              checked={!without.includes(c.key)}
              onChange={(e) => shell.go(withWords(shell.state, { without: (e.currentTarget.checked ? without.filter((k) => k !== c.key) : [...without, c.key]).join(",") }))}
            />{" "}
            {c.title || c.key.replaceAll(/[_.]/g, " ")}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

const NAME = 64; // letters, at most
const CLOSE = 24; // beside many columns, unless the window is wide

const lettersBeside = (columns: number) => (columns > 6 && window.innerWidth < 1200 ? CLOSE : NAME);

// Whether a change is more than chance: a sign, and a word where there is room.
function Verdict({ text }: { text: string }) {
  const [sign, word] = text.split(" ");
  return (
    <td class={"name text verdict " + (word ?? text)} title={text}>
      {word ? (
        <>
          {sign} <span class="word">{word}</span>
        </>
      ) : (
        text
      )}
    </td>
  );
}

// A function's name: a click opens it, its menu adds it to a list.
export function BlockName({ block, title, context, letters = NAME }: { block: Block; title?: string; context?: string; letters?: number }) {
  const shell = useShell();
  const { name } = block;
  const hit = shell.find?.test(name);
  const menu = (x: number, y: number) => shell.openMenu({ block, context, x, y });
  return (
    <span class={"block" + (hit ? " hit" : "")}>
      <a
        href={format(withView(shell.state, "block", { block: addressOf(block) }))}
        title={title ? `${name}\n${title}` : name}
        data-block={name}
        onContextMenu={(e) => {
          e.preventDefault();
          menu(e.clientX, e.clientY);
        }}
        onKeyDown={(e) => {
          if (e.key !== "m" || e.ctrlKey || e.metaKey || e.altKey) return;
          const box = e.currentTarget.getBoundingClientRect();
          menu(box.left, box.bottom);
          e.preventDefault();
        }}
      >
        {rowName(name, letters)}
      </a>
      <button
        class="more"
        aria-label={`menu of ${name}`}
        tabIndex={-1}
        onClick={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          menu(box.left, box.bottom);
        }}
      >
        ⋯
      </button>
    </span>
  );
}

// What finds the context of a row of the tree again; "": it is of none.
export const contextOf = (table: Table, row: Row) => (table.text(row, "path") ? `${table.text(row, "context")}#${table.text(row, "path")}` : "");

function csv(table: Table, rows: Row[]): string {
  const quote = (v: unknown) => {
    // a name may not become a formula where the cells are pasted
    const s = v === null ? "" : typeof v === "string" && /^[=@+-]\D|^[\t\r]/.test(v) ? "'" + v : String(v);
    return /[",\n\r]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
  };
  const lines = [["role", "depth", "group", ...table.columns.map((c) => c.key)].map(quote).join(",")];
  for (const r of rows) lines.push([r.role, r.depth, r.group, ...r.values].map(quote).join(","));
  return lines.join("\r\n") + "\r\n";
}

// In place of rows that are out of sight.
const Gap = ({ rows }: { rows: number }) => (
  <tr class="gap" aria-hidden="true">
    <td colSpan={99} style={{ height: `${rows * ROW}px` }} />
  </tr>
);

interface Props {
  table: Table;
  caption: string;
  rows?: Row[];
  sortable?: boolean;
  leave?: string[];
  nameTitle?: string;
  // Names that are blocks can be opened; others (strands, types) are only texts.
  blocks?: boolean;
  texts?: (key: string, text: string) => string; // how a text is shown
  order?: string; // the column that rows are sorted by when the address names none
  tools?: ComponentChildren; // beside the caption
  rest?: (parent: Row) => string; // the address of all that is below a row, when some of it is left out
  tree?: boolean; // can rows below others be closed?
  link?: (row: Row) => string; // of rows that are no blocks: the address that a name leads to
  label?: (row: Row) => string; // what such a row is called, if its name is not enough
}

function parentOf(nodes: Node[], at: number): Row {
  const { depth } = nodes[at]!.row;
  let i = at;
  while (nodes[i]!.row.depth >= depth) i--;
  return nodes[i]!.row;
}

export function Figures({ table, caption, rows = table.rows, sortable = true, leave = [], nameTitle, blocks = true, texts, order = "", tools, tree = false, rest, link, label }: Props) {
  const shell = useShell();
  const left = [...leave, ...(sortable ? withoutOf(shell.state) : [])].join();
  const columns = useMemo(() => shownColumns(table, rows, new Set(left.split(","))), [table, rows, left]);
  const letters = lettersBeside(columns.length);
  const sort = shell.state.words.sort || order;
  const nodes = useMemo(() => nodesOf(table, rows), [table, rows]);
  const [open, setOpen] = useOutline(caption, table, nodes);
  const shown = useMemo(() => (tree ? shownOf(nodes, open) : nodes.map((_, i) => i)), [tree, nodes, open]);
  const long = isLong(shown.length);
  const hits = useMemo(() => (long && shell.find ? shown.flatMap((at, i) => (nodes[at]!.row.role === "entry" && shell.find!.test(table.text(nodes[at]!.row, "name")) ? [i] : [])) : []), [long, shown, nodes, shell.find]);
  const body = useRef<HTMLTableSectionElement>(null);
  const hit = shell.hit && shell.hit.element === body.current ? hits[shell.hit.index] : undefined;
  const { window: seen, focused, onFocus, go } = useRows(body, shown.length, hit);
  const flip = (key: string) => setOpen(new Set(open.has(key) ? [...open].filter((k) => k !== key) : [...open, key]));
  const heaviest = (from: number) => setOpen(new Set([...open, ...heaviestPath(table, nodes, from, 0)]));
  const openAll = () => setOpen(new Set(nodes.filter((_, i) => isParent(nodes, i)).map((n) => n.key)));
  // Arrows go from row to row; in a tree they also open and close the row that has the focus, and
  // * opens the heaviest path below it.
  const onKey = (e: KeyboardEvent) => {
    const i = Number((e.target as HTMLElement).closest("tr")?.dataset.row ?? NaN);
    if (Number.isNaN(i) || e.ctrlKey || e.metaKey || e.altKey) return;
    const at = shown[i]!;
    const { key } = nodes[at]!;
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, PageDown: i + 20, PageUp: i - 20, Home: 0, End: shown.length - 1 }[e.key];
    if (to !== undefined) go(Math.max(0, Math.min(shown.length - 1, to)), e.key === "ArrowUp" || e.key === "PageUp" || e.key === "End" ? -1 : 1);
    else if (!tree || !isParent(nodes, at)) return;
    else if (e.key === "*") heaviest(at);
    else if (e.key === "ArrowRight" && !open.has(key)) flip(key);
    else if (e.key === "ArrowLeft" && open.has(key)) flip(key);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const [copied, setCopied] = useState(false);
  // Figures from the greatest, texts from A; then the other way round.
  const sortBy = (key: string) => {
    const first = table.column(key)?.type === "text" ? "-" + key : key;
    shell.go(withWords(shell.state, { sort: sort !== first ? first : first === key ? "-" + key : key }));
  };
  const heading = (key: string, title: string, figure: boolean) => {
    const state = sort === key ? "descending" : sort === "-" + key ? "ascending" : "none";
    return (
      <th scope="col" aria-label={title ? undefined : key.replaceAll("_", " ")} class={figure ? "figure" : "name"} aria-sort={state}>
        {sortable ? (
          <button aria-label={title ? undefined : key.replaceAll("_", " ")} onClick={() => sortBy(key)}>
            {title}
            <span aria-hidden="true">{state === "descending" ? " ▾" : state === "ascending" ? " ▴" : ""}</span>
          </button>
        ) : (
          <span>{title}</span>
        )}
      </th>
    );
  };
  return (
    <div class="table">
      <div class="tools">
        <h2 class="caption">{caption}</h2>
        {tools}
        {tree ? (
          <>
            <button onClick={() => heaviest(0)}>heaviest path</button>
            <button onClick={openAll}>open all</button>
            <button onClick={() => setOpen(new Set())}>close all</button>
          </>
        ) : null}
        {sortable ? <Columns table={table} rows={rows} leave={leave} /> : null}
        <button
          onClick={() =>
            navigator.clipboard.writeText(csv(table, rows)).then(() => {
              setCopied(true);
              setTimeout(() => setCopied(false), 1500);
            })
          }
        >
          {copied ? "copied" : "copy as CSV"}
        </button>
      </div>
      <Scroll label={caption}>
        <table
          aria-label={caption}
          class={(rows.some((r) => r.depth) ? "" : "level") + (long ? " long" : "")}
          {...(long ? { "aria-rowcount": shown.length + 1, style: { minWidth: `${16 + columns.length * 8.5}em` } } : {})}
        >
          <thead>
            <tr>
              {table.has("name") ? heading("name", nameTitle ?? table.column("name")?.title ?? "name", false) : null}
              {columns.map((c) => heading(c.key, c.title, c.column.type !== "text"))}
            </tr>
          </thead>
          <tbody ref={body} onKeyDown={onKey} onFocusIn={onFocus} onFocusOut={onFocus} data-hits={long ? hits.length : undefined}>
            {runsOf(seen, focused, shown.length).flatMap(({ from, to, gap }) => {
              if (gap) return [<Gap key={`gap ${from}`} rows={to - from} />];
              return Array.from({ length: to - from }, (_, n) => {
              const i = from + n;
              const at = shown[i]!;
              const { row, key } = nodes[at]!;
              return (
              <tr key={key || at} class={row.role} data-row={i} aria-rowindex={long ? i + 2 : undefined} aria-current={i === hit ? "true" : undefined}>
                {table.has("name") ? (
                  <td class="name" style={{ "--depth": Math.min(row.depth, 60) }}>
                    {!tree || row.role === "total" ? null : isParent(nodes, at) ? (
                      <button class="twist" aria-expanded={open.has(key)} aria-label={`${open.has(key) ? "close" : "open"} ${table.text(row, "name")}`} onClick={() => flip(key)}>
                        {open.has(key) ? "▾" : "▸"}
                      </button>
                    ) : (
                      <span class="twist" />
                    )}
                    {table.has("estimated") && table.at(row, "estimated") !== null ? (
                      <span title="a share: the file does not say on which paths the function had its cost">≈ </span>
                    ) : null}
                    {table.has("by_arcs") && table.at(row, "by_arcs") !== null ? (
                      <span title={`${table.text(row, "by_arcs")} calls by recursion that is folded`}>↺ </span>
                    ) : null}
                    {link && row.role === "entry" ? (
                      <a class={shell.find?.test(table.text(row, "name")) ? "plain hit" : "plain"} href={link(row)}>
                        {label ? label(row) : table.text(row, "name")}
                      </a>
                    ) : rest && row.role === "remainder" && row.left && row.depth ? (
                      <a class="plain" href={rest(parentOf(nodes, at))}>
                        {table.text(row, "name")}
                      </a>
                    ) : row.role === "remainder" || row.role === "total" || row.role === "heading" || !blocks ? (
                      <span class={row.role === "entry" && shell.find?.test(table.text(row, "name")) ? "plain hit" : "plain"}>{table.text(row, "name")}</span>
                    ) : (
                      <BlockName block={blockOf(table, row)} title={place(table, row)} context={contextOf(table, row)} letters={letters} />
                    )}
                    {blocks && row.role !== "remainder" && row.role !== "total" ? <small class="place">{blockOf(table, row).apart || placeEnd(table, row)}</small> : null}
                  </td>
                ) : null}
                {columns.map((c) =>
                  c.key.endsWith(".verdict") ? (
                    <Verdict text={texts ? texts(c.key, table.text(row, c.key)) : table.text(row, c.key)} />
                  ) : c.column.type === "text" ? (
                    <td class="name text">{texts ? texts(c.key, table.text(row, c.key)) : table.text(row, c.key)}</td>
                  ) : (
                    <Figure table={table} row={row} shown={c} />
                  ),
                )}
              </tr>
              );
              });
            })}
          </tbody>
        </table>
      </Scroll>
    </div>
  );
}
