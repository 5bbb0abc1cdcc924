// SPDX-License-Identifier: MIT
// compare-flame.tsx - the differential flame graph: paths of both sides, as wide as their
// totals of both together, coloured by what has changed.
import { useMemo, useState } from "preact/hooks";
import { Flame, FRAMES, layOut, type Frame } from "./flame";
import type { Row, Table } from "./model";
import { addressOf, blockOf } from "./names";
import { Comparison, sidesText, useComparison } from "./compare";
import { useShell } from "./shell";
import { withView } from "./state";

const both = (table: Table) => (row: Row) => (table.number(row, "total.a") ?? 0) + (table.number(row, "total.b") ?? 0);

// The part of the rows that begins at one of them.
function below(rows: Row[], from: Row | null): Row[] {
  const at = from ? rows.indexOf(from) : -1;
  if (at < 0) return rows.filter((r) => r.role === "entry");
  let end = at + 1;
  while (end < rows.length && rows[end]!.depth > from!.depth) end++;
  return rows.slice(at, end).map((r) => ({ ...r, depth: r.depth - from!.depth, of: r }));
}

const originOf = (row: Row) => (row as Row & { of?: Row }).of ?? row;

export function CompareFlamePage() {
  const shell = useShell();
  const { state } = shell;
  const asked = useComparison("tree", { limit: FRAMES });
  const [from, open] = useState<Row | null>(null);
  const frames = useMemo(() => (asked.table ? layOut(asked.table, below(asked.table.rows, from), both(asked.table)) : []), [asked.table, from]);
  const leave = () => open(null);
  return (
    <section>
      {from ? (
        <p class="notice">
          {`What ${asked.table?.text(from, "name")} called. `}
          <button onClick={leave}>show all</button>
        </p>
      ) : null}
      <Comparison asked={asked}>
        {(table) => (
          <Flame
            frames={frames}
            up={false}
            by="change"
            stem={!from}
            busy={asked.busy}
            label={`As wide as its totals ${sidesText(table)} together; red: more ${table.sides[1]}, blue: less, grey: as much, or noise`}
            onOpen={(f: Frame) => (originOf(f.row) === from ? shell.go(withView(state, "block", { block: addressOf(blockOf(f.table, f.row)) })) : open(originOf(f.row)))}
            onLeave={leave}
          />
        )}
      </Comparison>
    </section>
  );
}
