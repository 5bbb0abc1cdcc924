// SPDX-License-Identifier: MIT
// shell.ts - the frame of every page of the viewer: the address, hits, the block's menu.
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { askFor, type Table } from "./model";
import type { Block } from "./names";
import type { State } from "./state";

export interface MenuAt {
  block: Block;
  context?: string | undefined; // if it is shown for one path
  x: number;
  y: number;
}

export interface Shell {
  state: State;
  version: number; // of the profile: a live one is asked again when it changes
  live: boolean; // is it still recorded?
  before: boolean; // is there another one to compare with?
  go(state: State): void;
  openMenu(at: MenuAt): void;
  find: RegExp | null; // names that are looked for
  hit: Hit | undefined; // which of them
}

// A place of the page that matches the search.
export interface Hit {
  element: HTMLElement | SVGElement;
  index: number; // in the element: a canvas or a long table says by data-hits how many it has
}

export const ShellContext = createContext<Shell>(null as unknown as Shell);
export const useShell = () => useContext(ShellContext);

export interface Asked {
  table: Table | null;
  error: string | null;
  busy: boolean;
}

// What the profile is, of the version of it that is shown.
export const useTableAt = (version: number) => useAnswer("view=header", version);

// The answer to a query, kept in sight until the next one is there.  null: nothing is asked.
export const useTable = (query: string | null) => useAnswer(query, useShell().version);

function useAnswer(query: string | null, version: number): Asked {
  const [asked, set] = useState<Asked>({ table: null, error: null, busy: query !== null });
  // The engine begins while the rest of the page is made.
  useMemo(() => query !== null && askFor(query)[1](), [query, version]);
  useLayoutEffect(() => {
    if (query === null) {
      set({ table: null, error: null, busy: false });
      return undefined;
    }
    let wanted = true;
    set((before) => ({ ...before, busy: true }));
    const [answer, leave] = askFor(query);
    answer.then(
      (table) => wanted && set({ table, error: null, busy: false }),
      (e: Error) => wanted && set({ table: null, error: e.message, busy: false }),
    );
    return () => {
      wanted = false;
      leave();
    };
  }, [query, version]);
  return asked;
}

const same = (a: Hit[], b: Hit[]) => a.length === b.length && a.every((hit, i) => hit.element === b[i]!.element && hit.index === b[i]!.index);

// All of them, in the order of the page, whatever it shows, and as it changes.
export function useHits(page: Element | null, find: RegExp | null): Hit[] {
  const [hits, set] = useState<Hit[]>([]);
  useEffect(() => {
    const look = () => {
      const found = find && page ? [...page.querySelectorAll<HTMLElement | SVGElement>(".hit:not([data-hits] .hit), [data-hits]")] : [];
      const next = found.flatMap((element) => Array.from({ length: Number(element.dataset.hits ?? 1) }, (_, index) => ({ element, index })));
      set((before) => (same(before, next) ? before : next));
    };
    look();
    if (!page || !find) return undefined;
    const observer = new MutationObserver(look);
    observer.observe(page, { subtree: true, childList: true, attributes: true, attributeFilter: ["class", "data-hits"] });
    return () => observer.disconnect();
  }, [page, find]);
  return hits;
}

export function useSize(element: HTMLElement | SVGSVGElement | null): { width: number; height: number } {
  const [size, set] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    if (!element) return undefined;
    const measure = () => set({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [element]);
  return size;
}

// Code of a library that starts when it is wanted: then the page does not wait for it at its beginning.
export function useLibrary<T>(load: () => Promise<T>): T | null {
  const [library, set] = useState<T | null>(null);
  useEffect(() => void load().then((l) => set(() => l)), [load]);
  return library;
}

// Is the page dark?  Canvases are drawn again when that changes.
export function useDark(): boolean {
  const query = window.matchMedia("(prefers-color-scheme: dark)");
  const [dark, set] = useState(query.matches);
  useEffect(() => {
    const changed = () => set(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return dark;
}

export function save(name: string, blob: Blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
