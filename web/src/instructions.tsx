// SPDX-License-Identifier: MIT
// instructions.tsx - the source of a function and its instructions, side by side: a line and its
// instructions are marked together, below the pointer and by the arrow keys.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { amount, exact, share } from "./format";
import { readSource, type Row, type Source, type Table } from "./model";
import { Answer, FunctionName } from "./parts";
import { useShell, useTable } from "./shell";
import { format, query, withView, withWords } from "./state";
import { hottestRows, shade, SHADES } from "./heat";

const MOST = 2000; // lines of a file that are shown
const BEFORE = 500; // of them above the hottest one, where there are more
const AROUND = 3; // lines around those of the function

// A line of a source, by which its instructions are found.
const keyOf = (file: string, line: number | string) => `${file}:${line}`;

/* ── Which lines are shown ────────────────────────────────────────────────────────── */

interface Part {
  file: string;
  first: number;
  last: number;
  rows: Map<number, Row[]>; // the line's own row, and what is inlined there
}

// The lines with figures, and those of the instructions between them.
function partsOf(source: Table, assembly: Table | null): Part[] {
  const parts = new Map<string, Part>();
  const functions = new Set<string>();
  const take = (file: string, line: number | null) => {
    if (!file || !line) return undefined;
    const part = parts.get(file) ?? { file, first: line, last: line, rows: new Map() };
    parts.set(file, part);
    part.first = Math.min(part.first, line);
    part.last = Math.max(part.last, line);
    return part;
  };
  for (const r of source.rows) {
    const line = source.number(r, "line");
    if ((r.role !== "entry" && r.role !== "callee") || source.at(r, "inclusive") === null) continue;
    if (r.role === "entry") functions.add(source.text(r, "function"));
    const rows = take(source.text(r, "file"), line)?.rows;
    rows?.set(line!, [...(rows.get(line!) ?? []), r]);
  }
  let outer = "";
  for (const r of assembly?.rows ?? []) {
    if (r.role === "heading" && r.depth === 0) outer = assembly!.text(r, "function");
    if (r.role !== "entry") continue;
    const [file, line] = functions.has(assembly!.text(r, "function")) ? ["file", "line"] : functions.has(outer) ? ["at_file", "at_line"] : ["", ""];
    if (file && parts.has(assembly!.text(r, file))) take(assembly!.text(r, file), assembly!.number(r, line!));
  }
  return [...parts.values()].map((p) => within(p, source));
}

// Of a long part only what is around its hottest line.
function within(part: Part, source: Table): Part {
  const first = Math.max(1, part.first - AROUND);
  const last = part.last + AROUND;
  if (last - first < MOST) return { ...part, first, last };
  const hot = hottestRows(source, [...part.rows.values()].flat())[0];
  const from = Math.max(first, ((hot && source.number(hot, "line")) ?? first) - BEFORE);
  return { ...part, first: from, last: Math.min(last, from + MOST) };
}

// The texts of the parts; of a file that cannot be read, why.
function useTexts(parts: Part[]): Map<string, Source | string> | null {
  const [texts, set] = useState<Map<string, Source | string> | null>(null);
  const wanted = parts.map((p) => keyOf(p.file, p.first)).join("\n");
  useEffect(() => {
    let here = true;
    const read = parts.map((p) => readSource(p.file, p.first).catch((e: Error) => e.message).then((text) => [p.file, text] as const));
    Promise.all(read).then((all) => here && set(new Map(all)), () => undefined);
    return () => {
      here = false;
    };
  }, [wanted]);
  return texts;
}

/* ── Panes ────────────────────────────────────────────────────────────────────────── */

