// SPDX-License-Identifier: MIT
// outline.ts - the rows of a tree: which are below which, which are shown, and the path of the
// greatest figures.
import { useState } from "preact/hooks";
import type { Row, Table } from "./model";

export interface Node {
  row: Row;
  key: string; // of its path: the same in another answer
  end: number; // the index of the first row that is not below it
}

const weightOf = (table: Table, row: Row) => table.number(row, "inclusive") ?? table.number(row, "total.b") ?? table.number(row, "self") ?? 0;

export function nodesOf(table: Table, rows: Row[]): Node[] {
  const path: string[] = [];
  const open: Node[] = [];
  const nodes: Node[] = [];
  rows.forEach((row, i) => {
    const own = table.text(row, "id") || table.text(row, "name");
    path.length = row.role === "total" ? 0 : row.depth;
    path.push(path.length ? `${path[path.length - 1]}/${own}` : own);
    const node = { row, key: row.role === "entry" ? table.text(row, "path") || path[path.length - 1]! : "", end: rows.length };
    while (open.length && (row.role === "total" || open[open.length - 1]!.row.depth >= row.depth)) open.pop()!.end = i;
    open.push(node);
    nodes.push(node);
  });
  return nodes;
}

export const isParent = (nodes: Node[], i: number) => nodes[i]!.key !== "" && nodes[i]!.end > i + 1;

// From a row on to the greatest of those below it, and so on; as long as that has so much of the
// one above it.
export function heaviestPath(table: Table, nodes: Node[], from: number, least: number): string[] {
  const keys: string[] = [];
  for (let at = from; nodes[at] && isParent(nodes, at); ) {
    keys.push(nodes[at]!.key);
    let best = -1;
    for (let i = at + 1; i < nodes[at]!.end; i = Math.max(i + 1, nodes[i]!.end)) if (nodes[i]!.row.role === "entry" && (best < 0 || weightOf(table, nodes[i]!.row) > weightOf(table, nodes[best]!.row))) best = i;
    if (best < 0 || weightOf(table, nodes[best]!.row) < least * weightOf(table, nodes[at]!.row)) break;
    at = best;
  }
  return keys;
}

// Rows that are not below a closed one.
export function shownOf(nodes: Node[], open: ReadonlySet<string>): number[] {
  const out: number[] = [];
  for (let i = 0; i < nodes.length; ) {
    out.push(i);
    i = !isParent(nodes, i) || open.has(nodes[i]!.key) ? i + 1 : nodes[i]!.end;
  }
  return out;
}

const MOST = 0.5; // of the one above it: the path to where it goes to several places is open at first

// What was opened in each tree, for when one comes back to it.
const kept = new Map<string, ReadonlySet<string>>();

export function useOutline(name: string, table: Table, nodes: Node[]): [ReadonlySet<string>, (open: ReadonlySet<string>) => void] {
  const [, again] = useState(0);
  const first = nodes[0] ? nodes[0].key : "";
  const key = `${name} ${first}`;
  const open = kept.get(key) ?? new Set(heaviestPath(table, nodes, 0, MOST));
  kept.set(key, open);
  return [
    open,
    (to) => {
      kept.set(key, to);
      again((n) => n + 1);
    },
  ];
}
