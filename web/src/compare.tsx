// SPDX-License-Identifier: MIT
// compare.tsx - the pages of what has changed since another profile.
import { Answer, More } from "./parts";
import { useShell, useTable } from "./shell";
import { compareQuery, withWords } from "./state";
import { Figures } from "./table";

const verdicts: Record<string, string> = { more: "▲ more", less: "▼ less", noise: "≈ noise" };

export function CompareTools() {
  const shell = useShell();
  const { state } = shell;
  return (
    <label class="check">
      <input type="checkbox" checked={state.words.normalise === "1"} onChange={(e) => shell.go(withWords(state, { normalise: e.currentTarget.checked ? "1" : "" }))} /> as shares of each total
    </label>
  );
}

export function ComparePage() {
  const { state } = useShell();
  const tree = state.words.as === "tree";
  const limit = Number(state.words.limit ?? 100);
  const asked = useTable(compareQuery(state, tree ? "tree" : "flat", { limit, sort: state.words.sort ?? "" }));
  return (
    <section>
      <Answer asked={asked}>
        {(table) => (
          <>
            <Figures table={table} tree={tree} caption={`Each ${tree ? "path" : "function"}, before and now`} texts={(key, text) => (key.endsWith("verdict") ? (verdicts[text] ?? text) : text)} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}
