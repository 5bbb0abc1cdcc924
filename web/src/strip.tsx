// SPDX-License-Identifier: MIT
// strip.tsx - the strip above each page: use over time, and the range of it that is looked at.
//
//      ▁▁▃▃▅▅┃██████▅▅▅▅┃▃▃▁▁    from one edge to the other: the filter `time`
//      0 s      2 s      4 s
//
// Without other filters it is stacked by thread, or by process, or by what the page of use shows; with them, what they leave
// is drawn in front of it.  If waits are in the samples, a line divides the threads that run, below
// it, from those that wait.  The zoomed part is in the address as `strip`.  What is
// dragged is drawn here alone until it is let go.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useBursts, type Burst } from "./bursts";
import { bands } from "./colours";
import type { Table } from "./model";
import { useDark, useShell, useSize, useTable } from "./shell";
import { query, timeOf, withTime, withView, withWords, type State } from "./state";
import { moment, movedInto, partText, rangeOf, samplesOf, stepOf, textOf, timelineOf, useText, zoomOf, type Range, type Timeline } from "./timeline";

const HEIGHT = 30;
const ROWS = 6; // with a colour each
const PATIENCE = 250; // ms: keys that follow each other are one step
const LAST = "-10s..";
const ENOUGH = 4; // samples in a bucket, on average
const BURST = 12; // pixels: the mark of one, at least
const WIDEST = 1700; // pixels: the page
const BESIDE = 144; // pixels: what is beside the strip
const LINE = 2; // pixels, between threads that run and that wait

const micro = (ns: number) => Number((ns / 1e9).toFixed(6)); // in seconds

type Part = "from" | "to" | "range";

export function Strip({ live }: { live: boolean }) {
  const { table } = useTable("view=header");
  return samplesOf(table) ? <Lane header={table!} live={live} /> : null;
}

/* ── What is asked ────────────────────────────────────────────────────────────────── */

const numberOf = (header: Table, name: string) => header.number(header.rows.find((r) => header.text(r, "name") === name)!, "number") ?? 0;

const timeline = (state: State, zoom: string, words: Record<string, string | number>) =>
  query({ ...state, filters: [...state.filters, ...(zoom ? [{ kind: "time" as const, pattern: zoom }] : [])] }, "timeline", words);

const read = (table: Table | null) => (table ? timelineOf(table) : null);

// Of a range that is written as only the engine knows: where it is.
export function useRange(state: State, whole: Timeline | null): Range | null {
  const text = timeOf(state);
  const run = whole?.span ?? 0;
  const known = text ? rangeOf(text, run) : null;
  const { table } = useTable(text && !known ? timeline({ ...state, filters: [] }, text, { buckets: 1, limit: 1 }) : null);
  const t = useMemo(() => read(table), [table]);
  if (!whole || !text) return null;
  if (known) return known.from < known.to ? known : null;
  const from = t ? Number(t.begin - whole.begin) : 0;
  return t && { from, to: Math.min(run, from + t.span) };
}

/* ── Drawing ──────────────────────────────────────────────────────────────────────── */

const colourOf = (t: Timeline, i: number) => (t.rows[i]?.role === "remainder" ? "#8a9297" : bands[i % bands.length]!);

const hasWaits = (header: Table) => header.facts.some((f) => f.name === "wall" && Number(f.number));

// How many threads ran at a time, or waited.
const stateOf = (t: Timeline, name: "running" | "waiting", i: number) => t.rows.find((r) => r.name === name)?.buckets[i] ?? 0;

// Are its buckets those of the other?
const fitted = (t: Timeline | null, shown: Timeline | null) =>
  t && shown && t.begin === shown.begin && t.bucket === shown.bucket && t.all.buckets.length === shown.all.buckets.length ? t : null;

