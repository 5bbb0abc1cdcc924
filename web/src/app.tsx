// SPDX-License-Identifier: MIT
// app.tsx - the viewer: its bar, its pages, its keys.
import { render, type FunctionComponent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Filters } from "./filters";
import { findIn, Found } from "./find";
import { hasLetters, Help } from "./help";
import { Menu } from "./menu";
import { GraphPage } from "./graph";
import { forgetAnswers, readState, start, type LiveState, type Table } from "./model";
import { DiffPage, SeriesPage, SlowestPage, SpacePage, StrandsPage } from "./others";
import { OverviewPage } from "./overview";
import { BlockPage, CallersPage, FlamePage, FlatPage, GroupsPage, TreePage } from "./pages";
import { SourcePage } from "./source";
import { ShellContext, useHits, useShell, useTable, useTableAt, type MenuAt, type Shell } from "./shell";
import { besideOf, format, go, isFirst, keepPlaces, replace, useAddress, withView, withWords } from "./state";

interface Page {
  view: string;
  title: string;
  key: string;
  show: FunctionComponent;
  has?: (header: Table, before: boolean) => boolean; // without: every profile has it
}

const known = (header: Table, name: string) => header.rows.some((r) => header.text(r, "name") === name && (header.number(r, "number") ?? 0) > 0);

const pages: Page[] = [
  { view: "overview", title: "Overview", key: "1", show: OverviewPage },
  { view: "flame", title: "Flame", key: "2", show: FlamePage },
  { view: "flat", title: "Blocks", key: "3", show: FlatPage },
  { view: "callers", title: "Callers", key: "4", show: CallersPage },
  { view: "tree", title: "Tree", key: "5", show: TreePage },
  { view: "graph", title: "Graph", key: "6", show: GraphPage },
  { view: "groups", title: "Groups", key: "7", show: GroupsPage },
  { view: "lines", title: "Source", key: "8", show: SourcePage },
  { view: "strands", title: "Strands", key: "9", show: StrandsPage },
  { view: "space", title: "Space", key: "0", show: SpacePage, has: (t) => known(t, "space") },
  { view: "series", title: "Time line", key: "t", show: SeriesPage, has: (t) => known(t, "series") },
  { view: "slowest", title: "Slowest", key: "l", show: SlowestPage, has: (t) => known(t, "activations") },
  { view: "diff", title: "Changes", key: "c", show: DiffPage, has: (_, before) => before },
  { view: "block", title: "Block", key: "b", show: BlockPage },
];

interface Live {
  version: number;
  live: boolean;
  end: LiveState["end"] | "unknown"; // unknown: the server does not answer any more
  before: boolean;
  paused: boolean;
  pause(paused: boolean): void;
}

