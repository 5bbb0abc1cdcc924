// SPDX-License-Identifier: MIT
// Every page of the viewer has no finding of axe-core, in the light and in the dark, and with
// each thing that opens: the search, a filter's editor, a menu, the help.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { broken, folder, is, replayed, run, settled, to, view } from "./browser.mjs";

// Recursion, lines, two threads, types, a marked block: something on every page.
function events(times) {
  const source = join(folder, "prog.c");
  writeFileSync(source, "a line;\n".repeat(40));
  const lines = ["main", "parse", "eval", "apply", "gc"].map((n, i) => `block ${n} kind=function module=prog file=${source} line=${3 * i + 2}`);
  for (const strand of ["one", "two"]) {
    lines.push(`strand ${strand}`, "push main", "tick 40");
    for (let i = 0; i < times; i++)
      lines.push("push parse", `tick ${5 + (i % 7)}`, "push eval", "alloc cons 16 8", "tick 30", "push apply", "push eval", "tick 9", "pop", "pop", "pop", "pop", "push gc", "tick 4", "sample 1000000", "pop");
    lines.push("pop");
  }
  return lines.join("\n") + "\n";
}

// The dark theme has other colours, and nothing else: with TT_LONG it is looked at on each page, else
// on those with colours of their own.
const coloured = ["overview", "flame", "flat", "tree", "graph", "space", "diff", "diff&as=flame", "timeline", "flat on a telephone", "the search", "a menu", "the help"];
async function both(page, what) {
  const dark = process.env.TT_LONG || coloured.includes(what);
  for (const [colorScheme, rules] of [...(dark ? [["dark", ["color-contrast"]]] : []), ["light"]]) {
    await page.emulateMedia({ colorScheme });
    await settled(page);
    is(await broken(page, rules), [], `${what}: axe finds nothing in the ${colorScheme}`);
  }
}

const addresses = [
  "overview", "flame", "flame&context=2", "callers", "flat", "tree", "callers&as=table", "groups", "block&block=eval", "graph", "lines", "strands", "strands&by=context",
  "space", "diff", "diff&as=flame", "diff&as=tree", "diff&as=flame&time=10ms..30ms&against=rest", "flat&metric=calls&time=10ms..30ms", "flat&select=eval&off-exclude=gc&find=eval", "flat&time=10ms..30ms", "timeline", "timeline&by=block&time=10ms..30ms", "tree&time=10ms..30ms&strip=0.005s..0.04s&select=gc",
];

await run(async () => {
  const before = replayed("before.tallytree", events(30)), profile = replayed("now.tallytree", events(60));
  const page = await view(profile, "", ["--before", before]);
  for (const address of addresses) {
    await to(page, "#view=" + address);
    await both(page, address);
  }
  await page.setViewportSize({ width: 390, height: 800 });
  for (const address of ["flat", "lines", "strands", "flat&time=10ms..30ms&strip=5ms..40ms", "timeline"]) {
    await to(page, "#view=" + address);
    await both(page, `${address} on a telephone`);
  }
  await page.setViewportSize({ width: 1237, height: 860 });
  await to(page, "#view=flat&select=eval");
  await page.fill('input[type="search"]', "a");
  await page.waitForSelector(".matches li");
  await both(page, "the search");
  await page.keyboard.press("Escape");
  await page.click(".chip .edit");
  await both(page, "a filter's editor");
  await page.keyboard.press("Escape");
  await page.click('main [data-block="eval"]', { button: "right" });
  await both(page, "a menu");
  await page.keyboard.press("Escape");
  await page.click(".about summary");
  await both(page, "what a page answers");
  await page.click('[aria-label="help and keys"]');
  await both(page, "the help");
});
