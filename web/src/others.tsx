// SPDX-License-Identifier: MIT
// others.tsx - over time, by type, by strand, and compared with another profile.
import { useEffect, useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import { amount, exact, share } from "./format";
import type { Row, Table } from "./model";
import { blockOf, type Block } from "./names";
import { Answer, Choice, More, Scroll, Slider } from "./parts";
import { useDark, useShell, useSize, useTable } from "./shell";
import { addFilter, exactly, format, query, withView, withWords, type State } from "./state";
import { BlockName, Figures } from "./table";

/* ── Over time ────────────────────────────────────────────────────────────────────── */

const bands = ["#2f7f73", "#c9772b", "#5b6fb5", "#b5486b", "#6f9a2f", "#8a5bb0", "#b59a2f", "#3f93b8", "#a05a3f", "#5f6b73"];

// Paler, but not to be seen through: bands are drawn over each other.
function pale(colour: string, dark: boolean): string {
  const back = dark ? 0x20 : 0xff;
  const part = (at: number) => Math.round(parseInt(colour.slice(at, at + 2), 16) * 0.62 + back * 0.38);
  return `rgb(${part(1)} ${part(3)} ${part(5)})`;
}

interface Stack {
  times: number[];
  labels: string[];
  amounts: number[][]; // of each label
}

function stackOf(table: Table): Stack {
  const times = [...new Set(table.rows.filter((r) => r.role !== "total").map((r) => table.number(r, "time") ?? 0))].sort((a, b) => a - b);
  const index = new Map(times.map((t, i) => [t, i]));
  const labels: string[] = [];
  const amounts: number[][] = [];
  for (const r of table.rows) {
    if (r.role === "total") continue;
    const name = r.role === "remainder" ? "others" : table.text(r, "name");
    let i = labels.indexOf(name);
    if (i < 0) {
      i = labels.push(name) - 1;
      amounts.push(times.map(() => 0));
    }
    amounts[i]![index.get(table.number(r, "time") ?? 0)!]! += table.number(r, "amount") ?? 0;
  }
  // The largest lie at the bottom, and what stands for many on top of all.
  const area = amounts.map((a, i) => (labels[i] === "others" ? -1 : a.reduce((x, y) => x + y, 0)));
  const order = labels.map((_, i) => i).sort((i, j) => area[j]! - area[i]!);
  return { times, labels: order.map((i) => labels[i]!), amounts: order.map((i) => amounts[i]!) };
}

// Of an axis: 5 ms, and not 5.000 ms.
const tick = (n: number, unit: string) => amount(n, unit).replace(/\.(\d*?)0+(?!\d)/, (_, left: string) => (left ? "." + left : ""));

export function SeriesPage() {
  const shell = useShell();
  const { state } = shell;
  const asked = useTable(query(state, "series", { series: state.words.series ?? "", limit: 9 }));
  const others = asked.table?.notes.flatMap((n) => /^series: also '(.*)'$/.exec(n)?.[1] ?? []) ?? [];
  const shown = state.words.series || asked.table?.column("amount")?.title || "";
  const marked = useTable(others.includes("maxima") ? query({ ...state, filters: [] }, "series", { series: "maxima" }) : null);
  const marks = useMemo(() => (marked.table ? marksOf(marked.table) : []), [marked.table]);
  return (
    <section>
      {others.length || state.words.series ? (
        <div class="bar">
          <select aria-label="series" value={shown} onChange={(e) => shell.go(withWords(state, { series: e.currentTarget.value }))}>
            {[...new Set([shown, ...others.filter((s) => s !== "maxima")])].sort().map((s) => (
              <option value={s} selected={s === shown}>
                {s}
              </option>
            ))}
          </select>
        </div>
      ) : null}
      <Answer asked={asked}>{(table) => <Bands table={table} marks={marks} />}</Answer>
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

const doubles = Array.from({ length: 60 }, (_, i) => 2 ** i); // steps of an axis of bytes

function Bands({ table, marks }: { table: Table; marks: Mark[] }) {
  const shell = useShell();
  const dark = useDark();
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const { width } = useSize(box);
  const stack = useMemo(() => stackOf(table), [table]);
  const [at, setAt] = useState<number | null>(null);
  const unit = table.column("amount")?.unit ?? "";
  const timeUnit = table.column("time")?.unit ?? "";

  // The bands lie on each other: each line is the sum of those below it.
  const sums = useMemo(() => {
    const out: number[][] = [];
    stack.amounts.forEach((a, i) => out.push(a.map((v, k) => v + (out[i - 1]?.[k] ?? 0))));
    return out;
  }, [stack]);
  const top = sums[sums.length - 1] ?? [];
  const peak = top.indexOf(Math.max(...top));

  useEffect(() => {
    if (!box || !width || !stack.times.length) return undefined;
    const ink = dark ? "#a4adb3" : "#5c656d";
    const axis = { stroke: ink, grid: { stroke: dark ? "#2c3235" : "#e7e9ea" }, ticks: { stroke: ink } };
    const plot = new uPlot(
      {
        width,
        height: 364,
        scales: {
          x: { time: false },
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
            return { label, stroke: colour, fill: pale(colour, dark), width: 1, points: { show: stack.times.length < 2 } };
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
    plot.over.addEventListener("click", (e) => {
      const near = marks.find((m) => Math.abs(plot.valToPos(m.time, "x") - e.offsetX) < 12 && Math.abs(plot.valToPos(m.amount, "y") - e.offsetY) < 24);
      if (near) shell.go(withView(shell.state, "flame", { metric: near.metric }));
    });
    return () => plot.destroy();
  }, [box, width, sums, dark, marks]);

  const shown = at ?? peak;
  const every = Number(table.notes.flatMap((n) => /, a point every (\d+) /.exec(n)?.[1] ?? [])[0] ?? 0);
  return (
    <figure class="series">
      <div ref={setBox} class="plot" role="img" aria-label={`${stack.labels.length} bands over time; the greatest sum is ${amount(top[peak] ?? 0, unit)}`} />
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

/* ── By type and generation ───────────────────────────────────────────────────────── */

// Bars of time and space, weighted by hand: all space at one end, all time at the other.
function Weighted() {
  const { state } = useShell();
  const weight = Math.min(100, Math.max(0, Number(state.words.weight ?? 50) || 0)) / 100;
  const space = useTable(query(state, "space", { by: "block", limit: 200 }));
  const time = useTable(query(state, "flat", { limit: 400, metric: "time" }));
  const bars = useMemo(() => {
    const by = new Map<string, { block: Block; time: number; space: number }>();
    const add = (table: Table | null, key: "time" | "space", column: string) => {
      for (const r of table?.rows ?? []) {
        if (r.role !== "entry") continue;
        const block = blockOf(table!, r);
        const bar = by.get(block.id) ?? { block, time: 0, space: 0 };
        bar[key] = table!.number(r, column) ?? 0;
        by.set(block.id, bar);
      }
    };
    add(space.table, "space", "share");
    add(time.table, "time", "self_share");
    return [...by.values()]
      .map((b) => ({ ...b, sum: b.time * weight + b.space * (1 - weight) }))
      .filter((b) => b.time + b.space > 0)
      .sort((a, b) => b.sum - a.sum)
      .slice(0, 40);
  }, [space.table, time.table, weight]);
  const failed = [space, time].find((asked) => !asked.table);
  if (failed) return <Answer asked={failed}>{() => null}</Answer>;
  const most = Math.max(...bars.map((b) => b.sum), 1e-12);
  return (
    <div class="weighted">
      <label>
        space
        <Slider
          label="weight of time against space"
          most={100}
          value={Math.round(weight * 100)}
          text={`${Math.round(weight * 100)} % time`}
          onMove={(v) => withWords(state, { weight: String(v) })}
        />
        time
      </label>
      <table aria-label="time and space, weighted">
        <tbody>
          {bars.map((b) => (
            <tr>
              <td class="name">
                <BlockName block={b.block} />
                {b.block.apart ? <small class="place">{b.block.apart}</small> : null}
              </td>
              <td class="twin" title={`time ${share(b.time)}, space ${share(b.space)}`}>
                <span class="time" style={{ width: `${((b.time * weight) / most) * 100}%` }} />
                <span class="space" style={{ width: `${((b.space * (1 - weight)) / most) * 100}%` }} />
              </td>
              <td class="figure">{share(b.time)} time</td>
              <td class="figure">{share(b.space)} space</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Columns of what no collector did.
const neverHappened = (table: Table) =>
  table.columns.map((c) => c.key).filter((k) => /^(copied|freed)_/.test(k) && table.rows.every((r) => !table.number(r, k)));

export function SpacePage() {
  const shell = useShell();
  const { state } = shell;
  const wanted = state.words.by ?? "";
  const limit = Number(state.words.limit ?? 60);
  const asked = useTable(wanted === "weighted" ? null : query(state, "space", { by: wanted, limit, sort: state.words.sort ?? "" }));
  const { table: header } = useTable("view=header");
  const hasTime = header?.metrics().includes("time") ?? false;
  // When nothing is said, an allocator's events are shown by block, which alone has a peak.
  const by = wanted || (asked.table?.has("peak") ? "block" : "type");
  return (
    <section>
      <div class="bar">
        <Choice
          label="by"
          value={by}
          options={[
            ["type", "types"],
            ["generation", "generations"],
            ["block", "blocks"],
            ["both", "types and generations"],
            ...(hasTime ? [["weighted", "time and space"] as [string, string]] : []),
          ]}
          onChange={(v) => shell.go(withWords(state, { by: v, sort: "" }))}
        />
      </div>
      {by === "weighted" ? (
        <Weighted />
      ) : (
        <Answer asked={asked}>
          {(table) => (
            <>
              <Figures table={table} caption="What was allocated, copied and freed" blocks={by === "block"} leave={neverHappened(table)} />
              <More table={table} limit={limit} />
            </>
          )}
        </Answer>
      )}
    </section>
  );
}

/* ── Strands ──────────────────────────────────────────────────────────────────────── */

function Spread({ table, row }: { table: Table; row: Row }) {
  const most = Math.max(...table.rows.filter((r) => r.role === "entry").map((r) => table.number(r, "spread_max") ?? 0), 1);
  const place = (key: string) => ((table.number(row, key) ?? 0) / most) * 100;
  const mean = place("spread_mean");
  const deviation = place("spread_deviation");
  return (
    <span class="spread" aria-hidden="true">
      <span class="range" style={{ left: `${place("spread_min")}%`, width: `${Math.max(0.5, place("spread_max") - place("spread_min"))}%` }} />
      <span class="near" style={{ left: `${Math.max(0, mean - deviation)}%`, width: `${Math.max(0.5, Math.min(100, mean + deviation) - Math.max(0, mean - deviation))}%` }} />
      <span class="mean" style={{ left: `${mean}%` }} />
    </span>
  );
}

// A thread or a process leads to its flame graph: by its name, or, where others have that, by
// its number.
const strandLink = (state: State, table: Table, by: string) => (row: Row) => {
  const alone = (key: string) => table.rows.filter((r) => r.role === "entry" && table.text(r, key) === table.text(row, key)).length === 1;
  const number = alone("name") ? undefined : (by === "rank" ? ["rank", "pid"] : ["thread", "pid"]).find((k) => table.text(row, k) && alone(k));
  const pattern = number ? `${number}:${table.text(row, number)}` : exactly(table.text(row, "name"));
  return format(withView(addFilter(state, "strand", pattern), "flame"));
};

const waitsCaption = "Who waits for whom: the time until calls came back";

export function StrandsPage() {
  const shell = useShell();
  const { state } = shell;
  const by = state.words.by ?? "";
  const spreads = by === "block" || by === "context" || by === "rank-context";
  const whose = by === "rank-context" ? "process" : "strand";
  const limit = Number(state.words.limit ?? 100);
  const metric = by === "wait" ? "waited" : "";
  const asked = useTable(query(state, "strands", { by, limit, sort: state.words.sort ?? "", metric }));
  const { table: header } = useTable("view=header");
  const waits = by === "wait" || header?.metrics().includes("waited");
  return (
    <section>
      <div class="bar">
        <Choice
          label="by"
          value={by}
          options={[
            ["", "threads and ranks"],
            ["rank", "processes and ranks"],
            ["block", "blocks over threads"],
            ["context", "contexts over threads"],
            ["rank-context", "contexts over processes and ranks"],
            ...(waits ? [["wait", "who waits for whom"] as [string, string]] : []),
          ]}
          onChange={(v) => shell.go(withWords(state, { by: v, sort: "" }))}
        />
      </div>
      <Answer asked={asked}>
        {(table) => (
          <>
            {spreads ? (
              <div class="spreads">
                <h2>From the least to the greatest {whose}</h2>
                <table aria-label={`From the least to the greatest ${whose}`}>
                  <thead class="unseen">
                    <tr>
                      <th scope="col">name</th>
                      <th scope="col">from the least to the greatest</th>
                      <th scope="col">the greatest</th>
                    </tr>
                  </thead>
                  <tbody>
                    {table.rows
                      .filter((r) => r.role === "entry")
                      .slice(0, 25)
                      .map((r) => (
                        <tr>
                          <td class="name">{table.text(r, "name")}</td>
                          <td class="wide">
                            <Spread table={table} row={r} />
                          </td>
                          <td class="figure">{table.at(r, "imbalance") === null ? "" : `${share(table.number(r, "imbalance"))} above the mean`}</td>
                        </tr>
                      ))}
                  </tbody>
                </table>
              </div>
            ) : null}
            <Figures table={table} caption={spreads ? (whose === "process" ? "How figures spread over processes" : "How figures spread over strands") : by === "wait" ? waitsCaption : "Threads, processes, ranks"} blocks={spreads} link={by === "" || by === "rank" ? strandLink(state, table, by) : undefined} leave={by === "wait" ? ["waiter", "waited_for"] : []} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}

/* ── Single activations ───────────────────────────────────────────────────────────── */

export function SlowestPage() {
  const shell = useShell();
  const { state } = shell;
  const by = state.words.by ?? "";
  const limit = Number(state.words.limit ?? 20);
  const asked = useTable(query(state, "slowest", { by, limit, block: state.words.block ?? "" }));
  return (
    <section>
      <div class="bar">
        <Choice
          label="which"
          value={by}
          options={[
            ["", "the slowest"],
            ["last", "the last"],
          ]}
          onChange={(v) => shell.go(withWords(state, { by: v }))}
        />
      </div>
      <Answer asked={asked}>
        {(table) => (
          <div class={by ? "" : "single"}>
            {table.rows.length ? (
              <Figures table={table} caption={by ? "Single activations, in the order of time" : "Single activations, each with what it called"} sortable={false} />
            ) : (
              <p class="empty">{by ? "No block was marked with history=BLOCK:K." : "No block was marked with slowest=BLOCK:K."}</p>
            )}
            <More table={table} limit={limit} />
          </div>
        )}
      </Answer>
    </section>
  );
}

/* ── Compared ─────────────────────────────────────────────────────────────────────── */

const verdicts: Record<string, string> = { more: "▲ more", less: "▼ less", noise: "≈ noise" };

export function DiffPage() {
  const shell = useShell();
  const { state } = shell;
  const tree = state.words.as === "tree";
  const normalise = state.words.normalise === "1";
  const limit = Number(state.words.limit ?? 100);
  const asked = useTable(`diff&${normalise ? "normalise&" : ""}${query(state, tree ? "tree" : "flat", { limit, sort: state.words.sort ?? "" })}`);
  return (
    <section>
      <div class="bar">
        <Choice
          label="shape"
          value={tree ? "tree" : ""}
          options={[
            ["", "blocks"],
            ["tree", "contexts"],
          ]}
          onChange={(v) => shell.go(withWords(state, { as: v }))}
        />
        <label class="check">
          <input type="checkbox" checked={normalise} onChange={(e) => shell.go(withWords(state, { normalise: e.currentTarget.checked ? "1" : "" }))} /> as shares of each total
        </label>
      </div>
      <Answer asked={asked}>
        {(table) => (
          <>
            <Figures table={table} caption={`Each ${tree ? "context" : "block"}, before and now`} texts={(key, text) => (key.endsWith("verdict") ? (verdicts[text] ?? text) : text)} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}
