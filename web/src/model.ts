// SPDX-License-Identifier: MIT
// model.ts - asks the engine, and holds what it answers.  No figure is reckoned here: the
// engine is the one of `tallytree report --json`, over HTTP or as WebAssembly.
import { takeNames } from "./names";

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
  left?: number; // of a remainder: how many rows it combines
  values: Value[];
}

export interface Fact {
  name: string;
  number: number | string;
  text: string;
}

// Of a view: what it cannot show, or why.  Only people read the text; doc/json.md has the kinds.
export interface Remark {
  kind: string;
  arguments: Value[];
  text: string;
}

export class Table {
  private index = new Map<string, number>();
  constructor(
    readonly view: string,
    readonly facts: Fact[],
    readonly columns: Column[],
    readonly rows: Row[],
    readonly remarks: Remark[],
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
  // How many rows a limit or a threshold left out, at the end of the table.
  get left(): number {
    const last = this.rows.filter((r) => r.role === "remainder" && r.depth === 0 && (r.left ?? 0) > 0).pop();
    return last?.left ?? 0;
  }
  // Of a header: the names of the metrics, the default one first. Of others nothing is known if
  // their total is 0.
  metrics(): string[] {
    const rows = this.rows.filter((r) => this.text(r, "metric"));
    return rows.filter((r, i) => !i || this.number(r, "number") !== 0).map((r) => this.text(r, "metric"));
  }
  // A comparison of a range of time with the rest of the run?
  get isWithRest(): boolean {
    return this.remarks.some((r) => r.kind === "rest");
  }
  // Of a comparison: what its two sides are called.
  get sides(): [string, string] {
    return this.isWithRest ? ["else", "then"] : ["before", "now"];
  }
  // The metric that the figures are of, by the unit of what adds up.
  get unit(): string {
    return this.column("self")?.unit ?? this.column("amount")?.unit ?? "";
  }
}

// The metric that a recording was made for, where that is not its first: of a heap the peak.
export const openingMetric = (header: Table) => (header.metrics().includes("peak") ? "peak" : "");

// Does it have figures of instructions?
export const hasAddresses = (header: Table) => header.rows.some((r) => header.text(r, "name") === "addresses" && (header.number(r, "number") ?? 0) > 0);

export interface Source {
  file: string;
  first: number;
  lines: string[];
  more: boolean;
}

export interface LiveState {
  live: boolean;
  end: "" | "ended" | "lost"; // of what was live
  before: boolean; // is there something to compare with?
  replaced: boolean; // is there another file now, in place of the one that is shown?
  version: number;
}

interface Engine {
  query(query: string, signal?: AbortSignal): Promise<unknown>;
  source(file: string, first: number): Promise<unknown>;
  state(): Promise<unknown>;
}

// Why there is no answer: this page has cancelled the question.
export const CANCELLED = "the request was cancelled";

class Server implements Engine {
  private async get(path: string, signal?: AbortSignal): Promise<unknown> {
    let reply: Response;
    try {
      reply = await fetch(path, { signal: signal ?? null });
    } catch {
      if (signal?.aborted) throw new Error(CANCELLED);
      throw new Error("tallytree view does not answer any more; start it again");
    }
    return reply.json();
  }
  query(query: string, signal?: AbortSignal) {
    return this.get("query?" + query, signal);
  }
  source(file: string, first: number) {
    return this.get("source?" + new URLSearchParams({ file, first: String(first) }));
  }
  state() {
    return this.get("state");
  }
}

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  room(size: number): number;
  open(embedded: number, length: number): number;
  ask(query: number): number;
  free(at: number): void;
}

// The engine inside the page, over a profile that the page carries.
class Module implements Engine {
  constructor(private e: Exports) {}

  private text(at: number): string {
    const bytes = new Uint8Array(this.e.memory.buffer, at);
    return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
  }
  room(size: number): number {
    const at = this.e.room(size);
    if (!at) throw new Error("no memory");
    return at;
  }
  private put(bytes: Uint8Array): number {
    const at = this.room(bytes.length);
    new Uint8Array(this.e.memory.buffer).set(bytes, at);
    return at;
  }
  open(embedded: number, length: number) {
    const error = this.e.open(embedded, length);
    this.e.free(embedded);
    if (error) throw new Error(this.text(error));
  }
  async query(query: string, signal?: AbortSignal) {
    await new Promise((resolve) => setTimeout(resolve)); // lets the browser draw first
    if (signal?.aborted) throw new Error(CANCELLED);
    const at = this.put(new TextEncoder().encode(query + "\0"));
    const answer = this.text(this.e.ask(at));
    this.e.free(at);
    return JSON.parse(answer) as unknown;
  }
  sources: Map<string, string> | null = null; // of the files that the page carries
  async source(file: string, first: number): Promise<Source> {
    if (!this.sources) throw new Error("this file has no sources; tallytree export --with-sources writes one that has them");
    const text = this.sources.get(file);
    if (text === undefined) throw new Error("this file is not among the sources of the page");
    const lines = text.split("\n");
    if (lines[lines.length - 1] === "") lines.pop();
    return { file, first, lines: lines.slice(first - 1), more: false };
  }
  state(): Promise<unknown> {
    return Promise.resolve({ live: false, end: "", before: false, replaced: false, version: 1 });
  }
}

