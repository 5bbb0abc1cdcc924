// SPDX-License-Identifier: MIT
// state.ts - what is looked at stands in the address, and nowhere else: going back undoes,
// and a copied link shows the same.  Its words are those of a query.
import { useEffect, useState } from "preact/hooks";

export const filterKinds = ["select", "exclude", "fold", "centre", "prune", "root", "strand"] as const;
export type FilterKind = (typeof filterKinds)[number];

export interface Filter {
  kind: FilterKind;
  pattern: string;
}

export interface State {
  view: string;
  filters: Filter[];
  words: Record<string, string>; // all others: metric, block, context, sort, limit, find …
}

const isFilter = (key: string): key is FilterKind =>
  (filterKinds as readonly string[]).includes(key);

export function parse(hash: string): State {
  const state: State = { view: "overview", filters: [], words: {} };
  for (const [key, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (key === "view") state.view = value;
    else if (isFilter(key)) state.filters.push({ kind: key, pattern: value });
    else state.words[key] = value;
  }
  return state;
}

export function format(state: State): string {
  const out = new URLSearchParams();
  out.append("view", state.view);
  for (const f of state.filters) out.append(f.kind, f.pattern);
  for (const [key, value] of Object.entries(state.words)) if (value) out.append(key, value);
  return "#" + out.toString();
}

// Words that stay when another view is shown.
const lasting = ["metric", "beside", "find"];

export function withView(state: State, view: string, words: Record<string, string> = {}): State {
  const kept: Record<string, string> = {};
  for (const key of lasting) if (state.words[key]) kept[key] = state.words[key];
  return { view, filters: state.filters, words: { ...kept, ...words } };
}

export function withWords(state: State, words: Record<string, string>): State {
  return { ...state, words: { ...state.words, ...words } };
}

// Numbers of contexts are those of what filters leave; they mean another thing then.
export function withFilters(state: State, filters: Filter[]): State {
  return { ...state, filters, words: { ...state.words, context: "" } };
}

export function addFilter(state: State, kind: FilterKind, pattern: string): State {
  if (state.filters.some((f) => f.kind === kind && f.pattern === pattern)) return state;
  return withFilters(state, [...state.filters, { kind, pattern }]);
}

export function go(state: State) {
  const hash = format(state);
  if (hash !== location.hash) location.hash = hash;
}

export function replace(state: State) {
  history.replaceState(null, "", format(state));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useAddress(): State {
  const [state, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => set(parse(location.hash));
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return state;
}

// The query of a view: the filters and the metric of the address, and what else is asked.
export function query(state: State, view: string, words: Record<string, string | number> = {}) {
  const out = new URLSearchParams();
  out.append("view", view);
  for (const f of state.filters) out.append(f.kind, f.pattern);
  if (state.words.metric) out.append("metric", state.words.metric);
  for (const [key, value] of Object.entries(words)) if (value !== "") out.set(key, String(value));
  return out.toString();
}

// A pattern that matches this name and no other.
export function exactly(name: string): string {
  const escaped = name.replace(/[*?[\\]/g, "\\$&");
  return escaped.startsWith("/") ? "\\" + escaped : escaped;
}
