// SPDX-License-Identifier: MIT
// graph.tsx - the call graph, drawn: blocks as boxes, calls as arrows as wide as their cost.
import type dagre from "@dagrejs/dagre";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { amount, many, share } from "./format";
import type { Row, Table } from "./model";
import { addressOf, blockOf, fitLabel, labelOf, type Block } from "./names";
import { Answer, Choice } from "./parts";
import { save, useLibrary, useShell, useSize, useTable } from "./shell";
import { parse, query, replace, withView, withWords } from "./state";

const LETTERS = 40; // of a name, at most

interface Box {
  block: Block;
  name: string; // with the text that distinguishes it from others of its name
  row: Row;
  x: number;
  y: number;
  width: number;
  height: number;
  letters: number; // their size
}

interface Arrow {
  points: { x: number; y: number }[];
  row: Row;
  from: string;
  to: string;
  x: number; // the middle of its label
  y: number;
}

interface Drawing {
  left: string[]; // names of functions that everything is in, with almost no self figure
  boxes: Box[];
  arrows: Arrow[];
  width: number;
  height: number;
}

// Everything is in it, and it has almost no self figure: it shows nothing.
const isStem = (table: Table, row: Row) => (table.number(row, "inclusive_share") ?? 0) > 0.98 && (table.number(row, "self_share") ?? 0) < 0.001;

// The more a function costs itself, the larger its name.
const lettersOf = (table: Table, row: Row) => 12 + Math.round(12 * Math.sqrt(Math.min(0.5, table.number(row, "self_share") ?? 0)));

// Entries of the answer are boxes; what an entry called is an arrow when it is a box too.
function layOut(layouter: typeof dagre, table: Table): Drawing {
  const g = new layouter.graphlib.Graph({ multigraph: false });
  g.setGraph({ nodesep: 18, ranksep: 26, marginx: 12, marginy: 12 });
  g.setDefaultEdgeLabel(() => ({}));
  const entries = new Map<string, Row>();
  const left: string[] = [];
  for (const r of table.rows)
    if (r.role !== "entry") continue;
    else if (isStem(table, r)) left.push(table.text(r, "name"));
    else entries.set(table.text(r, "block"), r);
  for (const [block, row] of entries) {
    const name = fitLabel(blockOf(table, row), LETTERS);
    const letters = lettersOf(table, row);
    g.setNode(block, { row, letters, width: Math.max(112, name.length * letters * 0.62 + 24), height: letters * 1.3 + 28 });
  }
  const ofGroup = new Map([...entries].map(([block, row]) => [row.group, block]));
  for (const r of table.rows) {
    const from = ofGroup.get(r.group);
    const to = table.text(r, "block");
    if (r.role === "callee" && from && entries.has(to)) g.setEdge(from, to, { row: r, width: 44, height: 14, labelpos: "c" });
  }
  layouter.layout(g);
  const size = g.graph();
  return {
    left,
    width: size.width ?? 0,
    height: size.height ?? 0,
    boxes: g.nodes().map((id) => {
      const n = g.node(id) as unknown as Box;
      const block = blockOf(table, n.row);
      return { ...n, block, name: labelOf(block) };
    }),
    arrows: g.edges().map((e) => {
      const edge = g.edge(e) as unknown as Arrow;
      return { points: edge.points, row: edge.row, from: e.v, to: e.w, x: edge.x, y: edge.y };
    }),
  };
}

