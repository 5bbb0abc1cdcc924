// SPDX-License-Identifier: MIT
// The strip of time above each page: what it draws is what `report timeline` says, and what is
// dragged, typed or clicked is the range that each page shows.  The phases of the programs are
// known: one is replayed, one says itself when it did what.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, cells, digits, folder, is, ok, open, replayed, report, run, settled, shoot, tallytree, to, view } from "./browser.mjs";

const flat = "Functions: self, and total with all that they called";
const words = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1));
const time = (page) => words(page).get("time");

// Each strand begins at 0: a sample each millisecond of these, in seconds.
const MS = 1000000;
const phases = { main: [["parse", 2], ["print", 1]], worker: [["eval", 1], ["gc", 2.5]] };
const RUN = 3.5;
const events = Object.entries(phases).map(([strand, list]) => `strand ${strand}\npush outer\n` + list.map(([block, s]) => `push ${block}\n` + `sample ${MS}\n`.repeat(1000 * s) + "pop\n").join("") + "pop\n").join("");

// What each block has in a range, by arithmetic, in ms.
function known(from, to) {
  const all = {};
  for (const list of Object.values(phases)) {
    let at = 0;
    for (const [block, s] of list) {
      all[block] = Math.max(0, Math.min(to, at + s) - Math.max(from, at)) * 1000;
      at += s;
    }
  }
  return all;
}

const within = (text, run = RUN) => {
  const [from, to] = text.split("..").map((t) => (t ? parseFloat(t) : null));
  return [from ?? 0, to ?? run];
};

const place = (page) => page.$eval(".lane", (e) => { const r = e.getBoundingClientRect(); return { x: r.x, y: r.y + 12, width: r.width }; });
async function dragTo(page, from, to, { drop = true, steps = 12 } = {}) {
  const { x, y, width } = await place(page);
  await page.mouse.move(x + from * width, y);
  await page.mouse.down();
  await page.mouse.move(x + to * width, y, { steps });
  if (drop) await page.mouse.up();
  await settled(page);
}
const changed = (page, before) => page.waitForFunction((b) => location.href !== b, before);
const ready = async (page) => {
  await page.waitForSelector(".strip:not([aria-busy=true]) .window");
  await settled(page);
};
const values = (page) => page.$$eval(".strip [role=slider]", (e) => e.map((s) => Number(s.getAttribute("aria-valuenow"))));

// How high each column of the drawing is, of all that is painted or of one colour.
const heights = (page, columns, colour = null) =>
  page.$eval(".lane canvas", (c, [columns, colour]) => {
    const pen = c.getContext("2d");
    const { data } = pen.getImageData(0, 0, c.width, c.height);
    return Array.from({ length: columns }, (_, i) => {
      const x = Math.floor(((i + 0.5) / columns) * c.width);
      let sum = 0;
      for (let y = 0; y < c.height; y++) {
        const at = 4 * (y * c.width + x);
        if (!colour) sum += data[at + 3] / 255;
        else if (colour.every((v, k) => Math.abs(data[at + k] - v) < 12)) sum++;
      }
      return sum;
    });
  }, [columns, colour]);
const bucketsAsked = (page) => Number(new URLSearchParams(page.asked.filter((u) => u.includes("view=timeline")).pop().split("?")[1]).get("buckets"));
const timeline = (file, ...more) => report(file, "timeline", ...more).map((r) => ({ ...r, buckets: r.buckets.split(" ").map(Number) }));
const near = (a, b, by) => a.length === b.length && a.every((v, i) => Math.abs(v - b[i]) <= by);

