// SPDX-License-Identifier: MIT
// long.ts - tables of many rows: only those in sight are in the document, between gaps as high as
// the rest.  The row that has the focus stays in it.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export const ROW = 27; // pixels: the height of a row of a long table
const LONG = 300; // rows; of fewer all are in the document
const ABOVE = 30; // rows above and below those in sight
const STEP = 20; // rows: smaller movements change nothing

export const isLong = (rows: number) => rows > LONG;

export interface Run {
  from: number;
  to: number; // the first row behind it
  gap: boolean;
}

// The rows that are in the document, and the gaps between them.
export function runsOf(window: { from: number; to: number }, focused: number, rows: number): Run[] {
  const runs: Run[] = [];
  let at = 0;
  const gapTo = (to: number) => {
    if (to > at) runs.push({ from: at, to, gap: true });
    at = Math.max(at, to);
  };
  const showTo = (from: number, to: number) => {
    gapTo(from);
    if (to > at) runs.push({ from: at, to, gap: false });
    at = Math.max(at, to);
  };
  const isFocusShown = focused >= 0 && focused < rows;
  if (isFocusShown && focused < window.from) showTo(focused, focused + 1);
  showTo(Math.min(window.from, rows), Math.min(window.to, rows));
  if (isFocusShown && focused >= at) showTo(focused, focused + 1);
  gapTo(rows);
  return runs;
}

const all = (rows: number) => ({ from: 0, to: isLong(rows) ? 2 * ABOVE : rows });

function inSight(body: HTMLElement, rows: number) {
  if (!isLong(rows)) return all(rows);
  const { top } = body.getBoundingClientRect();
  const first = Math.floor(-top / ROW / STEP) * STEP - ABOVE;
  const last = Math.ceil((window.innerHeight - top) / ROW / STEP) * STEP + ABOVE;
  return { from: Math.max(0, Math.min(first, rows - 1)), to: Math.max(1, Math.min(last, rows)) };
}

// What the keyboard goes to in a row.
const linkOf = (row: Element | null | undefined) => row?.querySelector<HTMLElement>("td.name a") ?? null;

// Scrolls the table, or the page, until the row is in the middle.
function bring(body: HTMLElement, row: number) {
  const at = body.getBoundingClientRect().top + row * ROW;
  const box = body.closest<HTMLElement>(".scroll.wide");
  const middle = box ? box.getBoundingClientRect().top + box.clientHeight / 2 : window.innerHeight / 2;
  if (box) box.scrollTop += at - middle;
  else window.scrollBy(0, at - middle);
}

// `hit`: a row to scroll to.
export function useRows(ref: RefObject<HTMLTableSectionElement>, rows: number, hit: number | undefined) {
  const [seen, see] = useState(() => all(rows));
  const [focused, focus] = useState(-1);
  const wanted = useRef<{ row: number; by: number } | null>(null); // the focus goes to it when it is there
  const [, again] = useState(0);
  const long = isLong(rows);
  const look = () => {
    if (!ref.current) return;
    const next = inSight(ref.current, rows);
    see((before) => (before.from === next.from && before.to === next.to ? before : next));
  };
  useLayoutEffect(look, [rows]);
  useEffect(() => {
    if (!long) return undefined;
    window.addEventListener("scroll", look, { capture: true, passive: true });
    window.addEventListener("resize", look);
    return () => {
      window.removeEventListener("scroll", look, { capture: true });
      window.removeEventListener("resize", look);
    };
  }, [rows]);
  useEffect(() => {
    if (hit === undefined || !ref.current) return;
    bring(ref.current, hit);
    look();
  }, [hit]);
  useLayoutEffect(() => {
    const { current } = wanted;
    if (!current) return;
    let row: Element | null | undefined = ref.current?.querySelector(`tr[data-row="${current.row}"]`);
    if (!row) return;
    wanted.current = null;
    while (row && !linkOf(row)) row = current.by > 0 ? row.nextElementSibling : row.previousElementSibling;
    linkOf(row)?.focus();
  });
  return {
    window: long ? seen : { from: 0, to: rows },
    focused: long ? focused : -1,
    onFocus: (e: FocusEvent) => long && focus(e.type === "focusin" ? Number((e.target as HTMLElement).closest("tr")?.dataset.row ?? -1) : -1),
    // Moves the focus to a row, or to the next one in that direction that has a link.
    go: (row: number, by: number) => {
      if (!ref.current) return;
      wanted.current = { row, by };
      if (long && !ref.current.querySelector(`tr[data-row="${row}"]`)) bring(ref.current, row);
      look();
      again((n) => n + 1);
    },
  };
}