// Marks of the hot rows of a pane, as high as the pane; the part in sight is framed.
function Minimap({ heats, scroll }: { heats: number[]; scroll: HTMLElement | null }) {
  const box = useRef<HTMLDivElement>(null);
  const [seen, see] = useState({ top: 0, height: 1, filled: 1 }); // parts of all rows, and of the pane
  useEffect(() => {
    if (!scroll) return undefined;
    const rows = scroll.firstElementChild!;
    const look = () =>
      see({
        top: scroll.scrollTop / scroll.scrollHeight,
        height: Math.min(1, scroll.clientHeight / scroll.scrollHeight),
        filled: Math.min(1, rows.clientHeight / scroll.clientHeight),
      });
    const observer = new ResizeObserver(look);
    observer.observe(scroll);
    observer.observe(rows);
    scroll.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      scroll.removeEventListener("scroll", look);
    };
  }, [scroll]);
  const to = (e: PointerEvent) => {
    const { top, height } = box.current!.getBoundingClientRect();
    if (scroll && e.buttons) scroll.scrollTop = ((e.clientY - top) / height) * scroll.scrollHeight - scroll.clientHeight / 2;
  };
  const hot = heats.filter((h) => h > 0).length;
  return (
    <div ref={box} class="minimap" role="img" aria-label={`where the ${hot} hot rows are`} onPointerDown={to} onPointerMove={to}>
      {heats.map((h, i) => (h > 0 ? <span style={{ top: `${(i / heats.length) * seen.filled * 100}%`, "--heat": h / SHADES }} /> : null))}
      {seen.height < 1 ? <i style={{ top: `${seen.top * 100}%`, height: `${seen.height * 100}%` }} /> : null}
    </div>
  );
}

interface PaneProps {
  id: string;
  label: string;
  heats: number[];
  heads: [string, string][]; // of columns: the class, the text
  children: ComponentChildren;
}

function Pane({ id, label, heats, heads, children }: PaneProps) {
  const [scroll, set] = useState<HTMLDivElement | null>(null);
  return (
    <div class="pane">
      <div ref={set} class="lines">
        <table class="source" role="grid" id={id} tabIndex={0} aria-label={label}>
          <thead>
            <tr>
              {heads.map(([kind, text]) => (
                <th scope="col" class={kind}>
                  <span>{text}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </div>
      <Minimap heats={heats} scroll={scroll} />
    </div>
  );
}

/* ── What is marked together ──────────────────────────────────────────────────────── */

// Scrolls only the pane: the page stays where it is.
function show(row: HTMLElement) {
  const pane = row.closest<HTMLElement>(".lines")!;
  const head = pane.querySelector("thead")!.getBoundingClientRect().height;
  const at = row.getBoundingClientRect();
  const of = pane.getBoundingClientRect();
  if (at.top >= of.top + head && at.bottom <= of.bottom) return;
  pane.scrollTop += at.top - of.top - (of.height - at.height) / 2;
}

// Marks all rows of a line, and shows one of them in the other pane.
function mark(box: HTMLElement, row: HTMLElement) {
  const { link = "" } = row.dataset;
  if (box.dataset.link === link) return;
  box.dataset.link = link;
  for (const before of box.querySelectorAll("[data-linked]")) before.removeAttribute("data-linked");
  const rows = [...box.querySelectorAll<HTMLElement>("tr[data-link]")].filter((r) => r.dataset.link === link);
  for (const r of rows) r.setAttribute("data-linked", "");
  const other = rows.filter((r) => r.closest("table") !== row.closest("table"));
  const hot = other.find((r) => r.dataset.hot) ?? other[0];
  if (hot) show(hot);
}

function choose(box: HTMLElement, row: HTMLElement) {
  const grid = row.closest("table")!;
  grid.querySelector("[data-chosen]")?.removeAttribute("data-chosen");
  row.setAttribute("data-chosen", "");
  grid.setAttribute("aria-activedescendant", row.id);
  show(row);
  mark(box, row);
}

const STEPS: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -Infinity, End: Infinity };

function onKey(box: HTMLElement, e: KeyboardEvent) {
  const grid = (e.target as HTMLElement).closest("table");
  const rows = [...(grid?.querySelectorAll<HTMLElement>("tr[data-link]") ?? [])];
  const at = rows.findIndex((r) => r.hasAttribute("data-chosen"));
  const by = STEPS[e.key];
  if (!rows.length || e.ctrlKey || e.metaKey || e.altKey) return;
  if (by) choose(box, rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))]!);
  else if (e.key !== "Enter" || at < 0 || !jump(box, rows[at]!)) return;
  e.preventDefault();
  e.stopPropagation();
}

