// SPDX-License-Identifier: MIT
// part.tsx - the part of a flame graph's width that is in sight: zooming, moving, the map of all.
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useSize } from "./shell";

export interface Part {
  from: number; // of 0 to 1
  to: number;
}

export const WHOLE: Part = { from: 0, to: 1 };
const LEAST = 1e-6; // of the width

export const isWhole = (part: Part) => part.from <= 0 && part.to >= 1;

function within(from: number, width: number): Part {
  const size = Math.max(LEAST, Math.min(1, width));
  const at = Math.max(0, Math.min(1 - size, from));
  return size > 0.9999 ? WHOLE : { from: at, to: at + size };
}

// By so many times, around a place of the whole that stays where it is.
export function zoomed(part: Part, by: number, around: number): Part {
  const width = Math.max(LEAST, (part.to - part.from) / by);
  const place = (around - part.from) / (part.to - part.from);
  return within(around - width * place, width);
}

// By a share of its own width.
export const moved = (part: Part, by: number) => within(part.from + (part.to - part.from) * by, part.to - part.from);

// As near as it is, with all of this in it, or as much as there is room for.
export function withIn(part: Part, left: number, right: number): Part {
  const width = part.to - part.from;
  if (right - left >= width) return left < part.to && right > part.from ? part : within(left, width);
  return left < part.from ? within(left, width) : right > part.to ? within(right - width, width) : part;
}

/* ── As a word of the address ─────────────────────────────────────────────────────── */

export const partText = (part: Part) => (isWhole(part) ? "" : `${part.from.toFixed(7)}..${part.to.toFixed(7)}`);

export function partOf(text: string | undefined): Part {
  const [from, to] = (text ?? "").split("..").map(Number);
  return from !== undefined && to !== undefined && from >= 0 && to > from && to <= 1 ? within(from, to - from) : WHOLE;
}

/* ── The map ──────────────────────────────────────────────────────────────────────── */

const HEIGHT = 36;

export interface Mark {
  left: number;
  right: number;
  depth: number;
  fill: string;
}

interface Props {
  marks: Mark[];
  levels: number;
  up: boolean;
  part: Part;
  onMove(part: Part): void;
}

function drawMarks(canvas: HTMLCanvasElement, width: number, { marks, levels, up }: Props) {
  const pen = canvas.getContext("2d")!;
  canvas.width = width;
  canvas.height = HEIGHT;
  const high = HEIGHT / levels;
  for (const m of marks) {
    pen.fillStyle = m.fill;
    pen.fillRect(m.left * width, (up ? levels - 1 - m.depth : m.depth) * high, Math.max(1, (m.right - m.left) * width), Math.max(1, high));
  }
}

// All of the graph, small, with what is in sight marked: it is dragged, or moved by arrow keys.
export function PartMap(props: Props) {
  const { part, onMove, marks, levels, up } = props;
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const canvas: RefObject<HTMLCanvasElement> = useRef(null);
  const { width } = useSize(box);
  useLayoutEffect(() => {
    if (canvas.current && width) drawMarks(canvas.current, width, props);
  }, [marks, levels, up, width]);
  const size = part.to - part.from;
  const go = (e: PointerEvent) => {
    const r = box!.getBoundingClientRect();
    onMove(within((e.clientX - r.left) / r.width - size / 2, size));
  };
  const digits = size < 0.05 ? 2 + Math.max(0, Math.ceil(-Math.log10(size * 100))) : 0; // so that a step changes the text
  const percent = (n: number) => `${(n * 100).toFixed(digits)}\u202f%`;
  return (
    <div
      ref={setBox}
      class="map"
      role="slider"
      tabIndex={0}
      aria-label="the part of the graph in sight"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round((part.from + part.to) * 50)}
      aria-valuetext={`${percent(part.from)} to ${percent(part.to)}`}
      onKeyDown={(e) => {
        const by = { ArrowLeft: -0.2, ArrowRight: 0.2, PageUp: -1, PageDown: 1, Home: -1e9, End: 1e9 }[e.key];
        if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
        onMove(moved(part, by));
        e.preventDefault();
        e.stopPropagation();
      }}
      onPointerDown={(e) => {
        e.currentTarget.setPointerCapture(e.pointerId);
        go(e);
      }}
      onPointerMove={(e) => e.currentTarget.hasPointerCapture(e.pointerId) && go(e)}
    >
      <canvas ref={canvas} aria-hidden="true" style={{ width: `${width}px`, height: `${HEIGHT}px` }} />
      <span style={{ left: `${part.from * 100}%`, width: `${Math.max(0.3, (part.to - part.from) * 100)}%` }} />
    </div>
  );
}

/* ── Dragging ─────────────────────────────────────────────────────────────────────── */

const NEAR = 4; // pixels: less is a click

// Drags what is in `box` up and down, and the part sideways.  Returns whether the last press was a
// drag, so that its end opens nothing.
export function useDrag(box: HTMLElement | null, part: RefObject<Part>, width: number, onMove: (part: Part) => void): RefObject<boolean> {
  const dragged = useRef(false);
  const now = useRef({ width, onMove });
  now.current = { width, onMove };
  useEffect(() => {
    if (!box) return undefined;
    let last: { x: number; y: number } | null = null;
    const down = (e: PointerEvent) => {
      last = e.button === 0 && e.pointerType !== "touch" ? { x: e.clientX, y: e.clientY } : null;
      if (e.pointerType === "touch" && !isWhole(part.current!)) last = { x: e.clientX, y: e.clientY };
      dragged.current = false;
    };
    const move = (e: PointerEvent) => {
      if (!last || !e.buttons) return;
      const dx = last.x - e.clientX;
      const dy = last.y - e.clientY;
      if (!dragged.current && Math.hypot(dx, dy) < NEAR) return;
      dragged.current = true;
      last = { x: e.clientX, y: e.clientY };
      if (e.pointerType !== "touch") box.scrollTop += dy;
      if (dx && !isWhole(part.current!)) now.current.onMove(moved(part.current!, dx / now.current.width));
    };
    const up = () => (last = null);
    box.addEventListener("pointerdown", down);
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", up);
    return () => {
      box.removeEventListener("pointerdown", down);
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", up);
    };
  }, [box]);
  return dragged;
}
