// SPDX-License-Identifier: MIT
// flame.tsx - frames over frames on a canvas: flame graphs, icicles, inverted ones.
//
// The engine sends what is at least a pixel wide; a frame that is opened is asked for
// again, so that it shows all it has at any depth of a profile of any size.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { amount, exact, group, share, shorten } from "./format";
import { faintPaint, hottest, modulePaint, moduleName, paintOf, type ColourBy } from "./colours";
import type { Row, Table } from "./model";
import { blockOf, fitLabel, fitName, labelOf, place } from "./names";
import { isWhole, moved, PartMap, useDrag, WHOLE as ALL, withIn, zoomed, type Part } from "./part";
import { save, useDark, useShell, useSize } from "./shell";
import { addFilter, exactly } from "./state";

export interface Frame {
  table: Table; // that the row is of
  row: Row;
  name: string;
  depth: number;
  left: number; // from 0 to 1
  right: number;
  colour: string; // what its colour is chosen by
}

export function frameOf(table: Table, row: Row, depth: number, left: number, right: number): Frame {
  const colour = row.role === "remainder" ? "" : table.text(row, "module") || table.text(row, "file") || table.text(row, "name");
  return { table, row, name: table.text(row, "name"), depth, left, right, colour };
}

// Siblings, the widest first; combined ones come last.
function bySize(rows: Row[], width: (row: Row) => number): Row[] {
  const below = new Map<Row | undefined, Row[]>();
  const path: Row[] = [];
  for (const row of rows) {
    if (row.role === "total") continue;
    const parent = row.depth ? path[row.depth - 1] : undefined;
    const siblings = below.get(parent);
    if (siblings) siblings.push(row);
    else below.set(parent, [row]);
    path[row.depth] = row;
  }
  const out: Row[] = [];
  const last = (row: Row) => (row.role === "remainder" ? 1 : 0);
  const take = (of: Row | undefined) => (below.get(of) ?? []).sort((a, b) => last(b) - last(a) || width(a) - width(b));
  const stack = take(undefined);
  for (let row = stack.pop(); row; row = stack.pop()) {
    out.push(row);
    stack.push(...take(row));
  }
  return out;
}

export type Order = "size" | "name";

// A row's width is its figure `key`; siblings are side by side, in their order.
export function layOut(table: Table, rows: Row[], key: string | ((row: Row) => number), depth0 = 0, order: Order = "size"): Frame[] {
  const frames: Frame[] = [];
  const next: number[] = []; // where the next child of each depth begins
  const width = typeof key === "string" ? (row: Row) => table.number(row, key) ?? 0 : key;
  let all = 0;
  for (const row of rows) if (row.depth === 0 && row.role !== "total") all += width(row);
  if (!all) return frames;
  next[0] = 0;
  for (const row of order === "size" ? bySize(rows, width) : rows) {
    if (row.role === "total") continue;
    const left = next[row.depth] ?? 0;
    const right = left + width(row) / all;
    next[row.depth] = right;
    next[row.depth + 1] = left;
    if (row.role === "remainder" && right - left <= 0) continue;
    frames.push(frameOf(table, row, row.depth + depth0, left, right));
  }
  return frames;
}

const STEM = 4; // levels that are folded into one line; fewer are shown
const WHOLE = 0.9995; // the rest of such a level is narrower than a pixel

// How many levels from the root are one frame as wide as all, but for the last of them: they
// say nothing that the line above the picture does not.
export function stemOf(frames: Frame[]): number {
  const whole = new Set<number>();
  for (const f of frames) if (f.colour && f.right - f.left > WHOLE) whole.add(f.depth);
  let levels = 0;
  while (whole.has(levels)) levels++;
  return levels > STEM ? levels - 1 : 0;
}

export const FRAMES = 8000; // at most

// As many frames as could be seen: a pixel is the smallest.
export const finest = () => Number((1 / Math.max(400, window.innerWidth)).toFixed(6));

const pathOf = (f: Frame) => f.table.text(f.row, "path");

// What finds a frame's context again, also in another profile: its path.  The number before
// it is where to look first.
export const addressOfFrame = (f: Frame) => (f.table.text(f.row, "context") === "0" ? "" : f.table.text(f.row, "context") + "#" + pathOf(f));

