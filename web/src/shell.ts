// SPDX-License-Identifier: MIT
// shell.ts - what every page of the viewer stands in: the address, hits, the block's menu.
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useState } from "preact/hooks";
import { ask, type Table } from "./model";
import type { State } from "./state";

export interface MenuAt {
  name: string;
  x: number;
  y: number;
}

export interface Shell {
  state: State;
  version: number; // of the profile: a live one is asked again when it changes
  go(state: State): void;
  openMenu(at: MenuAt): void;
  find: RegExp | null; // names that are looked for
  hit: number; // which of them, from 0, in the order of the page
  setHits(count: number): void;
}

export const ShellContext = createContext<Shell>(null as unknown as Shell);
export const useShell = () => useContext(ShellContext);

export interface Asked {
  table: Table | null;
  error: string | null;
  busy: boolean;
}

// The answer to a query, kept in sight until the next one is there.  null: nothing is asked.
export function useTable(query: string | null): Asked {
  const { version } = useShell();
  const [asked, set] = useState<Asked>({ table: null, error: null, busy: query !== null });
  useLayoutEffect(() => {
    if (query === null) {
      set({ table: null, error: null, busy: false });
      return undefined;
    }
    let wanted = true;
    set((before) => ({ ...before, busy: true }));
    ask(query).then(
      (table) => wanted && set({ table, error: null, busy: false }),
      (e: Error) => wanted && set({ table: null, error: e.message, busy: false }),
    );
    return () => {
      wanted = false;
    };
  }, [query, version]);
  return asked;
}

export function useSize(element: HTMLElement | null): { width: number; height: number } {
  const [size, set] = useState({ width: 0, height: 0 });
  useEffect(() => {
    if (!element) return undefined;
    const measure = () => set({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [element]);
  return size;
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
