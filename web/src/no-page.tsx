// SPDX-License-Identifier: MIT
// no-page.tsx - what is shown in place of a page that the viewer does not have.
import { useShell } from "./shell";
import { format, withView } from "./state";

// Views that only the command shows, and where the page has the same figures.
const views: Record<string, [string, string] | null> = {
  bursts: ["timeline", "Time has bursts, too"],
  chart: ["timeline", "Time has a chart of a thread, too"],
  header: ["overview", "the Overview has the most of it"],
  parallel: null,
  source: ["lines", "Source has lines with their figures, too"],
  whatif: null,
};

export function NoPage() {
  const { state } = useShell();
  const { view } = state;
  const known = Object.prototype.hasOwnProperty.call(views, view);
  const like = known ? views[view] : null;
  return (
    <section>
      <p class="notice" role="status">
        {`The viewer has no page "${view}". `}
        {known ? `"tallytree report ${view} FILE" shows this view${like ? "; " : ". "}` : "The address may be misspelt. "}
        {like ? <><a href={format(withView(state, like[0]))}>{like[1]}</a>. </> : null}
        <a href={format(withView(state, "overview"))}>Overview</a>
      </p>
    </section>
  );
}