// Is a frame of the context of an address?
export function isOfContext(f: Frame, address: string): boolean {
  if (!f.colour) return false;
  const at = address.indexOf("#");
  return at < 0 ? f.table.text(f.row, "context") === (address || "0") : pathOf(f) === address.slice(at + 1);
}

// Is one within the other's ends?  Sums of many widths are not exact.
function isIn(one: Frame, other: Frame): boolean {
  return one.left >= other.left - 1e-9 && one.right <= other.right + 1e-9;
}

// The same frames when one of them is opened: it is as wide as all, and so are those it is in.
// What was too small to be sent is not among them.
export function opened(frames: Frame[], context: string): Frame[] {
  const whole = frames.find((f) => isOfContext(f, context));
  if (!whole) return frames;
  const width = whole.right - whole.left;
  const out: Frame[] = [];
  for (const f of frames) {
    if (f.depth < whole.depth && isIn(whole, f)) out.push({ ...f, left: 0, right: 1 });
    else if (f.depth >= whole.depth && isIn(f, whole))
      out.push({ ...f, left: (f.left - whole.left) / width, right: (f.right - whole.left) / width });
  }
  return out;
}

export const ROW = 20;

interface Brush {
  rect(x: number, y: number, w: number, h: number, fill: string, stroke: string | null, title: () => string): void;
  text(x: number, y: number, text: string, ink: string, name: string): void; // of the name, as much as fits
}

function canvasBrush(c: CanvasRenderingContext2D): Brush {
  c.font = "12px system-ui, sans-serif";
  c.textBaseline = "middle";
  return {
    rect(x, y, w, h, colour, stroke) {
      c.fillStyle = colour;
      c.fillRect(x, y, w, h);
      if (!stroke) return;
      c.strokeStyle = stroke;
      c.lineWidth = 2;
      c.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), h - 2);
    },
    text(x, y, text, ink) {
      if (!text) return;
      c.fillStyle = ink;
      c.fillText(text, x, y);
    },
  };
}

const escaped = (s: string) => s.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

function svgBrush(parts: string[]): Brush {
  return {
    rect(x, y, w, h, colour, stroke, title) {
      parts.push(
        `<rect x="${x.toFixed(2)}" y="${y}" width="${w.toFixed(2)}" height="${h}" fill="${colour}"${stroke ? ` stroke="${stroke}"` : ""}><title>${escaped(title())}</title></rect>`,
      );
    },
    // A browser's search finds whole names, which are not painted where there is no room.
    text(x, y, text, ink, name) {
      const at = `x="${x.toFixed(2)}" y="${y + 4}"`;
      if (text) parts.push(`<text ${at} fill="${ink}">${escaped(text)}</text>`);
      if (text !== name) parts.push(`<text ${at} fill="none" pointer-events="none">${escaped(name)}</text>`);
    },
  };
}

// Setting a canvas's size clears it, even if the size is the same.
export function fit(canvas: HTMLCanvasElement, width: number, height: number) {
  if (canvas.width !== Math.floor(width)) canvas.width = width;
  if (canvas.height !== Math.floor(height)) canvas.height = height;
}

interface Look {
  width: number;
  height: number; // of the whole picture, or of the visible part
  top: number; // of the visible part
  part: Part; // of the width, that is visible
  levels: number;
  up: boolean; // flames grow upwards, icicles hang
  dark: boolean;
  find: RegExp | null;
  chosen: Frame | null;
  by: ColourBy;
  most: number; // the largest self figure
}

function yOf(frame: Frame, look: Look): number {
  return (look.up ? look.levels - 1 - frame.depth : frame.depth) * ROW - look.top;
}

// Calls from further down the stack came back to it, so paths through it are shorter than stacks were.
const isLedBack = (table: Frame["table"], row: Frame["row"]) => table.has("by_arcs") && table.at(row, "by_arcs") !== null;

// The file says what a function cost its callers, and not on which paths.
const isEstimated = (table: Frame["table"], row: Frame["row"]) => table.has("estimated") && table.at(row, "estimated") !== null;

const WIDEST = 1.7; // letter, of an average one

