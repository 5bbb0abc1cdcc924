// SPDX-License-Identifier: MIT
// tree-page.tsx - the page of contexts: each function below its caller.
import { CollapseRecursion } from "./filters";
import { Beside } from "./frame";
import { useMetrics } from "./functions";
import { Answer, More, rowsOf } from "./parts";
import { useShell, useTable } from "./shell";
import { format, query, withWords } from "./state";
import { contextOf, Figures } from "./table";

export function TreePage() {
  const { state } = useShell();
  const { limit, threshold } = rowsOf(state, 200);
  const asked = useTable(query(state, "tree", { context: state.words.context ?? "", limit, threshold, sort: state.words.sort ?? "", metric: useMetrics() }));
  return (
    <section>
      <Answer asked={asked}>
        {(table) => (
          <>
            <Figures table={table} caption="Paths from the root, the largest first" order="inclusive" tools={<><CollapseRecursion /><Beside /></>} tree rest={(parent) => format(withWords(state, { context: contextOf(table, parent) }))} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}
