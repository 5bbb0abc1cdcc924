// SPDX-License-Identifier: MIT
// model.ts - asks the engine, and holds what it answers.  No figure is reckoned here: the
// engine is the one behind `tallytree report --json`, over HTTP or as WebAssembly.

export type Value = string | number | null;

export interface Column {
  key: string;
  title: string;
  unit: string;
  type: "text" | "amount" | "change" | "real" | "share";
}

export type Role = "entry" | "caller" | "callee" | "heading" | "remainder" | "total";

export interface Row {
  role: Role;
  depth: number;
  group: number;
  values: Value[];
}

export interface Fact {
  name: string;
  number: number | string;
  text: string;
}

export class Table {
  private index = new Map<string, number>();
  constructor(
    readonly view: string,
    readonly facts: Fact[],
    readonly columns: Column[],
    readonly rows: Row[],
    readonly notes: string[],
  ) {
    columns.forEach((c, i) => this.index.set(c.key, i));
  }
  has(key: string): boolean {
    return this.index.has(key);
  }
  column(key: string): Column | undefined {
    const i = this.index.get(key);
    return i === undefined ? undefined : this.columns[i];
  }
  at(row: Row, key: string): Value {
    const i = this.index.get(key);
    return i === undefined ? null : (row.values[i] ?? null);
  }
  // Large integers come as strings of digits; for drawing a double is near enough.
  number(row: Row, key: string): number | null {
    const v = this.at(row, key);
    return v === null || v === "" ? null : Number(v);
  }
  text(row: Row, key: string): string {
    return String(this.at(row, key) ?? "");
  }
  total(): Row | undefined {
    return this.rows.find((r) => r.role === "total");
  }
  fact(name: string): Fact | undefined {
    return this.facts.find((f) => f.name === name);
  }
  // The metric that the figures are of, by the unit of what adds up.
  get unit(): string {
    return this.column("self")?.unit ?? this.column("amount")?.unit ?? "";
  }
}

export interface Source {
  file: string;
  first: number;
  lines: string[];
  more: boolean;
}

export interface LiveState {
  live: boolean;
  version: number;
}

export interface Engine {
  query(query: string): Promise<unknown>;
  source(file: string, first: number): Promise<unknown>;
  state(): Promise<unknown>;
}

class Server implements Engine {
  private async get(path: string): Promise<unknown> {
    let reply: Response;
    try {
      reply = await fetch(path, { credentials: "omit", cache: "no-store" });
    } catch {
      throw new Error("tallytree view does not answer any more; start it again");
    }
    return reply.json();
  }
  query(query: string) {
    return this.get("query?" + query);
  }
  source(file: string, first: number) {
    return this.get("source?" + new URLSearchParams({ file, first: String(first) }));
  }
  state() {
    return this.get("state");
  }
}

let engine: Engine = new Server();
export function useEngine(e: Engine) {
  engine = e;
}

function checked<T>(reply: unknown): T {
  const error = (reply as { error?: string }).error;
  if (error) throw new Error(error);
  return reply as T;
}

// The last answers, so that going back shows at once.
const KEPT = 40;
const kept = new Map<string, Promise<Table>>();

export function forgetAnswers() {
  kept.clear();
}

export function ask(query: string): Promise<Table> {
  const before = kept.get(query);
  if (before) return before;
  const answer = engine.query(query).then((reply) => {
    const t = checked<Table>(reply);
    return new Table(t.view, t.facts, t.columns, t.rows, t.notes);
  });
  answer.catch(() => kept.delete(query));
  kept.set(query, answer);
  for (const old of kept.keys()) {
    if (kept.size <= KEPT) break;
    kept.delete(old);
  }
  return answer;
}

export async function readSource(file: string, first: number): Promise<Source> {
  return checked<Source>(await engine.source(file, first));
}

export async function readState(): Promise<LiveState> {
  return checked<LiveState>(await engine.state());
}
