// SPDX-License-Identifier: MIT
// state.ts - the address has all of the view's state: going back undoes,
// and a copied link shows the same.  Its words are those of a query.
import { useEffect, useState } from "preact/hooks";

export const filterKinds = ["select", "exclude", "fold", "centre", "prune", "root", "collapse", "strand", "time"] as const;
export type FilterKind = (typeof filterKinds)[number];

export interface Filter {
  kind: FilterKind;
  pattern: string;
  off?: boolean; // it is kept, and has no effect
}

export interface State {
  view: string;
  filters: Filter[];
  words: Record<string, string>; // all others: metric, block, context, sort, limit, find …
}

const isFilter = (key: string): key is FilterKind =>
  (filterKinds as readonly string[]).includes(key);

const OFF = "off-"; // before the kind of a filter that is switched off

export function parse(hash: string): State {
  const state: State = { view: "overview", filters: [], words: {} };
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (key === "view") state.view = value;
    else if (isFilter(key)) state.filters.push({ kind: key, pattern: value });
    else if (key.startsWith(OFF) && isFilter(key.slice(OFF.length))) state.filters.push({ kind: key.slice(OFF.length) as FilterKind, pattern: value, off: true });
    else state.words[key] = value;
  }
  return state;
}

export function format(state: State): string {
  const out = new URLSearchParams();
  out.append("view", state.view);
  for (const f of state.filters) out.append((f.off ? OFF : "") + f.kind, f.pattern);
  for (const [key, value] of Object.entries(state.words)) if (value) out.append(key, value);
  return "#" + out.toString();
}

// Words that stay when another view is shown.
const lasting = ["metric", "beside", "find", "context", "without", "strip", "against"];

export function withView(state: State, view: string, words: Record<string, string> = {}): State {
  const kept: Record<string, string> = {};
  for (const key of lasting) if (state.words[key]) kept[key] = state.words[key];
  return { view, filters: state.filters, words: { ...kept, ...words } };
}

export function withWords(state: State, words: Record<string, string>): State {
  return { ...state, words: { ...state.words, ...words } };
}

// A context is addressed by its path, so it stays open when filters leave it there.  A number
// alone would be another context then.
export function withFilters(state: State, filters: Filter[]): State {
  const { context = "" } = state.words;
  return { ...state, filters, words: { ...state.words, context: context.includes("#") ? context : "", zoom: "" } };
}

// Adds one; one like it that is switched off is switched on.
export function addFilter(state: State, kind: FilterKind, pattern: string): State {
  const at = state.filters.findIndex((f) => f.kind === kind && f.pattern === pattern);
  if (at < 0) return withFilters(state, [...state.filters, { kind, pattern }]);
  return state.filters[at]!.off ? withFilters(state, state.filters.map((f, i) => (i === at ? { kind, pattern } : f))) : state;
}

// The range of time that is looked at, as it is written; "": all of the run.
export const timeOf = (state: State) => state.filters.find((f) => f.kind === "time" && !f.off)?.pattern ?? "";

// There is one range at most: another one takes its place.
export function withTime(state: State, text: string): State {
  const at = state.filters.findIndex((f) => f.kind === "time");
  const filters = state.filters.filter((f) => f.kind !== "time");
  if (text) filters.splice(at < 0 ? filters.length : at, 0, { kind: "time", pattern: text });
  return withFilters(state, filters);
}

// An entry of the history has its number among those of this page, where it was scrolled, and the
// link on it that had the focus.
interface Entry {
  index: number;
  scroll: number;
  link?: string;
}

const entry = (): Entry => (history.state as Entry | null) ?? { index: 0, scroll: 0 };
let last = 0; // the number of the entry that is shown

export const isScrolled = () => entry().scroll > 0;
export const isFirst = () => entry().index === 0;