// Newer browsers know how to do it by themselves, many times faster.
function bytesOf(text: string): Uint8Array {
  const native = (Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array }).fromBase64;
  if (native) return native.call(Uint8Array, text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// Unpacks what an element of the page carries, into the room that is made for it.
async function unpack(id: string, room: (size: number) => (part: Uint8Array, at: number) => void) {
  const element = document.getElementById(id)!;
  const packed = bytesOf(element.textContent!);
  element.remove();
  const put = room(new DataView(packed.buffer).getUint32(packed.length - 4, true)); // gzip says it last
  const unpacking = new DecompressionStream("gzip");
  const writer = unpacking.writable.getWriter();
  void writer.write(packed as BufferSource).then(() => writer.close()).catch(() => undefined); // reading fails then, too
  const reader = unpacking.readable.getReader();
  let at = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    put(part.value, at);
    at += part.value.length;
  }
}

// In a single file the profile is in the page, and so is the engine.
export async function start() {
  if (!document.getElementById("profile")) return;
  const refuse = () => 52; // the module's libc could write to files; here are none
  let code = new Uint8Array();
  await unpack("engine", (size) => {
    code = new Uint8Array(size);
    return (part, at) => code.set(part, at);
  });
  const { instance } = await WebAssembly.instantiate(code, {
    wasi_snapshot_preview1: { fd_close: refuse, fd_seek: refuse, fd_write: refuse },
  });
  const exports = instance.exports as unknown as Exports;
  exports._initialize();
  const module = new Module(exports);
  let embedded = 0;
  let length = 0;
  await unpack("profile", (size) => {
    embedded = module.room(size);
    length = size;
    return (part, at) => new Uint8Array(exports.memory.buffer).set(part, embedded + at);
  });
  module.open(embedded, length);
  if (document.getElementById("sources")?.textContent) {
    let texts = new Uint8Array();
    await unpack("sources", (size) => {
      texts = new Uint8Array(size);
      return (part, at) => texts.set(part, at);
    });
    module.sources = new Map(Object.entries(JSON.parse(new TextDecoder().decode(texts)) as Record<string, string>));
  }
  engine = module;
}

let engine: Engine = new Server();
function checked<T>(reply: unknown): T {
  const error = (reply as { error?: string }).error;
  if (error) throw new Error(error);
  return reply as T;
}

// The last answers, so that going back shows at once; and those that are waited for.
const KEPT = 40;
interface Kept {
  answer: Promise<Table>;
  askers: number; // that remain
  stop: AbortController;
}
const kept = new Map<string, Kept>();

// Those that have no answer yet; what is called when they become some, or none.
const waiting = new Set<Kept>();
export const waits = { change: (_some: boolean) => {}, some: () => waiting.size > 0 };

function wait(entry: Kept) {
  const ended = () => {
    waiting.delete(entry);
    if (!waiting.size) waits.change(false);
  };
  waiting.add(entry);
  if (waiting.size === 1) waits.change(true);
  entry.answer.then(ended, ended);
}

export function cancelAnswers() {
  for (const entry of waiting) entry.stop.abort();
}

export function forgetAnswers() {
  kept.clear();
}

function tableOf(reply: unknown): Table {
  const t = checked<Table>(reply);
  const table = new Table(t.view, t.facts, t.columns, t.rows, t.remarks);
  takeNames(table);
  return table;
}

// Does a part of the work of finding bursts.  null: there is more to do.
export async function askPart(): Promise<Table | null> {
  const reply = await engine.query("part");
  return (reply as { more?: boolean }).more ? null : tableOf(reply);
}

function keep(query: string): Kept {
  const before = kept.get(query);
  if (before) return before;
  const stop = new AbortController();
  const entry: Kept = { answer: engine.query(query, stop.signal).then(tableOf), askers: 0, stop };
  const forget = () => kept.get(query) === entry && kept.delete(query);
  stop.signal.addEventListener("abort", forget);
  entry.answer.then(() => (entry.askers = Infinity), forget); // there is nothing to stop
  kept.set(query, entry);
  wait(entry);
  for (const old of kept.keys()) {
    if (kept.size <= KEPT) break;
    kept.delete(old);
  }
  return entry;
}

// The answer, and a function that cancels it. If no other part of the page asks the same, the
// engine stops working at it.
export function askFor(query: string): [Promise<Table>, () => void] {
  const entry = keep(query);
  entry.askers++;
  const leave = () => {
    entry.askers--;
    setTimeout(() => entry.askers || entry.stop.abort()); // the next page may ask the same
  };
  return [entry.answer, leave];
}

export async function readSource(file: string, first: number): Promise<Source> {
  return checked<Source>(await engine.source(file, first));
}

export async function readState(): Promise<LiveState> {
  return checked<LiveState>(await engine.state());
}