function pathOf(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!first) return "";
  let d = `M${first.x},${first.y}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const a = rest[i]!;
    const b = rest[i + 1]!;
    d += `Q${a.x},${a.y} ${(a.x + b.x) / 2},${(a.y + b.y) / 2}`;
  }
  const last = rest[rest.length - 1];
  return last ? d + `L${last.x},${last.y}` : d;
}

const BOXES = 30;

export function GraphTools() {
  const shell = useShell();
  const { state } = shell;
  return (
    <Choice
      label="functions"
      value={state.words.limit ?? String(BOXES)}
      options={[
        ["15", "15 functions"],
        ["30", "30"],
        ["60", "60"],
        ["120", "120"],
      ]}
      onChange={(v) => shell.go(withWords(state, { limit: v, at: "" }))}
    />
  );
}

const loadLayouter = () => import("@dagrejs/dagre").then((m) => m.default);

export function GraphPage() {
  const { state } = useShell();
  const layouter = useLibrary(loadLayouter);
  const asked = useTable(query(state, "graph", { limit: state.words.limit ?? BOXES }));
  return (
    <section>
      <Answer asked={asked}>{(table) => (layouter ? <Picture table={table} layouter={layouter} /> : <p class="waiting" aria-busy="true">…</p>)}</Answer>
    </section>
  );
}

interface View {
  x: number; // its middle
  y: number;
  scale: number; // pixels of a unit
}
interface Size {
  width: number;
  height: number;
}

const LEAST = 0.9; // pixels of a unit: letters of 11 pixels
const LARGEST = 1.4; // a few boxes are not as large as the window
const WHOLE = "whole"; // in the address: all of it, whatever the size of the window

// Nothing that is in the address depends on the size of the window.
const textOf = (v: View) => `${v.scale.toFixed(3)},${v.x.toFixed(1)},${v.y.toFixed(1)}`;

function viewOf(text: string): View | null {
  const [scale, x, y] = text.split(",").map(Number);
  return scale && scale > 0 && Number.isFinite(x) && Number.isFinite(y) ? { scale, x: x!, y: y! } : null;
}

const fitOf = (drawing: Size, size: Size) => Math.min(size.width / Math.max(drawing.width, 1), size.height / Math.max(drawing.height, 1));

const whole = (drawing: Size, size: Size): View => ({ scale: fitOf(drawing, size), x: drawing.width / 2, y: drawing.height / 2 });

// Where the middle is: at a place, but no side of the window stays empty for it.
const inside = (at: number, length: number, room: number) => (length <= room ? length / 2 : Math.max(room / 2, Math.min(length - room / 2, at)));

function readable(drawing: Drawing, size: Size, table: Table): View {
  const fit = fitOf(drawing, size);
  const scale = Math.min(Math.max(fit, LEAST), LARGEST);
  if (scale <= fit || !drawing.boxes.length) return { ...whole(drawing, size), scale };
  const most = drawing.boxes.reduce((a, b) => ((table.number(b.row, "self") ?? 0) > (table.number(a.row, "self") ?? 0) ? b : a));
  return { scale, x: inside(most.x, drawing.width, size.width / scale), y: inside(most.y, drawing.height, size.height / scale) };
}

function Picture({ table, layouter }: { table: Table; layouter: typeof dagre }) {
  const shell = useShell();
  const drawing = useMemo(() => layOut(layouter, table), [layouter, table]);
  const [svg, setSvg] = useState<SVGSVGElement | null>(null);
  const size = useSize(svg);
  const at = shell.state.words.at ?? "";
  const [moved, setMoved] = useState<View | null>(null); // until the address has it
  useEffect(() => setMoved(null), [at, drawing]);
  // Where it was moved to; or so large that it can be read, around the largest cost.
  const view = !size.width ? { scale: 1, x: 0, y: 0 } : (moved ?? (at === WHOLE ? whole(drawing, size) : (viewOf(at) ?? readable(drawing, size, table))));
  const latest = useRef(view);
  latest.current = view;
  const kept = useRef(0);
  useEffect(() => () => clearTimeout(kept.current), []);
  const look = (to: View) => {
    latest.current = to; // there may be another movement before it is drawn
    setMoved(to);
    clearTimeout(kept.current);
    kept.current = window.setTimeout(() => replace(withWords(parse(location.hash), { at: textOf(to) })), 300);
  };
  const drag = useRef<{ x: number; y: number } | null>(null);
  const dragged = useRef(false); // then its end opens nothing
  const width = size.width / view.scale;
  const height = size.height / view.scale;

  // Around a place of the window, from 0 to 1.
  const zoom = (by: number, cx = 0.5, cy = 0.5) => {
    const v = latest.current;
    const fit = fitOf(drawing, size);
    const scale = Math.max(Math.min(fit / 2, v.scale), Math.min(Math.max(40 * fit, v.scale), v.scale * by));
    const moves = 1 / v.scale - 1 / scale;
    look({ scale, x: v.x + size.width * (cx - 0.5) * moves, y: v.y + size.height * (cy - 0.5) * moves });
  };
  const move = (dx: number, dy: number) => look({ ...latest.current, x: latest.current.x + dx, y: latest.current.y + dy });

  // If not all of the picture is in sight, it moves to the hit.
  useEffect(() => {
    const hit = shell.hit?.element;
    const box = drawing.boxes[[...(svg?.querySelectorAll(".box") ?? [])].indexOf(hit as SVGElement)];
    if (box && latest.current.scale > fitOf(drawing, size)) setMoved({ ...latest.current, x: box.x, y: box.y });
  }, [shell.hit, drawing]);

  function onKey(e: KeyboardEvent) {
    const step = width / 10;
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "+" || e.key === "=") zoom(1.3);
    else if (e.key === "-") zoom(1 / 1.3);
    else if (e.key === "ArrowLeft" || e.key === "a") move(-step, 0);
    else if (e.key === "ArrowRight" || e.key === "d") move(step, 0);
    else if (e.key === "ArrowUp" || e.key === "w") move(0, -step);
    else if (e.key === "ArrowDown" || e.key === "s") move(0, step);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  function copyOf(): string {
    const copy = svg!.cloneNode(true) as SVGSVGElement;
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("viewBox", `0 0 ${drawing.width} ${drawing.height}`);
    copy.setAttribute("width", String(drawing.width));
    copy.setAttribute("height", String(drawing.height));
    copy.setAttribute("font-family", "system-ui,sans-serif");
    copy.setAttribute("font-size", "12");
    for (const [selector, style] of [
      ["rect", { stroke: "#667" }],
      ["path.arrow", { stroke: "#667", fill: "none" }],
      ["text", { fill: "#111" }],
    ] as const)
      for (const e of copy.querySelectorAll(selector)) for (const [k, v] of Object.entries(style)) e.setAttribute(k, v);
    return new XMLSerializer().serializeToString(copy);
  }

  function savePng() {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = drawing.width * 2;
      canvas.height = drawing.height * 2;
      const c = canvas.getContext("2d")!;
      c.fillStyle = "#fff";
      c.fillRect(0, 0, canvas.width, canvas.height);
      c.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((b) => b && save("graph.png", b));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(copyOf());
  }

  return (
    <figure class="graph">
      <svg
        ref={setSvg}
        tabindex={0}
        role="group"
        aria-label="Call graph. Plus and minus zoom, arrow keys move."
        viewBox={`${view.x - width / 2} ${view.y - height / 2} ${Math.max(width, 1)} ${Math.max(height, 1)}`}
        onKeyDown={onKey}
        onWheel={(e) => {
          const r = e.currentTarget.getBoundingClientRect();
          e.preventDefault();
          zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15, (e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
        }}
        onPointerDown={(e) => {
          drag.current = { x: e.clientX, y: e.clientY };
          dragged.current = false;
        }}
        onPointerMove={(e) => {
          if (!drag.current || !e.buttons) return;
          const dx = drag.current.x - e.clientX;
          const dy = drag.current.y - e.clientY;
          if (!dragged.current && Math.hypot(dx, dy) < 4) return;
          move(dx / view.scale, dy / view.scale);
          drag.current = { x: e.clientX, y: e.clientY };
          dragged.current = true;
        }}
        onPointerUp={() => (drag.current = null)}
      >
        <defs>
          <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto">
            <path d="M0,0L8,4L0,8z" class="head" />
          </marker>
        </defs>
        {drawing.arrows.map((a) => {
          const of = table.number(a.row, "inclusive_share") ?? 0;
          return (
            <g>
              <path class="arrow" d={pathOf(a.points)} stroke-width={1 + of * 6} stroke-opacity={0.35 + Math.min(0.6, of)} marker-end="url(#head)">
                <title>
                  {`${amount(table.number(a.row, "inclusive"), table.unit)} (${share(of)})${table.at(a.row, "calls") === null ? "" : `, ${table.text(a.row, "calls")} calls`}`}
                </title>
              </path>
              <text class="call" x={a.x} y={a.y + 4} text-anchor="middle">
                {`${(of * 100).toFixed(of < 0.1 ? 1 : 0)}\u202f%`}
              </text>
            </g>
          );
        })}
        {drawing.boxes.map((b) => {
          const self = table.number(b.row, "self_share") ?? 0;
          const hit = shell.find?.test(b.block.name);
          const open = () => shell.go(withView(shell.state, "block", { block: addressOf(b.block) }));
          return (
            <g
              class={"box" + (hit ? " hit" : "")}
              tabindex={0}
              role="link"
              aria-label={`${fitLabel(b.block, LETTERS)} ${share(self)} of ${share(table.number(b.row, "inclusive_share") ?? 0)}`}
              onClick={() => dragged.current || open()}
              onKeyDown={(e) => {
                if (e.key === "Enter") open();
                else if (e.key === "m") shell.openMenu({ block: b.block, x: e.currentTarget.getBoundingClientRect().left, y: e.currentTarget.getBoundingClientRect().bottom });
              }}
              onContextMenu={(e) => {
                e.preventDefault();
                shell.openMenu({ block: b.block, x: e.clientX, y: e.clientY });
              }}
            >
              <title>{b.name}</title>
              <rect
                x={b.x - b.width / 2}
                y={b.y - b.height / 2}
                width={b.width}
                height={b.height}
                rx={6}
                fill={`hsl(${40 - Math.min(1, self * 2) * 25} 85% ${96 - Math.min(1, Math.sqrt(self) * 1.2) * 30}%)`}
              />
              <text x={b.x} y={b.y + b.letters * 0.32 - 9} text-anchor="middle" style={{ fontSize: `${b.letters}px` }}>
                {fitLabel(b.block, LETTERS)}
              </text>
              <text x={b.x} y={b.y + b.height / 2 - 8} text-anchor="middle" class="small">
                {`${share(self)} of ${share(table.number(b.row, "inclusive_share") ?? 0)}`}
              </text>
            </g>
          );
        })}
      </svg>
      <div class="tools">
        <figcaption title={drawing.left.join("\n")}>{`${many(drawing.boxes.length, "function")}, ${many(drawing.arrows.length, "call")}${drawing.left.length ? `; left out: ${many(drawing.left.length, "function")} that all is in` : ""}. Each box has its self of its total share; an arrow is as wide as what its calls cost.`}</figcaption>
        <button aria-label="larger" onClick={() => zoom(1.3)}>+</button>
        <button aria-label="smaller" onClick={() => zoom(1 / 1.3)}>−</button>
        <button onClick={() => (clearTimeout(kept.current), shell.go(withWords(shell.state, { at: WHOLE })))}>whole</button>
        <button onClick={() => save("graph.svg", new Blob([copyOf()], { type: "image/svg+xml" }))}>save SVG</button>
        <button onClick={savePng}>save PNG</button>
      </div>
    </figure>
  );
}
