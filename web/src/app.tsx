// SPDX-License-Identifier: MIT
// app.tsx - the viewer: what is above each page, the page, the keys.
import { Component, render, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { findIn } from "./expression";
import { Search } from "./find";
import { Bar, Header } from "./frame";
import { hasLetters, Help } from "./help";
import { Live, useLive } from "./live";
import { Menu } from "./menu";
import { hasAddresses, openingMetric, start } from "./model";
import { Working } from "./parts";
import { groupOf, groups, pageOf, pagesOf, wordsOf } from "./routes";
import { ShellContext, useHits, useTableAt, type MenuAt, type Shell } from "./shell";
import { Strip } from "./strip";
import { go, isFirst, keepPlaces, replace, timeOf, useAddress, withView, withWords } from "./state";

// What goes wrong on one page leaves the others.
class Fence extends Component<{ children: ComponentChildren }, { error: string }> {
  override state = { error: "" };
  static getDerivedStateFromError = (e: Error) => ({ error: e.message });
  override render() {
    return this.state.error ? <p class="error">{`This page has failed: ${this.state.error}. Other pages may work.`}</p> : this.props.children;
  }
}

function App() {
  const state = useAddress();
  const [menu, openMenu] = useState<MenuAt | null>(null);
  const [help, showHelp] = useState(false);
  const [hit, setHit] = useState(0);
  const [main, setMain] = useState<HTMLElement | null>(null);
  const live = useLive();
  const { version, before } = live;
  const input = useRef<HTMLInputElement>(null);
  const find = useMemo(() => findIn(state.words.find ?? "").wanted?.marks ?? null, [state.words.find]);
  const hits = useHits(main, find);
  const at = hits.length ? ((hit % hits.length) + hits.length) % hits.length : 0; // beyond the last is the first
  const current = hits[at];
  const shell: Shell = { state, version, live: live.live, before, go, openMenu, find, hit: current };
  const page = pageOf(state);
  const header = useTableAt(version).table;
  const compares = before || timeOf(state) !== "";

  // Without an address a recording opens on what it was made for.
  useEffect(() => {
    const metric = header && !location.hash ? openingMetric(header) : "";
    if (metric) replace(withWords(state, { metric }));
  }, [header]);
  useEffect(() => setHit(0), [state.words.find, state.view]);
  useEffect(() => {
    const { element } = current ?? {};
    if (!element || element.matches("tbody")) return undefined; // a long table does it itself
    element.scrollIntoView({ block: "nearest" });
    element.setAttribute("aria-current", "true");
    return () => element.removeAttribute("aria-current");
  }, [current]);
  // The groups by their numbers; again: the next page of the group.
  const toGroup = (number: number) => {
    const shown = groups.map((g) => ({ g, pages: pagesOf(g, page, header, compares).filter((p) => !p.alone) })).filter(({ pages }) => pages.length)[number - 1];
    if (!shown) return false;
    const next = shown.pages[shown.g === groupOf(page) ? (shown.pages.indexOf(page) + 1) % shown.pages.length : 0]!;
    go(withView(state, next.view, wordsOf(next)));
    return true;
  };
  // After a key has opened the page of a graph, arrow keys are for the graph.
  const toGraph = (e: KeyboardEvent) => {
    const graph = main?.querySelector<HTMLElement>("section:not(.overview) > .answer > .flame > .sheet");
    if (!graph) return;
    e.preventDefault();
    graph.focus();
    graph.dispatchEvent(new KeyboardEvent("keydown", { key: e.key, shiftKey: e.shiftKey, bubbles: true, cancelable: true }));
  };
  useEffect(() => {
    function onKey(e: KeyboardEvent) {
      const target = e.target as HTMLElement;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
      if (document.querySelector("dialog[open]") || !hasLetters()) return;
      if (e.key === "?") showHelp((on) => !on);
      else if (e.key === "/") input.current?.focus();
      else if (e.key === "Escape") showHelp(false);
      else if (e.key === "t") document.querySelector<HTMLElement>(".strip [data-part=range]")?.focus();
      else if (e.key === "n" || (e.key === "Enter" && state.words.find && (target === document.body || target === main))) setHit((h) => h + (e.shiftKey ? -1 : 1));
      else if (e.key === "N") setHit((h) => h - 1);
      else if (e.key === "l" && state.view === "block" && header && hasAddresses(header)) go(withView(state, "assembly", { block: state.words.block ?? "" }));
      else if (e.key.startsWith("Arrow") && target === main) return toGraph(e);
      else if (e.key === "u") isFirst() || history.back();
      else if (!/^[1-9]$/.test(e.key) || !toGroup(Number(e.key))) return;
      e.preventDefault();
    }
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [state, header, compares, main]);
  // What had the focus went with its page: it goes on from the next one's beginning.
  const opened = useRef(false);
  useEffect(() => {
    if (document.activeElement === document.body && opened.current) main?.focus({ preventScroll: true });
    opened.current = true;
  }, [state.view, state.words.block]);

  return (
    <ShellContext.Provider value={shell}>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), main?.focus())}>
        to the page
      </a>
      <Header page={page} compares={compares}>
        <Search input={input} hits={hits.length} hit={at} step={(by) => setHit((h) => h + by)} />
        <Working />
        <Live live={live} />
        <button aria-label="help and keys" class="quiet" onClick={() => showHelp(true)}>
          ?
        </button>
      </Header>
      <Bar page={page} compares={compares} />
      <Strip live={live.live} />
      <main id="main" ref={setMain} tabIndex={-1} aria-label={page.title}>
        <Fence key={page.view + page.as}>
          <page.show />
        </Fence>
      </main>
      {menu ? <Menu at={menu} close={() => openMenu(null)} /> : null}
      {help ? <Help close={() => showHelp(false)} /> : null}
    </ShellContext.Provider>
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