// As much of its name as there is room for; whole, it may be a single letter.
export function textOf(f: Frame, room: number, letter: number, measure: (text: string) => number): string {
  const marks = `${isLedBack(f.table, f.row) ? "↺ " : ""}${isEstimated(f.table, f.row) ? "≈ " : ""}`;
  const block = blockOf(f.table, f.row);
  const nameless = block.module && f.name.startsWith(block.module + "+0x"); // its colour says which module it is of
  const label = nameless ? f.name.slice(block.module.length) : labelOf(block);
  if (label.length < 4 && room > 0 && measure(marks + label) <= room) return marks + label;
  if (room <= 16) return "";
  for (let most = Math.floor(room / letter) - marks.length; most > 0; most--) {
    const text = marks + (nameless ? fitName(label, most) : fitLabel(block, most));
    if (text.length * WIDEST * letter > room && measure(text) > room) continue;
    return text.length > 4 || !text.includes("…") ? text : "";
  }
  return "";
}

// What its figures are called, in tips and in texts.
const figureWords = ({ sides: [a, b] }: Table): [string, string][] => [
  ["inclusive", "total"],
  ["self", "self"],
  ["calls", "calls"],
  ["total.a", `total ${a}`],
  ["total.b", `total ${b}`],
  ["self.a", `self ${a}`],
  ["self.b", `self ${b}`],
];

const unitOf = (table: Table, key: string) => (key === "calls" ? "" : (table.column(key)?.unit ?? ""));

export function describe(f: Frame): string {
  const { table, row } = f;
  const figures = figureWords(table)
    .filter(([k]) => table.at(row, k) !== null)
    .map(([k, word]) => {
      const of = table.number(row, k + "_share");
      if (k === "self" && table.number(row, k) === 0) return "self none";
      return `${word} ${k === "calls" ? group(table.text(row, k)) : amount(table.number(row, k), unitOf(table, k))}${of === null ? "" : ` (${share(of)})`}`;
    });
  const back = isLedBack(table, row) ? `, ${group(table.text(row, "by_arcs"))} of the calls by recursion that is folded` : "";
  return `${f.name}: ${figures.join(", ")}${isEstimated(table, row) ? ", a share that is estimated" : ""}${back}`;
}

function draw(frames: Frame[], look: Look, brush: Brush, measure: (text: string) => number) {
  const letter = measure("nnnnnnnnnn") / 10;
  const scale = look.width / (look.part.to - look.part.from);
  for (const f of frames) {
    const x = (f.left - look.part.from) * scale;
    const w = (f.right - f.left) * scale;
    const y = yOf(f, look);
    if (y + ROW < 0 || y > look.height || w < 0.4 || x > look.width || x + w < 0) continue;
    const hit = look.find !== null && f.colour !== "" && look.find.test(f.name);
    const paint = look.find !== null && !hit ? faintPaint(look.dark) : paintOf(f, look.by, look.most, look.dark);
    const edge = f === look.chosen ? (look.dark ? "#fff" : "#000") : hit ? "#c2185b" : null;
    brush.rect(x, y, Math.max(w - 1, 0.5), ROW - 1, paint.fill, edge, () => describe(f));
    const begin = Math.max(0, x);
    brush.text(begin + 4, y + ROW / 2, textOf(f, Math.min(look.width, x + w) - begin - 8, letter, measure), paint.ink, f.name);
  }
}

function svgOf(frames: Frame[], look: Look, measure: (text: string) => number): string {
  const parts: string[] = [];
  const height = look.levels * ROW;
  draw(frames, { ...look, top: 0, height, part: ALL }, svgBrush(parts), measure);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${look.width}" height="${height}" ` +
    `font-family="system-ui,sans-serif" font-size="12">${parts.join("")}</svg>\n`
  );
}

interface Props {
  frames: Frame[];
  up: boolean;
  label: string;
  context?: string; // the one that is opened; without: the first one
  busy?: boolean;
  by?: ColourBy;
  figure?: string; // that widths are of
  stem?: boolean; // are functions that all is in folded into one line?
  part?: Part; // of the width, that is in sight; without: the graph knows it by itself
  onPart?(part: Part): void;
  onOpen(frame: Frame): void;
  onLeave?: () => void; // one level out
}

const ABOVE = 3; // frames that stay in sight above the one that is opened

