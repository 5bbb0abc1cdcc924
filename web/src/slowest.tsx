// SPDX-License-Identifier: MIT
// slowest.tsx - the page of single activations of functions that were marked.
import { Answer, Choice, limitOf, More } from "./parts";
import { useShell, useTable } from "./shell";
import { query, withWords } from "./state";
import { Figures } from "./table";

export function SlowestTools() {
  const shell = useShell();
  return (
    <Choice
      label="which"
      value={shell.state.words.by ?? ""}
      options={[
        ["", "the slowest"],
        ["last", "the last"],
      ]}
      onChange={(v) => shell.go(withWords(shell.state, { by: v }))}
    />
  );
}

export function SlowestPage() {
  const { state } = useShell();
  const by = state.words.by ?? "";
  const limit = limitOf(state, 20);
  const asked = useTable(query(state, "slowest", { by, limit, block: state.words.block ?? "" }));
  return (
    <section>
      <Answer asked={asked}>
        {(table) => (
          <div class={by ? "" : "single"}>
            {table.rows.length ? (
              <Figures table={table} caption={by ? "Single activations, in the order of time" : "Single activations, each with what it called"} sortable={false} />
            ) : (
              <p class="empty">{by ? "No block was marked with history=BLOCK:K." : "No block was marked with slowest=BLOCK:K."}</p>
            )}
            <More table={table} limit={limit} all={false} />
          </div>
        )}
      </Answer>
    </section>
  );
}
