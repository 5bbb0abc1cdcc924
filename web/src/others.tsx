// SPDX-License-Identifier: MIT
// others.tsx - over time, by type, by strand, and compared with another profile.
import { useEffect, useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { amount, exact, share } from "./format";
import type { Row, Table } from "./model";
import { Answer, Choice, More } from "./parts";
import { useDark, useShell, useSize, useTable } from "./shell";
import { query, withWords } from "./state";
import { Figures } from "./table";

/* ── Over time ────────────────────────────────────────────────────────────────────── */

const bands = ["#2f7f73", "#c9772b", "#5b6fb5", "#b5486b", "#6f9a2f", "#8a5bb0", "#b59a2f", "#3f93b8", "#a05a3f", "#5f6b73"];

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
  return { times, labels, amounts };
}

export function SeriesPage() {
  const shell = useShell();
  const { state } = shell;
  const asked = useTable(query(state, "series", { series: state.words.series ?? "", limit: 9 }));
  const others = asked.table?.notes.flatMap((n) => /^series: also '(.*)'$/.exec(n)?.[1] ?? []) ?? [];
  return (
    <section>
      {others.length || state.words.series ? (
        <div class="bar">
          <select aria-label="series" value={state.words.series ?? ""} onChange={(e) => shell.go(withWords(state, { series: e.currentTarget.value }))}>
            <option value={state.words.series ?? ""}>{state.words.series || "series"}</option>
            {others.map((s) => (
              <option value={s}>{s}</option>
            ))}
          </select>
        </div>
      ) : null}
      <Answer asked={asked}>{(table) => <Bands table={table} />}</Answer>
    </section>
  );
}

function Bands({ table }: { table: Table }) {
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
        height: 380,
        scales: { x: { time: false } },
        axes: [
          { ...axis, values: (_, v) => v.map((n) => amount(n, timeUnit)) },
          { ...axis, size: 90, values: (_, v) => v.map((n) => amount(n, unit)) },
        ],
        series: [
          { label: "time" },
          ...[...stack.labels].reverse().map((label, r) => {
            const colour = bands[(stack.labels.length - 1 - r) % bands.length]!;
            return { label, stroke: colour, fill: colour + (dark ? "99" : "77"), width: 1, points: { show: stack.times.length < 2 } };
          }),
        ],
        legend: { show: false },
        cursor: { y: false },
        hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
      },
      [stack.times, ...[...sums].reverse()],
      box,
    );
    return () => plot.destroy();
  }, [box, width, sums, dark]);

  const shown = at ?? peak;
  return (
    <figure class="series">
      <div ref={setBox} class="plot" role="img" aria-label={`${stack.labels.length} bands over time; the greatest sum is ${amount(top[peak] ?? 0, unit)}`} />
      <div class="scroll">
        <table aria-label={`at ${exact(stack.times[shown] ?? 0, timeUnit)}`}>
          <thead>
            <tr>
              <th class="figure"><span>{`${at === null ? "at the maximum, " : "at "}${amount(stack.times[shown] ?? 0, timeUnit)}`}</span></th>
              <th class="name"><span>name</span></th>
            </tr>
          </thead>
          <tbody>
            {stack.labels.map((label, i) => (
              <tr>
                <td class="figure" title={exact(stack.amounts[i]![shown] ?? 0, unit)}>{amount(stack.amounts[i]![shown] ?? 0, unit)}</td>
                <td class="name">
                  <span class="patch" style={{ background: bands[i % bands.length] }} /> {label}
                </td>
              </tr>
            ))}
            <tr class="total">
              <td class="figure" title={exact(top[shown] ?? 0, unit)}>{amount(top[shown] ?? 0, unit)}</td>
              <td class="name">total</td>
            </tr>
          </tbody>
        </table>
      </div>
    </figure>
  );
}

/* ── By type and generation ───────────────────────────────────────────────────────── */

