// SPDX-License-Identifier: MIT
// tracks.tsx - the page of use over time: one track for each thread, process or function, and a
// heat map whose columns are seconds, and whose rows are the places within them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Chart } from "./chart";
import { bands, heat } from "./colours";
import { amount, exact, share } from "./format";
import { Answer, Choice, Failure, limitOf, More, Scroll } from "./parts";
import { useDark, useShell, useSize, useTable } from "./shell";
import { query, withTime, withWords, type State } from "./state";
import { useRange } from "./strip";
import { moment, samplesOf, stepOf, textOf, timelineOf, useText, zoomOf, type Range, type Timeline } from "./timeline";

const BUCKETS = 100; // of a track
const LIMIT = 20; // tracks
const COLUMNS = 50; // of the heat map, at most
const ROWS = 20; // times COLUMNS: as many buckets as the engine has
const CELL = 9; // pixels, high

/* ── Tracks ───────────────────────────────────────────────────────────────────────── */

export function TracksTools() {
  const shell = useShell();
  return (
    <Choice
      label="by"
      value={shell.state.words.by ?? ""}
      options={[
        ["", "threads"],
        ["process", "processes"],
        ["block", "functions"],
      ]}
      onChange={(v) => shell.go(withWords(shell.state, { by: v }))}
    />
  );
}

function Track({ buckets, most, colour }: { buckets: number[]; most: number; colour: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const c = canvas.current!;
    c.width = 2 * buckets.length;
    c.height = 44;
    const pen = c.getContext("2d")!;
    pen.fillStyle = colour;
    buckets.forEach((n, i) => pen.fillRect(2 * i, c.height * (1 - n / most), 2, (c.height * n) / most));
  }, [buckets, most, colour]);
  return <canvas ref={canvas} class="track" aria-hidden="true" />;
}

const titles: Record<string, string> = { process: "process", block: "function" };

