// SPDX-License-Identifier: MIT
// crumbs.tsx - the path that is opened, from page to page: each of its functions leads back to
// itself.
import { frameOf, addressOfFrame } from "./flame";
import { blockOf, fitName, labelOf } from "./names";
import { useShell, useTable } from "./shell";
import { format, query, withWords } from "./state";

const LAST = 2; // functions that are shown whole; those before them are a number

export function Crumbs() {
  const { state } = useShell();
  const { context = "" } = state.words;
  const shown = context && (state.view === "flame" || state.view === "tree");
  const { table } = useTable(shown ? query(state, "tree", { to: context }) : null);
  if (!shown || !table) return null;
  const path = table.rows.filter((r) => r.role === "entry");
  const hidden = Math.max(0, path.length - 1 - LAST);
  return (
    <nav class="crumbs" aria-label="path">
      <ol>
        <li>
          <a href={format(withWords(state, { context: "" }))}>all</a>
        </li>
        {hidden ? <li class="hidden" title={path.slice(1, 1 + hidden).map((r) => table.text(r, "name")).join("\n")}>{`${hidden} more`}</li> : null}
        {path.slice(1 + hidden).map((r, i, last) => {
          const label = labelOf(blockOf(table, r));
          return (
            <li>
              <a title={label} aria-current={i === last.length - 1 ? "location" : undefined} href={format(withWords(state, { context: addressOfFrame(frameOf(table, r, r.depth, 0, 1)) }))}>
                {fitName(label, 40)}
              </a>
            </li>
          );
        })}
      </ol>
    </nav>
  );
}