export function Flame({ frames: all, up, label, context = "", busy, by = "module", figure: key = "inclusive", stem: folds = false, part: given, onPart, onOpen, onLeave }: Props) {
  const shell = useShell();
  const [own, setOwn] = useState(ALL);
  const part = given ?? own;
  const latest = useRef(part); // several events may come before the graph is drawn again
  latest.current = part;
  const setPart = (to: Part) => {
    latest.current = to;
    (onPart ?? setOwn)(to);
  };
  useEffect(() => setOwn(ALL), [label, all[0]?.name]); // another graph
  const [unfolded, unfold] = useState(false);
  const stem = useMemo(() => (folds && !unfolded ? stemOf(all) : 0), [all, folds, unfolded]);
  const frames = useMemo(() => (stem ? all.filter((f) => f.depth >= stem).map((f) => ({ ...f, depth: f.depth - stem })) : all), [all, stem]);
  const most = useMemo(() => hottest(frames), [frames]);
  const scale = useMemo(() => scaleOf(frames, key, context), [frames, key, context]);
  const dark = useDark();
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const figure = useRef<HTMLElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, height } = useSize(box);
  const [top, setTop] = useState(0);
  const [chosen, choose] = useState<Frame | null>(null);
  const [tip, setTip] = useState<{ frame: Frame; x: number; y: number } | null>(null);

  const levels = useMemo(() => frames.reduce((most, f) => Math.max(most, f.depth + 1), 1), [frames]);
  const rowsOf = useMemo(() => {
    const by: Frame[][] = [];
    for (const f of frames) (by[f.depth] ??= []).push(f);
    for (const row of by) row?.sort((a, b) => a.left - b.left);
    return by;
  }, [frames]);
  const look: Look = { width, height, top, part, levels, up, dark, find: shell.find, chosen, by, most };

  const zoomedIn = !isWhole(part);
  const marks = useMemo(() => (zoomedIn ? frames.filter((f) => f.right - f.left > 0.0005).map((f) => ({ left: f.left, right: f.right, depth: f.depth, fill: paintOf(f, by, most, dark).fill })) : []), [zoomedIn, frames, by, most, dark]);

  // What is chosen stays so while more is learned about it.
  useLayoutEffect(() => {
    const again = (before: Frame) => (pathOf(before) && frames.find((f) => f.colour && pathOf(f) === pathOf(before))) || null;
    choose((before) => before && again(before));
    setTip((before) => {
      const frame = before && again(before.frame);
      return frame ? { ...before, frame } : null;
    });
  }, [frames]);
  // The one that is opened is chosen, as soon as it is there.
  const lastOpened = useRef("");
  useLayoutEffect(() => {
    if (context === lastOpened.current) return;
    const whole = context ? frames.find((f) => isOfContext(f, context)) : null;
    if (whole) choose(whole);
    if (whole || !context) lastOpened.current = context;
  }, [context, frames]);
  useLayoutEffect(() => {
    const whole = context && frames.find((f) => isOfContext(f, context));
    const above = whole ? Math.max(0, whole.depth - ABOVE) * ROW : 0;
    if (box) box.scrollTop = up ? box.scrollHeight - box.clientHeight - above : above;
  }, [context, up, box, !frames.length]);

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    fit(element, width * ratio, height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(frames, look, canvasBrush(context), (t) => context.measureText(t).width);
  }, [frames, width, height, top, part, levels, up, dark, shell.find, chosen, by, most]);

  // Enter and Shift-Enter go through the hits.
  const hits = useMemo(() => frames.filter((f) => f.colour && shell.find?.test(f.name)), [shell.find, frames]);
  const hit = shell.hit && shell.hit.element === figure.current ? hits[shell.hit.index] : undefined;
  useEffect(() => {
    if (hit) show(hit);
  }, [hit]);

  function show(f: Frame) {
    choose(f);
    if (!isWhole(part)) setPart(withIn(part, f.left, f.right));
    if (!box) return;
    const y = yOf(f, { ...look, top: 0 });
    if (y < box.scrollTop) box.scrollTop = y;
    if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight;
  }

  // Where it is in the whole width.
  const placeOf = (e: MouseEvent, r: DOMRect) => part.from + ((e.clientX - r.left) / width) * (part.to - part.from);

  function at(e: MouseEvent): Frame | null {
    const r = canvas.current!.getBoundingClientRect();
    const line = Math.floor((e.clientY - r.top + top) / ROW);
    const depth = up ? levels - 1 - line : line;
    const x = placeOf(e, r);
    return rowsOf[depth]?.find((f) => x >= f.left && x < f.right) ?? null;
  }

  function near(from: Frame, key: string): Frame | undefined {
    const deeper = up ? "ArrowUp" : "ArrowDown";
    const same = rowsOf[from.depth] ?? [];
    const index = same.indexOf(from);
    if (key === "ArrowLeft") return same[index - 1];
    if (key === "ArrowRight") return same[index + 1];
    if (key === deeper) {
      const below = (rowsOf[from.depth + 1] ?? []).filter((f) => isIn(f, from));
      return below.reduce<Frame | undefined>((a, b) => (a && a.right - a.left >= b.right - b.left ? a : b), undefined);
    }
    return (rowsOf[from.depth - 1] ?? []).find((f) => isIn(from, f));
  }

  // With Ctrl, or by two fingers, the wheel zooms around what is below the pointer; when all is in
  // sight it leaves the frame that is opened.  Sideways it moves.
  const wheel = useRef<(e: WheelEvent) => void>(() => undefined);
  const turned = useRef(0);
  wheel.current = (e) => {
    const aside = Math.abs(e.deltaX) > Math.abs(e.deltaY);
    const before = latest.current;
    if (!e.ctrlKey && !(aside && !isWhole(before))) return;
    e.preventDefault();
    if (aside) setPart(moved(before, e.deltaX / width));
    else if (e.deltaY < 0 || !isWhole(before)) setPart(zoomed(before, Math.exp(-Math.max(-200, Math.min(200, e.deltaY)) * 0.004), placeOf(e, canvas.current!.getBoundingClientRect())));
    else if (e.deltaY && e.timeStamp - turned.current > 180) {
      turned.current = e.timeStamp;
      onLeave?.();
    }
  };
  const dragged = useDrag(box, latest, width, setPart);
  // By a step, around the frame that is chosen.
  const step = (by: number) => {
    const { current: part } = latest;
    const middle = chosen ? (Math.max(chosen.left, part.from) + Math.min(chosen.right, part.to)) / 2 : 0.5;
    setPart(zoomed(part, by, middle > part.from && middle < part.to ? middle : (part.from + part.to) / 2));
  };
  useEffect(() => {
    if (!box) return undefined;
    const listen = (e: WheelEvent) => wheel.current(e);
    box.addEventListener("wheel", listen, { passive: false });
    return () => box.removeEventListener("wheel", listen);
  }, [box]);

  const letters: Record<string, string> = { w: "ArrowUp", a: "ArrowLeft", s: "ArrowDown", d: "ArrowRight" };
  function onKey(e: KeyboardEvent) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const key = letters[e.key] ?? e.key;
    const from = chosen ?? frames[0];
    if (!from) return;
    if (e.shiftKey && (key === "ArrowLeft" || key === "ArrowRight")) {
      setPart(moved(latest.current, key === "ArrowLeft" ? -0.2 : 0.2));
    } else if (key === "+" || key === "=") {
      step(1.5);
    } else if (key === "-") {
      step(1 / 1.5);
    } else if (key === "0") {
      setPart(ALL);
    } else if (key.startsWith("Arrow")) {
      const to = chosen ? near(from, key) : from;
      if (to) show(to);
    } else if (key === "Enter" && chosen) {
      onOpen(chosen);
    } else if ((key === "Backspace" || key === "Escape") && onLeave) {
      onLeave();
    } else if (key === "m" && chosen?.colour) {
      const r = canvas.current!.getBoundingClientRect();
      shell.openMenu({ block: blockOf(chosen.table, chosen.row), x: r.left + Math.max(0, (chosen.left - part.from) / (part.to - part.from)) * width, y: r.top + yOf(chosen, look) + ROW });
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  }

  const measure = (t: string) => canvas.current?.getContext("2d")?.measureText(t).width ?? 0;
  return (
    <figure ref={figure} class={"flame" + (busy ? " busy" : "")} data-hits={hits.length}>
      {stem ? <Stem frames={all.filter((f) => f.depth < stem && f.colour && f.right - f.left > WHOLE)} show={() => unfold(true)} /> : null}
      <Axis scale={scale} part={part} width={width} measure={measure} />
      <div
        ref={setBox}
        class="sheet"
        tabIndex={0}
        role="application"
        aria-label={`${label}. Arrow keys choose a frame, Enter opens it, Backspace leaves it, m shows its menu. Plus and minus zoom, Shift and arrow keys move, 0 shows all.`}
        style={{ height: `${Math.min(levels * ROW + 4, Math.max(240, window.innerHeight - 215))}px` }}
        onScroll={(e) => setTop(e.currentTarget.scrollTop)}
        onKeyDown={onKey}
      >
        <div class="whole" style={{ height: `${levels * ROW}px` }}>
          <canvas
            ref={canvas}
            style={{ width: `${width}px`, height: `${height}px`, touchAction: zoomedIn ? "pan-y" : undefined }}
            onMouseMove={(e) => {
              const frame = at(e);
              setTip(frame ? { frame, x: e.clientX, y: e.clientY } : null);
            }}
            onMouseLeave={() => setTip(null)}
            onClick={(e) => {
              const frame = at(e);
              if (!frame || dragged.current) return;
              choose(frame);
              onOpen(frame);
            }}
            onContextMenu={(e) => {
              const frame = at(e);
              if (!frame?.colour) return;
              e.preventDefault();
              shell.openMenu({ block: blockOf(frame.table, frame.row), x: e.clientX, y: e.clientY });
            }}
          />
        </div>
      </div>
      {isWhole(part) ? null : <PartMap marks={marks} levels={levels} up={up} part={part} onMove={setPart} />}
      <div class="tools">
        <figcaption aria-live="polite">{chosen ? describe(chosen) : label}</figcaption>
        {chosen?.colour ? (
          <button
            onClick={(e) => {
              const r = e.currentTarget.getBoundingClientRect();
              shell.openMenu({ block: blockOf(chosen.table, chosen.row), x: r.left, y: r.bottom });
            }}
          >
            what to do with it
          </button>
        ) : null}
        {isWhole(part) ? null : <button onClick={() => setPart(ALL)}>all</button>}
        <button aria-label="zoom out" disabled={isWhole(part)} onClick={() => step(1 / 2)}>−</button>
        <button aria-label="zoom in" onClick={() => step(2)}>+</button>
        <button onClick={() => save("flame.svg", new Blob([svgOf(frames, look, measure)], { type: "image/svg+xml" }))}>save SVG</button>
        <button onClick={() => canvas.current?.toBlob((b) => b && save("flame.png", b))}>save PNG</button>
      </div>
      {by === "module" ? <Legend frames={frames} dark={dark} /> : null}
      {tip ? <Tip {...tip} /> : null}
    </figure>
  );
}