// Bars of time and space, weighted by hand: all space at one end, all time at the other.
function Weighted() {
  const { state, go } = useShell();
  const weight = Number(state.words.weight ?? 50) / 100;
  const space = useTable(query(state, "space", { by: "block", limit: 200 }));
  const time = useTable(query(state, "flat", { limit: 400, metric: "time" }));
  const bars = useMemo(() => {
    const by = new Map<string, { time: number; space: number }>();
    const add = (table: Table | null, key: "time" | "space", column: string) => {
      for (const r of table?.rows ?? []) {
        if (r.role !== "entry") continue;
        const name = table!.text(r, "name");
        const bar = by.get(name) ?? { time: 0, space: 0 };
        bar[key] = table!.number(r, column) ?? 0;
        by.set(name, bar);
      }
    };
    add(space.table, "space", "share");
    add(time.table, "time", "self_share");
    return [...by]
      .map(([name, b]) => ({ name, ...b, sum: b.time * weight + b.space * (1 - weight) }))
      .sort((a, b) => b.sum - a.sum)
      .slice(0, 40);
  }, [space.table, time.table, weight]);
  if (!space.table || !time.table) return null;
  const most = Math.max(...bars.map((b) => b.sum), 1e-12);
  return (
    <div class="weighted">
      <label>
        space
        <input
          type="range"
          min={0}
          max={100}
          value={weight * 100}
          aria-label="weight of time against space"
          aria-valuetext={`${Math.round(weight * 100)} % time`}
          onInput={(e) => go(withWords(state, { weight: e.currentTarget.value }))}
        />
        time
      </label>
      <table aria-label="time and space, weighted">
        <tbody>
          {bars.map((b) => (
            <tr>
              <td class="name">{b.name}</td>
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

export function SpacePage() {
  const shell = useShell();
  const { state } = shell;
  const by = state.words.by ?? "type";
  const limit = Number(state.words.limit ?? 60);
  const asked = useTable(by === "weighted" ? null : query(state, "space", { by, limit, sort: state.words.sort ?? "" }));
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
            ["weighted", "time and space"],
          ]}
          onChange={(v) => shell.go(withWords(state, { by: v === "type" ? "" : v, sort: "" }))}
        />
      </div>
      {by === "weighted" ? (
        <Weighted />
      ) : (
        <Answer asked={asked}>
          {(table) => (
            <>
              <Figures table={table} caption="What was allocated, copied and freed" blocks={by === "block"} />
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

export function StrandsPage() {
  const shell = useShell();
  const { state } = shell;
  const by = state.words.by ?? "";
  const limit = Number(state.words.limit ?? 100);
  const asked = useTable(query(state, "strands", { by, limit, sort: state.words.sort ?? "" }));
  return (
    <section>
      <div class="bar">
        <Choice
          label="by"
          value={by}
          options={[
            ["", "threads and ranks"],
            ["block", "blocks over them"],
            ["context", "contexts over them"],
          ]}
          onChange={(v) => shell.go(withWords(state, { by: v, sort: "" }))}
        />
      </div>
      <Answer asked={asked}>
        {(table) => (
          <>
            {by ? (
              <div class="spreads">
                <h2>From the least to the greatest strand</h2>
                <table aria-label="spread">
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
                          <td class="figure">{share(table.number(r, "imbalance"))} above the mean</td>
                        </tr>
                      ))}
                  </tbody>
                </table>
              </div>
            ) : null}
            <Figures table={table} caption={by ? "How figures spread over strands" : "Threads, processes, ranks"} blocks={by !== ""} />
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
          <>
            <Figures table={table} caption="Single activations, each with what it called" sortable={false} />
            <More table={table} limit={limit} />
          </>
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
            <Figures table={table} caption="a: before, b: now" texts={(key, text) => (key === "verdict" ? (verdicts[text] ?? text) : text)} />
            <More table={table} limit={limit} />
          </>
        )}
      </Answer>
    </section>
  );
}
