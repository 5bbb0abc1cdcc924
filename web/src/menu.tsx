// SPDX-License-Identifier: MIT
// menu.tsx - the actions on a block, wherever its name is shown.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { addressOf, fitName, labelOf } from "./names";
import { hasAddresses } from "./model";
import { useShell, useTable, type MenuAt } from "./shell";
import { addFilter, exactly, withView, type FilterKind } from "./state";

// A pattern of all functions of a module, whose name is a path's last part.
const ofModule = (module: string) => `${exactly(module)}:*`;

const HEIGHT = 520; // pixels: of all actions, about

export function Menu({ at, close }: { at: MenuAt; close: () => void }) {
  const shell = useShell();
  const { state } = shell;
  const pattern = addressOf(at.block);
  const list = useRef<HTMLElement>(null);
  const filter = (kind: FilterKind, what: string) => () => shell.go(addFilter(state, kind, what));
  const { module } = at.block;
  const { table: header } = useTable("view=header");
  const actions: [string, string, () => void][] = [
    ["o", "open", () => shell.go(withView(state, "block", { block: pattern }))],
    ...(header && hasAddresses(header) ? ([["l", "its lines and instructions", () => shell.go(withView(state, "assembly", { block: pattern }))]] as [string, string, () => void][]) : []),
    ...(at.context ? ([["z", "open this path in the flame graph", () => shell.go(withView(state, "flame", { context: at.context! }))], ["t", "this path alone, as a tree", () => shell.go(withView(state, "tree", { context: at.context! }))]] as [string, string, () => void][]) : []),
    ["s", "only paths through it", filter("select", pattern)],
    ["x", "hide paths through it", filter("exclude", pattern)],
    ["f", "merge into its callers", filter("fold", pattern)],
    ["h", "charge to it: merge all others", filter("centre", pattern)],
    ["p", "cut off: its cost stays with the caller", filter("prune", pattern)],
    ["r", "begin at it", filter("root", pattern)],
    ["e", "collapse its recursion", filter("collapse", pattern)],
    ...(module
      ? ([
          ["m", `only ${module}`, filter("select", ofModule(module))],
          ["d", `hide all of ${module}`, filter("exclude", ofModule(module))],
          ["k", `merge all of ${module}`, filter("fold", ofModule(module))],
        ] as [string, string, () => void][])
      : []),
    ["c", "copy its name", () => void navigator.clipboard.writeText(at.block.name)],
  ];
  // A search shows those whose words begin with what is typed.
  const [search, setSearch] = useState("");
  const wanted = search.toLowerCase().split(" ").filter((w) => w);
  const shown = actions.filter(([, text]) => wanted.every((w) => (" " + text.toLowerCase()).includes(" " + w)));
  const input = useRef<HTMLInputElement>(null);
  const run = ([, , what]: [string, string, () => void]) => {
    close();
    what();
  };
  const buttons = () => [...(list.current?.querySelectorAll("button") ?? [])] as HTMLButtonElement[];

  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    buttons()[0]?.focus();
    const outside = (e: MouseEvent) => {
      if (!list.current?.contains(e.target as Node)) close();
    };
    document.addEventListener("mousedown", outside);
    return () => {
      document.removeEventListener("mousedown", outside);
      before?.focus?.();
    };
  }, []);

  function onKey(e: KeyboardEvent) {
    e.stopPropagation(); // the page's keys are not meant
    const all = buttons();
    const index = all.indexOf(document.activeElement as HTMLButtonElement);
    const types = document.activeElement === input.current;
    const action = types ? (e.key === "Enter" && shown[0]) : actions.find(([key]) => key === e.key);
    if (e.key === "Escape") close();
    else if (e.key === "ArrowDown") all[(index + 1) % all.length]?.focus();
    else if (e.key === "ArrowUp") all[(Math.max(index, 0) + all.length - 1) % all.length]?.focus();
    else if (e.key === "/" && !types) input.current?.focus();
    else if (action && !e.ctrlKey && !e.metaKey) run(action);
    else return;
    e.preventDefault();
  }

  const top = Math.max(4, Math.min(at.y, window.innerHeight - HEIGHT));
  return (
    <section
      ref={list}
      class="menu"
      aria-label={at.block.name}
      style={{ left: `${Math.max(4, Math.min(at.x, window.innerWidth - 300))}px`, top: `${top}px`, maxHeight: `calc(100vh - ${top + 4}px)` }}
      onKeyDown={onKey}
    >
      <div class="title">{labelOf(at.block)}</div>
      <input ref={input} type="search" aria-label="find an action" placeholder="find an action  ( / )" value={search} onInput={(e) => setSearch(e.currentTarget.value)} />
      {shown.length ? (
        <div role="menu" aria-label={`what to do with ${fitName(at.block.name)}`}>
          {shown.map((action) => (
            <button key={action[0]} role="menuitem" onClick={() => run(action)}>
              <kbd>{action[0]}</kbd> {action[1]}
            </button>
          ))}
        </div>
      ) : (
        <p class="hint">no action has these words</p>
      )}
    </section>
  );
}
