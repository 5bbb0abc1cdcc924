// SPDX-License-Identifier: MIT
// parts.tsx - what several pages show: waiting, errors, notes, a place for many rows.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Asked } from "./shell";
import { useShell, useTable } from "./shell";
import { cancelAnswers, CANCELLED, waits, type Table } from "./model";
import { group } from "./format";
import { fitName } from "./names";
import { besideOf, isFirst, query, replace, timeOf, withTime, withWords, type State } from "./state";

const ELSEWHERE = ["series", "other series", "spread only"]; // their page says it

function Notes({ table }: { table: Table }) {
  const notes = table.remarks.filter((r) => !ELSEWHERE.includes(r.kind));
  if (!notes.length) return null;
  return (
    <ul class="notes" aria-label="what this view cannot see">
      {notes.map((n) => (
        <li>{n.kind === "unmatched filter" ? `No function matches the filter ${n.arguments[0]}.` : n.text}</li>
      ))}
    </ul>
  );
}

const WHOLE_RUN = ["space", "slowest", "waits"]; // views of what is not kept by time

const LONG = 700; // ms: of shorter work nothing is said

// Says that an answer takes long; a click cancels it.
export function Working() {
  const [long, set] = useState(false);
  useEffect(() => {
    let timer = 0;
    waits.change = (some) => {
      clearTimeout(timer);
      if (some) timer = window.setTimeout(() => set(true), LONG);
      else set(false);
    };
    waits.change(waits.some()); // the first questions are older than this
    return () => {
      clearTimeout(timer);
      waits.change = () => {};
    };
  }, []);
  return (
    <span class="working" role="status">
      {long ? (
        <>
          working … <button onClick={cancelAnswers}>cancel</button>
        </>
      ) : null}
    </span>
  );
}

function Cancelled() {
  return (
    <div class="hint" role="status">
      <p>The work at this page was cancelled.</p>
      <button onClick={() => location.reload()}>do it again</button>
      {isFirst() ? null : <button onClick={() => history.back()}>go back</button>}
    </div>
  );
}

// Why there is no answer: it was cancelled, an error, or a metric that is not kept by time.
export function Failure({ error }: { error: string }) {
  const shell = useShell();
  const { state } = shell;
  const wanted = [state.words.metric ?? "", ...besideOf(state)].filter((m) => m);
  const asked = useTable(timeOf(state) && wanted.length ? query({ ...state, words: {} }, "header") : null);
  const missing = asked.table ? wanted.filter((m) => !asked.table!.metrics().includes(m)) : [];
  if (error === CANCELLED) return <Cancelled />;
  if (asked.busy) return <p class="waiting" aria-busy="true">…</p>;
  if (timeOf(state) && WHOLE_RUN.includes(state.view))
    return (
      <div class="hint" role="status">
        <p>A range of time has no figures here: those of this page are kept for all of the run.</p>
        <button onClick={() => shell.go(withTime(state, ""))}>show all of the run</button>
      </div>
    );
  if (!missing.length) return <p class="error" role="alert">{error}</p>;
  const without = { metric: missing.includes(state.words.metric ?? "") ? "" : state.words.metric!, beside: besideOf(state).filter((b) => !missing.includes(b)).join(",") };
  return (
    <div class="hint" role="status">
      <p>{`A range of time has no figures of ${missing.join(", ")}: the samples that are kept by time do not have them.`}</p>
      <button onClick={() => shell.go(withTime(state, ""))}>show all of the run</button>
      <button onClick={() => shell.go(withWords(state, without))}>{`show the range without ${missing.join(", ")}`}</button>
    </div>
  );
}

// The answer, or why there is none.
// `silent`: the same notes are elsewhere on the page.
export function Answer({ asked, silent, children }: { asked: Asked; silent?: boolean; children: (table: Table) => ComponentChildren }) {
  if (asked.error) return <Failure error={asked.error} />;
  if (!asked.table) return <p class="waiting" aria-busy="true">…</p>;
  return (
    <div class={asked.busy ? "answer busy" : "answer"} aria-busy={asked.busy}>
      {children(asked.table)}
      {silent ? null : <Notes table={asked.table} />}
    </div>
  );
}

