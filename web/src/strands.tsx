// SPDX-License-Identifier: MIT
// strands.tsx - the page of threads, processes and ranks, each of which leads to what it did, and
// of how figures spread over them.
import { share } from "./format";
import type { Row, Table } from "./model";
import { Answer, Choice, limitOf, More } from "./parts";
import { useShell, useTable } from "./shell";
import { addFilter, exactly, format, query, withView, withWords, type State } from "./state";
import { Figures } from "./table";

function Spread({ table, row }: { table: Table; row: Row }) {
  const most = Math.max(...table.rows.filter((r) => r.role === "entry").map((r) => table.number(r, "spread_max") ?? 0), 1);
  const place = (key: string) => ((table.number(row, key) ?? 0) / most) * 100;
  const mean = place("spread_mean");
  const deviation = place("spread_deviation");
  return (
    <span class="spread" aria-hidden="true">
      <span class="range" style={{ left: `${place("spread_min")}%`, width: `${Math.max(0.5, place("spread_max") - place("spread_min"))}%` }} />
      <span class="near" style={{ left: `${Math.max(0, mean - deviation)}%`, width: `${Math.max(0.5, Math.min(100, mean + deviation) - Math.max(0, mean - deviation))}%` }} />
      <span class="mean" style={{ left: `${mean}%` }} />
    </span>
  );
}

const counted = new WeakMap<Table, Map<string, number>>();

// How many rows have that text in each column.
function countTexts(table: Table): Map<string, number> {
  const known = counted.get(table);
  if (known) return known;
  const counts = new Map<string, number>();
  for (const r of table.rows)
    for (const key of r.role === "entry" ? ["name", "rank", "thread", "pid"] : []) {
      const one = `${key}:${table.text(r, key)}`;
      counts.set(one, (counts.get(one) ?? 0) + 1);
    }
  counted.set(table, counts);
  return counts;
}

// Of a thread or a process whose name others have: the column that says which it is.
function numberOf(table: Table, row: Row, by: string): string | undefined {
  const alone = (key: string) => countTexts(table).get(`${key}:${table.text(row, key)}`) === 1;
  return alone("name") ? undefined : (by === "rank" ? ["rank", "pid"] : ["thread", "pid"]).find((k) => table.text(row, k) && alone(k));
}

const strandLabel = (table: Table, by: string) => (row: Row) => {
  const number = numberOf(table, row, by);
  return table.text(row, "name") + (number ? ` ${table.text(row, number)}` : "");
};

// It leads to its flame graph: by its name, or by its number.
const strandLink = (state: State, table: Table, by: string) => (row: Row) => {
  const number = numberOf(table, row, by);
  const pattern = number ? `${number}:${table.text(row, number)}` : exactly(table.text(row, "name"));
  return format(withView(addFilter(state, "strand", pattern), "flame"));
};

const waitsCaption = "Who waits for whom: the time until calls came back";

export function StrandsTools() {
  const shell = useShell();
  const { state } = shell;
  const { table: header } = useTable("view=header");
  const waits = state.words.by === "wait" || header?.metrics().includes("waited");
  return (
    <Choice
      label="by"
      value={state.words.by ?? ""}
      options={[
        ["", "threads"],
        ["rank", "processes"],
        ["block", "functions over threads"],
        ["context", "paths over threads"],
        ["rank-context", "paths over processes"],
        ...(waits ? [["wait", "who waits for whom"] as [string, string]] : []),
      ]}
      onChange={(v) => shell.go(withWords(state, { by: v, sort: "" }))}
    />
  );
}

const hasOnlySpread = (table: Table) => table.remarks.some((r) => r.kind === "spread only");

function OnlySpread() {
  const { state } = useShell();
  return (
    <p class="notice">
      {"There are too many threads to keep figures of each, so only how figures of paths spread over them is known: "}
      <a href={format(withWords(state, { by: "context" }))}>paths over threads</a>.
    </p>
  );
}

export function StrandsPage() {
  const { state } = useShell();
  const by = state.words.by ?? "";
  const spreads = by === "block" || by === "context" || by === "rank-context";
  const whose = by === "rank-context" ? "process" : "thread";
  const limit = limitOf(state, 100);
  const metric = by === "wait" ? "waited" : "";
  const asked = useTable(query(state, "strands", { by, limit, sort: state.words.sort ?? "", metric }));
  const each = useTable(asked.error ? query(state, "strands", { limit: 1 }) : null);
  if (asked.error && each.table && hasOnlySpread(each.table)) return <OnlySpread />;
  return (
    <section>
      <Answer asked={asked}>
        {(table) => (
          <>
            {hasOnlySpread(table) ? <OnlySpread /> : null}
            {spreads ? (
              <div class="spreads">
                <h2>From the least to the greatest {whose}</h2>
                <table aria-label={`From the least to the greatest ${whose}`}>
                  <thead class="unseen">
                    <tr>
                      <th scope="col">name</th>
                      <th scope="col">from the least to the greatest</th>
                      <th scope="col">the greatest</th>
                    </tr>
                  </thead>
                  <tbody>
                    {table.rows
                      .filter((r) => r.role === "entry")
                      .slice(0, 25)
                      .map((r) => (
                        <tr>
                          <td class="name">{table.text(r, "name")}</td>
                          <td class="wide">
                            <Spread table={table} row={r} />
                          </td>
                          <td class="figure">{table.at(r, "imbalance") === null ? "" : `${share(table.number(r, "imbalance"))} above the mean`}</td>
                        </tr>
                      ))}
                  </tbody>
                </table>
              </div>
            ) : null}
            <Figures table={table} caption={spreads ? (whose === "process" ? "How figures spread over processes" : "How figures spread over threads") : by === "wait" ? waitsCaption : "Threads, processes, ranks"} blocks={spreads} nameTitle={spreads ? "function" : by === "rank" ? "process" : "thread"} link={(by === "" || by === "rank") && !hasOnlySpread(table) ? strandLink(state, table, by) : undefined} label={strandLabel(table, by)} leave={by === "wait" ? ["waiter", "waited_for"] : []} />
            <More table={table} limit={limit} all={false} />
          </>
        )}
      </Answer>
    </section>
  );
}
