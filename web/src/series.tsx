// SPDX-License-Identifier: MIT
// series.tsx - the page of what was kept over time: bands on each other, with marked maxima.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { bands, pale } from "./colours";
import { amount, exact } from "./format";
import type { Table } from "./model";
import { Answer, Scroll } from "./parts";
import { useDark, useLibrary, useShell, useSize, useTable } from "./shell";
import { format, query, timeOf, withView, withWords, type State } from "./state";
import { rangeOf, type Range } from "./timeline";

interface Stack {
  times: number[];
  labels: string[];
  amounts: number[][]; // of each label
}

function stackOf(table: Table): Stack {
  const times = [...new Set(table.rows.filter((r) => r.role !== "total").map((r) => table.number(r, "time") ?? 0))].sort((a, b) => a - b);
  const index = new Map(times.map((t, i) => [t, i]));
  const labels: string[] = [];
  let rest = -1; // the label of all that is left out
  const amounts: number[][] = [];
  for (const r of table.rows) {
    if (r.role === "total") continue;
    const isRest = r.role === "remainder";
    let i = isRest ? rest : labels.findIndex((l, at) => at !== rest && l === table.text(r, "name"));
    if (i < 0) {
      i = labels.push(isRest ? "others" : table.text(r, "name")) - 1;
      if (isRest) rest = i;
      amounts.push(times.map(() => 0));
    }
    amounts[i]![index.get(table.number(r, "time") ?? 0)!]! += table.number(r, "amount") ?? 0;
  }
  // The largest are at the bottom, and combined ones on top.
  const area = amounts.map((a, i) => (i === rest ? -1 : a.reduce((x, y) => x + y, 0)));
  const order = labels.map((_, i) => i).sort((i, j) => area[j]! - area[i]!);
  return { times, labels: order.map((i) => labels[i]!), amounts: order.map((i) => amounts[i]!) };
}

// A label of an axis: 5 ms, and not 5.000 ms.
const tick = (n: number, unit: string) => amount(n, unit).replace(/\.(\d*?)0+(?!\d)/, (_, left: string) => (left ? "." + left : ""));

// The series that were kept, and the time between two points of each.
function useSeries(): Map<string, number> {
  const { table } = useTable("view=header");
  return new Map((table?.rows ?? []).filter((r) => table!.text(r, "name") === "series.kept").map((r) => [table!.text(r, "text"), table!.number(r, "number") ?? 0]));
}

// The heap's maxima are marks in the other series.
const MAXIMA = "maxima";

export function SeriesTools() {
  const shell = useShell();
  const { state } = shell;
  const names = [...useSeries().keys()];
  if (names.length < 2) return null;
  return (
    <select aria-label="series" value={state.words.series || names[0]} onChange={(e) => shell.go(withWords(state, { series: e.currentTarget.value }))}>
      {names.filter((s) => s !== MAXIMA).map((s) => (
        <option value={s}>{s}</option>
      ))}
    </select>
  );
}

// A series has all of the run: of a range of time that part is drawn.
const ofAllTime = (state: State): State => ({ ...state, filters: state.filters.filter((f) => f.kind !== "time") });

function useTimes(): Range | null {
  const { state } = useShell();
  const { table } = useTable("view=header");
  const lasted = Number(table?.facts.find((f) => f.name === "lasted")?.number ?? 0);
  const text = timeOf(state);
  const range = text && lasted ? rangeOf(text, lasted) : null;
  const from = range?.from ?? 0;
  const to = range?.to ?? 0;
  return useMemo(() => (from < to ? { from, to } : null), [from, to]);
}

export function SeriesPage() {
  const { state } = useShell();
  const times = useTimes();
  const series = useSeries();
  const shown = state.words.series || [...series.keys()][0] || "";
  const asked = useTable(query(ofAllTime(state), "series", { series: state.words.series ?? "", limit: 9 }));
  const marked = useTable(series.has(MAXIMA) ? query({ ...state, filters: [] }, "series", { series: MAXIMA }) : null);
  const marks = useMemo(() => (marked.table ? marksOf(marked.table) : []), [marked.table]);
  return (
    <section>
      <Answer asked={asked}>{(table) => <Bands table={table} marks={marks} every={series.get(shown) ?? 0} times={times} />}</Answer>
    </section>
  );
}

