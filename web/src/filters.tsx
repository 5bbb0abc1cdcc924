// SPDX-License-Identifier: MIT
// filters.tsx - the filters that apply, as chips: each can be edited, moved, switched off and
// removed.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { withoutIdentity } from "./names";
import { useShell } from "./shell";
import { addFilter, filterKinds, withFilters, type Filter, type FilterKind } from "./state";

// The names of the kinds on the page, and their effects.
export const filterWords: Record<FilterKind, { label: string; about: string }> = {
  select: { label: "only", about: "keep only paths that contain it" },
  exclude: { label: "hide", about: "drop paths that contain it" },
  fold: { label: "merge", about: "take it out of paths: its cost goes to its caller" },
  centre: { label: "charge to", about: "merge all others: their cost goes to it" },
  prune: { label: "cut", about: "cut parts off, by name or below 0.5%, 10ms, 1000, calls<9: the cost stays with the caller" },
  root: { label: "begin at", about: "paths begin there, and others are dropped" },
  collapse: { label: "collapse", about: "recursion: a call back to it continues at the first one on the path; * for all" },
  strand: { label: "thread", about: "only these threads, processes or ranks" },
  time: { label: "time", about: "only this range: 2s..3.5s, -10s.., 25%..50%, 14:03:10..14:03:20" },
};

// As text: "only parse".
export const filterText = (f: Filter) => `${filterWords[f.kind].label} ${withoutIdentity(f.pattern)}`;

interface At {
  index: number;
  x: number;
  y: number;
}

// A button that collapses all recursion, or no longer.
export function CollapseRecursion() {
  const { state, go } = useShell();
  const isIt = (f: Filter) => f.kind === "collapse" && f.pattern === "*" && !f.off;
  const on = state.filters.some(isIt);
  return (
    <button aria-pressed={on} title="show each function once on a path" onClick={() => go(on ? withFilters(state, state.filters.filter((f) => !isIt(f))) : addFilter(state, "collapse", "*"))}>
      collapse recursion
    </button>
  );
}

export function Chips() {
  const shell = useShell();
  const { state } = shell;
  const [at, edit] = useState<At | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const { filters } = state;
  const set = (to: Filter[]) => shell.go(withFilters(state, to));
  const without = (i: number) => set(filters.filter((_, k) => k !== i));
  const move = (i: number, by: number) => {
    const to = [...filters];
    const [one] = to.splice(i, 1);
    if (!one || i + by < 0 || i + by > to.length) return;
    to.splice(i + by, 0, one);
    set(to);
    edit((before) => before && { ...before, index: i + by });
    list.current?.querySelectorAll<HTMLElement>(".edit")[i + by]?.focus();
  };
  const open = (index: number, of: HTMLElement) => {
    const box = of.getBoundingClientRect();
    edit({ index, x: box.left, y: box.bottom + 4 });
  };
  const onKey = (e: KeyboardEvent, i: number) => {
    if (e.key === "Delete" || e.key === "Backspace") without(i);
    else if (e.altKey && e.key === "ArrowLeft") move(i, -1);
    else if (e.altKey && e.key === "ArrowRight") move(i, 1);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const edited = at && filters[at.index];
  if (!filters.length) return null;
  return (
    <>
      <ul ref={list} class="chips" aria-label="filters, in the order in which they apply">
        {filters.map((f, i) => (
          <li class={`chip ${f.kind}${f.off ? " off" : ""}`}>
            <button class="edit" aria-label={`edit the filter ${filterText(f)}${f.off ? ", which is off" : ""}`} title={`${filterWords[f.kind].about}\n${f.pattern}`} onClick={(e) => open(i, e.currentTarget)} onKeyDown={(e) => onKey(e, i)}>
              <span class="kind">{filterWords[f.kind].label}</span> <span class="pattern">{withoutIdentity(f.pattern)}</span>
            </button>
            <button class="remove" aria-label={`remove the filter ${filterText(f)}`} onClick={() => without(i)}>
              ×
            </button>
          </li>
        ))}
        {filters.length > 1 ? (
          <li>
            <button class="quiet" onClick={() => set([])}>
              remove all
            </button>
          </li>
        ) : null}
      </ul>
      {edited ? (
        <Editor
          key={at.index}
          filter={edited}
          at={at}
          most={filters.length - 1}
          change={(f) => set(filters.map((old, i) => (i === at.index ? f : old)))}
          move={(by) => move(at.index, by)}
          close={() => edit(null)}
        />
      ) : null}
    </>
  );
}

interface Editing {
  filter: Filter;
  at: At;
  most: number; // the index of the last one
  change(filter: Filter): void;
  move(by: number): void;
  close(): void;
}

function Editor({ filter, at, most, change, move, close }: Editing) {
  const [kind, setKind] = useState(filter.kind);
  const [pattern, setPattern] = useState(filter.pattern);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.querySelector("input")?.focus();
    const outside = (e: MouseEvent) => {
      if (!box.current?.contains(e.target as Node)) close();
    };
    document.addEventListener("mousedown", outside);
    return () => {
      document.removeEventListener("mousedown", outside);
      before?.focus?.();
    };
  }, []);
  return (
    <div
      ref={box}
      role="dialog"
      aria-label={`filter ${filterText(filter)}`}
      onKeyDown={(e) => {
        e.stopPropagation();
        if (e.key === "Escape") close();
      }}
    >
    <form
      class="editor"
      style={{ left: `${Math.max(4, Math.min(at.x, window.innerWidth - 330))}px`, top: `${at.y}px` }}
      onSubmit={(e) => {
        e.preventDefault();
        if (!pattern.trim()) return;
        change({ kind, pattern: pattern.trim() });
        close();
      }}
    >
      <select aria-label="kind of filter" value={kind} onChange={(e) => setKind(e.currentTarget.value as FilterKind)}>
        {filterKinds.map((k) => (
          <option value={k}>{filterWords[k].label}</option>
        ))}
      </select>
      <input aria-label="pattern" value={pattern} onInput={(e) => setPattern(e.currentTarget.value)} />
      <p>{filterWords[kind].about}</p>
      <div class="buttons">
        <button type="submit">apply</button>
        <button type="button" aria-pressed={!!filter.off} onClick={() => change({ ...filter, off: !filter.off })}>
          {filter.off ? "switch on" : "switch off"}
        </button>
        <button type="button" aria-label="apply it earlier" disabled={at.index === 0} onClick={() => move(-1)}>
          ←
        </button>
        <button type="button" aria-label="apply it later" disabled={at.index === most} onClick={() => move(1)}>
          →
        </button>
      </div>
    </form>
    </div>
  );
}
