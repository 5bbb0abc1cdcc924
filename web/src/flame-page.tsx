// SPDX-License-Identifier: MIT
// flame-page.tsx - the page of the flame graph: contexts from the root, or from one that is opened.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { addressOfFrame, finest, Flame, frameOf, FRAMES, isOfContext, layOut, opened, type Frame, type Order } from "./flame";
import type { ColourBy } from "./colours";
import type { Row, Table } from "./model";
import { isWhole, partOf, partText, WHOLE, type Part } from "./part";
import { Answer, Choice } from "./parts";
import { useShell, useTable } from "./shell";
import { parse, query, replace, withWords, type State } from "./state";

// What is to be seen of a context, by what there is of it: until the engine has answered all
// that is asked, the frames before it at their final positions.
function framesOf(table: Table, path: Table | null, context: string, before: Frame[], order: Order): Frame[] {
  const rows = path?.rows.filter((r) => r.role === "entry") ?? [];
  const begin = table.rows[0];
  const end = rows[rows.length - 1];
  const isThere = (of: Table, row: Row | undefined) => row !== undefined && isOfContext(frameOf(of, row, 0, 0, 1), context);
  if (begin ? !isThere(table, begin) : context && context !== "0") return opened(before, context);
  if (end ? !isThere(path!, end) : context && context !== "0") return opened(before, context);
  const above = rows.slice(0, -1).map((row, depth) => frameOf(path!, row, depth, 0, 1));
  return [...above, ...layOut(table, table.rows, "inclusive", above.length, order)];
}

/* ── The part that is in sight ────────────────────────────────────────────────────── */

const PAUSE = 250; // ms without a movement

// The part of the address, and what it is while it moves.
function usePart(word: string): [Part, Part, (part: Part) => void] {
  const [part, set] = useState(() => partOf(word));
  const [rested, rest] = useState(part);
  const timer = useRef(0);
  useEffect(() => {
    if (word === partText(part)) return;
    set(partOf(word));
    rest(partOf(word));
  }, [word]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const move = (to: Part) => {
    set(to);
    clearTimeout(timer.current);
    const from = location.hash;
    timer.current = window.setTimeout(() => {
      rest(to);
      if (location.hash === from) replace(withWords(parse(from), { zoom: partText(to) })); // it is still that graph
    }, PAUSE);
  };
  return [part, rested, move];
}

// The innermost frame that has all of the part.
function around(frames: Frame[], part: Part): Frame | null {
  if (isWhole(part)) return null;
  let found: Frame | null = null;
  for (const f of frames) if (f.colour && f.left <= part.from + 1e-9 && f.right >= part.to - 1e-9 && (!found || f.depth > found.depth)) found = f;
  return found;
}

// How fine the graph is asked for, in steps: a small movement asks for nothing new.
const finer = (times: number) => finest() / Math.min(64, 2 ** Math.max(0, Math.ceil(Math.log2(times) - 1e-9)));

// With what there is in a frame, as it was asked for, at its place.
function detailed(frames: Frame[], of: Frame, table: Table, order: Order): Frame[] {
  const address = addressOfFrame(of);
  if (!table.rows[0] || !isOfContext(frameOf(table, table.rows[0], 0, 0, 1), address)) return frames;
  const width = of.right - of.left;
  const isInside = (f: Frame) => f.depth >= of.depth && f.left >= of.left - 1e-9 && f.right <= of.right + 1e-9;
  const inside = layOut(table, table.rows, "inclusive", of.depth, order).map((f) => ({ ...f, left: of.left + f.left * width, right: of.left + f.right * width }));
  return [...frames.filter((f) => !isInside(f)), ...inside];
}

const styleOf = (state: State) => (state.words.style === "flame" ? "flame" : "icicle");

const orderOf = (state: State): Order => (state.words.order === "name" ? "name" : "size");
const coloursOf = (state: State): ColourBy => (state.words.colour === "self" ? "self" : "module");

export function FlameTools() {
  const shell = useShell();
  const { state } = shell;
  return (
    <>
    <Choice
      label="direction"
      value={styleOf(state)}
      options={[
        ["icicle", "▾ down"],
        ["flame", "▴ up"],
      ]}
      onChange={(v) => shell.go(withWords(state, { style: v === "icicle" ? "" : v }))}
    />
    <select aria-label="order" value={orderOf(state)} onChange={(e) => shell.go(withWords(state, { order: e.currentTarget.value === "name" ? "name" : "" }))}>
      <option value="size">largest first</option>
      <option value="name">by name</option>
    </select>
    <select aria-label="colours" value={coloursOf(state)} onChange={(e) => shell.go(withWords(state, { colour: e.currentTarget.value === "self" ? "self" : "" }))}>
      <option value="module">colours: module</option>
      <option value="self">colours: self</option>
    </select>
    </>
  );
}

export function FlamePage() {
  const shell = useShell();
  const { state } = shell;
  const wanted = state.words.context ?? "";
  const words = { threshold: finest(), limit: FRAMES };
  const of = useTable(query(state, "flame", { ...words, context: wanted }));
  // Filters, or evictions of a live recording, may have taken away the context that is opened.
  const gone = wanted !== "" && of.error !== null;
  const whole = useTable(gone ? query(state, "flame", words) : null);
  const asked = gone ? whole : of;
  const context = gone ? "" : wanted;
  const path = useTable(context ? query(state, "tree", { to: context }) : null);
  const up = styleOf(state) === "flame";
  const order = orderOf(state);

  const last = useRef<Frame[]>([]);
  const frames = useMemo(() => {
    if (asked.table) last.current = framesOf(asked.table, path.table, context, last.current, order);
    return last.current;
  }, [asked.table, path.table, context, order]);

  const [part, rested, setPart] = usePart(state.words.zoom ?? "");
  const inner = useMemo(() => around(frames, rested), [frames, rested]);
  const details = useTable(inner ? query(state, "flame", { context: addressOfFrame(inner), limit: FRAMES, threshold: finer((inner.right - inner.left) / (rested.to - rested.from)).toFixed(9) }) : null);
  const shown = useMemo(() => (inner && details.table ? detailed(frames, inner, details.table, order) : frames), [frames, inner, details.table, order]);

  const open = (f: Frame) => {
    if (!f.colour) return;
    setPart(WHOLE);
    shell.go(withWords(state, { context: addressOfFrame(f), zoom: "" }));
  };
  const leave = () => {
    const rows = path.table?.rows.filter((r) => r.role === "entry") ?? [];
    const parent = rows[rows.length - 2];
    if (context) shell.go(withWords(state, { zoom: "", context: parent ? addressOfFrame(frameOf(path.table!, parent, rows.length - 2, 0, 1)) : "" }));
  };
  return (
    <section>
      {gone && whole.table ? (
        <p class="notice" role="status">
          The frame that was opened is not in what is shown now: filters changed its path, or it was evicted. All is shown.
        </p>
      ) : null}
      <Answer asked={asked}>
        {() => <Flame frames={shown} up={up} context={context} part={part} onPart={setPart} busy={asked.busy || details.busy} by={coloursOf(state)} stem={!context} label="As wide as its total, with all that it called" onOpen={open} onLeave={leave} />}
      </Answer>
    </section>
  );
}
