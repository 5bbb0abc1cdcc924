// SPDX-License-Identifier: MIT
// bursts.ts - the bursts of a run: what `report bursts` finds.  The engine looks for them in
// parts, which are asked for only while nothing else is: so no page waits for them.  When the
// page changes they wait until that is drawn; the engine goes on where it was.
import { useEffect, useState } from "preact/hooks";
import { share } from "./format";
import { askPart, waits, type Table } from "./model";
import { fitName } from "./names";
import type { Range } from "./timeline";

const OFTEN = 60; // ms: to look whether the page is drawn

export interface Burst extends Range {
  text: string; // what there was more of, and less
}

function burstsOf(table: Table): Burst[] {
  return table.rows
    .filter((r) => r.role === "entry")
    .map((r) => {
      const of = (key: string) => share(table.number(r, key));
      const less = table.text(r, "less_name");
      return {
        from: table.number(r, "from") ?? 0,
        to: table.number(r, "to") ?? 0,
        text: `more of ${fitName(table.text(r, "name"), 60)}: ${of("share_then")}, else ${of("share_else")}; ${of("more")} ± ${of("more_error")} more` + (less ? `; less of ${fitName(less, 60)}` : ""),
      };
    });
}

const isIdle = () => !waits.some() && !document.querySelector("[aria-busy=true]");

// Of this version of a profile; `page`: what is shown.
export function useBursts(version: number, page: string, wanted: boolean): Burst[] {
  const [found, set] = useState<{ version: number; bursts: Burst[] } | null>(null);
  const isDone = found?.version === version;
  useEffect(() => {
    if (isDone || !wanted) return undefined;
    let timer = 0;
    let cancelled = false;
    const later = (ms: number) => (timer = cancelled ? 0 : window.setTimeout(work, ms));
    const work = () => {
      if (!isIdle()) return void later(OFTEN);
      askPart().then(
        (table) => (table ? cancelled || set({ version, bursts: burstsOf(table) }) : later(0)),
        () => undefined, // there is nothing to mark
      );
    };
    later(OFTEN);
    return () => {
      cancelled = true;
      clearTimeout(timer);
    };
  }, [version, page, wanted, isDone]);
  return isDone ? found.bursts : [];
}
