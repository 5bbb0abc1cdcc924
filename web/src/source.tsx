// SPDX-License-Identifier: MIT
// source.tsx - figures beside the lines of the sources: hot ones shaded, those that never
// ran marked.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { amount, exact, group, isBuildId, share } from "./format";
import { hottestRows, shade, SHADES } from "./heat";
import { readSource, type Row, type Source, type Table } from "./model";
import { blockOf } from "./names";
import { Answer, Choice, Scroll } from "./parts";
import { useShell, useTable } from "./shell";
import { format, isScrolled, query, withWords, type State } from "./state";
import { BlockName, Figures } from "./table";

// Files that have figures, the hottest first; of code whose source is not known there is none.
function useFiles() {
  const { state } = useShell();
  const asked = useTable(query(state, "lines", { by: "file", limit: 400, uncovered: 1 }));
  const rows = asked.table?.rows.filter((r) => r.role === "entry" && asked.table!.text(r, "file") && !isBuildId(asked.table!.text(r, "file"))) ?? [];
  return { asked, rows };
}

export function SourceTools() {
  const shell = useShell();
  const { state } = shell;
  const { asked, rows } = useFiles();
  if (!asked.table || !rows.length) return null;
  return (
    <>
      <select aria-label="file" value={state.words.file ?? ""} onChange={(e) => shell.go(withWords(state, { file: e.currentTarget.value, first: "", line: "" }))}>
        {state.words.file ? null : <option value="">the hottest file</option>}
        {rows.map((r) => (
          <option value={asked.table!.text(r, "file")}>{`${share(asked.table!.number(r, "self_share"))}  ${asked.table!.text(r, "file")}`}</option>
        ))}
      </select>
      <Choice
        label="by"
        value={state.words.by ?? "line"}
        options={[
          ["line", "lines"],
          ["statement", "statements"],
        ]}
        onChange={(v) => shell.go(withWords(state, { by: v === "line" ? "" : v }))}
      />
    </>
  );
}

export function SourcePage() {
  const { state } = useShell();
  const file = state.words.file ?? "";
  const { asked, rows } = useFiles();
  const by = state.words.by ?? "line";
  const [missing, miss] = useState<ReadonlySet<string>>(new Set());
  return (
    <section>
      <Answer asked={asked} silent>
        {(table) => {
          if (!rows.length) return <p class="empty">No function of this profile says where in the sources it is. Debug information does: build with -g, and record with --lines.</p>;
          const hottest = rows.map((r) => table.text(r, "file"));
          const shown = file || (hottest.slice(0, TRIED).find((f) => !missing.has(f)) ?? hottest[0]!);
          return (
            <>
              {!file && missing.size ? <p class="empty">{`Not here, and so left out: ${[...missing].join(", ")}.`}</p> : null}
              <File file={shown} by={by} onMissing={file ? undefined : (f) => miss((before) => new Set([...before, f]))} />
            </>
          );
        }}
      </Answer>
    </section>
  );
}

const ABOVE = 200; // lines that are shown above the hottest one
const SHOWN = 1000; // lines on the page
const TRIED = 8; // of the hottest files, until one can be read

// The row with the largest self figure.
const hottestOf = (table: Table) => table.rows.reduce<Row | undefined>((a, b) => (b.role !== "entry" || (a && (table.number(a, "self") ?? 0) >= (table.number(b, "self") ?? 0)) ? a : b), undefined);

// Where a file begins that the address says nothing of: so that its hottest line is shown, and
// there as long as figures grow.
function useBegin(table: Table | null, file: string): number {
  const begin = useRef({ file: "", line: 0 });
  const hottest = table ? hottestOf(table) : undefined;
  if (table && begin.current.file !== file && (!hottest || table.text(hottest, "file") === file))
    begin.current = { file, line: Math.max(1, (hottest ? (table.number(hottest, "line") ?? 1) : 1) - ABOVE) };
  return begin.current.file === file ? begin.current.line : 0;
}

function File({ file, by, onMissing }: { file: string; by: string; onMissing: ((file: string) => void) | undefined }) {
  const { state } = useShell();
  const asked = useTable(query(state, "lines", { by, file, limit: "all", uncovered: 1 }));
  const [text, setText] = useState<Source | null>(null);
  const [error, setError] = useState("");
  const begin = useBegin(asked.table, file);
  const line = Number(state.words.line) || 0;
  const first = Number(state.words.first) || (line ? Math.max(1, line - ABOVE) : begin);
  useEffect(() => {
    if (!first) return undefined;
    let wanted = true;
    setText(null);
    setError("");
    readSource(file, first).then(
      (s) => wanted && setText({ ...s, lines: s.lines.slice(0, SHOWN), more: s.more || s.lines.length > SHOWN }),
      (e: Error) => {
        if (!wanted) return;
        setError(e.message);
        onMissing?.(file);
      },
    );
    return () => {
      wanted = false;
    };
  }, [file, first]);
  return (
    <Answer asked={asked}>
      {(table) =>
        text ? (
          <Lines table={table} text={text} line={line} />
        ) : error ? (
          <>
            <p class="empty">{`The source is not shown: ${error}.`}</p>
            <Figures table={table} caption={file} sortable={false} blocks={false} />
          </>
        ) : (
          <p class="waiting" aria-busy="true">…</p>
        )
      }
    </Answer>
  );
}

