// SPDX-License-Identifier: MIT
// app.tsx - the viewer: its bar, its pages, its keys.
import { render, type FunctionComponent } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Filters } from "./filters";
import { amount, share } from "./format";
import { Help } from "./help";
import { Menu } from "./menu";
import { GraphPage } from "./graph";
import { forgetAnswers, readState, start, type Table } from "./model";
import { DiffPage, SeriesPage, SlowestPage, SpacePage, StrandsPage } from "./others";
import { OverviewPage } from "./overview";
import { BlockPage, CallersPage, FlamePage, FlatPage, GroupsPage, TreePage } from "./pages";
import { SourcePage } from "./source";
import { ShellContext, useHits, useShell, useTable, type MenuAt, type Shell } from "./shell";
import { format, go, query, replace, useAddress, withView, withWords, type State } from "./state";

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

function expression(text: string | undefined): RegExp | null {
  if (!text) return null;
  const written = /^\/(.*)\/(i?)$/.exec(text);
  try {
    return written ? new RegExp(written[1]!, written[2]) : new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
  } catch {
    return null;
  }
}

// How much of all is on paths through what is looked for.
function Found({ state, hits, hit }: { state: State; hits: number; hit: number }) {
  const find = state.words.find ?? "";
  const pattern = /^\/.*\/i?$/.test(find) ? find : "/" + find.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&") + "/i";
  const with_ = useTable(find ? query({ ...state, filters: [...state.filters, { kind: "select", pattern }] }, "flat", { limit: 1 }) : null);
  const all = useTable(find ? query(state, "flat", { limit: 1 }) : null);
  const part = with_.table?.total() ? with_.table.number(with_.table.total()!, "self") : null;
  const whole = all.table?.total() ? all.table.number(all.table.total()!, "self") : null;
  return (
    <span class="found" aria-live="polite">
      {!find ? "" : hits ? `${hit + 1} of ${hits}` : "none in view"}
      {find && part !== null && whole ? `, on paths of ${share(part / whole)} (${amount(part, with_.table!.unit)})` : ""}
    </span>
  );
}

interface Live {
  version: number;
  live: boolean;
  before: boolean;
  paused: boolean;
  pause(paused: boolean): void;
}

function useLive(): Live {
  const [now, set] = useState({ version: 0, live: false, before: false });
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
        () => set((last) => ({ ...last, live: false })),
      );
    void look();
    return () => {
      ended = true;
      clearTimeout(timer);
    };
  }, [paused]);
  return { ...now, paused, pause };
}

function App() {
  const state = useAddress();
  const [menu, openMenu] = useState<MenuAt | null>(null);
  const [help, showHelp] = useState(false);
  const [hit, setHit] = useState(0);
  const [main, setMain] = useState<HTMLElement | null>(null);
  const { version, live, before, paused, pause } = useLive();
  const input = useRef<HTMLInputElement>(null);
  const find = useMemo(() => expression(state.words.find), [state.words.find]);
  const hits = useHits(main, find);
  const at = hits.length ? ((hit % hits.length) + hits.length) % hits.length : 0; // beyond the last is the first
  const current = hits[at];
  const shell: Shell = { state, version, go, openMenu, find, hit: current };
  const page = pages.find((p) => p.view === state.view) ?? pages[0]!;

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
      const to = pages.find((p) => p.key === e.key);
      if (e.key === "?") showHelp((on) => !on);
      else if (e.key === "/") input.current?.focus();
      else if (e.key === "Escape") showHelp(false);
      else if (e.key === "n" || (e.key === "Enter" && state.words.find && target === document.body)) setHit((h) => h + (e.shiftKey ? -1 : 1));
      else if (e.key === "N") setHit((h) => h - 1);
      else if (e.key === "u") history.back();
      else if (to) go(withView(state, to.view, to.view === "block" ? { block: state.words.block ?? "" } : {}));
      else return;
      e.preventDefault();
    }
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [state]);

  return (
    <ShellContext.Provider value={shell}>
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
              if (e.key === "Enter") setHit((h) => h + (e.shiftKey ? -1 : 1));
              else if (e.key === "Escape") e.currentTarget.blur();
            }}
          />
          <Found state={state} hits={hits.length} hit={at} />
        </form>
        {live || paused ? (
          <button class={"live" + (paused ? " paused" : "")} aria-pressed={paused} onClick={() => pause(!paused)}>
            {paused ? "paused" : "live"}
          </button>
        ) : null}
        <button aria-label="keys" onClick={() => showHelp(true)}>
          ?
        </button>
      </header>
      <Views page={page} before={before} />
      <Filters />
      <main ref={setMain}>
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
  const programs = table?.facts.filter((f) => f.name === "program") ?? [];
  const others = programs.length - 1;
  const name = (programs[0]?.text ?? "") + (others > 0 ? ` and ${others} more` : "");
  useEffect(() => {
    document.title = name ? `${name} - Tallytree` : "Tallytree";
  }, [name]);
  return <h1>{name || "Tallytree"}</h1>;
}

// The metrics of the profile, the one that is looked at chosen; the first is it unless the
// address says another.
function Metrics() {
  const shell = useShell();
  const { state } = shell;
  const { table } = useTable("view=header");
  const names = table?.metrics() ?? [];
  if (names.length < 2) return null;
  const chosen = state.words.metric || names[0]!;
  const others = names.filter((n) => n !== chosen || n === state.words.beside);
  return (
    <>
      <select aria-label="metric" value={chosen} onChange={(e) => shell.go(withWords(state, { metric: e.currentTarget.value === names[0] ? "" : e.currentTarget.value, sort: "" }))}>
        {names.map((n) => (
          <option value={n}>{n}</option>
        ))}
      </select>
      {state.view === "flat" ? (
        <select aria-label="a metric beside it" value={state.words.beside ?? ""} onChange={(e) => shell.go(withWords(state, { beside: e.currentTarget.value }))}>
          <option value="">alone</option>
          {others.map((n) => (
            <option value={n}>{`beside ${n}`}</option>
          ))}
        </select>
      ) : null}
    </>
  );
}

const root = document.getElementById("app")!;
start().then(
  () => render(<App />, root),
  (e: Error) => render(<p class="error">{e.message}</p>, root),
);