await run(async () => {
  const file = replayed("phases.tt", events);
  const page = await view(file, "#view=flat");
  await ready(page);

  /* What it draws. */
  const buckets = bucketsAsked(page);
  const rows = timeline(file, "--by=strand", `--buckets=${buckets}`, "--limit=6");
  const total = rows.find((r) => r.role === "total");
  const most = Math.max(...total.buckets);
  ok(near(await heights(page, buckets), total.buckets.map((n) => (30 * n) / most), 1.01), "each column is as high as the use in its bucket", JSON.stringify(await heights(page, buckets)));
  {
    const { x, y, width } = await place(page);
    for (const part of [0.1, 0.5, 0.97]) {
      const at = Math.floor(part * buckets), n = total.buckets[at];
      await page.mouse.move(x + ((at + 0.5) / buckets) * width, y);
      await page.waitForSelector(".tip.time");
      is((await page.$eval(".tip.time strong", (e) => e.textContent)).split(/\u202f(?=[A-Za-z])/)[0].replace(/\u202f/g, ""), n < 1e7 ? String(n) : (n / 1e6).toFixed(2), `the figure below the pointer at ${100 * part} % is the engine's`);
      is(await page.$$eval(".tip.time .patch", (e) => e.length), rows.filter((r) => r.role === "entry" && r.buckets[at]).length, "with those threads that have some of it");
    }
    await page.mouse.move(x, y + 400);
    await page.waitForFunction(() => !document.querySelector(".tip.time"));
  }
  is(await page.$$eval(".marks span", (e) => e.map((s) => s.textContent.replace("\u202f", " "))), ["0.0 s", "0.5 s", "1.0 s", "1.5 s", "2.0 s", "2.5 s", "3.0 s"], "an axis has a few moments");

  /* Dragging. */
  let before = page.url(), asked = page.asked.length;
  await dragTo(page, 0.2, 0.6, { drop: false, steps: 40 });
  is([page.url(), page.asked.length], [before, asked], "while it is dragged nothing is asked, and the address stays");
  await page.keyboard.press("Escape");
  await page.mouse.up();
  is([page.url(), (await values(page))[1]], [before, 0], "Escape ends a drag without a range");
  await dragTo(page, 0.2, 0.6);
  await ready(page);
  const [from, until] = within(time(page));
  ok(Math.abs(from - 0.2 * RUN) < 0.01 && Math.abs(until - 0.6 * RUN) < 0.01, "what is dragged is a range in the address", time(page));
  const shown = async () => (await cells(page, flat)).filter((r) => r.role === "entry").map((r) => [r.name, digits(r.figures[1])]).filter(([, n]) => n !== "0");
  is(await shown(), report(file, "flat", `--time=${time(page)}`).filter((r) => r.role === "entry" && r.self).map((r) => [r.name, String(r.self)]), "the page has its figures");
  const truth = known(from, until);
  ok((await shown()).every(([n, ns]) => Math.abs(Number(ns) / MS - truth[n]) <= 1.5), "which are those of the phases in it", JSON.stringify([await shown(), truth]));
  is(await page.$$eval(".chip.time .pattern", (e) => e.map((c) => c.textContent)), [time(page)], "a chip has the range");
  ok(near(await values(page), [from, from, until], 1e-6), "and the sliders", JSON.stringify(await values(page)));
  await shoot(page, "strip-range");
  for (const address of ["overview", "flame", "callers", "tree", "callers&as=table", "groups", "block&block=parse", "graph", "strands"]) {
    await to(page, `#view=${address}&time=0.5s..1.5s`);
    is(await page.$$eval("main .error", (e) => e.map((x) => x.textContent)), [], `${address} follows it`);
  }
  await to(page, "#view=flat&time=0.5s..1.5s");
  await page.click("nav[aria-label=pages] >> text=Flame");
  await settled(page);
  is(time(page), "0.5s..1.5s", "another page keeps it");
  await page.goBack();
  await ready(page);
  await dragTo(page, 1.5 / RUN, 2.5 / RUN);
  await ready(page);
  ok(near(within(time(page)), [0.5, 2.5], 0.01), "an edge can be dragged", time(page));
  await dragTo(page, 1.5 / RUN, 2 / RUN);
  await ready(page);
  ok(near(within(time(page)), [1, 3], 0.02), "and the whole range", time(page));
  await page.goBack();
  await ready(page);
  ok(near(within(time(page)), [0.5, 2.5], 0.01) && near((await values(page)).slice(1), [0.5, 2.5], 0.01), "Back brings the one before", time(page));
  await page.click(".chip.time .remove");
  await ready(page);
  is([time(page), ...(await values(page)).slice(1)], [null, 0, RUN], "without its chip all of the run is shown");

  /* Keys. */
  before = page.url();
  asked = page.asked.length;
  await page.focus(".strip .window");
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowRight");
  ok(near((await values(page)).slice(1), [0.04 * RUN, 0.14 * RUN], 1e-6), "an arrow key begins a range, and moves it", JSON.stringify(await values(page)));
  is(await page.$$eval(".tip.time .chosen", (e) => e.length), 1, "the values are shown");
  await changed(page, before);
  await ready(page);
  ok(page.asked.slice(asked).filter((u) => u.includes("view=flat")).length === 1, "keys that follow each other are asked for once", page.asked.slice(asked).join("\n"));
  ok(near(within(time(page)), [0.04 * RUN, 0.14 * RUN], 0.01), "and are one step", time(page));
  for (const [selector, key, want] of [
    [".strip .window", "Shift+ArrowRight", [0.04, 0.15]],
    [".strip .window", "Shift+ArrowLeft", [0.04, 0.14]],
    [".strip .window", "PageUp", [0.14, 0.24]],
    ['.strip [aria-label="from"]', "ArrowRight", [0.15, 0.24]],
    ['.strip [aria-label="to"]', "End", [0.15, 1]],
    ['.strip [aria-label="from"]', "Home", [0, 1]],
  ]) {
    before = page.url();
    await page.focus(selector);
    await page.keyboard.press(key);
    await changed(page, before);
    await ready(page);
    ok(near((await values(page)).slice(1), want.map((w) => w * RUN), 0.01), `${key} on ${selector.replace(/.*(window|from|to).*/, "$1")}`, JSON.stringify(await values(page)));
  }
  is(time(page), null, "a range of all is none");
  is(await page.$eval('.strip [aria-label="to"]', (e) => [e.getAttribute("aria-valuemin"), e.getAttribute("aria-valuemax"), e.getAttribute("aria-valuetext").replace(/\u202f/g, " ").split(",")[0]]), ["0", String(RUN), "3.500 s"], "a slider says where it is");
  await to(page, "#view=flat&time=1s..2s");
  await ready(page);
  await page.focus(".strip .window");
  await page.keyboard.press("Escape");
  await ready(page);
  is(time(page), null, "Escape clears it");

  /* Ranges that are written by hand. */
  for (const [text, want] of [["25%..50%", [0.25 * RUN, 0.5 * RUN]], ["-1s..", [2.5, 3.5]], ["..500ms", [0, 0.5]], ["1s", [1, 2]], ["3s..1s", [0, RUN]]]) {
    await to(page, "#view=flat&time=" + encodeURIComponent(text));
    await page.waitForFunction(([a, b]) => { const v = [...document.querySelectorAll(".strip [role=slider]")].map((s) => Number(s.getAttribute("aria-valuenow"))); return Math.abs(v[1] - a) < 1e-6 && Math.abs(v[2] - b) < 1e-6; }, want);
    ok(true, `the edges of '${text}'`);
  }
  ok((await page.textContent("main .error")).includes("empty"), "a range that is none is an error of the page alone");
  is(page.complaints.splice(0).every((c) => c.includes("400 (Bad Request)")), true, "which the browser has noted");

  /* Zooming. */
  await to(page, "#view=flat&time=1s..2s");
  await ready(page);
  {
    const { x, y, width } = await place(page);
    before = page.url();
    await page.mouse.dblclick(x + width * (1.5 / RUN), y);
    await changed(page, before);
    await ready(page);
    is([words(page).get("strip"), time(page)], ["1s..2s", "1s..2s"], "a double click zooms in on the range");
    const part = timeline(file, "--by=strand", `--buckets=${bucketsAsked(page)}`, "--limit=6", "--time=1s..2s").find((r) => r.role === "total");
    ok(near(await heights(page, part.buckets.length), part.buckets.map((n) => (30 * n) / Math.max(...part.buckets)), 1.01), "which is drawn as the engine says");
    await dragTo(page, 0.25, 0.5);
    await ready(page);
    ok(near(within(time(page)), [1.25, 1.5], 0.01), "a range in what is zoomed in", time(page));
    before = page.url();
    await page.click('.strip [aria-label="later"]');
    await changed(page, before);
    await ready(page);
    is(words(page).get("strip"), "1.5s..2.5s", "later by half");
    await page.goBack();
    await page.goBack();
    await page.goBack();
    await ready(page);
    is([words(page).get("strip"), time(page)], [null, "1s..2s"], "Back undoes it");
    await page.goForward();
    await ready(page);
    await page.click('.strip [aria-label="zoom out"]');
    await page.waitForFunction(() => !document.querySelector('.strip [aria-label="zoom out"]'));
    is(words(page).get("strip"), null, "a control zooms out");
  }

  /* What filters leave stands before all of it. */
  await to(page, "#view=flat&select=parse&time=1s..2s");
  await ready(page);
  const parse = timeline(file, `--buckets=${buckets}`, "--limit=1", "--select=parse").find((r) => r.role === "total");
  ok(near(await heights(page, buckets, [0x2f, 0x7f, 0x73]), parse.buckets.map((n) => (30 * n) / most), 1.01) && near(await heights(page, buckets), total.buckets.map((n) => (30 * n) / most), 1.01), "what filters leave stands before all of it");

  /* The page of use: tracks, and the heat map, in which columns are selected. */
  await to(page, "#view=timeline");
  await ready(page);
  is(await page.$$eval("nav[aria-label=pages] .on", (e) => e.map((a) => a.textContent)), ["Time"], "a page of its own has the use over time");
  for (const [by, label] of [["", "strand"], ["process", "process"], ["block", "block"]]) {
    await to(page, `#view=timeline&by=${by}&time=0.5s..2.5s`);
    await ready(page);
    is(await page.$$eval('table[aria-label="Use over time"] tbody tr', (e) => e.map((r) => [r.querySelector(".name").textContent, r.querySelector(".figure").title.replace(/[^0-9]/g, "")])),
      timeline(file, `--by=${label}`, "--time=0.5s..2.5s").map((r) => [r.name, String(r.self)]), `a track for each ${label}, with the engine's figures`);
  }
  await to(page, "#view=timeline");
  await page.waitForSelector(".heat canvas");
  await ready(page);
  {
    // Columns of a tenth of a second, of 20 cells: from the lowest on.
    const cells = timeline(file, "--buckets=700", "--limit=1", "--time=0..3.5s").find((r) => r.role === "total").buckets;
    const painted = await page.$eval(".heat canvas", (c, columns) => {
      const pen = c.getContext("2d");
      return Array.from({ length: columns * 20 }, (_, i) => pen.getImageData(Math.floor(((Math.floor(i / 20) + 0.5) / columns) * c.width), (19 - (i % 20)) * 9 + 3, 1, 1).data.join());
    }, 35);
    const colours = new Map();
    cells.forEach((n, i) => colours.set(n, (colours.get(n) ?? new Set()).add(painted[i])));
    const greens = [...colours].sort(([a], [b]) => a - b).map(([n, s]) => [n, ...[...s].map((c) => Number(c.split(",")[1]))]);
    ok(greens.every((g, i) => g.length === 2 && (!i || g[1] < greens[i - 1][1] || (g[1] === greens[i - 1][1] && g[0] < 1.01 * greens[i - 1][0]))), "cells of the heat map are the redder the more was used, and alike where it is as much", JSON.stringify(greens));
    const box = await page.$eval(".heat canvas", (e) => { const r = e.getBoundingClientRect(); return { x: r.x, y: r.y, width: r.width }; });
    await page.mouse.move(box.x + (10.5 / 35) * box.width, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + (19.5 / 35) * box.width, box.y + 100, { steps: 5 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("time="));
    is(time(page), "1s..2s", "columns that are dragged over are the range");
    await ready(page);
    is(await page.$$eval(".heat .marked", (e) => e.length), 1, "which is marked");
    before = page.url();
    await page.mouse.move(box.x + (10.2 / 35) * box.width, box.y + 2.5 * 9);
    await page.mouse.down();
    await page.mouse.move(box.x + (10.7 / 35) * box.width, box.y + 9.5 * 9, { steps: 5 });
    await page.mouse.up();
    await changed(page, before);
    await ready(page);
    is(time(page), "1.05s..1.09s", "cells of one column are the range, too"); // rows 10 to 17 of 20 in 0.1 s
    const mark = await page.$eval(".heat .marked", (e) => { const r = e.getBoundingClientRect(), c = e.parentElement.getBoundingClientRect(); return [r.y - c.y, r.height]; });
    ok(near(mark, [18, 72], 2.5), "and marked as a rectangle", JSON.stringify(mark));
  }

  /* The strip is stacked by what the page of use shows. */
  await to(page, "#view=timeline&by=block");
  await ready(page);
  {
    const { x, y, width } = await place(page);
    await page.mouse.move(x + 0.1 * width, y);
    await page.waitForSelector(".tip.time .patch");
    is((await page.$$eval(".tip.time", (e) => e.map((t) => ["parse", "eval"].every((n) => t.textContent.includes(n)))))[0], true, "the strip is stacked by function where the page shows functions");
  }

  /* The flame chart: its boxes are those of the JSON. */
  {
    const log = join(folder, "gaps.perf"), names = ["a", "b", "c"];
    let text = "", at = 1, n = 0;
    for (; at < 5; at += 0.004, n++) {
      const phase = Math.floor((at - 1) / 0.4);
      if (phase % 3 === 2) continue; // a gap
      text += `prog 7/100 [001] ${at.toFixed(6)}: 4000000 cpu-clock:u: \n\t1000 ${names[n % 50 < 40 ? phase % 3 : 2]}+0x1 (/bin/prog)\n\t1000 main+0x1 (/bin/prog)\n\n`;
      if (n % 4 === 0) text += `prog 7/101 [001] ${at.toFixed(6)}: 4000000 cpu-clock:u: \n\t1000 other+0x1 (/bin/prog)\n\n`;
    }
    writeFileSync(log, text);
    const asked = (page) => new URLSearchParams(page.asked.filter((u) => u.includes("view=chart")).pop().split("?")[1]);
    const boxes = (q) => report(log, "chart", "--limit=all", ...["columns", "span", "thread"].filter((k) => q.get(k)).map((k) => `--${k}=${q.get(k)}`));
    const shown = async (page) => (await page.waitForSelector(".chart:not([aria-busy=true]) canvas"), await settled(page));
    // Is each column drawn at each depth as the boxes are?  Its edges, which are parts of pixels, aside.
    const check = async (page, q, what) => {
      const rows = boxes(q), { from, to } = rows.find((r) => r.role === "total"), columns = Number(q.get("columns"));
      const has = [0, 1, 2].map((depth) => Array.from({ length: columns }, (_, i) => rows.some((r) => r.role === "entry" && r.depth === depth && r.from <= from + ((i + 0.5) / columns) * (to - from) && r.to > from + ((i + 0.5) / columns) * (to - from))));
      const drawn = await page.$eval(".chart canvas", (c, columns) => {
        const pen = c.getContext("2d");
        return [0, 1, 2].map((depth) => Array.from({ length: columns }, (_, i) => pen.getImageData(Math.floor(((i + 0.3) / columns) * c.width), depth * 20 + 2, 1, 1).data[3] > 0));
      }, columns);
      const wrong = has.flatMap((row, depth) => row.flatMap((h, i) => (i && i < columns - 1 && row[i - 1] === h && row[i + 1] === h && drawn[depth][i] !== h ? [[depth, i, h]] : [])));
      ok(wrong.length === 0 && has[0].includes(true), `${what}: what is drawn is what the engine says`, JSON.stringify(wrong.slice(0, 9)));
      return rows.filter((r) => r.role === "entry");
    };
    const page = await view(log, "#view=timeline");
    await shown(page);
    const rows = await check(page, asked(page), "all of the run");
    ok(rows.every((r) => ["main", "a", "b", "c"].includes(r.name)), "it is of the busiest thread");
    const canvas = () => page.$eval(".chart canvas", (e) => { const r = e.getBoundingClientRect(); return { x: r.x, y: r.y, width: r.width }; });
    let c = await canvas();
    const run = boxes(asked(page)).find((r) => r.role === "total").to;
    for (const row of [rows.find((r) => r.name === "a"), rows.find((r) => r.name === "b")]) {
      await page.mouse.move(c.x + ((row.from + row.to) / 2 / run) * c.width, c.y + row.depth * 20 + 10);
      await page.waitForFunction((n) => document.querySelector(".chart .tip strong")?.textContent === n, row.name);
      ok(true, `the box of ${row.name} is named below the pointer`);
    }
    await page.mouse.move(c.x + (1 / 4) * c.width, c.y + 10);
    await page.waitForFunction(() => !document.querySelector(".chart .tip"));
    ok(true, "a gap is empty");
    ok((await page.textContent(".about-chart")).replace(/\u202f/g, " ").includes("stands for 4.000 ms on average: what is shorter is an estimate"), "it says what is an estimate");

    /* A drag is the range of each page. */
    await page.mouse.move(c.x + 0.1 * c.width, c.y + 30);
    await page.mouse.down();
    await page.mouse.move(c.x + 0.3 * c.width, c.y + 30, { steps: 6 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("time="));
    ok(near(within(time(page), run / 1e9), [(0.1 * run) / 1e9, (0.3 * run) / 1e9], 0.02), "what is dragged on it is the range", time(page));
    await shown(page);
    is(await page.$$eval(".chart .marked", (e) => e.length), 1, "which is marked");
    await page.click("nav[aria-label=pages] >> text=Functions");
    await settled(page);
    is((await cells(page, flat)).map((r) => digits(r.figures[1])), report(log, "flat", `--time=${time(page)}`).map((r) => String(r.self)), "and another page has its figures");
    await page.goBack();
    await shown(page);

    /* The wheel, keys and the tracks. */
    c = await canvas();
    before = page.url();
    await page.mouse.move(c.x + 0.5 * c.width, c.y + 10);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await changed(page, before);
    await shown(page);
    const part = words(page).get("strip");
    ok(part && within(part, run / 1e9)[1] - within(part, run / 1e9)[0] < (0.5 * run) / 1e9, "Ctrl and the wheel zoom", part);
    await check(page, asked(page), "zoomed in");
    before = page.url();
    await page.keyboard.down("Shift");
    await page.mouse.move(c.x + 0.5 * c.width, c.y + 10);
    await page.mouse.down();
    await page.mouse.move(c.x + 0.3 * c.width, c.y + 10, { steps: 4 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await changed(page, before);
    await shown(page);
    ok(within(words(page).get("strip"), run / 1e9)[0] > within(part, run / 1e9)[0] + 0.1, "with Shift a drag moves it", words(page).get("strip"));
    await to(page, "#view=timeline");
    await shown(page);
    await page.focus(".chart .sheet");
    for (const key of ["ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
    const [first] = rows.filter((r) => r.depth === 1).sort((a, b) => b.to - b.from - (a.to - a.from) || a.from - b.from).filter((r) => r.from >= rows[0].from && r.to <= rows[0].to);
    ok((await page.textContent(".chart figcaption")).startsWith(first.name + ":"), "arrow keys choose a box", await page.textContent(".chart figcaption"));
    before = page.url();
    await page.keyboard.press("Enter");
    await changed(page, before);
    await shown(page);
    ok(near(within(words(page).get("strip"), run / 1e9), [first.from / 1e9, first.to / 1e9], 0.01), "Enter zooms in on it", words(page).get("strip"));
    before = page.url();
    await page.keyboard.press("Space");
    await changed(page, before);
    await shown(page);
    ok(near(within(time(page), run / 1e9), [first.from / 1e9, first.to / 1e9], 0.01), "Space selects its time", time(page));
    for (const [key, what] of [["Shift+ArrowRight", "moves"], ["Backspace", "zooms out"], ["+", "zooms in"]]) {
      before = words(page).get("strip") ?? "";
      await page.keyboard.press(key);
      await page.waitForFunction((b) => (new URLSearchParams(location.hash.slice(1)).get("strip") ?? "") !== b, before);
      await shown(page);
      ok(true, `${key} ${what}`);
    }
    await to(page, "#view=timeline&strip=0.2001s..0.2011s");
    await shown(page);
    is((await check(page, asked(page), "a quarter of one sample")).length, 2, "is the boxes of its path");
    await to(page, "#view=timeline&strip=0.9s..1s");
    await shown(page);
    is([(await page.textContent(".chart figcaption")).includes("has no samples here"), page.complaints], [true, []], "a part without samples is empty, and no error");
    await to(page, "#view=timeline&find=b");
    await shown(page);
    is(Number(await page.getAttribute(".chart", "data-hits")), rows.filter((r) => r.name === "b").length, "names that are looked for are counted on it");
    await page.click('.tracks button >> text="prog 101"');
    await page.waitForFunction(() => location.hash.includes("thread="));
    await shown(page);
    ok((await check(page, asked(page), "of another thread")).every((r) => r.name === "other"), "a click on its track shows another thread");
    await page.selectOption(".chart-of select", "prog 100");
    await page.waitForFunction(() => location.hash.includes("thread=prog+100"));
    await shown(page);
    await shoot(page, "time-chart");
    is(page.complaints, [], "no complaint from the browser");

    const single = join(folder, "gaps.html");
    writeFileSync(single, execFileSync(tallytree, ["export", "--to", "html", log], { maxBuffer: 1 << 28 }));
    const one = await open("file://" + single + "#view=timeline&strip=1s..3s", { viewport: page.viewportSize() });
    await shown(one.page);
    await check(one.page, new URLSearchParams({ columns: asked(page).get("columns"), span: "1s..3s" }), "in one file");
    is(one.page.complaints, [], "no complaint from the browser");
    await one.context.close();
  }

  /* A telephone: touch, and no scrolling sideways. */
  await page.setViewportSize({ width: 390, height: 800 });
  await to(page, "#view=flat");
  await ready(page);
  is(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, "a telephone's page does not scroll sideways");
  {
    const { x, y, width } = await place(page);
    const touch = await page.context().newCDPSession(page);
    const send = (type, part) => touch.send("Input.dispatchTouchEvent", { type, touchPoints: part === null ? [] : [{ x: x + part * width, y }] });
    await send("touchStart", 0.2);
    for (let i = 1; i <= 10; i++) await send("touchMove", 0.2 + 0.04 * i);
    await send("touchEnd", null);
    await page.waitForFunction(() => location.hash.includes("time="));
    ok(near(within(time(page)), [0.2 * RUN, 0.6 * RUN], 0.03), "a finger selects", time(page));
  }
  is(page.complaints, [], "no complaint from the browser");

  /* In one file without a server, under its own policy. */
  {
    const single = join(folder, "single.html");
    writeFileSync(single, execFileSync(tallytree, ["export", "--to", "html", file], { maxBuffer: 1 << 28 }));
    const { context, page } = await open("file://" + single + "#view=flat");
    await ready(page);
    await dragTo(page, 0.2, 0.6);
    await ready(page);
    is((await cells(page, flat)).map((r) => digits(r.figures[1])), report(file, "flat", `--time=${time(page)}`).map((r) => String(r.self)), "the single file has the strip, too");
    is(page.complaints, [], "no complaint from the browser");
    await context.close();
  }

  /* A burst: six seconds of four functions, and 0.2 s with more of another one. */
  {
    let seed = 7;
    const random = (n) => Math.floor((seed = (seed * 48271) % 2147483647) / (2147483647 / n));
    const ran = Array.from({ length: 6000 }, (_, i) => (i >= 3000 && i < 3200 && random(10) < 8 ? "gc" : ["parse", "eval", "print", "gc"][random(4)]));
    const planted = replayed("planted.tt", "strand main\npush main\n" + ran.map((b) => `push ${b}\nsample ${MS}\npop\n`).join("") + "pop\n");
    const bursts = report(planted, "bursts");
    const check = async (page, where) => {
      await page.waitForSelector(".burst");
      is(await page.$$eval(".burst", (e) => e.map((b) => b.title.replace(/.*more of (\S+):.*/, "$1"))), bursts.filter((r) => r.role === "entry").map((r) => r.name), `${where}: the bursts of the report are marked`);
      ok((await page.$$eval(".burst", (e) => e.map((b) => b.title))).some((t) => t.includes("more of gc:")), `${where}: among them the planted one`);
      before = page.url();
      await page.locator('.burst[title*="more of gc:"]').first().click();
      await changed(page, before);
      await ready(page);
      const [from, to] = within(time(page), 6);
      ok(Math.abs(from - 3) < 0.05 && Math.abs(to - 3.2) < 0.05, `${where}: a click on the mark selects the stretch`, time(page));
      await page.focus(".strip .window");
      await page.keyboard.press("c");
      await page.waitForFunction(() => location.hash.includes("view=diff"));
      await settled(page);
      is([words(page).get("as"), words(page).get("time")], ["flame", time(page)], `${where}: a key compares it with the rest, in a flame graph`);
      await page.click("nav.choice >> text=Functions");
      await settled(page);
      const inside = ran.filter((_, i) => i + 1 >= 1000 * from && i + 1 < 1000 * to), scale = inside.length / (6000 - inside.length);
      for (const r of (await cells(page, "Each function, in the rest of the run (else) and in the range (then)")).filter((c) => ["parse", "eval", "print", "gc"].includes(c.name))) {
        const then = inside.filter((b) => b === r.name).length, rest = (ran.filter((b) => b === r.name).length - then) * scale;
        ok(Math.abs(Number(digits(r.figures[1])) / MS - rest) < 0.02 * rest + 0.2 && Math.abs(Number(digits(r.figures[2])) / MS - then) < 0.001 * then, `${where}: ${r.name} has its figures of the range and of the rest`, JSON.stringify([r.figures, rest, then]));
        is(r.name !== "gc" || (await page.$$eval("tbody tr", (e) => e.map((t) => t.textContent))).some((t) => t.startsWith("gc") && t.includes("more")), true, `${where}: and ${r.name} its verdict`);
      }
    };
    const page = await view(planted, "#view=overview");
    const open_ = new Set(), early = [];
    const isPart = (r) => r.url().endsWith("query?part");
    page.on("request", (r) => (isPart(r) ? early.push(...open_) : r.url().includes("query?") && open_.add(r.url())));
    for (const end of ["requestfinished", "requestfailed"]) page.on(end, (r) => open_.delete(r.url()));
    await page.reload();
    await check(page, "served");
    is(early, [], "they are looked for only while nothing else is asked");
    const parts = [];
    do parts.push(await page.evaluate(() => fetch("query?part").then((r) => r.json())));
    while (parts.at(-1).more);
    is(parts.at(-1).rows, JSON.parse(execFileSync(tallytree, ["report", "bursts", "--json", planted]).toString()).rows, "in parts the engine finds those of the report");
    await shoot(page, "strip-rest");
    await page.setViewportSize({ width: 390, height: 800 });
    await to(page, "#view=diff&as=flame&time=3s..3.2s");
    await ready(page);
    is(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, "a telephone's page of them does not scroll sideways");
    await page.setViewportSize({ width: 1237, height: 860 });

    await to(page, "#view=diff");
    await page.waitForSelector("main .empty");
    is(await page.$$eval("main .error", (e) => e.length), 0, "without a range the page says how to choose one");
    await to(page, "#view=flat&metric=calls&time=3s..3.2s");
    await page.waitForSelector("main .hint");
    is([await page.$$eval("main .error", (e) => e.length), (await page.textContent("main .hint p")).split(":")[0]], [0, "A range of time has no figures of calls"], "a metric without figures by time is a quiet note");
    await page.click(".hint >> text=without calls");
    await ready(page);
    is([words(page).get("metric"), time(page)], [null, "3s..3.2s"], "which offers the range without it");
    await page.goBack();
    await page.waitForSelector("main .hint");
    await page.click(".hint >> text=all of the run");
    await ready(page);
    is([words(page).get("metric"), time(page)], ["calls", null], "or all of the run with it");
    await to(page, "#view=flat&time=3s..3.2s&select=nope&sort=nope");
    await page.waitForSelector("main .error");
    ok(true, "other errors are errors");
    page.complaints.length = 0; // replies of refused queries

    const single = join(folder, "planted.html");
    writeFileSync(single, execFileSync(tallytree, ["export", "--to", "html", planted], { maxBuffer: 1 << 28 }));
    const file = await open("file://" + single + "#view=flat");
    await check(file.page, "in one file");
    is(file.page.complaints, [], "no complaint from the browser");
    await file.context.close();
  }

  /* With another profile to compare with, the address says which comparison it is. */
  {
    const page = await view(file, "#view=flat&time=1s..2s", ["--before", file]);
    await ready(page);
    await page.click('.strip >> text="compare"');
    await page.waitForFunction(() => location.hash.includes("against=rest"));
    await settled(page);
    const caption = () => page.$eval("main canvas", (c) => c.closest("main").textContent.includes("in the rest of the run"));
    is(await caption(), true, "the button compares with the rest of the run");
    await page.click("main >> nth=0");
    await page.click('[role=radiogroup][aria-label=with] >> text="before"');
    await page.waitForFunction(() => !location.hash.includes("against"));
    await settled(page);
    is(await caption(), false, "a choice with the profile before");
  }

  /* No log, no strip. */
  const without = await view(replayed("none.tt", events, "--log", "none"), "#view=flat");
  is(await without.$$eval(".strip", (e) => e.length), 0, "without a log there is no strip");

  /* Threads that run and that wait: one alone, while three run, and then two. */
  {
    const source = join(folder, "states.c"), program = join(folder, "states"), recording = join(folder, "states.tt");
    writeFileSync(source, `#include <pthread.h>
#include <time.h>
static void *loop(void *s) { struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); do clock_gettime(CLOCK_MONOTONIC, &b); while (b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec) < *(double *)s); return s; }
static void together(int n, double s) { pthread_t t[3]; for (int i = 0; i < n; i++) pthread_create(&t[i], 0, loop, &s); for (int i = 0; i < n; i++) pthread_join(t[i], 0); }
int main(void) { double s = .5; loop(&s); together(3, s); together(2, s); }
`);
    execFileSync("cc", ["-O1", "-g", "-pthread", "-o", program, source]);
    execFileSync(tallytree, ["record", "--wall", "-o", recording, program], { stdio: "ignore" });
    const page = await view(recording, "#view=flat");
    await ready(page);
    const buckets = bucketsAsked(page);
    const rows = timeline(recording, "--by=state", `--buckets=${buckets}`);
    const of = (name) => rows.find((r) => (name ? r.name === name : r.role === "total"));
    const most = Math.max(...timeline(recording, "--by=strand", `--buckets=${buckets}`, "--limit=6").find((r) => r.role === "total").buckets), length = Number(of("").length);
    const lines = await page.$eval(".lane canvas", (c, columns) => {
      const { data } = c.getContext("2d").getImageData(0, 0, c.width, c.height);
      return Array.from({ length: columns }, (_, i) => {
        const x = Math.floor(((i + 0.5) / columns) * c.width), dark = [];
        for (let y = 0; y < c.height; y++) if (data[4 * (y * c.width + x) + 3] && [0, 1, 2].every((k) => data[4 * (y * c.width + x) + k] < 12)) dark.push(y + 0.5);
        return dark.length ? c.height - dark.reduce((a, b) => a + b) / dark.length : -1;
      });
    }, buckets);
    ok(near(lines, of("running").buckets.map((n) => (30 * n) / most), 1.6), "a line is as high as the number of threads that run", JSON.stringify([lines, of("running").buckets, most]));
    const { x, y, width } = await place(page);
    for (const part of [0.1, 0.5, 0.9]) {
      const at = Math.floor(part * buckets);
      await page.mouse.move(x + ((at + 0.5) / buckets) * width, y);
      await page.waitForSelector(".tip.time .states");
      const text = (n) => `${(n / length).toFixed(2)} threads`;
      is((await page.textContent(".tip.time .states")).replace(/\u202f/g, " "), `running ${text(of("running").buckets[at])}waiting ${text(of("waiting").buckets[at])}`, `at ${100 * part} % the threads that run and wait are the engine's`);
    }
    is((await page.getAttribute('.strip [aria-label="from"]', "aria-valuetext")).endsWith("threads waiting"), true, "a slider says how many run and wait");
    await page.setViewportSize({ width: 390, height: 800 });
    await ready(page);
    const narrow = await place(page);
    await page.mouse.move(narrow.x + 0.45 * narrow.width, narrow.y);
    await page.waitForSelector(".tip.time .states");
    is(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0, "at 390 pixels the tip fits");
    await page.setViewportSize({ width: 1280, height: 800 });
    await to(page, "#view=flat&select=loop");
    await ready(page);
    const filtered = await place(page);
    await page.mouse.move(filtered.x + 0.3 * filtered.width, filtered.y);
    await page.waitForSelector(".tip.time");
    is(await page.$$eval(".tip.time .states", (e) => e.length), 0, "with filters they are not shown");
  }

  /* A real program, which says when it did what; the page looks on. */
  {
    const source = join(folder, "burns.c"), program = join(folder, "burns"), said = join(folder, "said"), recording = join(folder, "burns.tt");
    writeFileSync(source, `#include <stdio.h>
#include <poll.h>
#include <time.h>
static double read_clock(clockid_t c) { struct timespec t; clock_gettime(c, &t); return t.tv_sec + t.tv_nsec / 1e9; }
static double now(void) { return read_clock(CLOCK_REALTIME); }
static int burn(double s) { double end = read_clock(CLOCK_PROCESS_CPUTIME_ID) + s; int n = 0; while (read_clock(CLOCK_PROCESS_CPUTIME_ID) < end) for (volatile int i = 0; i < 50000; i++) n += i; return n; }
__attribute__((noinline)) int parse(void) { return burn(1) + 1; }
__attribute__((noinline)) int evaluate(void) { return burn(1) + 2; }
__attribute__((noinline)) int print_all(void) { return burn(1) + 3; }
__attribute__((noinline)) int rest(void) { struct pollfd p = {0, POLLIN, 0}; int n = 0; while (!poll(&p, 1, 0)) n += burn(0.1); return n; }
int main(int n, char **v) { FILE *f = fopen(v[n - 1], "w"); fprintf(f, "%.6f", now()); n = parse(); fprintf(f, " %.6f", now()); n += evaluate();
  fprintf(f, " %.6f", now()); n += print_all(); fprintf(f, " %.6f\\n", now()); fclose(f); return n + rest() == 42; }
`);
    execFileSync("cc", ["-O1", "-g", "-w", "-o", program, source]);
    const recorder = spawn(tallytree, ["record", "-o", recording, "--", program, said], { stdio: ["pipe", "ignore", "ignore"] });
    const ended = new Promise((done) => recorder.on("exit", done));
    const folders = () => execFileSync("sh", ["-c", `ls -d ${join(folder, ".burns.tt")}.*.live 2>/dev/null || true`]).toString().trim();
    while (!folders() && recorder.exitCode === null) await new Promise((done) => setTimeout(done, 50));
    const page = await view(folders(), "#view=flat");
    await page.waitForSelector(".strip .edge");
    let lost = 0;
    await page.route("**/state", (r) => (lost++ ? r.continue() : r.abort())); // one answer is lost, and the page goes on
    const end = () => page.$eval('.strip [aria-label="from"]', (e) => Number(e.nextElementSibling.getAttribute("aria-valuemax")));
    const early = await end();
    await page.click("text=last 10 s");
    is(time(page), "-10s..", "of a live recording the last ten seconds are one click");
    await page.waitForFunction((n) => Number(document.querySelector('.strip [aria-label="to"]').getAttribute("aria-valuemax")) > n, early);
    ok(true, "its strip grows");
    recorder.stdin.end();
    await ended;
    await page.waitForSelector(".end, .strip:not(:has(button[aria-pressed]))");
    await page.waitForFunction(() => !document.querySelector(".live"));
    is(await page.textContent(".end"), "recording ended", "when it has ended, the page says so");
    const [begin, ...ends] = readFileSync(said).toString().split(" ").map(Number);
    const started = Number(BigInt(timeline(recording, "--buckets=1").find((r) => r.role === "total").from)) / 1e9;
    for (const [i, name] of ["parse", "evaluate", "print_all"].entries()) {
      const a = (i ? ends[i - 1] : begin) - started + 0.02, b = ends[i] - started - 0.02;
      await to(page, `#view=flat&time=${a.toFixed(3)}s..${b.toFixed(3)}s`);
      const got = await cells(page, flat);
      const of = (n) => Number(digits(got.find((r) => r.name === n)?.figures[3] ?? "0"));
      const [all] = report(recording, "flat", `--time=${a.toFixed(3)}s..${b.toFixed(3)}s`).filter((r) => r.role === "total");
      ok(all.self > 0 && of(name) === all.self, `in the phase of ${name} all is in it`, JSON.stringify([a, b, all.self, got.map((r) => [r.name, r.figures])]));
    }
    is(page.complaints.filter((c) => !c.includes("ERR_FAILED")), [], "no complaint from the browser");
  }
});
