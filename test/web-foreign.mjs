// SPDX-License-Identifier: MIT
// Profiles of other tools in the viewer: what GHC, callgrind and heap profilers wrote, and the
// difference of two.  A page shows what `report --json` prints.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cells, digits, folder, is, ok, report, run, settled, shoot, tallytree, to, view } from "./browser.mjs";

const flat = "Functions: self, and total with all that they called";

async function table(page, label, file, ...words) {
  const got = await cells(page, label);
  const costs = (rows) => rows.filter(([role, , self]) => role === "entry" && self !== "0").map(([, name, self]) => [name, self]);
  return [costs(got.map((r) => [r.role, r.name, digits(r.figures[1])])), costs(report(file, ...words).map((r) => [r.role, r.name, String(r.self)]))];
}

/* Calls among functions, as callgrind has them, with a cycle. */
function makeCallgrind() {
  const lines = ["version: 1", "creator: test", "cmd: ./sorter", "positions: line", "events: Ir Dr", ""];
  const calls = [["main", "load", 9, 4000], ["main", "sort", 3, 9000], ["load", "parse", 80, 2500], ["sort", "split", 40, 5200], ["split", "merge", 39, 2600], ["merge", "split", 20, 900], ["sort", "swap", 700, 1400], ["parse", "swap", 60, 120]];
  const self = { main: 120, load: 1500, parse: 2380, sort: 2400, split: 2600, merge: 2600, swap: 1520 };
  Object.entries(self).forEach(([name, n], i) => {
    lines.push(`fl=${name.length % 2 ? "a" : "b"}.c`, `fn=${name}`, `${i + 1} ${n} ${n >> 2}`);
    for (const [from, to, count, cost] of calls)
      if (from === name) lines.push(`cfn=${to}`, `calls=${count} 5`, `${i + 2} ${cost} ${cost >> 2}`);
  });
  return lines.join("\n") + "\n";
}

/* The heap of a program that fills it, and gives half of it back. */
function makeHeaptrack() {
  const text = (s) => `s ${s.length.toString(16)} ${s}`;
  const lines = ["v 10400 3", "X ./filler", "I 1000 100", ...["main", "load", "index", "cache", "filler", "f.c"].map(text)];
  for (let f = 1; f <= 4; f++) lines.push(`i ${f}0 5 ${f} 6 ${f}`);
  lines.push("t 1 0", "t 2 1", "t 3 2", "t 4 1", "a 400 2", "a 1000 3", "a 40 4");
  for (let t = 0; t < 200; t++) {
    lines.push(`c ${(t * 10).toString(16)}`, `R ${(100 + t).toString(16)}`);
    for (let k = 0; k < 5; k++) lines.push(t < 120 ? "+ 0" : "- 0", t % 40 < 25 ? "+ 1" : "+ 2");
    if (t % 40 === 39) for (let k = 0; k < 60; k++) lines.push("- 1");
  }
  return lines.join("\n") + "\n";
}

