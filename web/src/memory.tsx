// SPDX-License-Identifier: MIT
// memory.tsx - the page of what was allocated: by function, by type and generation, and weighted
// against time.
import { useMemo } from "preact/hooks";
import { literally } from "./expression";
import { allocators } from "./allocators";
import { share } from "./format";
import type { Table } from "./model";
import { addressOf, blockOf, fitName, labelOf, type Block } from "./names";
import { Answer, Choice, More, rowsOf, Slider } from "./parts";
import { useShell, useTable } from "./shell";
import { addFilter, exactly, query, withWords } from "./state";
import { BlockName, Figures } from "./table";

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
        memory
        <Slider
          label="weight of time against memory"
          most={100}
          value={Math.round(weight * 100)}
          text={`${Math.round(weight * 100)} % time`}
          onMove={(v) => withWords(state, { weight: String(v) })}
        />
        time
      </label>
      <table aria-label="time and memory, weighted">
        <tbody>
          {bars.map((b) => (
            <tr>
              <td class="name">
                <BlockName block={b.block} />
                {b.block.apart ? <small class="place">{b.block.apart}</small> : null}
              </td>
              <td class="twin" title={`time ${share(b.time)}, memory ${share(b.space)}`}>
                <span class="time" style={{ width: `${((b.time * weight) / most) * 100}%` }} />
                <span class="space" style={{ width: `${((b.space * (1 - weight)) / most) * 100}%` }} />
              </td>
              <td class="figure">{share(b.time)} time</td>
              <td class="figure">{share(b.space)} memory</td>
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

const MOST = 0.5; // of all bytes: a function that has more may be an allocator's wrapper

const MERGED = 8; // names in one filter
const LONGEST = 900; // characters of its pattern: the engine takes 1000

// The first names that fit into one pattern.
function fitting(names: string[]): string[] {
  let length = 0;
  return names.slice(0, MERGED).filter((n, i) => (length += new TextEncoder().encode(literally(n)).length + 1) <= LONGEST || i === 0);
}

// Offers to merge functions into their callers: known wrappers, and else one through which most is
// allocated.
function Wrapper({ table }: { table: Table }) {
  const shell = useShell();
  const entries = table.rows.filter((r) => r.role === "entry");
  const names = fitting([...new Set(entries.map((r) => blockOf(table, r).name))].filter((n) => allocators.test(n)));
  const merge = (pattern: string) => () => shell.go(addFilter(shell.state, "fold", pattern));
  if (names.length) {
    const one = names.length === 1;
    return (
      <p class="wrapper">
        {`${names.slice(0, 3).map((n) => fitName(n)).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""} ${one ? "allocates for its" : "allocate for their"} callers. `}
        <button onClick={merge(one ? exactly(names[0]!) : `/^(${names.map(literally).join("|")})$/`)}>{one ? "merge it into its callers" : "merge them into their callers"}</button>
      </p>
    );
  }
  const row = entries.reduce<(typeof entries)[0] | null>((a, b) => ((table.number(b, "share") ?? 0) > (a ? (table.number(a, "share") ?? 0) : 0) ? b : a), null);
  const of = row ? (table.number(row, "share") ?? 0) : 0;
  if (!row || of < MOST) return null;
  const block = blockOf(table, row);
  return (
    <p class="wrapper">
      {`${fitName(labelOf(block))} allocated ${share(of)} of all bytes. If it allocates for its callers, `}
      <button onClick={merge(addressOf(block))}>merge it into them</button>
    </p>
  );
}

function useAsked() {
  const { state } = useShell();
  const wanted = state.words.by ?? "";
  const asked = useTable(wanted === "weighted" ? null : query(state, "space", { by: wanted, ...rowsOf(state, 60), sort: state.words.sort ?? "" }));
  // When nothing is said, an allocator's events are shown by function, which alone has a peak.
  return { asked, by: wanted || (asked.table?.has("peak") ? "block" : "type") };
}

export function MemoryTools() {
  const shell = useShell();
  const { state } = shell;
  const { by } = useAsked();
  const { table: header } = useTable("view=header");
  const hasTime = header?.metrics().includes("time") ?? false;
  return (
    <Choice
      label="by"
      value={by}
      options={[
        ["block", "functions"],
        ["type", "types"],
        ["generation", "generations"],
        ["both", "types and generations"],
        ...(hasTime ? [["weighted", "time and memory"] as [string, string]] : []),
      ]}
      onChange={(v) => shell.go(withWords(state, { by: v, sort: "" }))}
    />
  );
}

export function MemoryPage() {
  const { asked, by } = useAsked();
  const { limit } = rowsOf(useShell().state, 60);
  return (
    <section>
      {by === "weighted" ? (
        <Weighted />
      ) : (
        <Answer asked={asked}>
          {(table) => (
            <>
              {by === "block" ? <Wrapper table={table} /> : null}
              <Figures table={table} caption="What was allocated, copied and freed" blocks={by === "block"} leave={neverHappened(table)} />
              <More table={table} limit={limit} />
            </>
          )}
        </Answer>
      )}
    </section>
  );
}