// Is the table wider than its place?  Only then it scrolls by itself: otherwise its heading
// stays in sight as the page scrolls.
function useWide(): [(e: HTMLElement | null) => void, boolean] {
  const [box, set] = useState<HTMLElement | null>(null);
  const [wide, setWide] = useState(false);
  // At once, so that a page scrolls to a row where the table stays.
  useLayoutEffect(() => {
    const inner = box?.firstElementChild;
    if (!box || !inner) return undefined;
    const measure = () => setWide(inner.scrollWidth > box.clientWidth + 1);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    observer.observe(inner);
    return () => observer.disconnect();
  }, [box]);
  return [set, wide];
}

const HEADING = 160; // letters of a name

// The name of the function that the page is about; a long one is whole when it is asked for.
export function FunctionName({ name, link }: { name: string; link?: string }) {
  const short = fitName(name, HEADING);
  return (
    <>
      <h2>{link ? <a href={link}>{short}</a> : short}</h2>
      {short === name ? null : (
        <details class="whole-name">
          <summary>whole name</summary>
          <p>{name}</p>
        </details>
      )}
    </>
  );
}

export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  const [box, wide] = useWide();
  return (
    <div ref={box} class={wide ? "scroll wide" : "scroll"} {...(wide ? { tabIndex: 0, role: "region", "aria-label": label } : {})}>
      {children}
    </div>
  );
}

const ALL = 200_000; // rows on one page, at most

// How many rows are asked for, by the address.
export const limitOf = (state: State, limit: number) => (state.words.limit === "all" ? ALL : Number(state.words.limit) || limit);

// Which ones: as many, and as small.
export const rowsOf = (state: State, limit: number) => ({ limit: limitOf(state, limit), threshold: state.words.threshold ?? "" });

// Asks for more rows, or for all, where a limit or their size left some out.
export function More({ table, limit, all = true }: { table: Table; limit: number; all?: boolean }) {
  const shell = useShell();
  const isSmall = (row: Table["rows"][number]) => row.role === "remainder" && (row.left ?? 0) > 0;
  const left = table.left;
  const shown = table.rows.filter((r) => r.role !== "remainder" && r.role !== "total").length;
  const show = (words: Record<string, string>) => shell.go(withWords(shell.state, words));
  if (limit >= ALL || !table.rows.some(isSmall) || (!all && !(left && shown >= limit))) return null;
  return (
    <p class="more-rows">
      {left && shown >= limit ? <button onClick={() => show({ limit: String(limit * 4) })}>show more ({group(String(left))} left)</button> : null}
      {all ? <button onClick={() => show({ limit: String(ALL), threshold: "0" })}>show all</button> : null}
    </p>
  );
}

export function Choice({ label, value, options, onChange }: { label: string; value: string; options: [string, string][]; onChange: (v: string) => void }) {
  const known = options.some(([v]) => v === value);
  const onKey = (e: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
    const buttons = [...(e.currentTarget as HTMLElement).querySelectorAll("button")];
    const to = (buttons.indexOf(document.activeElement as HTMLButtonElement) + by + options.length) % options.length;
    buttons[to]?.focus();
    onChange(options[to]![0]);
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div class="choice" role="radiogroup" aria-label={label} onKeyDown={onKey}>
      {options.map(([v, text], i) => (
        <button role="radio" tabIndex={v === value || (!known && !i) ? 0 : -1} aria-checked={v === value} class={v === value ? "on" : ""} onClick={() => onChange(v)}>
          {text}
        </button>
      ))}
    </div>
  );
}

// A place between 0 and `most`; what it leads to is one step back in the history, however far
// it is dragged.
export function Slider({ label, most, value, text, onMove }: { label: string; most: number; value: number; text: string; onMove: (v: number) => State }) {
  const shell = useShell();
  const moving = useRef(false);
  return (
    <input
      type="range"
      min={0}
      max={most}
      value={value}
      aria-label={label}
      aria-valuetext={text}
      onInput={(e) => {
        const to = onMove(Number(e.currentTarget.value));
        if (moving.current) replace(to);
        else shell.go(to);
        moving.current = true;
      }}
      onChange={() => (moving.current = false)}
    />
  );
}