function draw(canvas: HTMLCanvasElement, width: number, shown: Timeline, chosen: Timeline | null, states: Timeline | null, dark: boolean) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const pen = canvas.getContext("2d")!;
  const many = shown.all.buckets.length;
  const sums = shown.all.buckets.map(() => 0);
  const place = (i: number) => Math.round((i / many) * canvas.width);
  const stack = (buckets: number[], colour: string, below: number[]) => {
    pen.fillStyle = colour;
    buckets.forEach((n, i) => {
      const y = shown.most ? (below[i]! / shown.most) * canvas.height : 0;
      const height = shown.most ? (n / shown.most) * canvas.height : 0;
      pen.fillRect(place(i), canvas.height - y - height, place(i + 1) - place(i), height);
      below[i]! += n;
    });
  };
  if (chosen) {
    stack(shown.all.buckets, dark ? "#4c5459" : "#ccd2d5", [...sums]);
    stack(chosen.all.buckets, bands[0]!, sums);
  } else {
    shown.rows.forEach((r, i) => stack(r.buckets, colourOf(shown, i), sums));
  }
  if (!states) return;
  pen.fillStyle = dark ? "#ffffff" : "#000000";
  shown.all.buckets.forEach((_, i) => {
    const y = shown.most ? canvas.height * (1 - stateOf(states, "running", i) / shown.most) : canvas.height;
    pen.fillRect(place(i), Math.max(0, Math.min(canvas.height - LINE, Math.round(y - LINE / 2))), place(i + 1) - place(i), LINE);
  });
}

function Axis({ shown, from, width }: { shown: Timeline; from: number; width: number }) {
  const step = stepOf(shown.span, width / 100);
  const marks: number[] = [];
  for (let at = Math.ceil(from / step); at * step < from + shown.span; at++) marks.push(at * step);
  return (
    <div class="marks" aria-hidden="true">
      {marks.map((at) => {
        const x = ((at - from) / shown.span) * width;
        return x < width - 44 ? <span style={{ left: `${x}px` }}>{moment(at, step)}</span> : null;
      })}
    </div>
  );
}

/* ── The strip ────────────────────────────────────────────────────────────────────── */

interface Drag {
  part: Part; // range: all of it moves
  at: number; // ns: where it began, or the edge that stays
  x: number;
  range: Range; // before it
  moved: boolean;
  burst: Burst | null; // where it began: a click selects it
}

