// SPDX-License-Identifier: MIT
// names.ts - blocks by what they are: several may have one name, so links and filters have a
// block's identity, and if a name is not enough, its place is shown beside it.
import { isBuildId, shorten } from "./format";
import type { Row, Table } from "./model";
import { exactly } from "./state";

// A block as links and menus know it.
export interface Block {
  name: string;
  id: string; // "": the answer does not say
  module: string; // the last part of its path; "": it is not known
  apart: string; // distinguishes it from others of its name; "": the name is unique
}

// Where a block is: in its file or, if only a build-id is known of that, in its module.
export function place(table: Table, row: Row): string {
  const file = table.text(row, "file");
  const line = table.number(row, "line");
  if (!file || isBuildId(file)) return table.text(row, "module");
  return line ? `${file}:${line}` : file;
}

// The end of it; the name's title has all of it.
export function placeEnd(table: Table, row: Row): string {
  const path = place(table, row).split("/");
  return path.slice(table.text(row, "file") ? -2 : -1).join("/");
}

// Functions of two profiles are matched by less than an identity, and have one that is of
// neither.
const isComparison = (table: Table) => table.has("self.a");

// By name, what was seen of it in any answer: identities, and where they are.
const seen = new Map<string, Map<string, string>>();

export function takeNames(table: Table) {
  if (!table.has("id") || isComparison(table)) return;
  for (const row of table.rows) {
    const id = table.text(row, "id");
    const name = table.text(row, "name");
    const known = seen.get(name);
    if (!id || known?.has(id)) continue;
    if (known) known.set(id, placeEnd(table, row));
    else seen.set(name, new Map([[id, placeEnd(table, row)]]));
  }
}

export function blockOf(table: Table, row: Row): Block {
  const name = table.text(row, "name");
  const id = isComparison(table) ? "" : table.text(row, "id");
  const module = table.text(row, "module").split("/").pop() ?? "";
  const known = seen.get(name);
  if (!id || !known || known.size < 2) return { name, id, module, apart: "" };
  const where = known.get(id) ?? "";
  const alone = where && [...known.values()].filter((w) => w === where).length === 1;
  return { name, id, module, apart: alone ? where : `${where} #${id.slice(0, 6)}`.trim() };
}

// As text of one line: frames, boxes, chips.
export const labelOf = (block: Block) => (block.apart ? `${block.name} (${block.apart})` : block.name);

const MOST = 60;
const NARROW = 0.45; // of the letters, on a phone

// A pattern of this block and no other.  The text before the identity is for people.
export function addressOf(block: Block): string {
  if (!block.id) return exactly(block.name);
  const name = block.name.length > MOST ? block.name.slice(0, MOST - 1) + "…" : block.name;
  return `${block.apart && !block.apart.includes("#") ? `${block.apart}:` : ""}${name}#${block.id}`;
}

export const withoutIdentity = (pattern: string) => pattern.replace(/(.)#[0-9a-f]{16}$/s, "$1");

// The end of the bracket that begins at `from`; -1: it does not end.
function endOf(text: string, from: number, open: string, close: string): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    if (text[i] === open) depth++;
    else if (text[i] === close && text[i - 1] !== "-" && --depth === 0) return i;
  }
  return -1;
}

// A name without the text in its brackets, which is most of a template or a call.
function brief(name: string): string {
  let out = "";
  for (let i = 0; i < name.length; i++) {
    const c = name[i]!;
    const end = /operator\W?$/.test(out) || /^\((anonymous|\*)/.test(name.slice(i, i + 10)) ? -1 : c === "<" ? endOf(name, i, "<", ">") : c === "(" ? endOf(name, i, "(", ")") : -1;
    if (end > i + 3 && i > 0) {
      out += c + "…" + name[end];
      i = end;
    } else out += c;
  }
  return out;
}

const OPERATOR = /^operator(\(\)|\[\]|[^\w\s(]+( (?=<))?|\s[\w:*&\s]+(\[\])?)/;
const AFTER = /^( const| volatile| &&?| noexcept|\[[^\]]*\]| \[[^\]]*\]| \([^)]*\))*$/; // what may follow the parameters

// A function and what it is in, without the type of its result and its parameters: std, less<…> and
// operator() of `bool std::less<…>::operator()(…) const`.  None: it is not written in this way.
function partsOf(name: string): string[] {
  const parts: string[] = [];
  let begin = 0;
  let at = 0;
  let called = false;
  let spaced = false;
  for (; at < name.length && !called; ) {
    const c = name[at]!;
    const word = /\w/.test(name[at - 1] ?? "") ? null : OPERATOR.exec(name.slice(at));
    const end = c === "<" ? endOf(name, at, "<", ">") : c === "(" ? endOf(name, at, "(", ")") : c === "{" ? endOf(name, at, "{", "}") : -1;
    if (word) at += word[0].length;
    else if (c === "(" && end > 0 && AFTER.test(name.slice(end + 1))) called = true;
    else if (end > 0) at = end + 1 + (name.startsWith(" const::", end + 1) ? 6 : 0);
    else if (name.startsWith("::", at)) {
      if (at > begin) parts.push(name.slice(begin, at));
      begin = at += 2;
    } else if (c === " ") {
      spaced = true;
      parts.length = 0;
      begin = ++at;
    } else at++;
  }
  parts.push(name.slice(begin, at));
  return called || !spaced ? parts : [];
}

const CLONE = /\.(part|isra|constprop|cold|llvm|lto_priv|so)\b/; // what a compiler has added; a library

// Of Go and Java, and the like: net/http.(*Server).Serve is http, (*Server) and Serve.
function dotted(name: string): string[] {
  if (/\s/.test(name) || CLONE.test(name)) return [];
  const parts = name.slice(name.lastIndexOf("/") + 1).split(".");
  return parts.every((p) => /^[\p{L}_$<(]/u.test(p)) ? parts : [];
}

const bare = (part: string) => (/^<|^operator\W/.test(part) ? part : part.replace(/<[^<>]*>$/, ""));

// All of a name, and shorter forms of it.  The last part of it says most.
function makeForms(name: string): string[] {
  const short = brief(name);
  if (!short.includes("::")) return [name, short, ...dotted(short).map((_, i, all) => all.slice(i).join("."))];
  const parts = partsOf(short);
  return [name, short, ...parts.map((_, i) => parts.slice(i).join("::")), ...(parts.length > 1 ? [parts.slice(-2).map(bare).join("::"), bare(parts[parts.length - 1]!)] : [])];
}

const FORMS = 20000; // names whose forms are kept
const forms = new Map<string, string[]>();

const phone = () => window.innerWidth < 500;

// A name in the row of a table or a list, which a phone has less room for.
export const rowName = (name: string, most = MOST) => fitName(name, phone() ? Math.round(most * NARROW) : most);

// The longest form of a name with at most this number of letters.
export function fitName(name: string, most = MOST): string {
  if (name.length <= most) return name;
  let known = forms.get(name);
  if (!known) {
    if (forms.size >= FORMS) forms.clear();
    forms.set(name, (known = makeForms(name)));
  }
  return known.find((f) => f.length <= most) ?? shorten(known[known.length - 1]!, Math.max(1, most));
}

// The same with what distinguishes the block from others of its name, if there is room for both.
export function fitLabel(block: Block, most: number): string {
  const room = most - block.apart.length - 3;
  return block.apart && room >= Math.min(8, block.name.length) ? `${fitName(block.name, room)} (${block.apart})` : fitName(block.name, most);
}
