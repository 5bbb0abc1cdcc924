// SPDX-License-Identifier: MIT
// frame.tsx - the two rows above each page.  The header has what belongs to the profile: its
// name, groups of pages, the metric, the search.  The bar has what belongs to the page: the
// others of its group, its choices, the path that is opened, the filters.
//
// What all pages have below these, such as a strip of time, is in App, between Bar and main.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Crumbs } from "./crumbs";
import { Chips } from "./filters";
import type { Table } from "./model";
import { groupOf, groups, pagesOf, wordsOf, type Page } from "./routes";
import { useShell, useTable } from "./shell";
import { besideOf, format, withView, withWords } from "./state";

export function Header({ page, compares, children }: { page: Page; compares: boolean; children: ComponentChildren }) {
  return (
    <header>
      <Title />
      <Groups page={page} compares={compares} />
      <Metrics />
      {children}
    </header>
  );
}

function Title() {
  const { table } = useTable("view=header");
  const { name, others } = programsOf(table);
  const text = name + (others ? ` and ${others} more` : "");
  useEffect(() => {
    document.title = text ? `${text} - Tallytree` : "Tallytree";
  }, [text]);
  return <h1 title={text}>{text || "Tallytree"}</h1>;
}

// The program that was started, and how many others it started; of several runs the first. All
// of them are in the order in which they began.
export function programsOf(table: Table | null) {
  const of = (name: string) => table?.facts.filter((f) => f.name === name).map((f) => f.text) ?? [];
  const began = (program: string) => Number(table?.facts.find((f) => f.name === `began.${program}`)?.number ?? Number.MAX_VALUE);
  const programs = of("program").sort((a, b) => began(a) - began(b));
  const started = [...new Set(of("command").map((c) => c.split(" ")[0]?.split("/").pop() ?? ""))];
  return { name: (started.length === 1 && started[0]) || programs[0] || "", others: Math.max(0, programs.length - 1), programs };
}

function Groups({ page, compares }: { page: Page; compares: boolean }) {
  const { state } = useShell();
  const { table } = useTable("view=header");
  const nav = useRef<HTMLElement>(null);
  const on = groupOf(page);
  useEffect(() => {
    // By itself it would force a layout.
    const frame = requestAnimationFrame(() => nav.current?.querySelector(".on")?.scrollIntoView({ block: "nearest", inline: "nearest" }));
    return () => cancelAnimationFrame(frame);
  }, [on, table]);
  return (
    <nav ref={nav} aria-label="pages">
      {groups.map((g) => {
        const first = pagesOf(g, page, table, compares)[0];
        if (!first) return null;
        return (
          <a href={format(withView(state, first.view, wordsOf(first)))} class={g === on ? "on" : ""} aria-current={g === on ? "page" : undefined}>
            {g.title}
          </a>
        );
      })}
    </nav>
  );
}

const BESIDE = 11; // as many as the engine puts side by side, with the first one

// The metrics of the profile, the one that is looked at chosen; the first is it unless the
// address says another.
function Metrics() {
  const shell = useShell();
  const { state } = shell;
  const { table } = useTable("view=header");
  const names = table?.metrics() ?? [];
  if (names.length < 2) return null;
  const chosen = state.words.metric || names[0]!;
  return (
    <select aria-label="metric" value={chosen} onChange={(e) => shell.go(withWords(state, { metric: e.currentTarget.value === names[0] ? "" : e.currentTarget.value, sort: "" }))}>
      {[...names, ...(names.includes(chosen) ? [] : [chosen])].map((n) => (
        <option value={n}>{n}</option>
      ))}
    </select>
  );
}

// Other metrics, in columns behind those of the one that is looked at.
export function Beside() {
  const shell = useShell();
  const { state } = shell;
  const { table } = useTable("view=header");
  const names = table?.metrics() ?? [];
  const chosen = state.words.metric || names[0] || "";
  const others = names.filter((n) => n !== chosen && !n.includes(","));
  const beside = besideOf(state);
  if (!others.length) return null;
  return (
    <details class="drop beside">
      <summary>{beside.length ? `and ${beside.join(", ")}` : "metrics beside it"}</summary>
      <fieldset>
        <legend>metrics beside {chosen}</legend>
        {others.map((n) => (
          <label class="check">
            <input
              type="checkbox"
              checked={beside.includes(n)}
              disabled={!beside.includes(n) && beside.length >= BESIDE}
              onChange={(e) => shell.go(withWords(state, { sort: "", beside: (e.currentTarget.checked ? [...beside, n] : beside.filter((b) => b !== n)).join(",") }))}
            />{" "}
            {n}
          </label>
        ))}
      </fieldset>
    </details>
  );
}

export function Bar({ page, compares }: { page: Page; compares: boolean }) {
  const { state } = useShell();
  const { table } = useTable("view=header");
  const group = groupOf(page);
  const pages = pagesOf(group, page, table, compares);
  return (
    <div class="bar" role="region" aria-label="what is shown">
      {pages.length > 1 ? (
        <nav aria-label={group.title} class="choice">
          {pages.map((p) => (
            <a href={format(withView(state, p.view, { ...wordsOf(p), ...(p === page && state.words.block ? { block: state.words.block } : {}) }))} class={p === page ? "on" : ""} aria-current={p === page ? "page" : undefined}>
              {p.title}
            </a>
          ))}
        </nav>
      ) : null}
      {page.tools ? <page.tools /> : null}
      <Crumbs />
      <Chips />
      <details class="drop about">
        <summary aria-label="what this page answers">i</summary>
        <p>{page.question}</p>
      </details>
    </div>
  );
}