export function TracksPage() {
  const shell = useShell();
  const { state } = shell;
  const limit = limitOf(state, LIMIT);
  const by = state.words.by ?? "";
  const { table: header } = useTable("view=header");
  const samples = samplesOf(header);
  const buckets = Math.max(10, Math.min(BUCKETS, Math.floor(samples / ENOUGH)));
  const asked = useTable(header ? query(state, "timeline", { by, buckets, limit }) : null);
  const choose = (thread: string) => {
    shell.go(withWords(state, { thread }));
    document.querySelector(".chart-of")?.scrollIntoView({ block: "nearest" });
  };
  return (
    <section>
      <Chart />
      <Heat />
      <Answer asked={asked}>
        {(table) => {
          const t = timelineOf(table)!;
          const rows = [...t.rows, t.all];
          const own = Math.max(1, ...t.rows.flatMap((r) => r.buckets));
          const all = Math.max(1, t.most);
          return (
            <>
              <h2>{`Each ${titles[by] ?? "thread"} over time`}</h2>
              <Scroll label="use over time">
                <table class="tracks" aria-label="Use over time">
                  <thead>
                    <tr>
                      <th scope="col" class="name"><span>{titles[by] ?? "thread"}</span></th>
                      <th scope="col"><span>{`over ${amount(t.span, "ns")}`}</span></th>
                      <th scope="col" class="figure"><span>self</span></th>
                      <th scope="col" class="figure"><span>self %</span></th>
                      <th scope="col" class="figure"><span>most at once</span></th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((r) => (
                      <tr class={r.role}>
                        <td class="name">{by || r.role !== "entry" ? r.name : <button class="quiet" title="show what it did, in the order of time" onClick={() => choose(r.name)}>{r.name}</button>}</td>
                        <td class={by || r.role !== "entry" ? "wide" : "wide chosen"} onClick={() => by || r.role !== "entry" || choose(r.name)}><Track buckets={r.buckets} most={r === t.all ? all : own} colour={r === t.all || r.role === "remainder" ? "#8a9297" : bands[0]!} /></td>
                        <td class="figure" title={exact(r.total, t.unit)}>{amount(r.total, t.unit)}</td>
                        <td class="figure">{share(t.all.total ? r.total / t.all.total : 0)}</td>
                        <td class="figure">{useText(Math.max(...r.buckets), t)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </Scroll>
              <More table={table} limit={limit} all={false} />
            </>
          );
        }}
      </Answer>
    </section>
  );
}

/* ── The heat map ─────────────────────────────────────────────────────────────────── */

interface Grid {
  from: number; // ns
  column: number; // ns
  cells: number;
}

const SECOND = 1e9;
const ENOUGH = 4; // samples in a bucket of a track, on average
const FEW = 4; // columns

interface Cell {
  column: number;
  row: number;
}

// Whole cells alone, of columns whose length is round and which begin at a multiple of it: of
// seconds, if there are not too many or too few.  A cell is not shorter than what a sample is for:
// it would show more than there was, beside cells without any.
function gridOf(shown: Range, sample: number): Grid {
  const step = Math.max(stepOf(shown.to - shown.from, COLUMNS), sample ? stepOf(ROWS * sample, 1) : 0);
  const of = (column: number): Grid => {
    const from = Math.ceil(shown.from / column - 1e-6) * column;
    const cells = Math.min(COLUMNS * ROWS, Math.floor(((shown.to - from) * ROWS) / column + 1e-6));
    return { from, column, cells: cells < FEW * ROWS ? 0 : cells };
  };
  const bySeconds = of(Math.max(step, SECOND));
  return bySeconds.cells ? bySeconds : of(step);
}

const times = (state: State, pattern: string) => ({ ...state, filters: [...state.filters.filter((f) => f.kind !== "time"), ...(pattern ? [{ kind: "time" as const, pattern }] : [])] });

// What the strip shows, without the range that is chosen: that one is marked.
function Heat() {
  const { state, live } = useShell();
  const bare = { ...state, filters: [] };
  const one = { buckets: 1, limit: 1 };
  const zoom = zoomOf(state, live);
  const askedWhole = useTable(query(bare, "timeline", one));
  const askedPart = useTable(zoom ? query(times(bare, zoom), "timeline", one) : null);
  const whole = useMemo(() => (askedWhole.table ? timelineOf(askedWhole.table) : null), [askedWhole.table]);
  const part = useMemo(() => (zoom && askedPart.table ? timelineOf(askedPart.table) : whole), [zoom, askedPart.table, whole]);
  const range = useRange(state, whole);
  const from = whole && part ? Number(part.begin - whole.begin) : 0;
  const samples = samplesOf(useTable("view=header").table);
  const grid = whole && part && samples ? gridOf({ from, to: from + part.span }, whole.unit === "ns" ? whole.all.total / samples : 0) : null;
  const seconds = (ns: number) => (ns / 1e9).toFixed(9) + "s";
  const end = grid ? grid.from + (grid.cells * grid.column) / ROWS : 0;
  const asked = useTable(grid?.cells ? query(times(state, `${seconds(grid.from)}..${seconds(end)}`), "timeline", { buckets: grid.cells, limit: 1 }) : null);
  const t = useMemo(() => (asked.table ? timelineOf(asked.table) : null), [asked.table]);
  if (asked.error) return <Failure error={asked.error} />;
  if (grid && !grid.cells) return null; // there are too few samples in it
  if (!whole || !grid || !t || t.all.buckets.length !== grid.cells) return <p class="waiting" aria-busy={asked.busy}>…</p>;
  return <Map grid={grid} t={t} run={whole.span} range={range} left={from + part!.span - end} />;
}

function Map({ grid, t, run, range, left }: { grid: Grid; t: Timeline; run: number; range: Range | null; left: number }) {
  const shell = useShell();
  const dark = useDark();
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const { width } = useSize(box);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<Cell | null>(null);
  const [begun, begin] = useState<Cell | null>(null); // where a drag began
  const columns = Math.ceil(grid.cells / ROWS);
  const wide = width / columns;
  useEffect(() => {
    const c = canvas.current;
    if (!c || !width) return;
    c.width = Math.round(width);
    c.height = ROWS * CELL;
    const pen = c.getContext("2d")!;
    t.all.buckets.forEach((n, i) => {
      if (!n) return;
      const x = Math.round(Math.floor(i / ROWS) * wide);
      pen.fillStyle = heat(n / t.most, dark).fill;
      pen.fillRect(x, (ROWS - 1 - (i % ROWS)) * CELL, Math.round((Math.floor(i / ROWS) + 1) * wide) - x - 1, CELL - 1);
    });
  }, [t, width, wide, dark]);

  const placeOf = (e: PointerEvent) => {
    const r = box!.getBoundingClientRect();
    const clamp = (n: number, most: number) => Math.max(0, Math.min(most, Math.floor(n)));
    return { column: clamp((e.clientX - r.left) / wide, columns - 1), row: ROWS - 1 - clamp((e.clientY - r.top) / CELL, ROWS - 1) };
  };
  // Whole columns; within one column, its cells.
  const cell = grid.column / ROWS;
  const rangeOfCells = (a: Cell, b: Cell): Range => {
    if (a.column === b.column && a.row !== b.row) return { from: grid.from + a.column * grid.column + Math.min(a.row, b.row) * cell, to: grid.from + a.column * grid.column + (Math.max(a.row, b.row) + 1) * cell };
    return { from: grid.from + Math.min(a.column, b.column) * grid.column, to: grid.from + (Math.max(a.column, b.column) + 1) * grid.column };
  };
  const marked = begun !== null && at ? rangeOfCells(begun, at) : range;
  const x = (ns: number) => Math.max(0, Math.min(width, ((ns - grid.from) / grid.column) * wide));
  const placeOfRange = (r: Range): Record<string, string> => {
    const first = Math.round((r.from - grid.from) / cell);
    const end = Math.round((r.to - grid.from) / cell);
    const column = Math.floor(first / ROWS);
    if (first < 0 || end <= first || end - first >= ROWS || end > (column + 1) * ROWS) return { left: `${x(r.from)}px`, width: `${Math.max(1, x(r.to) - x(r.from))}px` };
    return { left: `${column * wide}px`, width: `${wide}px`, top: `${(ROWS - (end - column * ROWS)) * CELL}px`, height: `${(end - first) * CELL}px` };
  };
  const i = at ? Math.min(grid.cells - 1, at.column * ROWS + at.row) : t.all.buckets.indexOf(t.most);
  const from = grid.from + i * t.bucket;
  const text = `${useText(t.all.buckets[i] ?? 0, t)} in ${moment(from, t.bucket)} to ${moment(from + t.bucket, t.bucket)}`;
  const step = stepOf(columns * grid.column, Math.max(1, width / 90));
  const marks = Array.from({ length: columns }, (_, c) => grid.from + c * grid.column).filter((ns) => Math.abs(ns / step - Math.round(ns / step)) < 1e-6 && x(ns) < width - 44);
  return (
    <figure class="heat">
      <h2>{`Heat map: each column is ${amount(grid.column, "ns").replace(/\.?0+(?=\u202f)/, "")}, from its beginning below to its end above`}</h2>
      <div
        ref={setBox}
        class="cells"
        role="img"
        aria-label={`use in ${columns} columns; most: ${text}. The strip above selects ranges by keys.`}
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          box!.setPointerCapture(e.pointerId);
          setAt(placeOf(e));
          begin(placeOf(e));
        }}
        onPointerMove={(e) => setAt(placeOf(e))}
        onPointerUp={(e) => {
          if (begun === null) return;
          begin(null);
          shell.go(withTime(shell.state, textOf(rangeOfCells(begun, placeOf(e)), run, grid.column / 1000)));
        }}
        onPointerCancel={() => begin(null)}
        onPointerLeave={() => begun === null && setAt(null)}
      >
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${ROWS * CELL}px` }} />
        {marked ? <div class="marked" style={placeOfRange(marked)} /> : null}
      </div>
      <div class="marks" aria-hidden="true">
        {marks.map((ns) => (
          <span style={{ left: `${x(ns)}px` }}>{moment(ns, grid.column)}</span>
        ))}
      </div>
      <figcaption>{`${at ? "" : "Most: "}${text}.${left > 1e6 ? ` The last ${amount(left, "ns")} fill no cell and are not shown.` : ""} Drag over columns to select their range, or over cells of one column.`}</figcaption>
    </figure>
  );
}