function useLive(): Live {
  const [now, set] = useState<Omit<Live, "paused" | "pause">>({ version: 0, live: false, end: "", before: false });
  const [paused, pause] = useState(false);
  useEffect(() => {
    if (paused) return undefined;
    let timer = 0;
    let ended = false;
    const look = () =>
      readState().then(
        (s) => {
          if (ended) return;
          set((last) => {
            if (last.version && last.version !== s.version) forgetAnswers();
            return s;
          });
          if (s.live) timer = window.setTimeout(look, 1000);
        },
        () => set((last) => ({ ...last, live: false, end: last.live ? "unknown" : last.end })),
      );
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [paused]);
  return { ...now, paused, pause };
}

const ends = {
  ended: "The program has ended, and this is all of its recording.",
  lost: "The program has gone without ending its recording, or the file has: this is what was read last.",
  unknown: "tallytree view does not answer any more: this is what it showed last.",
};

function App() {
  const state = useAddress();
  const [menu, openMenu] = useState<MenuAt | null>(null);
  const [help, showHelp] = useState(false);
  const [hit, setHit] = useState(0);
  const [main, setMain] = useState<HTMLElement | null>(null);
  const { version, live, end, before, paused, pause } = useLive();
  const input = useRef<HTMLInputElement>(null);
  const { wanted, error } = useMemo(() => findIn(state.words.find ?? ""), [state.words.find]);
  const find = wanted?.marks ?? null;
  const [entered, enter] = useState(0);
  const hits = useHits(main, find);
  const at = hits.length ? ((hit % hits.length) + hits.length) % hits.length : 0; // beyond the last is the first
  const current = hits[at];
  const shell: Shell = { state, version, go, openMenu, find, hit: current };
  const page = pages.find((p) => p.view === state.view) ?? pages[0]!;

  const header = useTableAt(version);
  const isThere = (p: Page) => !p.has || (header.table !== null && p.has(header.table, before));

  useEffect(() => setHit(0), [state.words.find, state.view]);
  useEffect(() => {
    current?.element.scrollIntoView({ block: "nearest" });
    current?.element.setAttribute("aria-current", "true");
    return () => current?.element.removeAttribute("aria-current");
  }, [current]);
  useEffect(() => {
    function onKey(e: KeyboardEvent) {
      const target = e.target as HTMLElement;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
      if (document.querySelector("dialog[open]") || !hasLetters()) return;
      const to = pages.find((p) => p.key === e.key && isThere(p));
      if (e.key === "?") showHelp((on) => !on);
      else if (e.key === "/") input.current?.focus();
      else if (e.key === "Escape") showHelp(false);
      else if (e.key === "n" || (e.key === "Enter" && state.words.find && (target === document.body || target === main))) setHit((h) => h + (e.shiftKey ? -1 : 1));
      else if (e.key === "N") setHit((h) => h - 1);
      else if (e.key === "u") isFirst() || history.back();
      else if (to) go(withView(state, to.view, to.view === "block" ? { block: state.words.block ?? "" } : {}));
      else return;
      e.preventDefault();
    }
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [state, header.table, before, main]);
  // What had the focus went with its page: it goes on from the next one's beginning.
  useEffect(() => {
    if (document.activeElement === document.body && version) main?.focus({ preventScroll: true });
  }, [state.view, state.words.block]);

  return (
    <ShellContext.Provider value={shell}>
      <button class="skip" onClick={() => main?.focus()}>
        to the figures
      </button>
      <header>
        <Title />
        <Metrics />
        <form class="find" role="search" onSubmit={(e) => e.preventDefault()}>
          <input
            ref={input}
            type="search"
            aria-label="find"
            placeholder="find  ( / )"
            value={state.words.find ?? ""}
            onInput={(e) => replace(withWords(state, { find: e.currentTarget.value }))}
            onKeyDown={(e) => {
              if (e.key === "Enter") {
                enter((n) => n + 1);
                setHit((h) => h + (e.shiftKey ? -1 : 1));
              } else if (e.key === "Escape") e.currentTarget.blur();
            }}
          />
          <Found error={error} wanted={wanted} hits={hits.length} hit={at} entered={entered} />
        </form>
        {live || paused ? (
          <button class={"live" + (paused ? " paused" : "")} aria-pressed={paused} onClick={() => pause(!paused)}>
            {paused ? "paused" : "live"}
          </button>
        ) : null}
        {end && !live ? (
          <span class={"end " + end} role="status" title={ends[end]}>
            {end === "ended" ? "recording ended" : end === "lost" ? "recording lost" : "no answer"}
          </span>
        ) : null}
        <button aria-label="keys" onClick={() => showHelp(true)}>
          ?
        </button>
      </header>
      <Views page={page} before={before} />
      <Filters />
      <main ref={setMain} tabIndex={-1}>
        <page.show />
      </main>
      {menu ? <Menu at={menu} close={() => openMenu(null)} /> : null}
      {help ? <Help close={() => showHelp(false)} /> : null}
    </ShellContext.Provider>
  );
}

function Views({ page, before }: { page: Page; before: boolean }) {
  const { state } = useShell();
  const { table } = useTable("view=header");
  const nav = useRef<HTMLElement>(null);
  useEffect(() => nav.current?.querySelector(".on")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [page, table]);
  return (
    <nav ref={nav} aria-label="views">
      {pages
        .filter((p) => p === page || !p.has || (table && p.has(table, before)))
        .map((p) => (
          <a
            href={format(withView(state, p.view, p.view === "block" ? { block: state.words.block ?? "" } : {}))}
            class={p === page ? "on" : ""}
            aria-current={p === page ? "page" : undefined}
          >
            {p.title}
          </a>
        ))}
    </nav>
  );
}

function Title() {
  const { table } = useTable("view=header");
  const programs = table?.facts.filter((f) => f.name === "program").map((f) => f.text) ?? [];
  const started = table?.facts.find((f) => f.name === "command")?.text.split(" ")[0]?.split("/").pop() ?? "";
  const first = programs.includes(started) ? started : (programs[0] ?? "");
  const others = programs.length - 1;
  const name = first + (others > 0 ? ` and ${others} more` : "");
  useEffect(() => {
    document.title = name ? `${name} - Tallytree` : "Tallytree";
  }, [name]);
  return <h1>{name || "Tallytree"}</h1>;
}

const BESIDE = 11; // as many as the engine puts side by side, with the first one

// The metrics of the profile, the one that is looked at chosen; the first is it unless the
// address says another.
function Metrics() {
  const shell = useShell();
  const { state } = shell;
  const { table } = useTable("view=header");
  const names = table?.metrics() ?? [];
  if (names.length < 2) return null;
  const chosen = state.words.metric || names[0]!;
  const others = names.filter((n) => n !== chosen && !n.includes(","));
  const beside = besideOf(state);
  return (
    <>
      <select aria-label="metric" value={chosen} onChange={(e) => shell.go(withWords(state, { metric: e.currentTarget.value === names[0] ? "" : e.currentTarget.value, sort: "" }))}>
        {names.map((n) => (
          <option value={n}>{n}</option>
        ))}
      </select>
      {state.view === "flat" || state.view === "tree" ? (
        <details class="beside">
          <summary>{beside.length ? `and ${beside.join(", ")}` : "beside it"}</summary>
          <fieldset>
            <legend>metrics beside {chosen}</legend>
            {others.map((n) => (
              <label class="check">
                <input
                  type="checkbox"
                  checked={beside.includes(n)}
                  disabled={!beside.includes(n) && beside.length >= BESIDE}
                  onChange={(e) => shell.go(withWords(state, { sort: "", beside: (e.currentTarget.checked ? [...beside, n] : beside.filter((b) => b !== n)).join(",") }))}
                />{" "}
                {n}
              </label>
            ))}
          </fieldset>
        </details>
      ) : null}
    </>
  );
}

const root = document.getElementById("app")!;
keepPlaces();
start().then(
  () => {
    root.replaceChildren();
    render(<App />, root);
  },
  (e: Error) => {
    root.replaceChildren();
    render(<p class="error">{e.message}</p>, root);
  },
);