await run(async () => {
  /* GHC: cost centres. */
  {
    const file = "fuzz/formats/ghc/json";
    const page = await view(file, "#view=flat");
    let [got, want] = await table(page, flat, file, "flat", "--limit=all");
    is(got, want, "cost centres of GHC, in the engine's order, with its figures");
    await to(page, "#view=flat&metric=bytes");
    [got, want] = await table(page, flat, file, "flat", "--limit=all", "--metric=bytes");
    is(got, want, "their bytes");
    await to(page, "#view=tree");
    await page.click("text=open all");
    [got, want] = await table(page, "Paths from the root, the largest first", file, "tree", "--limit=200");
    is(got, want, "their tree");
    await shoot(page, "ghc");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Clean: a profile of its own format, and its inverted view, whose sums are those of the others. */
  {
    const file = join(folder, "clean.pgcl"), events = join(folder, "clean.events"), replayed = join(folder, "clean.tt");
    let seed = 5;
    const random = (k) => (seed = (seed * 1103515245 + 12345) % 2147483648) % k;
    const lines = ["push Start", "tick 3"];
    for (let i = 0; i < 400; i++) {
      const depth = 1 + random(8);
      for (let d = 0; d < depth; d++) lines.push(`push f${random(12)}`, `tick ${random(90)}`);
      for (let d = 0; d < depth; d++) lines.push("pop");
    }
    writeFileSync(events, lines.join("\n") + "\npop\n");
    execFileSync(tallytree, ["replay", "-o", replayed, events]);
    execFileSync(tallytree, ["export", "--to", "pgcl", "-o", file, replayed]);
    const page = await view(file, "#view=flat");
    const [got, want] = await table(page, flat, file, "flat", "--limit=all");
    is(got, want, "functions of Clean");
    await to(page, "#view=callers&as=table&limit=4000");
    await page.click("text=open all");
    const total = report(file, "flat").find((r) => r.role === "total").self;
    const rows = report(file, "callers", "--limit=4000");
    const shown = await cells(page, "Each function, and below it its callers");
    is(shown.map((r) => [r.name, digits(r.figures[1])]), rows.map((r) => [r.name, String(r.self)]), "its inverted view");
    const sum = rows.reduce((s, r, i) => s + (r.depth === 0 && r.role !== "total" ? Number(digits(shown[i].figures[1])) : 0), 0);
    is(sum, total, "adds up to the same");
    await shoot(page, "clean");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* GHC: the heap over time. */
  {
    const file = "fuzz/formats/hp/hc";
    const page = await view(file, "#view=series");
    const points = report(file, "series", "--limit=9");
    const times = new Map();
    for (const r of points) times.set(r.time, (times.get(r.time) ?? 0) + r.amount);
    const peak = Math.max(...times.values());
    const at = await page.$eval("figure.series tr.total td.figure", (e) => e.title);
    is(digits(at), String(peak), "the time line opens at its greatest maximum");
    const bands = await page.$$eval("figure.series tbody tr:not(.total) td.name", (e) => e.map((x) => x.textContent.trim()));
    is(bands.length, new Set(points.map((r) => (r.role === "remainder" ? "others" : r.name))).size, "with a band for each label");
    await shoot(page, "series");
    const box = await page.$eval("figure.series .plot", (p) => [p.getBoundingClientRect().bottom, p.querySelector("canvas").getBoundingClientRect().bottom]);
    ok(box[1] <= box[0] + 1, "all of the plot is in its frame", box);
    await page.hover("figure.series .u-over");
    ok(/^at /.test(await page.textContent("figure.series th")), "the pointer moves through time");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Callgrind: a call graph. */
  {
    const file = join(folder, "callgrind");
    writeFileSync(file, makeCallgrind());
    const page = await view(file, "#view=flat");
    let [got, want] = await table(page, flat, file, "flat", "--limit=all");
    is(got, want, "functions of callgrind");
    await to(page, "#view=flat&metric=Dr");
    [got, want] = await table(page, flat, file, "flat", "--limit=all", "--metric=Dr");
    is(got, want, "another event");
    await to(page, "#view=tree");
    await page.click("text=open all");
    const marked = await page.$$eval("tbody tr", (rows) => rows.map((r) => r.innerText).filter((t) => t.includes("≈")).map((t) => t.replace(/^[^≈]*≈ (swap|merge|split|parse)[^]*$/, "$1")));
    is(marked, report(file, "tree").filter((r) => r.estimated).map((r) => r.name), "rows that are estimates are marked");
    ok(marked.length > 1 && !(await page.textContent("thead")).includes("estimated"), "by no column", marked.join());
    await to(page, "#view=groups");
    const groups = await cells(page, "Rings of recursion, each taken as one");
    is(groups.map((r) => r.name), report(file, "groups", "--rings=1").map((r) => r.name), "a cycle is one group");
    await to(page, "#view=graph");
    const entries = report(file, "graph", "--limit=30").filter((r) => r.role === "entry");
    const boxes = entries.filter((r) => r.inclusive_share <= 0.98 || r.self_share >= 0.001);
    is(await page.$$eval(".graph .box", (b) => b.length), boxes.length, "its graph, without what all is in");
    ok(boxes.length < entries.length, "which there is");
    await shoot(page, "callgrind");
    await to(page, "#view=overview");
    ok(/estimated from calls/.test(await page.textContent("dl.facts")), "that paths are estimated is said", await page.textContent("main"));
    is(page.complaints, [], "no complaint from the browser");
  }

  /* A heap: what was allocated, what was freed, how it grew. */
  {
    const file = join(folder, "heap");
    writeFileSync(file, makeHeaptrack());
    const page = await view(file, "#view=flat");
    let [got, want] = await table(page, flat, file, "flat", "--limit=all");
    is(got, want, "bytes by function");
    for (const metric of ["peak bytes", "live bytes", "allocations"]) {
      await to(page, `#view=flat&metric=${encodeURIComponent(metric)}`);
      [got, want] = await table(page, flat, file, "flat", "--limit=all", `--metric=${metric}`);
      is(got, want, metric);
    }
    await to(page, "#view=space");
    const space = report(file, "space").find((r) => r.role === "entry");
    const text = await page.$$eval("main td.figure", (e) => e.map((x) => x.title.replace(/[^0-9]/g, "")));
    ok([space.bytes, space.number, space.freed_bytes].every((n) => text.includes(String(n))), "the page of space has what was allocated and freed", `${text} ${JSON.stringify(space)}`);
    await shoot(page, "space");
    await to(page, "#view=series");
    const top = Math.max(...report(file, "series").map((r) => r.amount));
    is(digits(await page.$eval("figure.series tr.total td.figure", (e) => e.title)), String(top), "the heap's greatest maximum");
    await page.selectOption('select[aria-label="series"]', "resident");
    await settled(page);
    await page.waitForFunction(() => location.hash.includes("series=resident"));
    await settled(page);
    is(digits(await page.$eval("figure.series tr.total td.figure", (e) => e.title)), String(Math.max(...report(file, "series", "--series=resident").map((r) => r.amount))), "another series");
    await shoot(page, "heap");
    is(page.complaints, [], "no complaint from the browser");
  }
});
