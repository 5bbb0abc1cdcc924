// SPDX-License-Identifier: MIT
// format.ts - figures in readable units; titles and copies have the exact ones.
import type { Column, Value } from "./model";

interface Step {
  from: number;
  by: number;
  unit: string;
}

const scales: Record<string, Step[]> = {
  ns: [
    { from: 60e9, by: 60e9, unit: "min" },
    { from: 1e9, by: 1e9, unit: "s" },
    { from: 1e6, by: 1e6, unit: "ms" },
    { from: 1e3, by: 1e3, unit: "µs" },
    { from: 0, by: 1, unit: "ns" },
  ],
  bytes: [
    { from: 2 ** 40, by: 2 ** 40, unit: "TiB" },
    { from: 2 ** 30, by: 2 ** 30, unit: "GiB" },
    { from: 2 ** 20, by: 2 ** 20, unit: "MiB" },
    { from: 2 ** 10, by: 2 ** 10, unit: "KiB" },
    { from: 0, by: 1, unit: "B" },
  ],
};

// A unit may be called anything, also "constructor".
const scalesOf = (unit: string) => (Object.prototype.hasOwnProperty.call(scales, unit) ? scales[unit] : undefined);

const plain: Step[] = [
  { from: 1e13, by: 1e12, unit: "T" },
  { from: 1e10, by: 1e9, unit: "G" },
  { from: 1e7, by: 1e6, unit: "M" },
  { from: 0, by: 1, unit: "" },
];

const thin = "\u202f";

function digits(n: number, whole: boolean): string {
  if (whole) return group(String(Math.round(n)));
  const size = Math.abs(n);
  return group(n.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3));
}

// Thousands apart: 4 694 615.
export function group(number: string): string {
  const [whole = "", part] = number.split(".");
  const spaced = whole.replace(/\B(?=(\d{3})+(?!\d))/g, thin);
  return part === undefined ? spaced : spaced + "." + part;
}

export const many = (n: number, what: string, plural = what + "s") => `${group(String(n))} ${n === 1 ? what : plural}`;

export function amount(n: number | null, unit: string): string {
  if (n === null) return "";
  const steps = scalesOf(unit) ?? plain;
  const size = Math.abs(n);
  const step = steps.find((s) => size >= s.from) ?? { by: 1, unit: "" };
  const text = digits(n / step.by, step.by === 1 && Number.isInteger(n));
  const name = scalesOf(unit) ? step.unit : [step.unit, unit].filter((u) => u).join(thin);
  return name ? text + thin + name : text;
}

export function share(n: number | null): string {
  if (n === null) return "";
  const percent = n * 100;
  return (percent !== 0 && Math.abs(percent) < 0.01 ? "<0.01" : group(percent.toFixed(2))) + thin + "%";
}

// The exact figure, with its unit.
export function exact(value: Value, unit: string): string {
  if (value === null) return "not known";
  const text = typeof value === "number" && !Number.isInteger(value) ? String(value) : group(String(value));
  return unit ? text + " " + unit : text;
}

export function cell(value: Value, column: Column): string {
  if (value === null) return "";
  switch (column.type) {
    case "text":
      return String(value);
    case "share":
      return (column.key === "change" && Number(value) > 0 ? "+" : "") + share(Number(value));
    case "change":
      return (Number(value) > 0 ? "+" : "") + amount(Number(value), column.unit);
    default:
      return plainKeys.has(column.key) ? String(value) : amount(Number(value), column.unit);
  }
}

// Numbers that count nothing.
const plainKeys = new Set(["line", "column", "block", "context", "pid", "thread", "rank", "least_thread", "most_thread"]);

// Code without a name has a build-id instead of a file.
export const isBuildId = (file: string) => /^[0-9a-f]{16,}$/.test(file);

export function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.ceil((most - 1) * 0.6);
  return text.slice(0, head) + "…" + text.slice(text.length - (most - 1 - head));
}