// To where an instruction jumps.
function jump(box: HTMLElement, row: HTMLElement): boolean {
  const { jumps } = row.dataset;
  const target = jumps ? [...row.closest("table")!.querySelectorAll<HTMLElement>("tr[data-label]")].find((r) => r.dataset.label === jumps) : undefined;
  if (target) choose(box, target);
  return target !== undefined;
}

/* ── The page ─────────────────────────────────────────────────────────────────────── */

function Self({ table, row, heat }: { table: Table; row: Row | undefined; heat: number }) {
  const self = row ? table.number(row, "self") : null;
  const error = row ? table.number(row, "self_error") : null;
  if (!row || !self) return <td class="figure" />;
  return (
    <td class="figure" title={exact(table.at(row, "self"), table.unit)} data-heat={heat || undefined}>
      {share(table.number(row, "self_share"))}
      {error ? <small> ±{share(error)}</small> : null}
    </td>
  );
}

const heated = (heat: number) => (heat ? { "--heat": heat / SHADES } : undefined);

function SourcePane({ table, parts, texts }: { table: Table; parts: Part[]; texts: Map<string, Source | string> | null }) {
  const hottest = Math.max(0, ...table.rows.filter((r) => r.role === "entry").map((r) => table.number(r, "self") ?? 0));
  const heats: number[] = [];
  const rows = parts.flatMap((part) => {
    const text = texts?.get(part.file);
    const known = typeof text === "object" ? text : null;
    const shown = [<tr class="file"><td colSpan={4}>{part.file}{typeof text === "string" ? `: not shown: ${text}` : ""}</td></tr>];
    heats.push(0);
    for (let line = part.first; line <= part.last; line++) {
      const at = part.rows.get(line) ?? [];
      const code = known ? known.lines[line - known.first] : "";
      if (known ? code === undefined : !at.length) continue;
      const own = at.find((r) => r.role === "entry");
      const link = keyOf(part.file, line);
      const heat = shade(own ? (table.number(own, "self") ?? 0) : 0, hottest);
      heats.push(heat);
      shown.push(
        <tr id={`source-${heats.length}`} data-link={link} data-line={line} data-hot={heat || undefined} class={own ? "covered" : ""} style={heated(heat)}>
          <Self table={table} row={own} heat={heat} />
          <td class="figure" title={own ? exact(table.at(own, "inclusive"), table.unit) : ""}>{own ? amount(table.number(own, "inclusive"), table.unit) : ""}</td>
          <td class="figure line">{line}</td>
          <td class="code"><code>{code || (known ? " " : table.text(own!, "function"))}</code></td>
        </tr>,
      );
      for (const inlined of at.filter((r) => r.role === "callee")) {
        heats.push(0);
        shown.push(
          <tr id={`source-${heats.length}`} data-link={link} class="inner">
            <td class="figure" />
            <td class="figure" title={exact(table.at(inlined, "inclusive"), table.unit)}>{amount(table.number(inlined, "inclusive"), table.unit)}</td>
            <td class="figure line" />
            <td class="code"><code>{table.text(inlined, "name")}</code></td>
          </tr>,
        );
      }
    }
    return shown;
  });
  return (
    <Pane id="source" label="source" heats={heats} heads={[["figure", "self"], ["figure", "total"], ["figure", "line"], ["name", "source"]]}>
      {rows}
    </Pane>
  );
}

