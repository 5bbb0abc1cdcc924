// SPDX-License-Identifier: MIT
// table.tsx - any answer as a table: sorted by any column, read by any reader, copied as CSV.
import { useMemo, useState } from "preact/hooks";
import { cell, exact, isBuildId, share } from "./format";
import type { Column, Row, Table } from "./model";
import { useShell } from "./shell";
import { exactly, format, withView, withWords } from "./state";

// Those that stand in other columns' cells, or are for machines.
const folded = new Set(["self_low", "inclusive_low", "self_error", "inclusive_error", "block", "context", "module", "file", "line", "column", "offset", "length"]);

const headings: Record<string, string> = {
  self_share: "self",
  inclusive_share: "inclusive",
  edge_share: "of entry",
  "self.a": "self before",
  "self.b": "self now",
  "total.a": "total before",
  "total.b": "total now",
};

// A cell on the page: one or two columns of the answer.
interface Shown {
  key: string;
  title: string;
  column: Column;
  low?: string;
  error?: string;
}

function shownColumns(table: Table, rows: Row[], leave: Set<string>): Shown[] {
  const out: Shown[] = [];
  for (const column of table.columns) {
    if (folded.has(column.key) || leave.has(column.key) || column.key === "name") continue;
    if (!rows.some((r) => table.at(r, column.key) !== null)) continue;
    const shown: Shown = { key: column.key, title: headings[column.key] ?? column.title, column };
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
    const width = Math.max(0, Math.min(1, high)) * 100;
    return (
      <td class="figure share" title={String(value)}>
        <span class="bar" style={{ width: width + "%" }} />
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

// Where a block is: in its file, or, when all that is known of that is a build-id, in its module.
export function place(table: Table, row: Row): string {
  const file = table.text(row, "file");
  const line = table.number(row, "line");
  if (!file || isBuildId(file)) return table.text(row, "module");
  return line ? `${file}:${line}` : file;
}

// The end of it; all stands in the name's title.
function placeEnd(table: Table, row: Row): string {
  const path = place(table, row).split("/");
  return path.slice(table.text(row, "file") ? -2 : -1).join("/");
}

// A block's name: a click opens it, its menu adds it to a list.
export function BlockName({ name, title }: { name: string; title?: string }) {
  const shell = useShell();
  const hit = shell.find?.test(name);
  const menu = (x: number, y: number) => shell.openMenu({ name, x, y });
  return (
    <span class={"block" + (hit ? " hit" : "")}>
      <a
        href={format(withView(shell.state, "block", { block: exactly(name) }))}
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
        {name}
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

function csv(table: Table, rows: Row[]): string {
  const quote = (v: unknown) => {
    const s = v === null ? "" : String(v);
    return /[",\n\r]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
  };
  const lines = [["role", "depth", "group", ...table.columns.map((c) => c.key)].map(quote).join(",")];
  for (const r of rows) lines.push([r.role, r.depth, r.group, ...r.values].map(quote).join(","));
  return lines.join("\r\n") + "\r\n";
}

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
  beside?: Table | null; // the same blocks in another metric
}

// Figures of another metric, by block.
function besideOf(table: Table | null | undefined): Map<string, Row> {
  const by = new Map<string, Row>();
  for (const r of table?.rows ?? []) if (r.role === "entry") by.set(table!.text(r, "block"), r);
  return by;
}

export function Figures({ table, caption, rows = table.rows, sortable = true, leave = [], nameTitle, blocks = true, texts, beside }: Props) {
  const shell = useShell();
  const columns = shownColumns(table, rows, new Set(leave));
  const sort = shell.state.words.sort ?? "";
  const [copied, setCopied] = useState(false);
  const other = useMemo(() => besideOf(beside), [beside]);
  const besideKeys = beside ? ["self", "inclusive"].filter((k) => beside.has(k)) : [];
  const sortBy = (key: string) =>
    shell.go(withWords(shell.state, { sort: sort === key ? "-" + key : key }));
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
        <span class="caption">{caption}</span>
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
      <div class="scroll">
        <table aria-label={caption} class={rows.some((r) => r.depth) ? "" : "level"}>
          <thead>
            <tr>
              {table.has("name") ? heading("name", nameTitle ?? table.column("name")?.title ?? "name", false) : null}
              {columns.map((c) => heading(c.key, c.title, c.column.type !== "text"))}
              {besideKeys.map((k) => (
                <th scope="col" class="figure beside">
                  <span>{`${shell.state.words.beside} ${k}`}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => (
              <tr key={i} class={row.role}>
                {table.has("name") ? (
                  <td class="name" style={{ "--depth": Math.min(row.depth, 60) }}>
                    {row.role === "remainder" || row.role === "total" || row.role === "heading" || !blocks ? (
                      <span class={row.role === "entry" && shell.find?.test(table.text(row, "name")) ? "plain hit" : "plain"}>{table.text(row, "name")}</span>
                    ) : (
                      <BlockName name={table.text(row, "name")} title={place(table, row)} />
                    )}
                    {blocks && row.role !== "remainder" && row.role !== "total" ? <small class="place">{placeEnd(table, row)}</small> : null}
                  </td>
                ) : null}
                {columns.map((c) =>
                  c.column.type === "text" ? (
                    <td class="name text">{texts ? texts(c.key, table.text(row, c.key)) : table.text(row, c.key)}</td>
                  ) : (
                    <Figure table={table} row={row} shown={c} />
                  ),
                )}
                {besideKeys.map((k) => {
                  const match = other.get(table.text(row, "block"));
                  const value = row.role === "entry" && match ? beside!.at(match, k) : null;
                  return (
                    <td class="figure beside" title={value === null ? "" : exact(value, beside!.unit)}>
                      {value === null ? "" : cell(value, beside!.column(k)!)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
