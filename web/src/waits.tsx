// SPDX-License-Identifier: MIT
// waits.tsx - the page of waits for locks, pipes and children, as `report waits` has them.
import { Answer, Choice, More, limitOf } from "./parts";
import type { Table } from "./model";
import { useShell, useTable } from "./shell";
import { query, withWords, type State } from "./state";
import { Figures } from "./table";

// Metrics of waits: for locks, for other things, and for a processor.
const METRICS = ["delay", "wait time", "scheduling delay", "preempted"];

const words: Record<string, string> = { delay: "locks", "wait time": "others", "scheduling delay": "scheduling", preempted: "preempted" };

const metricsOf = (header: Table | null) => header?.metrics().filter((m) => METRICS.includes(m)) ?? [];

// Were waits recorded, with what ended them?
export const hasWaits = (header: Table) => metricsOf(header).length > 0;

// The metric that is looked at may be of no waits; then the view's first one is asked for.
const metricOf = (state: State) => (METRICS.includes(state.words.metric ?? "") ? state.words.metric! : "");
export const waitsQuery = (state: State, words: Record<string, string | number>) => query(withWords(state, { metric: metricOf(state) }), "waits", words);

export function WaitsTools() {
  const shell = useShell();
  const { state } = shell;
  const there = metricsOf(useTable("view=header").table);
  const metrics = METRICS.filter((m) => there.includes(m));
  return (
    <>
      {metrics.length > 1 ? <Choice label="of" value={metricOf(state) || metrics[0]!} options={metrics.map((m) => [m, words[m]!])} onChange={(v) => shell.go(withWords(state, { metric: v }))} /> : null}
      <Choice
        label="by"
        value={state.words.by ?? ""}
        options={[
          ["", "what was waited for"],
          ["pair", "waiters and holders"],
        ]}
        onChange={(v) => shell.go(withWords(state, { by: v, sort: "" }))}
      />
    </>
  );
}

export function WaitsPage() {
  const { state } = useShell();
  const { by = "", sort = "" } = state.words;
  const limit = limitOf(state, 60);
  const asked = useTable(waitsQuery(state, { by, sort, limit }));
  return (
    <section>
      <Answer asked={asked}>
        {(table) => (
          <>
            <Figures table={table} caption={by ? "Which function waited for which, by what" : "What was waited for"} order={sort || "self"} blocks={false} nameTitle={by ? "waiter, and for what" : "waited for"} />
            <More table={table} limit={limit} all={false} />
          </>
        )}
      </Answer>
    </section>
  );
}
