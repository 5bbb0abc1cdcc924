// SPDX-License-Identifier: MIT
// chart.tsx - what one thread did, in the order of time: a flame chart.
//
//      outer ██████████████████   ██████      x is time, y the depth; a gap: nothing ran
//      parse ██████                           paler: it ran less than half of that time
//      eval        ████████████
//
// The engine answers the part that the strip shows, in columns of two pixels.  While that part is
// moved what is there is drawn at its new place; the address has it when the movement ends.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { faintPaint, paintOf } from "./colours";
import { fit, frameOf, ROW, textOf, type Frame } from "./flame";
import { amount, group, many, shorten } from "./format";
import type { Table } from "./model";
import { blockOf, place } from "./names";
import { useDark, useShell, useSize, useTable, type Asked } from "./shell";
import { parse, query, timeOf, withTime, withWords } from "./state";
import { useRange } from "./strip";
import { moment, movedInto, partText, stepOf, textOf as rangeText, timelineOf, zoomOf, type Range } from "./timeline";

const BOXES = 8000; // at most
const COLUMN = 2; // pixels
const PATIENCE = 200; // ms: turns of the wheel that follow each other are one step
const THREADS = 50; // that can be chosen

interface Box extends Frame {
  from: number; // ns from the beginning of the run
  to: number;
  part: number; // of its time in which it ran
}

function boxesOf(table: Table): Box[] {
  return table.rows
    .filter((r) => r.role === "entry")
    .map((r) => {
      const [from, to, ran] = ["from", "to", "ran"].map((k) => table.number(r, k) ?? 0) as [number, number, number];
      return { ...frameOf(table, r, r.depth, 0, 0), from, to, part: ran / Math.max(1, to - from) };
    });
}

interface Look {
  width: number;
  height: number;
  top: number;
  shown: Range;
  dark: boolean;
  find: RegExp | null;
  chosen: Box | null;
}

const PALE = 0.4;

function draw(boxes: Box[], look: Look, pen: CanvasRenderingContext2D) {
  const scale = look.width / (look.shown.to - look.shown.from);
  const measure = (text: string) => pen.measureText(text).width;
  pen.font = "12px system-ui, sans-serif";
  pen.textBaseline = "middle";
  const letter = measure("nnnnnnnnnn") / 10;
  for (const b of boxes) {
    const left = Math.max(-1, (b.from - look.shown.from) * scale);
    const right = Math.min(look.width + 1, (b.to - look.shown.from) * scale);
    const y = b.depth * ROW - look.top;
    if (right <= 0 || left >= look.width || y + ROW < 0 || y > look.height) continue;
    const hit = look.find !== null && look.find.test(b.name);
    const paint = look.find !== null && !hit ? faintPaint(look.dark) : paintOf(b, "module", 0, look.dark);
    const isPale = b.part < 0.5;
    const wide = Math.max(right - left - (right - left > 4 ? 1 : 0), 0.5);
    pen.globalAlpha = isPale ? PALE : 1;
    pen.fillStyle = paint.fill;
    pen.fillRect(left, y, wide, ROW - 1);
    pen.globalAlpha = 1;
    const edge = b === look.chosen ? (look.dark ? "#fff" : "#000") : hit ? "#c2185b" : null;
    if (edge) {
      pen.strokeStyle = edge;
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, y + 1, Math.max(wide - 2, 1), ROW - 3);
    }
    const x = Math.max(left, 0) + 4;
    const text = textOf(b, Math.min(right, look.width) - x - 4, letter, measure);
    pen.fillStyle = isPale ? (look.dark ? "#e6e8e9" : "#111") : paint.ink;
    if (text) pen.fillText(text, x, y + ROW / 2);
  }
}

/* ── What is asked ────────────────────────────────────────────────────────────────── */

const seconds = (ns: number, within: number) => moment(ns, Math.max(1, within));