// The functions that all is in, in one line.
function Stem({ frames, show }: { frames: Frame[]; show: () => void }) {
  const names = frames.map((f) => labelOf(blockOf(f.table, f.row)));
  return (
    <button class="stem" title={names.join("\n")} aria-label={`show ${names.length} functions that all is in`} onClick={show}>
      {`${names.length} levels of 100 %: ${names.slice(-3).map((n) => fitName(n, 40)).join(" › ")} ›`}
    </button>
  );
}

const FIFTHS = [0, 0.2, 0.4, 0.6, 0.8, 1];
const APART = 10; // pixels, at least, between two labels,
const SIZE = 0.92; // whose letters are so much of those of frames
const ROUGH = 100; // a figure below this is not rounded to a whole one

interface Scale {
  table: Table;
  key: string; // the figure that widths are of
  all: number; // what the whole width has of it; 0: unknown
  share: number; // and its share of the total
}

// By one frame: the opened one, which is as wide as all, or the first one.
function scaleOf(frames: Frame[], key: string, context: string): Scale | null {
  const counts = (f: Frame) => f.row.role === "entry" && f.right > f.left;
  const frame = frames.find((f) => context && counts(f) && isOfContext(f, context)) ?? frames.find(counts) ?? frames[0];
  if (!frame) return null;
  const { table, row } = frame;
  const whole = (of: string) => (counts(frame) ? (table.number(row, of) ?? 0) / (frame.right - frame.left) : 0);
  return { table, key, all: whole(key), share: table.has(key + "_share") ? whole(key + "_share") : 1 };
}