// A maximum that was marked while it was recorded: a metric has all that was alive then.
interface Mark {
  time: number;
  amount: number;
  metric: string;
}

function marksOf(table: Table): Mark[] {
  return table.rows
    .filter((r) => r.role === "entry")
    .map((r) => ({ time: table.number(r, "time") ?? 0, amount: table.number(r, "amount") ?? 0, metric: table.text(r, "name") }));
}

function drawMarks(u: uPlot, marks: Mark[], ink: string) {
  const ratio = window.devicePixelRatio || 1;
  u.ctx.save();
  u.ctx.strokeStyle = u.ctx.fillStyle = ink;
  u.ctx.lineWidth = ratio;
  u.ctx.setLineDash([3 * ratio, 3 * ratio]);
  for (const m of marks) {
    const x = u.valToPos(m.time, "x", true);
    const y = u.valToPos(m.amount, "y", true);
    u.ctx.beginPath();
    u.ctx.moveTo(x, y);
    u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
    u.ctx.stroke();
    u.ctx.beginPath();
    u.ctx.arc(x, y, 4 * ratio, 0, 2 * Math.PI);
    u.ctx.fill();
  }
  u.ctx.restore();
}

function Maxima({ marks, unit, timeUnit }: { marks: Mark[]; unit: string; timeUnit: string }) {
  const { state } = useShell();
  if (!marks.length) return null;
  return (
    <p class="maxima">
      All that was alive at{" "}
      {marks.map((m, i) => (
        <>
          {i ? ", " : ""}
          <a href={format(withView(state, "flame", { metric: m.metric }))} title={exact(m.amount, unit)}>
            {`${m.metric === "peak" ? "the peak" : "a maximum"} of ${amount(m.amount, unit)}, ${amount(m.time, timeUnit)}`}
          </a>
        </>
      ))}
    </p>
  );
}

// It makes formats of numbers and dates as it starts.
const loadPlot = () => import("uplot").then((m) => m.default);

const doubles = Array.from({ length: 60 }, (_, i) => 2 ** i); // steps of an axis of bytes

// The index of the largest sum, of those times that are shown.
function greatest(sums: number[], times: number[], shown: Range | null): number {
  let best = -1;
  sums.forEach((n, i) => {
    if ((!shown || (times[i]! >= shown.from && times[i]! <= shown.to)) && (best < 0 || n > sums[best]!)) best = i;
  });
  return Math.max(0, best);
}