// How long each sample is, on average, in ns; and which thread it is.
function aboutOf(table: Table): { thread: string; samples: number; each: number } {
  const [thread, , , samples, each] = table.remarks.find((r) => r.kind === "chart")?.arguments ?? [];
  return { thread: String(thread ?? ""), samples: Number(samples ?? 0), each: Number(each ?? 0) * 1e9 };
}

// Of a trace of events all is known, and its parts of time are no samples.
const isSampled = (header: Table | null) => header?.rows.some((r) => header.text(r, "metric") && header.text(r, "flags").includes("sampled"));

export function Chart() {
  const shell = useShell();
  const { state } = shell;
  const bare = { ...state, filters: [] };
  const others = { ...state, filters: state.filters.filter((f) => f.kind !== "time") };
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const { width } = useSize(box);
  const columns = width ? Math.max(50, Math.min(2000, 50 * Math.round(width / COLUMN / 50))) : 0;
  const { table: whole } = useTable(query(bare, "timeline", { buckets: 1, limit: 1 }));
  const { table: threads } = useTable(query(bare, "timeline", { buckets: 1, limit: THREADS }));
  const asked = useTable(columns ? query(others, "chart", { columns, limit: BOXES, span: zoomOf(state, shell.live), thread: state.words.thread ?? "" }) : null);
  const names = useMemo(() => [...new Set(threads?.rows.filter((r) => r.role === "entry").map((r) => threads.text(r, "name")) ?? [])], [threads]);
  const all = useMemo(() => (whole ? timelineOf(whole) : null), [whole]);
  const thread = asked.table ? aboutOf(asked.table).thread : (state.words.thread ?? "");
  const range = useRange(state, all);
  return (
    <section class="chart-of" aria-label="flame chart">
      <div class="tools">
        <h2>What a thread did, in the order of time</h2>
        <label>
          {"thread "}
          <select value={thread} onChange={(e) => shell.go(withWords(state, { thread: e.currentTarget.value }))}>
            {(names.includes(thread) || !thread ? names : [thread, ...names]).map((n) => (
              <option value={n}>{n}</option>
            ))}
          </select>
        </label>
      </div>
      <div ref={setBox} />
      {asked.error ? <p class="about-chart">{`There is no flame chart: ${asked.error}.`}</p> : asked.table && all ? <Picture asked={asked} run={all.span} range={range} /> : <p class="waiting" aria-busy={asked.busy}>…</p>}
    </section>
  );
}

/* ── The picture ──────────────────────────────────────────────────────────────────── */

interface Drag {
  x: number;
  at: number; // ns
  shown: Range; // when it began
  pans: boolean;
  moved: boolean;
}