// Shares of the total, and the figures that they are.
function Axis({ scale, part, width: pixels, measure }: { scale: Scale | null; part: Part; width: number; measure: (text: string) => number }) {
  if (!scale) return null;
  const { table, key, all, share } = scale;
  const size = part.to - part.from;
  const whole = Math.abs(share - 1) < 5e-5; // sums of shares are not exact
  const digits = Math.max(whole ? 0 : 2, Math.ceil(-Math.log10(size * share * 1.001)));
  const text = (t: number) => {
    const place = part.from + t * size;
    const figure = all * place;
    const percent = `${(place * (whole ? 100 : 100 * share)).toFixed(place ? digits : 0)} %`;
    return all && place ? `${percent}  ${amount(Number(figure.toFixed(Math.abs(figure) < ROUGH ? 3 : 0)), unitOf(table, key))}` : percent;
  };
  // The last label ends where the others begin, at its place, so two share the last part.
  const isRoomy = (places: number[]) => places.slice(1).every((t, i) => SIZE * measure(text(places[i]!) + (t === 1 ? text(t) : "")) + APART < pixels * (t - places[i]!));
  const places = !pixels ? FIFTHS : ([FIFTHS, [0, 0.5, 1]].find(isRoomy) ?? [0, 1]);
  return (
    <div class="axis" aria-hidden="true">
      {places.map((t) => (
        <span style={{ left: `${t * 100}%` }}>{text(t)}</span>
      ))}
    </div>
  );
}

