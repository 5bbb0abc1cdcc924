// SPDX-License-Identifier: MIT
// filters.tsx - the lists that are always in view: what is selected, excluded, folded …
import { useState } from "preact/hooks";
import { withoutIdentity } from "./names";
import { Slider } from "./parts";
import { useShell } from "./shell";
import { addFilter, filterKinds, withFilters, type FilterKind } from "./state";

const meaning: Record<FilterKind, string> = {
  select: "keep only paths that contain it",
  exclude: "drop paths that contain it",
  fold: "splice it out: its cost goes to its callers",
  centre: "make it a cost centre: all others are folded; several in a row are meant together",
  prune: "drop parts: by name, or below 0.5 %, 10ms, 1000, calls<9; the cost stays with the parent",
  root: "paths begin there; others are dropped",
  strand: "only these threads, processes, ranks",
};

// What is below so many % of all is pruned; 0 is nowhere.
const shares = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

function Pruning() {
  const { state } = useShell();
  const at = state.filters.findIndex((f) => f.kind === "prune" && /^[\d.]+%$/.test(f.pattern));
  const now = at < 0 ? 0 : parseFloat(state.filters[at]!.pattern);
  const place = shares.reduce((best, s, i) => (Math.abs(s - now) < Math.abs(shares[best]! - now) ? i : best), 0);
  const moved = (i: number) => {
    const filters = state.filters.filter((_, k) => k !== at);
    if (i) filters.splice(at < 0 ? filters.length : at, 0, { kind: "prune", pattern: `${shares[i]}%` });
    return withFilters(state, filters);
  };
  return (
    <label class="pruning" title={meaning.prune}>
      <span>{now ? `prune below ${now} %` : "prune nothing"}</span>
      <Slider label="prune what is below a share of all" most={shares.length - 1} value={place} text={now ? `below ${now} %` : "nothing"} onMove={moved} />
    </label>
  );
}

export function Filters() {
  const shell = useShell();
  const { state } = shell;
  const [kind, setKind] = useState<FilterKind>("select");
  const [pattern, setPattern] = useState("");
  const without = (i: number) => withFilters(state, state.filters.filter((_, at) => at !== i));
  return (
    <div class="filters" role="region" aria-label="filters">
      <ul>
        {state.filters.map((f, i) => (
          <li class={"chip " + f.kind} title={meaning[f.kind]}>
            <span class="kind">{f.kind}</span>{" "}
            <span class="pattern" title={f.pattern}>
              {withoutIdentity(f.pattern)}
            </span>
            <button aria-label={`remove ${f.kind} ${withoutIdentity(f.pattern)}`} onClick={() => shell.go(without(i))}>
              ×
            </button>
          </li>
        ))}
      </ul>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (!pattern.trim()) return;
          shell.go(addFilter(state, kind, pattern.trim()));
          setPattern("");
        }}
      >
        <select
          aria-label="kind of filter"
          value={kind}
          title={meaning[kind]}
          onChange={(e) => setKind(e.currentTarget.value as FilterKind)}
        >
          {filterKinds.map((k) => (
            <option value={k}>{k}</option>
          ))}
        </select>
        <input
          aria-label="pattern"
          placeholder={kind === "prune" ? "name, 0.5%, 10ms" : "name, glob* or /regex/"}
          value={pattern}
          onInput={(e) => setPattern(e.currentTarget.value)}
        />
        <button type="submit">add</button>
        {state.filters.length ? (
          <button type="button" onClick={() => shell.go(withFilters(state, []))}>
            clear
          </button>
        ) : null}
      </form>
      <Pruning />
    </div>
  );
}