function Lane({ header, live }: { header: Table; live: boolean }) {
  const shell = useShell();
  const { state } = shell;
  const dark = useDark();
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const [draft, setDraft] = useState<Range | null>(null); // until it is in the address
  const [hover, setHover] = useState<number | null>(null); // ns
  const [held, hold] = useState<Part | null>(null); // what keys have moved
  const drag = useRef<Drag | null>(null);
  const timer = useRef(0);

  const room = Math.min(WIDEST, document.documentElement.clientWidth) - BESIDE; // it is asked for before it has a width
  const buckets = Math.max(50, Math.min(1000, 50 * Math.round(Math.min(room / 2, samplesOf(header) / ENOUGH) / 50)));
  const words = { buckets, limit: ROWS, by: (state.view === "timeline" && state.words.by) || (numberOf(header, "strands") <= ROWS + 2 ? "strand" : "process") };
  const zoom = zoomOf(state, live);
  const others = state.filters.filter((f) => f.kind !== "time");
  const filtered = others.some((f) => !f.off);
  const bare = { ...state, filters: [] };
  const askedWhole = useTable(timeline(bare, "", words));
  const askedPart = useTable(zoom ? timeline(bare, zoom, words) : null);
  const askedChosen = useTable(filtered ? timeline({ ...state, filters: others }, zoom, { buckets, limit: 1 }) : null);
  const askedStates = useTable(!filtered && hasWaits(header) ? timeline(bare, zoom, { buckets, by: "state" }) : null);
  const whole = useMemo(() => read(askedWhole.table), [askedWhole.table]);
  const part = useMemo(() => read(askedPart.table), [askedPart.table]);
  const chosen = useMemo(() => read(askedChosen.table), [askedChosen.table]);
  const shown = (zoom && part) || whole;
  const fits = fitted(chosen, shown);
  const allStates = useMemo(() => read(askedStates.table), [askedStates.table]);
  const states = filtered ? null : fitted(allStates, shown);
  const range = useRange(state, whole);
  const text = timeOf(state);
  const bursts = useBursts(shell.version, state.view, !live && shown !== null);

  useEffect(() => setDraft(null), [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (canvas.current && width && shown) draw(canvas.current, width, shown, filtered ? fits : null, states, dark);
  }, [width, shown, fits, filtered, states, dark]);

  const run = whole?.span ?? 0;
  const from = shown && whole ? Number(shown.begin - whole.begin) : 0;
  const span = shown?.span ?? 1;
  const visible: Range = { from, to: Math.min(run, from + span) };
  const within = span / Math.max(1, width);
  const now = draft ?? range ?? { from: 0, to: run };
  const isChosen = now.from > 0 || now.to < run;
  const xOf = (ns: number) => Math.max(0, Math.min(width, ((ns - from) / span) * width));
  const nsAt = (x: number) => Math.max(0, Math.min(run, from + ((x - box!.getBoundingClientRect().left) / width) * span));

  const commit = (to: Range) => {
    const next = textOf(to, run, within);
    if (next === text) setDraft(null);
    shell.go(withTime(state, next));
  };
  const choose = (b: Burst) => commit({ from: b.from, to: Math.min(run, b.to) });
  const compare = () => shell.go(withView(state, "diff", { as: "flame", against: shell.before ? "rest" : "" }));
  const clear = () => {
    clearTimeout(timer.current);
    setDraft(null);
    shell.go(withTime(state, ""));
  };
  const showPart = (to: Range) => shell.go(withWords(state, { strip: partText(to, run, width, live) }));
  const zoomed = (by: number, middle: number) => {
    const left = middle - (middle - visible.from) * by;
    showPart({ from: left, to: left + (visible.to - visible.from) * by });
  };

  /* ── The pointer ── */

  const dragged = (d: Drag, x: number): Range => {
    const at = nsAt(x);
    if (d.part === "range") return movedInto({ from: d.range.from + at - d.at, to: d.range.to + at - d.at }, { from: 0, to: run });
    return { from: Math.min(d.at, at), to: Math.max(d.at, at) };
  };
  const onDown = (e: PointerEvent) => {
    if (e.button !== 0 || !whole) return;
    const slider = (e.target as HTMLElement).closest<HTMLElement>("[data-part]")?.dataset.part as Part | undefined;
    const burst = bursts[Number((e.target as HTMLElement).dataset.burst ?? -1)] ?? null;
    const at = nsAt(e.clientX);
    const hasAll = now.from < visible.from + within && now.to > visible.to - within; // then there is no other place for a new one
    const moves = slider === "range" && isChosen && !hasAll && !e.shiftKey;
    const other = slider === "from" ? now.to : slider === "to" ? now.from : at; // what stays where it is
    clearTimeout(timer.current);
    box!.setPointerCapture(e.pointerId);
    box!.querySelector<HTMLElement>(`[data-part=${slider ?? "range"}]`)?.focus({ preventScroll: true });
    drag.current = { part: moves ? "range" : "to", at: moves ? at : other, x: e.clientX, range: now, moved: false, burst };
  };
  const onMove = (e: PointerEvent) => {
    const d = drag.current;
    setHover((e.target as HTMLElement).dataset.burst ? null : nsAt(e.clientX)); // that says what it is itself
    if (!d || (!d.moved && Math.abs(e.clientX - d.x) < 3)) return;
    d.moved = true;
    setDraft(dragged(d, e.clientX));
  };
  const leave = (e: PointerEvent, keep: boolean) => {
    const d = drag.current;
    drag.current = null;
    if (keep && d?.burst && !d.moved) choose(d.burst);
    if (!d?.moved) return;
    const to = dragged(d, e.clientX);
    if (keep && to.to > to.from) commit(to);
    else setDraft(null);
  };

  /* ── Keys ── */

  const keyed = (e: KeyboardEvent, slider: Part): Range | null => {
    const step = (visible.to - visible.from) / 100;
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step, PageDown: -10 * step, PageUp: 10 * step, Home: -run, End: run }[e.key];
    if (by === undefined) return null;
    const clamp = (n: number, low: number, high: number) => Math.max(low, Math.min(high, n));
    if (slider === "from") return { from: clamp(now.from + by, 0, now.to - step), to: now.to };
    if (slider === "to" || e.shiftKey) return { from: now.from, to: clamp(now.to + by, now.from + step, run) };
    if (isChosen) return movedInto({ from: now.from + by, to: now.to + by }, { from: 0, to: run });
    const begin = by > 0 ? visible.from : visible.to - 10 * step; // there is none yet
    return { from: begin, to: begin + 10 * step };
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || !whole) return;
    const slider = (e.target as HTMLElement).dataset.part as Part | undefined;
    const to = slider ? keyed(e, slider) : null;
    if (to) {
      hold(slider!);
      setHover(null);
      setDraft(to);
      clearTimeout(timer.current);
      timer.current = window.setTimeout(() => commit(to), PATIENCE);
    } else if (e.key === "Escape" && drag.current) {
      drag.current = null;
      setDraft(null);
    } else if (e.key === "Escape" && (text || draft)) clear();
    else if (e.key === "c" && slider && text) compare();
    else if (e.key === "+" || e.key === "=") zoomIn();
    else if (e.key === "-" && zoom) zoomed(4, (visible.from + visible.to) / 2);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const zoomIn = () => (isChosen ? showPart(now) : zoomed(1 / 4, (visible.from + visible.to) / 2));
  const onDouble = (e: MouseEvent) => {
    const at = nsAt(e.clientX);
    if (isChosen && at >= now.from && at < now.to) showPart(now);
    else zoomed(1 / 4, at);
  };

  /* ── Texts ── */

  const bucketAt = (ns: number) => Math.max(0, Math.min((shown?.all.buckets.length ?? 1) - 1, Math.floor((ns - from) / (shown?.bucket || 1))));
  const stateAt = (name: "running" | "waiting", ns: number) => (states && shown ? `, ${useText(stateOf(states, name, bucketAt(ns)), shown)} ${name}` : "");
  const valueAt = (ns: number) => (shown ? `${moment(ns, within)}, ${useText(shown.all.buckets[bucketAt(ns)] ?? 0, shown)}${stateAt("running", ns)}${stateAt("waiting", ns)}` : "");
  const length = isChosen ? `${moment(now.from, within)} to ${moment(now.to, within)}` : "all of the run";
  const slider = (which: Part, name: string, value: number, least: number, most: number, say: string, style: Record<string, string>) => (
    <div
      role="slider"
      tabIndex={0}
      data-part={which}
      class={which === "range" ? "window" : "edge"}
      aria-label={name}
      aria-valuemin={micro(least)}
      aria-valuemax={micro(most)}
      aria-valuenow={micro(value)}
      aria-valuetext={say}
      style={style}
      onBlur={() => hold(null)}
    />
  );
  const [left, right] = [xOf(now.from), xOf(now.to)];
  return (
    <div class="strip" role="region" aria-label="time" aria-busy={askedWhole.busy || askedPart.busy || askedChosen.busy || askedStates.busy}>
      <div
        ref={setBox}
        class={"lane" + (drag.current?.moved ? " dragged" : "")}
        role="group"
        aria-label={shown ? `use over time, at most ${useText(shown.most, shown)} in ${moment(run, within)}; arrow keys move the range, with Shift they resize it, Escape clears it` : "use over time"}
        onPointerDown={onDown}
        onMouseDown={(e) => e.preventDefault()} // the focus stays where it was put
        onPointerMove={onMove}
        onPointerUp={(e) => leave(e, true)}
        onPointerCancel={(e) => leave(e, false)}
        onPointerLeave={(e) => drag.current || setHover(e.pointerType === "touch" ? hover : null)}
        onDblClick={onDouble}
        onKeyDown={onKey}
      >
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${HEIGHT}px` }} />
        {shown && whole ? (
          <>
            {isChosen ? <div class="outside" style={{ left: "0px", width: `${left}px` }} /> : null}
            {isChosen ? <div class="outside" style={{ left: `${right}px`, right: "0px" }} /> : null}
            {slider("range", "range of time", now.from, 0, run, length, { left: `${left}px`, width: `${Math.max(1, right - left)}px` })}
            {slider("from", "from", now.from, 0, now.to, valueAt(now.from), { left: `${left - 12}px` })}
            {slider("to", "to", now.to, now.from, run, valueAt(now.to), { left: `${right - 12}px` })}
            {bursts.map((b, i) => {
              const [x, end] = [xOf(b.from), xOf(b.to)];
              const what = `${moment(b.from, within)} to ${moment(b.to, within)}: ${b.text}`;
              return end > x ? <button class="burst" data-burst={i} aria-label={`burst, ${what}`} title={what} style={{ left: `${Math.max(0, Math.min((x + end - BURST) / 2, x))}px`, width: `${Math.max(BURST, end - x)}px` }} onClick={(e) => e.detail === 0 && choose(b)} /> : null; // a click of the pointer is no drag
            })}
            <Axis shown={shown} from={from} width={width} />
            <Tip shown={shown} from={from} width={width} range={draft ?? (held && isChosen ? now : null)} at={hover ?? (held === "from" ? now.from : held ? now.to : null)} chosen={filtered ? fits : null} states={states} within={within} bucketAt={bucketAt} />
          </>
        ) : null}
      </div>
      <button disabled={!text || !isChosen} title={isChosen ? "compare the range with the rest of the run" : "select a range to compare it with the rest of the run"} aria-label="compare the range with the rest" onClick={compare}>
        compare
      </button>
      {live ? <button class={text === LAST ? "on" : ""} aria-pressed={text === LAST} onClick={() => shell.go(withTime(state, text === LAST ? "" : LAST))}>last 10 s</button> : null}
      {zoom && shown ? (
        <>
          <button aria-label="earlier" title="earlier" disabled={visible.from <= 0} onClick={() => showPart(movedInto({ from: visible.from - span / 2, to: visible.to - span / 2 }, { from: 0, to: run }))}>‹</button>
          <button aria-label="later" title="later" disabled={visible.to >= run} onClick={() => showPart(movedInto({ from: visible.from + span / 2, to: visible.to + span / 2 }, { from: 0, to: run }))}>›</button>
          <button aria-label="zoom out" title="zoom out" onClick={() => zoomed(4, (visible.from + visible.to) / 2)}>−</button>
        </>
      ) : null}
      <button aria-label="zoom in" title={isChosen ? "zoom in on the range" : "zoom in"} onClick={zoomIn}>+</button>
    </div>
  );
}

/* ── What is below the pointer, or at an edge that keys move ──────────────────────── */

interface Pointed {
  shown: Timeline;
  from: number;
  width: number;
  range: Range | null; // while it is moved
  at: number | null;
  chosen: Timeline | null;
  states: Timeline | null;
  within: number;
  bucketAt(ns: number): number;
}

function Tip({ shown, from, width, range, at, chosen, states, within, bucketAt }: Pointed) {
  if (at === null) return null;
  const i = bucketAt(at);
  const begin = from + i * shown.bucket;
  const x = Math.max(0, Math.min(width, ((at - from) / shown.span) * width));
  const line = (name: string, n: number, colour: string) => (
    <div>
      <span class="patch" style={{ background: colour, borderColor: colour }} />
      {` ${name} ${useText(n, shown)}`}
    </div>
  );
  return (
    <div class="tip time" aria-hidden="true" style={x < width / 2 ? { left: `${x}px` } : { right: `${width - x}px` }}>
      {range ? <div class="chosen">{`${moment(range.from, within)} to ${moment(range.to, within)}`}</div> : null}
      <div>
        <strong>{useText(shown.all.buckets[i] ?? 0, shown)}</strong>
        {` in ${moment(begin, within)} to ${moment(begin + shown.bucket, within)}`}
      </div>
      {states ? (
        <div class="states">
          <div>{`running ${useText(stateOf(states, "running", i), shown)}`}</div>
          <div>{`waiting ${useText(stateOf(states, "waiting", i), shown)}`}</div>
        </div>
      ) : null}
      {chosen ? line("with the filters", chosen.all.buckets[i] ?? 0, bands[0]!) : shown.rows.length > 1 ? shown.rows.map((r, k) => (r.buckets[i] ? line(r.name, r.buckets[i]!, colourOf(shown, k)) : null)) : null}
    </div>
  );
}