function InstructionPane({ table, lines }: { table: Table; lines: Set<string> }) {
  const entries = table.rows.filter((r) => r.role === "entry");
  const hottest = Math.max(0, ...entries.map((r) => table.number(r, "self") ?? 0));
  const heats = table.rows.map((r) => (r.role === "entry" ? shade(table.number(r, "self") ?? 0, hottest) : 0));
  let piece = 0; // labels are of one function
  return (
    <Pane id="instructions" label="instructions" heats={heats} heads={[["figure", "self"], ["figure", "address"], ["name", "label"], ["name", "instruction"]]}>
      {table.rows.map((r, i) => {
        const text = table.text(r, "name");
        if (r.role === "heading" && r.depth === 0) piece++;
        if (r.role !== "entry")
          return (
            <tr class={r.role === "heading" ? (r.depth ? "of" : "file") : r.role}>
              <Self table={table} row={r} heat={0} />
              <td />
              <td />
              <td class="code"><code>{text}</code></td>
            </tr>
          );
        const keys = [keyOf(table.text(r, "file"), table.text(r, "line")), keyOf(table.text(r, "at_file"), table.text(r, "at_line"))];
        const label = table.text(r, "label").replace(":", "");
        const to = /\b(L\d+) [↓↑]$/.exec(text)?.[1];
        return (
          <tr
            id={`instruction-${i}`}
            data-link={keys.find((k) => lines.has(k)) ?? keys[0]}
            data-label={label ? `${piece} ${label}` : undefined}
            data-jumps={to ? `${piece} ${to}` : undefined}
            data-hot={heats[i] || undefined}
            class={heats[i] ? "covered" : ""}
            style={heated(heats[i]!)}
          >
            <Self table={table} row={r} heat={heats[i]!} />
            <td class="figure line" title={`${table.text(r, "module")} ${table.text(r, "bytes")}`}>{table.text(r, "address")}</td>
            <td class="line">{label}</td>
            <td class="code"><code>{text}</code></td>
          </tr>
        );
      })}
    </Pane>
  );
}

function Panes({ source, assembly }: { source: Table; assembly: Table }) {
  const { state } = useShell();
  const box = useRef<HTMLDivElement>(null);
  const parts = useMemo(() => partsOf(source, assembly), [source, assembly]);
  const texts = useTexts(parts);
  const lines = useMemo(() => new Set(parts.flatMap((p) => Array.from({ length: p.last - p.first + 1 }, (_, i) => keyOf(p.file, p.first + i)))), [parts]);
  const hot = hottestRows(source, source.rows.filter((r) => r.role === "entry" && source.number(r, "line")));
  const wanted = state.words.line || (hot[0] ? source.text(hot[0], "line") : "");
  useEffect(() => {
    const row = box.current?.querySelector<HTMLElement>(`#source tr[data-line="${Number(wanted)}"]`);
    if (row && texts) choose(box.current!, row);
  }, [wanted, texts]);
  const below = (e: Event) => (e.target as HTMLElement).closest<HTMLElement>("tr[data-link]");
  return (
    <>
      {hot.length ? (
        <p class="hot">
          Hottest lines:{" "}
          {hot.map((r, i) => (
            <>
              {i ? ", " : ""}
              <a aria-current={source.text(r, "line") === state.words.line ? "true" : undefined} href={format(withWords(state, { line: source.text(r, "line") }))}>
                {source.text(r, "line")}
              </a>{" "}
              ({share(source.number(r, "self_share"))})
            </>
          ))}
        </p>
      ) : null}
      <div
        ref={box}
        class="panes"
        onPointerOver={(e) => e.pointerType !== "touch" && below(e) && mark(box.current!, below(e)!)}
        onClick={(e) => {
          const row = below(e);
          if (row && !jump(box.current!, row)) choose(box.current!, row);
        }}
        onKeyDown={(e) => onKey(box.current!, e)}
      >
        <SourcePane table={source} parts={parts} texts={texts} />
        <InstructionPane table={assembly} lines={lines} />
      </div>
    </>
  );
}

export function InstructionsTools() {
  const shell = useShell();
  const { state } = shell;
  return (
    <label class="check">
      <input type="checkbox" checked={state.words.limit === "all"} onChange={(e) => shell.go(withWords(state, { limit: e.currentTarget.checked ? "all" : "" }))} /> also cold code
    </label>
  );
}

export function InstructionsPage() {
  const { state } = useShell();
  const { block = "", limit = "" } = state.words;
  const source = useTable(query(state, "source", { block }));
  const assembly = useTable(query(state, "assembly", { block, limit }));
  return (
    <section>
      <Answer asked={source} silent>
        {(lines) => (
          <Answer asked={assembly}>
            {(instructions) => {
              const name = instructions.rows.find((r) => r.role === "heading");
              return (
                <>
                  <FunctionName name={name ? instructions.text(name, "function") : block} link={name && format(withView(state, "block", { block: block || instructions.text(name, "function") }))} />
                  <Panes source={lines} assembly={instructions} />
                </>
              );
            }}
          </Answer>
        )}
      </Answer>
    </section>
  );
}