const LEGEND = 8; // modules

// The modules with the largest self figures, in their colours; a click filters by one.
function Legend({ frames, dark }: { frames: Frame[]; dark: boolean }) {
  const shell = useShell();
  const modules = useMemo(() => {
    const sums = new Map<string, number>();
    for (const f of frames) {
      const module = f.colour && moduleName(f.table.text(f.row, "module"));
      if (module) sums.set(module, (sums.get(module) ?? 0) + (f.table.number(f.row, "self") ?? 0));
    }
    return [...sums].sort((a, b) => b[1] - a[1]).slice(0, LEGEND).map(([module]) => module);
  }, [frames]);
  if (modules.length < 2) return null;
  return (
    <ul class="legend" aria-label="modules">
      {modules.map((m) => (
        <li>
          <button title={`only paths through ${m}`} onClick={() => shell.go(addFilter(shell.state, "select", `${exactly(m)}:*`))}>
            <span class="patch" style={{ background: modulePaint(m, m, dark).fill, borderColor: "transparent" }} />
            {` ${m}`}
          </button>
        </li>
      ))}
    </ul>
  );
}

function Tip({ frame, x, y }: { frame: Frame; x: number; y: number }) {
  const { table, row } = frame;
  const lines: [string, string][] = [];
  for (const [key, word] of figureWords(table)) {
    const value = table.at(row, key);
    if (value === null) continue;
    if (key === "self" && Number(value) === 0) {
      lines.push([word, "none"]);
      continue;
    }
    const of = table.number(row, key + "_share");
    const low = table.number(row, key + "_low");
    const unit = unitOf(table, key);
    const short = amount(Number(value), unit);
    const whole = exact(value, unit);
    const told = short.replace(/\s/g, "") === whole.replace(/\s/g, "") ? whole : `${short} = ${whole}`;
    lines.push([word, told + (of === null ? "" : `  (${share(of)})`)]);
    if (low !== null && low < Number(value)) lines.push(["", `at least ${amount(low, table.unit)}`]);
  }
  const where = place(table, row);
  return (
    <div class="tip" style={{ left: `${Math.max(4, Math.min(x + 14, window.innerWidth - 380))}px`, top: `${Math.min(y + 16, window.innerHeight - 130)}px` }}>
      <strong>{shorten(frame.name, 200)}</strong>
      {where ? <div class="place">{where}</div> : null}
      {lines.map(([k, v]) => (
        <div>
          <span class="key">{k}</span> {v}
        </div>
      ))}
    </div>
  );
}
