// SPDX-License-Identifier: MIT
// functions.tsx - the pages that list functions, and rings of them.
import { withoutIdentity } from "./names";
import { Beside } from "./frame";
import { Answer, More, rowsOf } from "./parts";
import { useShell, useTable } from "./shell";
import type { Row, Table } from "./model";
import { addFilter, besideOf, query, withWords } from "./state";
import { Figures } from "./table";

// The metric that is looked at, and those that are beside it, as the engine takes them.
export function useMetrics(): string {
  const { state } = useShell();
  const { table } = useTable("view=header");
  const beside = besideOf(state);
  const names = table?.metrics() ?? [];
  const main = state.words.metric || names[0] || "";
  return beside.length && main ? [main, ...beside.filter((b) => b !== main && names.includes(b))].join(",") : (state.words.metric ?? "");
}

const lines = "kind:statement";

// Is it a line of a function, as `record --lines` and scripts have them?
function isLine(table: Table, row: Row): boolean {
  const [, file, line] = /^(.+):(\d+)$/.exec(table.text(row, "name")) ?? [];
  return row.role === "entry" && line !== undefined && line === table.text(row, "line") && table.text(row, "file").endsWith(file!);
}

// Offers to merge lines into their functions, when there are some.
export function Lines({ table }: { table: Table }) {
  const shell = useShell();
  const row = table.rows.find((r) => isLine(table, r));
  if (!row) return null;
  return (
    <p class="wrapper">
      {`${table.text(row, "name")} is a line of a function. `}
      <button onClick={() => shell.go(addFilter(shell.state, "fold", lines))}>merge lines into their functions</button>
    </p>
  );
}

export function FlatPage() {
  const shell = useShell();
  const { state } = shell;
  const { limit, threshold } = rowsOf(state, 100);
  const sort = state.words.sort ?? "self";
  const { block = "" } = state.words;
  const asked = useTable(query(state, "flat", { sort, limit, threshold, block, metric: useMetrics() }));
  return (
    <section>
      {block ? (
        <p class="notice">
          {`Functions that match ${withoutIdentity(block)}. `}
          <button onClick={() => shell.go(withWords(state, { block: "" }))}>show all</button>
        </p>
      ) : null}
      <Answer asked={asked}>
        {(table) => (
          <>
            <Lines table={table} />
            <Figures table={table} caption="Functions: self, and total with all that they called" order={sort} tools={<Beside />} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}

export function GroupsPage() {
  const { state } = useShell();
  const { limit, threshold } = rowsOf(state, 60);
  const asked = useTable(query(state, "groups", { rings: 1, limit, threshold, sort: state.words.sort ?? "" }));
  return (
    <section>
      <Answer asked={asked}>
        {(table) => !table.rows.some((r) => r.role === "entry" || r.left) ? (
          <p class="empty">No function calls itself here.</p>
        ) : (
          <>
            <Figures table={table} caption="Rings of recursion, each taken as one" order="inclusive" />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}