const hotLines = (table: Table) => hottestRows(table, table.rows.filter((r) => r.role === "entry" && table.at(r, "line") !== null));

function Lines({ table, text, line }: { table: Table; text: Source; line: number }) {
  const shell = useShell();
  const body = useRef<HTMLTableSectionElement>(null);
  const from = (first: number) => shell.go(withWords(shell.state, { first: String(Math.max(1, first)), line: "" }));
  const at = useMemo(() => {
    const lines = new Map<number, Row[]>();
    for (const r of table.rows) {
      const line = table.number(r, "line");
      if (r.role !== "entry" || line === null) continue;
      lines.set(line, [...(lines.get(line) ?? []), r]);
    }
    for (const rows of lines.values()) rows.sort((a, b) => (table.number(a, "column") ?? 0) - (table.number(b, "column") ?? 0));
    return lines;
  }, [table]);
  const hot = hottestOf(table);
  const hottest = hot ? (table.number(hot, "self") ?? 0) : 0;
  const shown = line || (shell.state.words.first ? 0 : ((hot && table.number(hot, "line")) ?? 0));
  // Coming back leads to where the page was left.
  const reveal = (line: number | string) => body.current?.querySelector(`[data-line="${line}"]`)?.scrollIntoView({ block: "center" });
  useEffect(() => {
    if (shown && !isScrolled()) reveal(shown);
  }, [text, shown]);
  return (
    <>
      <p class="hot">
        Hottest lines:{" "}
        {hotLines(table).map((r, i) => (
          <>
            {i ? ", " : ""}
            <a aria-current={table.number(r, "line") === line ? "true" : undefined} onClick={() => reveal(table.text(r, "line"))} href={format(withWords(shell.state, { line: table.text(r, "line"), first: "", file: text.file }))}>
              {table.text(r, "line")}
            </a>{" "}
            ({share(table.number(r, "self_share"))})
          </>
        ))}
      </p>
      {text.first > 1 ? <button class="more-rows" onClick={() => from(text.first - SHOWN)}>show lines above {group(String(text.first))}</button> : null}
      <Scroll label={text.file}>
        <table class="source" aria-label={text.file}>
          <thead>
            <tr>
              <th scope="col" class="figure"><span>self</span></th>
              <th scope="col" class="figure"><span>total</span></th>
              {table.has("calls") ? <th scope="col" class="figure"><span>calls</span></th> : null}
              <th scope="col" class="figure"><span>line</span></th>
              <th scope="col" class="name"><span>{text.file}</span></th>
            </tr>
          </thead>
          <tbody ref={body}>
            {text.lines.map((line, i) => {
              const number = text.first + i;
              const rows = at.get(number) ?? [];
              return rows.length > 1 ? (
                <>
                  <Line table={table} number={number} text={line} />
                  {rows.map((r) => (
                    <Line table={table} row={r} number={number} text={statement(table, r, line)} hottest={hottest} inner />
                  ))}
                </>
              ) : (
                <Line table={table} row={rows[0]} number={number} text={line} hottest={hottest} />
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {text.more ? <button class="more-rows" onClick={() => from(text.first + text.lines.length)}>show lines below {group(String(text.first + text.lines.length - 1))}</button> : null}
    </>
  );
}

// A statement's own part of its line, as far as its column and length tell.
function statement(table: Table, row: Row, line: string): string {
  const column = table.number(row, "column");
  const length = table.number(row, "length");
  const part = column ? line.slice(column - 1, length ? column - 1 + length : undefined).trim() : "";
  return part.length > 1 ? part : table.text(row, "name");
}

// Samples may miss a line that ran, and filters hide its calls: only all calls, counted, tell that
// it never ran.
const tellsNever = (state: State, table: Table) => table.has("calls") && state.filters.every((f) => f.off);

function Line({ table, row, number, text, hottest = 0, inner }: { table: Table; row?: Row; number: number; text: string; hottest?: number; inner?: boolean }) {
  const { state } = useShell();
  const self = row ? (table.number(row, "self") ?? 0) : 0;
  const covered = row && ((table.number(row, "calls") ?? 0) > 0 || self > 0 || (table.number(row, "inclusive") ?? 0) > 0);
  const never = row && !covered && tellsNever(state, table);
  const heat = shade(self, hottest);
  return (
    <tr data-line={inner ? undefined : number} class={(covered ? "covered" : never ? "uncovered" : "") + (inner ? " inner" : "")} style={heat ? { "--heat": heat / SHADES } : undefined}>
      <td class="figure" title={row ? exact(table.at(row, "self"), table.unit) : ""}>{row && self ? amount(self, table.unit) : ""}</td>
      <td class="figure" title={row ? exact(table.at(row, "inclusive"), table.unit) : ""}>
        {row && covered ? amount(table.number(row, "inclusive"), table.unit) : ""}
      </td>
      {table.has("calls") ? <td class="figure">{never ? "never" : row && covered ? group(table.text(row, "calls")) : ""}</td> : null}
      <td class="figure line">{inner ? "" : number}</td>
      <td class="code">
        <code>{text || " "}</code>
        {row && !table.text(row, "name").startsWith(`${table.text(row, "file")}:${number}`) && !inner ? <BlockName block={blockOf(table, row)} /> : null}
      </td>
    </tr>
  );
}
