// SPDX-License-Identifier: MIT
// find.tsx - the search: names of the whole profile that match, what to do with one of them or
// with all, and how much of all is on paths through them.
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { findIn } from "./expression";
import { filterWords } from "./filters";
import { amount, group, share } from "./format";
import type { Table } from "./model";
import { addressOf, blockOf, fitName, placeEnd } from "./names";
import { Slider } from "./parts";
import { useShell, useTable } from "./shell";
import { addFilter, format, query, replace, withFilters, withView, withWords, type FilterKind } from "./state";

const PAUSE = 100; // ms without a letter

// A text when nothing has been typed for a while.
function useSettled(text: string): string {
  const [settled, set] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => set(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

const LISTED = 10;

/* ── Parts below a share ──────────────────────────────────────────────────────────── */

// What is below so many % of all is cut off; 0 is nowhere.
const shares = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20];

function Cutting() {
  const { state } = useShell();
  const at = state.filters.findIndex((f) => f.kind === "prune" && !f.off && /^[\d.]+%$/.test(f.pattern));
  const now = at < 0 ? 0 : parseFloat(state.filters[at]!.pattern);
  const place = shares.reduce((best, s, i) => (Math.abs(s - now) < Math.abs(shares[best]! - now) ? i : best), 0);
  const moved = (i: number) => {
    const filters = state.filters.filter((_, k) => k !== at);
    if (i) filters.splice(at < 0 ? filters.length : at, 0, { kind: "prune", pattern: `${shares[i]}%` });
    return withFilters(state, filters);
  };
  return (
    <label class="cutting" title={filterWords.prune.about}>
      <span>{now ? `small parts are cut off: below ${now} %` : "no part is cut off for being small"}</span>
      <Slider label="cut off what is below a share of all" most={shares.length - 1} value={place} text={now ? `below ${now} %` : "nothing"} onMove={moved} />
    </label>
  );
}

/* ── Matches ──────────────────────────────────────────────────────────────────────── */

const actions: [FilterKind, string][] = [
  ["select", "only"],
  ["exclude", "hide"],
  ["fold", "merge"],
  ["centre", "charge to"],
  ["root", "begin at"],
  ["collapse", "collapse"],
];

function Actions({ pattern, of }: { pattern: string; of: string }) {
  const shell = useShell();
  return (
    <span class="actions">
      {actions.map(([kind, label]) => (
        <button type="button" aria-label={`${label} ${of}`} title={filterWords[kind].about} onClick={() => shell.go(withWords(addFilter(shell.state, kind, pattern), { find: "" }))}>
          {label}
        </button>
      ))}
    </span>
  );
}

// Names of the whole profile that match, whatever the page shows.
function Matches({ table, pattern }: { table: Table; pattern: string }) {
  const { state } = useShell();
  const entries = table.rows.filter((r) => r.role === "entry");
  const left = table.left;
  return (
    <ul class="matches" aria-label="functions that match">
      {entries.map((r) => {
        const block = blockOf(table, r);
        return (
          <li>
            <a href={format(withView(state, "block", { block: addressOf(block) }))} title={block.name}>
              <span class="name">
                {fitName(block.name)} <small class="place">{block.apart || placeEnd(table, r)}</small>
              </span>
              <span class="part">{share(table.number(r, "self_share"))}</span>
              <span class="part">{share(table.number(r, "inclusive_share"))}</span>
            </a>
            <Actions pattern={addressOf(block)} of={block.name} />
          </li>
        );
      })}
      <li class="all">
        {left ? <a href={format(withView(state, "flat", { block: pattern }))}>{`${group(String(left))} more`}</a> : <span class="name">all that match</span>}
        <Actions pattern={pattern} of="all that match" />
      </li>
    </ul>
  );
}

// The text may also be a limit, or the name of a thread.
const limits = /^(\d+(\.\d+)?\s*(%|[a-zA-Zµ]+)?|[\w ]+<\d+)$/;

function Other({ text, pattern, threads }: { text: string; pattern: string; threads: number }) {
  const shell = useShell();
  const add = (kind: FilterKind, what: string) => shell.go(withWords(addFilter(shell.state, kind, what), { find: "" }));
  return (
    <p class="actions">
      {limits.test(text) ? (
        <button type="button" onClick={() => add("prune", text)}>
          cut off parts below {text.split("<").pop()}
        </button>
      ) : null}
      {threads > 1 ? (
        <button type="button" onClick={() => add("strand", pattern)}>
          only threads of this name
        </button>
      ) : null}
    </p>
  );
}

interface Props {
  input: RefObject<HTMLInputElement>;
  hits: number; // on the page
  hit: number;
  step(by: number): void;
}

export function Search({ input, hits, hit, step }: Props) {
  const { state } = useShell();
  const text = state.words.find ?? "";
  const { wanted, error } = findIn(text);
  const { table: header } = useTable("view=header");
  const count = (name: string) => {
    const row = header?.rows.find((r) => header.text(r, "name") === name);
    return row ? (header!.number(row, "number") ?? 0) : Infinity;
  };
  const pattern = useSettled(wanted?.pattern ?? "");
  const matches = useTable(pattern ? query(state, "flat", { block: pattern, limit: LISTED, sort: "inclusive" }) : null);
  // Figures for an earlier text do not apply to the current one.
  const current = wanted?.pattern === pattern && !matches.busy;
  const [percent, , sum, unit] = (current && matches.table?.remarks.find((r) => r.kind === "paths")?.arguments) || [];
  const none = !current ? "" : matches.error ? "no name matches" : hits ? "" : "none on this page";
  return (
    <form class="find" role="search" onSubmit={(e) => e.preventDefault()} onKeyDown={onKey}>
      <input
        ref={input}
        type="search"
        aria-label="find and filter"
        placeholder="find or filter  ( / )"
        value={text}
        onInput={(e) => replace(withWords(state, { find: e.currentTarget.value }))}
        onKeyDown={(e) => {
          if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
        }}
      />
      <span class={"found" + (error ? " wrong" : "")} aria-live="polite">
        {error || (!wanted ? "" : hits ? `${hit + 1} of ${hits}` : none)}
        {percent === undefined ? "" : `, on paths of ${share(Number(percent) / 100)} (${amount(Number(sum), String(unit))})`}
      </span>
      <div class="panel">
        {current && matches.table ? <Matches table={matches.table} pattern={pattern} /> : null}
        {text ? null : <p class="hint">Part of a name, a glob* of a whole one, or a /regular expression/. Choose what to do with what matches.</p>}
        {wanted ? <Other text={text} pattern={wanted.pattern} threads={count("strands")} /> : null}
        <Cutting />
      </div>
    </form>
  );
}

// Up and down go from match to match, left and right to what can be done with one.
function onKey(e: KeyboardEvent) {
  const form = e.currentTarget as HTMLElement;
  const from = document.activeElement as HTMLElement;
  const input = form.querySelector<HTMLElement>("input[type=search]")!;
  if (e.key === "Escape") {
    from.blur();
    return;
  }
  if (from.matches("input[type=range]")) return;
  const rows = [...form.querySelectorAll(".matches li")];
  const row = rows.findIndex((r) => r.contains(from));
  const of = (i: number) => [...(rows[i]?.querySelectorAll<HTMLElement>("a, button") ?? [])];
  const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  const aside = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (by) (of(row + by)[Math.max(0, of(row).indexOf(from))] ?? of(row + by)[0] ?? (row + by < 0 ? input : from)).focus();
  else if (aside && row >= 0) of(row)[of(row).indexOf(from) + aside]?.focus();
  else return;
  e.preventDefault();
}
