// SPDX-License-Identifier: MIT
// heat.ts - how hot lines and instructions are.
import type { Row, Table } from "./model";

export const SHADES = 20;
const HOT = 8; // lines that are led to

// The shade of a share, on a scale of twenty: twice as hot is two shades up.
export function shade(of: number, hottest: number): number {
  if (of <= 0 || hottest <= 0) return 0;
  return Math.max(1, Math.min(SHADES, Math.round(SHADES + Math.log2(of / hottest) * 2)));
}

// Rows with self, the hottest first.
export const hottestRows = (table: Table, rows: Row[]): Row[] =>
  rows
    .filter((r) => (table.number(r, "self") ?? 0) > 0)
    .sort((a, b) => table.number(b, "self")! - table.number(a, "self")!)
    .slice(0, HOT);
