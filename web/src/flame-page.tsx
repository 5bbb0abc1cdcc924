// SPDX-License-Identifier: MIT
// flame-page.tsx - the page of the flame graph: contexts from the root, or from one that is opened.
import { useMemo, useRef } from "preact/hooks";
import { addressOfFrame, finest, Flame, frameOf, FRAMES, isOfContext, layOut, opened, type Frame, type Order } from "./flame";
import type { ColourBy } from "./colours";
import type { Row, Table } from "./model";
import { Answer, Choice } from "./parts";
import { useShell, useTable } from "./shell";
import { query, withWords, type State } from "./state";

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
  const part = useTable(query(state, "flame", { ...words, context: wanted }));
  // Filters, or evictions of a live recording, may have taken away the context that is opened.
  const gone = wanted !== "" && part.error !== null;
  const whole = useTable(gone ? query(state, "flame", words) : null);
  const asked = gone ? whole : part;
  const context = gone ? "" : wanted;
  const path = useTable(context ? query(state, "tree", { to: context }) : null);
  const up = styleOf(state) === "flame";
  const order = orderOf(state);

  const last = useRef<Frame[]>([]);
  const frames = useMemo(() => {
    if (asked.table) last.current = framesOf(asked.table, path.table, context, last.current, order);
    return last.current;
  }, [asked.table, path.table, context, order]);

  const open = (f: Frame) => {
    if (f.colour) shell.go(withWords(state, { context: addressOfFrame(f) }));
  };
  const leave = () => {
    const rows = path.table?.rows.filter((r) => r.role === "entry") ?? [];
    const parent = rows[rows.length - 2];
    if (context) shell.go(withWords(state, { context: parent ? addressOfFrame(frameOf(path.table!, parent, rows.length - 2, 0, 1)) : "" }));
  };
  return (
    <section>
      {gone && whole.table ? (
        <p class="notice" role="status">
          The frame that was opened is not in what is shown now: filters changed its path, or it was evicted. All is shown.
        </p>
      ) : null}
      <Answer asked={asked}>
        {() => <Flame frames={frames} up={up} context={context} busy={asked.busy} by={coloursOf(state)} stem={!context} label="As wide as its total, with all that it called" onOpen={open} onLeave={leave} />}
      </Answer>
    </section>
  );
}