function Picture({ asked, run, range }: { asked: Asked; run: number; range: Range | null }) {
  const shell = useShell();
  const { state } = shell;
  const table = asked.table!;
  const dark = useDark();
  const figure = useRef<HTMLElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const { width, height } = useSize(box);
  const [top, setTop] = useState(0);
  const [chosen, choose] = useState<Box | null>(null);
  const [tip, setTip] = useState<{ box: Box; x: number; y: number } | null>(null);
  const [draft, setDraft] = useState<Range | null>(null); // what is shown, until it is in the address
  const [selected, select] = useState<Range | null>(null); // while it is dragged
  const drag = useRef<Drag | null>(null);
  const timer = useRef(0);

  const boxes = useMemo(() => boxesOf(table), [table]);
  const rows = useMemo(() => {
    const by: Box[][] = [];
    for (const b of boxes) (by[b.depth] ??= []).push(b);
    return by;
  }, [boxes]);
  const span = useMemo(() => {
    const last = table.total()!;
    return { from: table.number(last, "from")!, to: table.number(last, "to")! };
  }, [table]);
  const about = aboutOf(table);
  const sampled = isSampled(useTable("view=header").table);
  const shown = draft ?? span;
  const length = shown.to - shown.from;
  const within = length / Math.max(1, width);
  const levels = Math.max(1, rows.length);

  useLayoutEffect(() => {
    setDraft(null);
    setTip(null);
    choose((before) => (before && boxes.find((b) => b.depth === before.depth && b.name === before.name && b.from <= (before.from + before.to) / 2 && b.to > (before.from + before.to) / 2)) || null);
  }, [boxes]);
  useEffect(() => () => clearTimeout(timer.current), []);

  useLayoutEffect(() => {
    const element = canvas.current;
    const pen = element?.getContext("2d");
    if (!element || !pen || !width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    fit(element, width * ratio, height * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    draw(boxes, { width, height, top, shown, dark, find: shell.find, chosen }, pen);
  }, [boxes, width, height, top, shown.from, shown.to, dark, shell.find, chosen]);

  const hits = useMemo(() => boxes.filter((b) => shell.find?.test(b.name)), [shell.find, boxes]);
  const hit = shell.hit && shell.hit.element === figure.current ? hits[shell.hit.index] : undefined;
  useEffect(() => {
    if (hit) show(hit);
  }, [hit]);

  function show(b: Box) {
    choose(b);
    if (!box) return;
    const y = b.depth * ROW;
    if (y < box.scrollTop) box.scrollTop = y;
    if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight;
  }

  /* ── Zooming and panning ── */

  const go = (to: Range) => {
    clearTimeout(timer.current);
    const text = partText(to, run, width, shell.live);
    if (text === (state.words.strip ?? "")) setDraft(null);
    shell.go(withWords(parse(location.hash), { strip: text }));
  };
  const later = (to: Range) => {
    setDraft(to);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => go(to), PATIENCE);
  };
  const zoomed = (by: number, middle: number): Range => {
    const wide = Math.min(run, length * by);
    return movedInto({ from: middle - (middle - shown.from) * (wide / length), to: middle - (middle - shown.from) * (wide / length) + wide }, { from: 0, to: run });
  };
  const panned = (by: number, of = shown) => movedInto({ from: of.from + by, to: of.to + by }, { from: 0, to: run });
  const middleOf = (b: Box | null) => (b && b.to > shown.from && b.from < shown.to ? (Math.max(b.from, shown.from) + Math.min(b.to, shown.to)) / 2 : (shown.from + shown.to) / 2);

  const wheel = useRef<(e: WheelEvent) => void>(() => undefined);
  wheel.current = (e) => {
    const across = e.shiftKey ? e.deltaY || e.deltaX : e.deltaX;
    if (e.ctrlKey && e.deltaY) later(zoomed(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 200))), nsAt(e.clientX)));
    else if (across && !e.ctrlKey && Math.abs(across) >= (e.shiftKey ? 0 : Math.abs(e.deltaY))) later(panned(across * within));
    else return;
    e.preventDefault();
  };
  useEffect(() => {
    if (!box) return undefined;
    const listen = (e: WheelEvent) => wheel.current(e);
    box.addEventListener("wheel", listen, { passive: false });
    return () => box.removeEventListener("wheel", listen);
  }, [box]);

  /* ── The pointer ── */

  function nsAt(x: number): number {
    return shown.from + ((x - canvas.current!.getBoundingClientRect().left) / width) * length;
  }
  function at(e: MouseEvent): Box | null {
    const depth = Math.floor((e.clientY - canvas.current!.getBoundingClientRect().top + top) / ROW);
    const ns = nsAt(e.clientX);
    return rows[depth]?.find((b) => ns >= b.from && ns < b.to) ?? null;
  }
  const choosing = (to: Range) => shell.go(withTime(state, rangeText({ from: Math.max(0, to.from), to: Math.min(run, to.to) }, run, within)));
  const selectedBy = (d: Drag, x: number): Range => {
    const ns = Math.max(shown.from, Math.min(shown.to, nsAt(x)));
    return { from: Math.min(d.at, ns), to: Math.max(d.at, ns) };
  };
  const onDown = (e: PointerEvent) => {
    if (e.button > 1) return;
    if (e.button === 1) e.preventDefault(); // the browser would scroll
    drag.current = { x: e.clientX, at: nsAt(e.clientX), shown, pans: e.shiftKey || e.button === 1, moved: false };
    canvas.current!.setPointerCapture(e.pointerId);
  };
  const onMove = (e: PointerEvent) => {
    const d = drag.current;
    if (!d) {
      const b = at(e);
      setTip(b ? { box: b, x: e.clientX, y: e.clientY } : null);
      return;
    }
    if (!d.moved && Math.abs(e.clientX - d.x) < 3) return;
    d.moved = true;
    setTip(null);
    if (d.pans) setDraft(panned((d.x - e.clientX) * within, d.shown));
    else select(selectedBy(d, e.clientX));
  };
  const leave = (e: PointerEvent, keep: boolean) => {
    const d = drag.current;
    drag.current = null;
    select(null);
    if (!d) return;
    if (!d.moved && keep) choose(at(e));
    else if (d.pans && keep) go(panned((d.x - e.clientX) * within, d.shown));
    else if (d.pans) setDraft(null);
    else if (keep && d.moved) choosing(selectedBy(d, e.clientX));
  };

  /* ── Keys ── */

  function near(b: Box, key: string): Box | undefined {
    const same = rows[b.depth] ?? [];
    if (key === "ArrowLeft") return same[same.indexOf(b) - 1];
    if (key === "ArrowRight") return same[same.indexOf(b) + 1];
    if (key === "ArrowUp") return rows[b.depth - 1]?.find((o) => o.from <= b.from && o.to >= b.to);
    const inside = rows[b.depth + 1]?.filter((o) => o.from >= b.from && o.to <= b.to) ?? [];
    return inside.reduce<Box | undefined>((a, o) => (a && a.to - a.from >= o.to - o.from ? a : o), undefined);
  }
  const letters: Record<string, string> = { w: "ArrowUp", a: "ArrowLeft", s: "ArrowDown", d: "ArrowRight" };
  const onKey = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const key = letters[e.key] ?? e.key;
    const across = { ArrowLeft: -0.25, ArrowRight: 0.25 }[key];
    if (e.shiftKey && across) later(panned(across * length));
    else if (key.startsWith("Arrow")) {
      const to = chosen ? near(chosen, key) : boxes[0];
      if (to) show(to);
    } else if (key === "Enter" && chosen) go(chosen);
    else if (key === " " && chosen) choosing(chosen);
    else if (key === "+" || key === "=") later(zoomed(1 / 2, middleOf(chosen)));
    else if (key === "-" || key === "Backspace") later(zoomed(key === "-" ? 2 : 4, middleOf(chosen)));
    else if (key === "Escape" && drag.current) {
      drag.current = null;
      select(null);
      setDraft(null);
    } else if (key === "Escape" && timeOf(state)) shell.go(withTime(state, ""));
    else if (key === "m" && chosen) menu(chosen, canvas.current!.getBoundingClientRect().left + Math.max(0, (chosen.from - shown.from) / within), canvas.current!.getBoundingClientRect().top + (chosen.depth + 1) * ROW - top);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const menu = (b: Box, x: number, y: number) => shell.openMenu({ block: blockOf(table, b.row), x, y });

  /* ── Texts ── */

  const timesOf = (b: Box) => `${seconds(b.from, within)} to ${seconds(b.to, within)}`;
  const ranOf = (b: Box) => {
    const waited = table.number(b.row, "waited");
    const unit = table.column("ran")?.unit ?? "ns";
    return `ran ${amount(table.number(b.row, "ran"), unit)} of ${amount(b.to - b.from, "ns")}${waited ? `, waited ${amount(waited, unit)}` : ""}${b.to - b.from < 2 * about.each ? ", an estimate" : ""}`;
  };
  const label = boxes.length ? `What ${about.thread} did from ${seconds(shown.from, within)} to ${seconds(shown.to, within)}` : `${about.thread} has no samples here`;
  const marked = selected ?? range;
  const x = (ns: number) => Math.max(0, Math.min(width, (ns - shown.from) / within));
  const step = stepOf(length, Math.max(1, width / 100));
  const marks: number[] = [];
  for (let i = Math.ceil(shown.from / step); i * step < shown.to; i++) marks.push(i * step);
  return (
    <figure ref={figure} class={"chart" + (asked.busy ? " busy" : "")} data-hits={hits.length} aria-busy={asked.busy}>
      <div class="marks" aria-hidden="true">
        {marks.map((ns) => (x(ns) < width - 44 ? <span style={{ left: `${x(ns)}px` }}>{moment(ns, step)}</span> : null))}
      </div>
      <div
        ref={setBox}
        class="sheet"
        tabIndex={0}
        role="application"
        aria-label={`${label}. Arrow keys choose a box, Enter zooms in on it, Space selects its time, Backspace zooms out; plus and minus zoom, with Shift arrow keys move the time; m shows a menu.`}
        style={{ height: `${Math.min(levels * ROW + 4, Math.max(160, Math.round(window.innerHeight * 0.4)))}px` }}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)}
        onKeyDown={onKey}
      >
        <div class="whole" style={{ height: `${levels * ROW}px` }}>
          <canvas
            ref={canvas}
            style={{ width: `${width}px`, height: `${height}px` }}
            onPointerDown={onDown}
            onPointerMove={onMove}
            onPointerUp={(e) => leave(e, true)}
            onPointerCancel={(e) => leave(e, false)}
            onPointerLeave={() => setTip(null)}
            onDblClick={(e) => go(at(e) ?? zoomed(1 / 4, nsAt(e.clientX)))}
            onContextMenu={(e) => {
              const b = at(e);
              if (!b) return;
              e.preventDefault();
              menu(b, e.clientX, e.clientY);
            }}
          />
          {marked && marked.to > shown.from && marked.from < shown.to ? <div class="marked" style={{ left: `${x(marked.from)}px`, width: `${Math.max(1, x(marked.to) - x(marked.from))}px` }} /> : null}
        </div>
      </div>
      <div class="tools">
        <figcaption aria-live="polite">{selected ? `${seconds(selected.from, within)} to ${seconds(selected.to, within)}` : chosen ? `${chosen.name}: ${timesOf(chosen)}, ${ranOf(chosen)}` : label}</figcaption>
        {chosen ? <button onClick={() => choosing(chosen)}>select its time</button> : null}
        {chosen ? <button onClick={(e) => menu(chosen, e.currentTarget.getBoundingClientRect().left, e.currentTarget.getBoundingClientRect().bottom)}>what to do with it</button> : null}
      </div>
      {about.samples ? <p class="about-chart">{`${sampled ? `Each of the ${group(String(about.samples))} samples here stands for` : `Time is known in ${many(about.samples, "part")} here, of`} ${amount(about.each, "ns")} on average: what is shorter is an estimate. Drag to select a range; with Shift, drag to move. Ctrl and the wheel zoom, and so does a double click.`}</p> : null}
      {tip ? (
        <div class="tip" style={{ left: `${Math.max(4, Math.min(tip.x + 14, window.innerWidth - 380))}px`, top: `${Math.min(tip.y + 16, window.innerHeight - 110)}px` }}>
          <strong>{shorten(tip.box.name, 200)}</strong>
          {place(table, tip.box.row) ? <div class="place">{place(table, tip.box.row)}</div> : null}
          <div>{timesOf(tip.box)}</div>
          <div>{ranOf(tip.box)}</div>
        </div>
      ) : null}
    </figure>
  );
}
