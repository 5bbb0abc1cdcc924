// SPDX-License-Identifier: MIT
// callers.tsx - the inverted pages: each function, and below it its callers.
import { useMemo } from "preact/hooks";
import { CollapseRecursion } from "./filters";
import { finest, Flame, FRAMES, layOut } from "./flame";
import { Beside } from "./frame";
import { useMetrics } from "./functions";
import { addressOf, blockOf, withoutIdentity } from "./names";
import { Answer, More, rowsOf } from "./parts";
import { useShell, useTable } from "./shell";
import { format, query, withView, withWords } from "./state";
import { Figures } from "./table";

function OfOne() {
  const shell = useShell();
  const { block } = shell.state.words;
  if (!block) return null;
  return (
    <p class="notice">
      {`Callers of ${withoutIdentity(block)}. `}
      <a href={format(withWords(shell.state, { block: "" }))}>all functions</a>
    </p>
  );
}

export function CallersTablePage() {
  const { state } = useShell();
  const { limit, threshold } = rowsOf(state, 200);
  const asked = useTable(query(state, "callers", { block: state.words.block ?? "", limit, threshold, metric: useMetrics() }));
  return (
    <section>
      <OfOne />
      <Answer asked={asked}>
        {(table) => (
          <>
            <Figures table={table} caption="Each function, and below it its callers" tools={<><CollapseRecursion /><Beside /></>} tree />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}

export function CallersFlamePage() {
  const shell = useShell();
  const { state } = shell;
  const asked = useTable(query(state, "callers", { block: state.words.block ?? "", limit: FRAMES, threshold: finest() }));
  const frames = useMemo(() => (asked.table ? layOut(asked.table, asked.table.rows, "self") : []), [asked.table]);
  return (
    <section>
      <OfOne />
      <Answer asked={asked}>
        {() => (
          <Flame
            frames={frames}
            up={false}
            figure="self"
            busy={asked.busy}
            label="Each function, and below it its callers"
            onOpen={(f) => {
              if (!f.colour) shell.go(withWords(state, { as: "table" }));
              else shell.go(f.depth === 0 && !state.words.block ? withWords(state, { block: addressOf(blockOf(f.table, f.row)) }) : withView(state, "block", { block: addressOf(blockOf(f.table, f.row)) }));
            }}
            onLeave={() => shell.go(withWords(state, { block: "" }))}
          />
        )}
      </Answer>
    </section>
  );
}
