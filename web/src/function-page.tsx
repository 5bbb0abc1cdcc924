// SPDX-License-Identifier: MIT
// function-page.tsx - the page of one function: its callers, what it calls, and both as flame graphs.
import { useMemo } from "preact/hooks";
import { finest, Flame, FRAMES, layOut, type Frame } from "./flame";
import { isBuildId } from "./format";
import { hasAddresses, type Row, type Table } from "./model";
import { addressOf, blockOf } from "./names";
import { Answer, FunctionName } from "./parts";
import { useShell, useTable } from "./shell";
import { format, query, withView } from "./state";
import { Figures } from "./table";

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
      <Answer asked={above} silent>{() => <Flame frames={callers} up={true} label="Its callers" onOpen={open} />}</Answer>
      <Answer asked={below} silent>{() => <Flame frames={callees} up={false} label="What it called" onOpen={open} />}</Answer>
    </div>
  );
}

// Not shown for a call; the block's own row has them.
const spare = ["self", "self_share", "min", "max", "deviation"];

// Where a block begins: its source, if the profile has a line, and its code.
function Place({ table, row, block }: { table: Table; row: Row | undefined; block: string }) {
  const { state } = useShell();
  const { table: header } = useTable("view=header");
  const file = row ? table.text(row, "file") : "";
  const line = row ? table.text(row, "line") : "";
  const isPlace = file && !isBuildId(file) && Number(line);
  const isCode = header && hasAddresses(header);
  if (!isPlace && !isCode) return null;
  return (
    <p class="hot">
      {isPlace ? <a href={format(withView(state, "lines", { file, line }))}>{`${file}:${line}`}</a> : null}
      {isPlace && isCode ? " · " : ""}
      {isCode ? (
        <>
          <a href={format(withView(state, "assembly", { block }))}>lines and instructions</a> <kbd>l</kbd>
        </>
      ) : null}
    </p>
  );
}

export function FunctionPage() {
  const shell = useShell();
  const { state } = shell;
  const block = state.words.block ?? "";
  const sequence = state.words.sequence ?? "";
  const asked = useTable(block || sequence ? query(state, "block", sequence ? { sequence } : { block }) : null);
  if (!block && !sequence)
    return <p class="empty">No function is chosen: click one on another page, or look for one with <kbd>/</kbd>.</p>;
  return (
    <section>
      <Answer asked={asked}>
        {(table) => {
          const of = (role: string) => table.rows.filter((r) => r.role === role);
          const several = sequence ? undefined : table.remarks.find((r) => r.kind === "added up");
          return (
            <>
              {several ? <p class="notice">{several.text}</p> : null}
              <FunctionName name={sequence || table.text(of("entry")[0] ?? table.rows[0]!, "name") || block} />
              {sequence ? null : <Place table={table} row={of("entry")[0]} block={block} />}
              <Figures table={table} caption="The function" rows={of("entry")} sortable={false} leave={["edge_share", "by_arcs"]} />
              <div class="two">
                <Figures table={table} caption="Callers: what would be saved without their calls" rows={of("caller")} sortable={false} leave={spare} nameTitle="caller" />
                {of("callee").length ? (
                  <Figures table={table} caption="Callees: what it called" rows={of("callee")} sortable={false} leave={spare} nameTitle="callee" />
                ) : (
                  <p class="empty">No callees were recorded.</p>
                )}
              </div>
            </>
          );
        }}
      </Answer>
      {block ? <Sandwich block={block} /> : null}
    </section>
  );
}
