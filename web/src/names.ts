// SPDX-License-Identifier: MIT
// names.ts - blocks by what they are: several may have one name, so links and filters have a
// block's identity, and if a name is not enough, its place is shown beside it.
import { isBuildId } from "./format";
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

// A long name without the text in its brackets, which is most of a template or a call.
export function brief(name: string, most = MOST): string {
  if (name.length <= most) return name;
  let out = "";
  for (let i = 0; i < name.length; i++) {
    const c = name[i]!;
    const end = /operator\W?$/.test(out) || name.startsWith("(anonymous", i) ? -1 : c === "<" ? endOf(name, i, "<", ">") : c === "(" ? endOf(name, i, "(", ")") : -1;
    if (end > i + 3 && i > 0) {
      out += c + "…" + name[end];
      i = end;
    } else out += c;
  }
  return out;
}