function Bands({ table, marks: all, every, times }: { table: Table; marks: Mark[]; every: number; times: Range | null }) {
  const shell = useShell();
  const dark = useDark();
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const { width } = useSize(box);
  const stack = useMemo(() => stackOf(table), [table]);
  const [at, setAt] = useState<number | null>(null);
  const plot = useRef<uPlot | null>(null);
  const Plot = useLibrary(loadPlot);
  const unit = table.column("amount")?.unit ?? "";
  const timeUnit = table.column("time")?.unit ?? "";

  // The bands lie on each other: each line is the sum of those below it.
  const sums = useMemo(() => {
    const out: number[][] = [];
    stack.amounts.forEach((a, i) => out.push(a.map((v, k) => v + (out[i - 1]?.[k] ?? 0))));
    return out;
  }, [stack]);
  const top = sums[sums.length - 1] ?? [];
  const peak = greatest(top, stack.times, times);
  const marks = useMemo(() => all.filter((m) => !times || (m.time >= times.from && m.time <= times.to)), [all, times]);

  useEffect(() => {
    if (!box || !width || !Plot || !stack.times.length) return undefined;
    const ink = dark ? "#a4adb3" : "#5c656d";
    const axis = { stroke: ink, grid: { stroke: dark ? "#2c3235" : "#e7e9ea" }, ticks: { stroke: ink } };
    const drawn = new Plot(
      {
        width,
        height: 364,
        scales: {
          x: { time: false, ...(times ? { range: [times.from, times.to] as [number, number] } : {}) },
          y: { range: (_, low, high) => [Math.min(0, low), Math.max(high, ...marks.map((m) => m.amount)) * 1.04 || 1] },
        },
        axes: [
          { ...axis, space: 90, size: 34, values: (_, v) => v.map((n) => tick(n, timeUnit)) },
          { ...axis, size: 74, values: (_, v) => v.map((n) => tick(n, unit)), ...(unit === "bytes" ? { incrs: doubles } : {}) },
        ],
        series: [
          { label: "time" },
          ...[...stack.labels].reverse().map((label, r) => {
            const colour = bands[(stack.labels.length - 1 - r) % bands.length]!;
            return { label, stroke: colour, fill: pale(colour, dark), width: 1, paths: Plot.paths.stepped!({ align: 1 }), points: { show: stack.times.length < 2 } };
          }),
        ],
        legend: { show: false },
        cursor: { y: false },
        hooks: {
          setCursor: [(u) => setAt(u.cursor.idx ?? null)],
          draw: [(u) => drawMarks(u, marks, dark ? "#fff" : "#000")],
        },
      },
      [stack.times, ...[...sums].reverse()],
      box,
    );
    // A click near a mark opens what was alive then.
    plot.current = drawn;
    drawn.over.addEventListener("click", (e) => {
      const near = marks.find((m) => Math.abs(drawn.valToPos(m.time, "x") - e.offsetX) < 12 && Math.abs(drawn.valToPos(m.amount, "y") - e.offsetY) < 24);
      if (near) shell.go(withView(shell.state, "flame", { metric: near.metric }));
    });
    return () => drawn.destroy();
  }, [box, width, sums, dark, marks, times, Plot]);

  const shown = at ?? peak;
  // Arrow keys go from time to time, Home to the first, End to the last.
  const onKey = (e: KeyboardEvent) => {
    const last = stack.times.length - 1;
    const to = { ArrowLeft: shown - 1, ArrowRight: shown + 1, PageUp: shown - 10, PageDown: shown + 10, Home: 0, End: last }[e.key];
    if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    const index = Math.max(0, Math.min(last, to));
    setAt(index);
    plot.current?.setCursor({ left: plot.current.valToPos(stack.times[index]!, "x"), top: 0 });
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <figure class="series">
      <div
        ref={setBox}
        class="plot"
        aria-busy={!Plot}
        role="application"
        tabIndex={0}
        onKeyDown={onKey}
        aria-label={`Arrow keys go through time; the figures are in the table below. ${stack.labels.length} bands over time; the greatest sum is ${amount(top[peak] ?? 0, unit)}`}
      />
      {every ? <figcaption>{`A point every ${amount(every, timeUnit)}.`}</figcaption> : null}
      <Maxima marks={marks} unit={unit} timeUnit={timeUnit} />
      <Scroll label="amounts">
        <table aria-label={`at ${exact(stack.times[shown] ?? 0, timeUnit)}`}>
          <thead>
            <tr>
              <th scope="col" class="figure"><span>{`${at === null ? "at the maximum, " : "at "}${amount(stack.times[shown] ?? 0, timeUnit)}`}</span></th>
              <th scope="col" class="name"><span>name</span></th>
            </tr>
          </thead>
          <tbody>
            {stack.labels.map((label, i) => (
              <tr>
                <td class="figure" title={exact(stack.amounts[i]![shown] ?? 0, unit)}>{amount(stack.amounts[i]![shown] ?? 0, unit)}</td>
                <td class="name">
                  <span class="patch" style={{ background: pale(bands[i % bands.length]!, dark), borderColor: bands[i % bands.length] }} />
                  {"\u00a0" + label}
                </td>
              </tr>
            ))}
            <tr class="total">
              <td class="figure" title={exact(top[shown] ?? 0, unit)}>{amount(top[shown] ?? 0, unit)}</td>
              <td class="name">total</td>
            </tr>
          </tbody>
        </table>
      </Scroll>
    </figure>
  );
}