// Before another entry is shown.
function leave() {
  const { activeElement } = document;
  const link = activeElement?.matches("main a[href]") ? activeElement.getAttribute("href")! : undefined;
  history.replaceState({ ...entry(), scroll: window.scrollY, link }, "");
}

export function go(state: State) {
  const hash = format(state);
  if (hash === location.hash) return;
  leave();
  location.hash = hash;
}

export function replace(state: State) {
  history.replaceState(entry(), "", format(state));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

// Scrolls when the page is long enough for that, and gives the focus back; any action of the user ends it.
function scrollBack(to: number, link?: string) {
  let wanted = true;
  const end = () => (wanted = false);
  const events = ["wheel", "keydown", "pointerdown", "touchstart", "hashchange"];
  for (const e of events) window.addEventListener(e, end, { once: true, capture: true });
  const look = () => {
    if (!wanted) return;
    const room = document.documentElement.scrollHeight - window.innerHeight;
    if (room < to && document.querySelector("main [aria-busy=true]")) return void requestAnimationFrame(look);
    if (room < to && frames++ < 10) return void requestAnimationFrame(look);
    window.scrollTo(0, to);
    if (link) focusOn(link);
  };
  const focusOn = (href: string) => {
    const found = wanted ? document.querySelector<HTMLElement>(`main a[href="${CSS.escape(href)}"]`) : null;
    if (found) found.focus({ preventScroll: true });
    else if (wanted && frames++ < 60) requestAnimationFrame(() => focusOn(href));
  };
  let frames = 0;
  requestAnimationFrame(() => requestAnimationFrame(look));
}

// Another address: a new entry begins at its top when it is another page, one of before where
// it was left.
function arrive(before: State, after: State) {
  if (!history.state) history.replaceState({ index: last + 1, scroll: 0 }, "");
  const { index, scroll, link } = entry();
  if (index < last) scrollBack(scroll, link);
  else if (index !== last && before.view !== after.view) scrollBack(0);
  last = index;
}

// If a click or a key leads to another entry, this one's place is kept.
export function keepPlaces() {
  history.scrollRestoration = "manual";
  history.replaceState(entry(), "");
  last = entry().index;
  document.addEventListener(
    "click",
    (e) => {
      if ((e.target as Element).closest?.('a[href^="#"]')) leave();
    },
    true,
  );
}

export function useAddress(): State {
  const [state, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () =>
      set((before) => {
        const after = parse(location.hash);
        arrive(before, after);
        return after;
      });
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return state;
}

// The query of a view: the filters and the metric of the address, and what else is asked.
const ofTime = ["timeline", "chart", "bursts"]; // views that have no other metric
export function query(state: State, view: string, words: Record<string, string | number> = {}) {
  const out = new URLSearchParams();
  out.append("view", view);
  for (const f of state.filters) if (!f.off) out.append(f.kind, f.pattern);
  if (state.words.metric && !ofTime.includes(view)) out.append("metric", state.words.metric);
  for (const [key, value] of Object.entries(words)) if (value !== "") out.set(key, String(value));
  return (words.threshold === "0" ? "all&" : "") + out.toString(); // a reply is limited otherwise
}

// Is a range of time compared with the rest of the run, or the profile with the one before?
export const isWithRest = (state: State, before: boolean) => timeOf(state) !== "" && (!before || state.words.against === "rest");

// The same of what has changed since the profile before, or in a range of time.
export const compareQuery = (state: State, rest: boolean, view: string, words: Record<string, string | number> = {}) =>
  `diff&${rest ? "rest&" : ""}${state.words.normalise === "1" ? "normalise&" : ""}${query(state, view, words)}`;

// Metrics that are shown beside the main one.
export const besideOf = (state: State) => (state.words.beside ?? "").split(",").filter((b) => b);

// A pattern that matches this name and no other.
export function exactly(name: string): string {
  const escaped = name.replace(/[*?[\\]/g, "\\$&");
  return escaped.startsWith("/") ? "\\" + escaped : escaped;
}
