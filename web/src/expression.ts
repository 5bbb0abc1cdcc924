// SPDX-License-Identifier: MIT
// expression.ts - what is typed into the search: part of a name, a glob or an expression, for
// JavaScript, which marks names, and for the engine, which counts.

// The typed text, for the browser, which marks names, and for the engine, which counts.
export interface Wanted {
  marks: RegExp;
  pattern: string;
}

const classes: Record<string, string> = { d: "0-9", w: "A-Za-z0-9_", s: "[:space:]" };
const posix: Record<string, string> = { alpha: "A-Za-z", digit: "0-9", alnum: "A-Za-z0-9", upper: "A-Z", lower: "a-z", space: "\\s", punct: "!-\\/:-@\\[-`{-~", xdigit: "0-9A-Fa-f", blank: " \\t" };

// The set "[…]" that begins at `from`, as both write it, and where it ends.
function setOf(text: string, from: number): { js: string; ere: string; end: number } {
  let at = from + 1;
  let js = "";
  let ere = "";
  const negated = text[at] === "^" ? "^" : "";
  at += negated.length;
  for (let first = true; at < text.length && (first || text[at] !== "]"); first = false) {
    const named = /^\[:(\w+):\]/.exec(text.slice(at));
    const c = text[at]!;
    const next = text[at + 1] ?? "";
    if (named && posix[named[1]!]) {
      js += posix[named[1]!];
      ere += named[0];
      at += named[0].length;
    } else if (c === "\\" && classes[next]) {
      js += c + next;
      ere += classes[next];
      at += 2;
    } else if (c === "\\" && /[^A-Za-z0-9\]^-]/.test(next)) {
      js += c + next;
      ere += next;
      at += 2;
    } else if (c === "\\") {
      throw new Error(`\\${next} in [ ] is not known`);
    } else {
      js += c === "[" || c === "]" ? "\\" + c : c;
      ere += c;
      at++;
    }
  }
  if (at >= text.length) throw new Error("[ without ]");
  return { js: `[${negated}${js}]`, ere: `[${negated}${ere}]`, end: at };
}

// JavaScript's expressions and POSIX's extended ones, as far as both mean the same by them.
function expressionOf(text: string): { js: string; ere: string } {
  let js = "";
  let ere = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    const next = text[i + 1] ?? "";
    if (c === "[") {
      const set = setOf(text, i);
      js += set.js;
      ere += set.ere;
      i = set.end;
    } else if (c === "(" && next === "?") {
      throw new Error("(? is not known");
    } else if (c === "\\" && /[A-Za-z0-9]/.test(next)) {
      const of = classes[next.toLowerCase()];
      if (!of && next.toLowerCase() !== "b") throw new Error(`\\${next} is not known`);
      js += c + next;
      ere += of ? `[${next < "a" ? "^" : ""}${of}]` : c + next;
      i++;
    } else {
      js += c === "\\" ? c + next : c;
      ere += c === "\\" ? c + next : c;
      i += c === "\\" ? 1 : 0;
    }
  }
  return { js, ere };
}

export const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

// Plain texts match parts of names, globs whole names; /…/ are expressions; throws an error text.
export function wantedOf(text: string): Wanted {
  const written = /^\/(.+)\/(i?)$/.exec(text);
  if (written) {
    const { js, ere } = expressionOf(written[1]!);
    return { marks: new RegExp(js, written[2]), pattern: `/${ere}/${written[2]}` };
  }
  if (/[*?]/.test(text)) {
    const marks = [...text].map((c) => (c === "*" ? "[^]*" : c === "?" ? "[^]" : literally(c))).join("");
    return { marks: new RegExp(`^${marks}$`, "u"), pattern: text.replace(/[[\\]/g, "\\$&") };
  }
  return { marks: new RegExp(literally(text), "i"), pattern: `/${literally(text)}/i` };
}

export function findIn(text: string): { wanted: Wanted | null; error: string } {
  if (!text) return { wanted: null, error: "" };
  try {
    return { wanted: wantedOf(text), error: "" };
  } catch (e) {
    return { wanted: null, error: `not an expression: ${(e as Error).message}` };
  }
}
