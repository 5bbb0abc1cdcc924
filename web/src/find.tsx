// SPDX-License-Identifier: MIT
// find.tsx - names that are looked for: which ones match in the whole profile, and how much of
// all is on paths through them.
import { useEffect, useState } from "preact/hooks";
import { amount, share } from "./format";
import type { Table } from "./model";
import { addressOf, blockOf, brief, placeEnd } from "./names";
import { useShell, useTable } from "./shell";
import { format, query, withView, type State } from "./state";

// What is typed, for the browser, which marks names, and for the engine, which counts.
export interface Wanted {
  marks: RegExp;
  pattern: string;
}

const classes: Record<string, string> = { d: "0-9", w: "A-Za-z0-9_", s: "[:space:]" };
const posix: Record<string, string> = { alpha: "A-Za-z", digit: "0-9", alnum: "A-Za-z0-9", upper: "A-Z", lower: "a-z", space: "\\s", punct: "!-\\/:-@\\[-`{-~", xdigit: "0-9A-Fa-f", blank: " \\t" };

// The set "[…]" that begins at `from`, as both write it, and where it ends.
function setOf(text: string, from: number): { js: string; ere: string; end: number } {
  let at = from + 1;
  let js = "";
  let ere = "";
  const negated = text[at] === "^" ? "^" : "";
  at += negated.length;
  for (let first = true; at < text.length && (first || text[at] !== "]"); first = false) {
    const named = /^\[:(\w+):\]/.exec(text.slice(at));
    const c = text[at]!;
    const next = text[at + 1] ?? "";
    if (named && posix[named[1]!]) {
      js += posix[named[1]!];
      ere += named[0];
      at += named[0].length;
    } else if (c === "\\" && classes[next]) {
      js += c + next;
      ere += classes[next];
      at += 2;
    } else if (c === "\\" && /[^A-Za-z0-9\]^-]/.test(next)) {
      js += c + next;
      ere += next;
      at += 2;
    } else if (c === "\\") {
      throw new Error(`\\${next} in [ ] is not known`);
    } else {
      js += c === "[" || c === "]" ? "\\" + c : c;
      ere += c;
      at++;
    }
  }
  if (at >= text.length) throw new Error("[ without ]");
  return { js: `[${negated}${js}]`, ere: `[${negated}${ere}]`, end: at };
}

// JavaScript's expressions and POSIX's extended ones, as far as both mean the same by them.
function expressionOf(text: string): { js: string; ere: string } {
  let js = "";
  let ere = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    const next = text[i + 1] ?? "";
    if (c === "[") {
      const set = setOf(text, i);
      js += set.js;
      ere += set.ere;
      i = set.end;
    } else if (c === "(" && next === "?") {
      throw new Error("(? is not known");
    } else if (c === "\\" && /[A-Za-z0-9]/.test(next)) {
      const of = classes[next.toLowerCase()];
      if (!of && next.toLowerCase() !== "b") throw new Error(`\\${next} is not known`);
      js += c + next;
      ere += of ? `[${next < "a" ? "^" : ""}${of}]` : c + next;
      i++;
    } else {
      js += c === "\\" ? c + next : c;
      ere += c === "\\" ? c + next : c;
      i += c === "\\" ? 1 : 0;
    }
  }
  return { js, ere };
}

const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

// Texts are parts of names, globs whole names, and /…/ expressions; throws what is wrong.
export function wantedOf(text: string): Wanted {
  const written = /^\/(.+)\/(i?)$/.exec(text);
  if (written) {
    const { js, ere } = expressionOf(written[1]!);
    return { marks: new RegExp(js, written[2]), pattern: `/${ere}/${written[2]}` };
  }
  if (/[*?]/.test(text)) {
    const marks = [...text].map((c) => (c === "*" ? "[^]*" : c === "?" ? "[^]" : literally(c))).join("");
    return { marks: new RegExp(`^${marks}$`, "u"), pattern: text.replace(/[[\\]/g, "\\$&") };
  }
  return { marks: new RegExp(literally(text), "i"), pattern: `/${literally(text)}/i` };
}

export function findIn(text: string): { wanted: Wanted | null; error: string } {
  if (!text) return { wanted: null, error: "" };
  try {
    return { wanted: wantedOf(text), error: "" };
  } catch (e) {
    return { wanted: null, error: `not an expression: ${(e as Error).message.replace(/^Invalid regular expression: /, "")}` };
  }
}

const PAUSE = 300; // ms without a letter

// A text when nothing has been typed for a while; `now`: at once.
function useSettled(text: string, now: number): string {
  const [settled, set] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => set(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => set(text), [now]);
  return settled;
}

const LARGE = 1_000_000; // contexts: walking them all takes seconds, so only Enter asks for it
const LISTED = 10;

const partOf = (table: Table | null) => (table?.total() ? table.number(table.total()!, "self") : null);

// Names of the whole profile that match, whatever the page shows.
function Matches({ table, pattern, state }: { table: Table; pattern: string; state: State }) {
  const left = table.rows.find((r) => r.role === "remainder" && /^\d+ more$/.test(table.text(r, "name")));
  return (
    <ul class="matches" aria-label="names that match">
      {table.rows
        .filter((r) => r.role === "entry")
        .map((r) => {
          const block = blockOf(table, r);
          return (
            <li>
              <a href={format(withView(state, "block", { block: addressOf(block) }))} title={block.name}>
                <span class="name">
                  {brief(block.name)} <small class="place">{block.apart || placeEnd(table, r)}</small>
                </span>
                <span>{share(table.number(r, "self_share"))}</span>
                <span>{share(table.number(r, "inclusive_share"))}</span>
              </a>
            </li>
          );
        })}
      {left ? (
        <li>
          <a href={format(withView(state, "flat", { block: pattern }))}>{table.text(left, "name")}</a>
        </li>
      ) : null}
    </ul>
  );
}

export function Found({ error, wanted, hits, hit, entered }: { error: string; wanted: Wanted | null; hits: number; hit: number; entered: number }) {
  const { state } = useShell();
  const { table: header } = useTable("view=header");
  const contexts = header?.rows.find((r) => header.text(r, "name") === "contexts");
  const large = contexts ? (header!.number(contexts, "number") ?? 0) > LARGE : true;
  const pattern = useSettled(wanted?.pattern ?? "", entered);
  const [asked, ask] = useState("");
  useEffect(() => ask(pattern), [entered]);
  const share_ = pattern && (!large || asked === pattern) ? pattern : "";
  const through = useTable(share_ ? query({ ...state, filters: [...state.filters, { kind: "select", pattern }] }, "flat", { limit: 1 }) : null);
  const all = useTable(share_ ? query(state, "flat", { limit: 1 }) : null);
  const matches = useTable(pattern ? query(state, "flat", { block: pattern, limit: LISTED, sort: "inclusive" }) : null);
  // Figures of what was typed before say nothing of what stands there now.
  const current = wanted?.pattern === pattern && !through.busy && !all.busy && !matches.busy;
  const part = current ? partOf(through.table) : null;
  const whole = partOf(all.table);
  const none = !current ? "" : matches.error?.startsWith("no block matches") ? "no name matches" : hits ? "" : "none on this page";
  return (
    <>
      <span class={"found" + (error ? " wrong" : "")} aria-live="polite">
        {error || (!wanted ? "" : hits ? `${hit + 1} of ${hits}` : none)}
        {wanted && part !== null && whole ? `, on paths of ${share(part / whole)} (${amount(part, through.table!.unit)})` : ""}
      </span>
      {current && matches.table ? <Matches table={matches.table} pattern={pattern} state={state} /> : null}
    </>
  );
}
