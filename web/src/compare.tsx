// SPDX-License-Identifier: MIT
// compare.tsx - the pages of what has changed: since another profile, or in a range of time
// against the rest of the run.
import type { Table } from "./model";
import { Answer, Choice, limitOf, More } from "./parts";
import { useShell, useTable, type Asked } from "./shell";
import { compareQuery, isWithRest, timeOf, withWords } from "./state";
import { Figures } from "./table";
import type { ComponentChildren } from "preact";

const verdicts: Record<string, string> = { more: "▲ more", less: "▼ less", noise: "≈ noise" };

export function CompareTools() {
  const shell = useShell();
  const { state, before } = shell;
  return (
    <>
      {before && timeOf(state) ? (
        <Choice
          label="with"
          value={state.words.against ?? ""}
          options={[
            ["", "before"],
            ["rest", "the rest of the run"],
          ]}
          onChange={(v) => shell.go(withWords(state, { against: v }))}
        />
      ) : null}
      <label class="check">
        <input type="checkbox" checked={state.words.normalise === "1"} onChange={(e) => shell.go(withWords(state, { normalise: e.currentTarget.checked ? "1" : "" }))} /> as shares of each total
      </label>
    </>
  );
}

export const sidesText = (table: Table) => (table.isWithRest ? "in the rest of the run (else) and in the range (then)" : "before and now");

// Asks for a comparison, if there is something to compare with.
export function useComparison(view: string, words: Record<string, string | number>): Asked {
  const { state, before } = useShell();
  const rest = isWithRest(state, before);
  return useTable(before || rest ? compareQuery(state, rest, view, words) : null);
}

export function Comparison({ asked, children }: { asked: Asked; children: (table: Table) => ComponentChildren }) {
  const { state, before } = useShell();
  if (!before && !timeOf(state)) return <p class="empty">Select a range in the strip of time above: it is compared with the rest of the run.</p>;
  return <Answer asked={asked}>{children}</Answer>;
}

// Is no change of a row more than chance?
export const isAllNoise = (table: Table) => {
  const rows = table.rows.filter((r) => r.role === "entry");
  return rows.length > 0 && rows.every((r) => table.text(r, "self.verdict") === "noise" && table.text(r, "total.verdict") === "noise");
};

export function ComparePage() {
  const { state } = useShell();
  const tree = state.words.as === "tree";
  const limit = limitOf(state, 100);
  const asked = useComparison(tree ? "tree" : "flat", { limit, sort: state.words.sort ?? "" });
  return (
    <section>
      <Comparison asked={asked}>
        {(table) => (
          <>
            {isAllNoise(table) ? <p class="hint">{`No ${tree ? "path" : "function"} that is shown is known to cost more or less ${table.isWithRest ? "in the range" : "than before"}: all changes may be chance.`}</p> : null}
            <Figures table={table} tree={tree} caption={`Each ${tree ? "path" : "function"}, ${sidesText(table)}`} texts={(key, text) => (key.endsWith("verdict") ? (verdicts[text] ?? text) : text)} />
            <More table={table} limit={limit} all={false} />
          </>
        )}
      </Comparison>
    </section>
  );
}
