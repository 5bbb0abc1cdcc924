// SPDX-License-Identifier: MIT
// viewer.mjs MIB LARGE [PROFILE] - how long the viewer lets one wait, in Chromium: a page with a
// Clean profile of MIB megabytes in it, opened from its file; one of LARGE megabytes, from when
// the command is told to show it; then PROFILE (a .tt, from bench/scale), whose pages are dropped
// from memory before, served, and zoomed into.
// viewer.mjs day RECORDING - of a day (from bench/day): the strip, and ranges of it as a flame
// graph and as a flame chart, by the engine alone and in Chromium.
import { execFileSync } from "node:child_process";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, open, serve, settled, tallytree } from "../test/browser.mjs";

const [mib, large, profile] = process.argv.slice(2);

/* ── A Clean profile ──────────────────────────────────────────────────────────────── */

let seed = 1;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const below = (n) => Math.floor(random() * n);

function leb(n) {
  const bytes = [];
  for (; n >= 128; n = Math.floor(n / 128)) bytes.push((n % 128) | 128);
  return [...bytes, n];
}

// Six thousand functions, each of which calls up to eight others, always the same ones.
function clean(size) {
  const names = (count, name) => Array.from({ length: count }, (_, i) => name + i);
  const functions = 6000, modules = 300;
  const calls = Array.from({ length: functions + 1 }, () => [...new Set(Array.from({ length: 1 + below(8) }, () => 1 + below(functions)))]);
  const out = Buffer.alloc(size + (1 << 20));
  let at = out.write("prof");
  for (const n of [2, modules, functions]) at = out.writeUInt32LE(n, at);
  const put = (bytes) => {
    for (const b of bytes) out[at++] = b;
  };
  put([...leb(2400000000), ...leb(7)]);
  for (const m of names(modules, "Module")) put([...Buffer.from(m), 0]);
  for (const f of names(functions, "function_")) put([...leb(1 + below(modules)), ...Buffer.from(f), 0]);
  const open = [[1, 0]];
  while (open.length) {
    const [block, depth] = open.pop();
    const share = depth < 2 ? 0 : random();
    const called = depth > 60 || at > size || share > 0.8 ? [] : share > 0.55 ? calls[block].slice(0, 1) : calls[block];
    const figures = [-Math.log(random()) * 2000, -Math.log(random()) * 300, below(3), below(200), below(20), 0];
    put([block, ...figures.map(Math.floor), called.length].flatMap(leb));
    for (const c of called) open.push([c, depth + 1]);
  }
  return out.subarray(0, at);
}

/* ── What is waited for ───────────────────────────────────────────────────────────── */

const ms = (n) => Math.round(n).toString();
const row = (what, ...figures) => console.log(`| ${what} | ${figures.join(" | ")} |`);

async function timed(what) {
  const began = performance.now();
  await what();
  return performance.now() - began;
}
const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];

// From the start of the navigation to the first view.
async function picture(address) {
  const { context, page } = await open("about:blank", {}, "body");
  const took = await timed(async () => {
    await page.goto(address);
    await page.waitForSelector("main table, main canvas");
    await settled(page);
  });
  return { context, page, took };
}

async function single() {
  const file = join(folder, "clean.pgcl"), saved = join(folder, "clean.html");
  writeFileSync(file, clean(mib * 1048576));
  execFileSync(tallytree, ["export", "--to", "html", "-o", saved, file]);
  const times = [];
  for (let i = 0; i < 3; i++) {
    const { context, took } = await picture("file://" + saved);
    times.push(took);
    await context.close();
  }
  row(`a page, ${(statSync(saved).size / 1e6).toFixed(1)} MB, from a Clean profile of ${mib} MiB`, ms(median(times)), "", "");
}

// As it was written: the command reads it first.
async function read() {
  const file = join(folder, "large.pgcl");
  writeFileSync(file, clean(large * 1048576));
  const times = [];
  for (let i = 0; i < 3; i++) {
    const began = performance.now();
    const { server, address } = await serve(file);
    const until = performance.now() - began;
    const { context, took } = await picture(address);
    times.push(until + took);
    await context.close();
    server.kill();
  }
  row(`a Clean profile of ${large} MiB, read and served`, ms(median(times)), "", "");
}

// A canvas is cleared before it is drawn; the drawing is visible with the next frame.
function watchDrawing() {
  const clear = CanvasRenderingContext2D.prototype.clearRect;
  window.drawn = [];
  CanvasRenderingContext2D.prototype.clearRect = function (...rest) {
    requestAnimationFrame(() => window.drawn.push(performance.now()));
    return clear.apply(this, rest);
  };
}

// Into the largest context of a level, and a level of that, by the page's own clock: until
// what is there of it is seen at its new place, and until all that it has is.
async function zoom(page, depth) {
  return page.evaluate(async (depth) => {
    const table = await (await fetch("query?view=tree&threshold=0.001&limit=2000")).json();
    const at = (key) => table.columns.findIndex((c) => c.key === key);
    const row = table.rows.find((r) => r.role === "entry" && r.depth === depth);
    if (!row) return null;
    const frame = () => new Promise(requestAnimationFrame);
    window.drawn.length = 0;
    const began = performance.now();
    location.hash = "view=flame&context=" + row.values[at("context")];
    do await frame();
    while (!window.drawn.length || document.querySelector("main [aria-busy=true]"));
    await frame();
    await frame();
    return { first: window.drawn[0] - began, all: window.drawn.at(-1) - began };
  }, depth);
}

async function served() {
  execFileSync("dd", ["of=" + profile, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"], { stdio: "ignore" });
  const { server, address } = await serve(profile);
  const { context, page, took } = await picture(address + "#view=flame");
  const zooms = [];
  await page.evaluate(watchDrawing);
  for (let depth = 1; depth < 12; depth++) {
    const time = await zoom(page, depth);
    if (time !== null) zooms.push(time);
  }
  const middle = (key) => (zooms.length ? ms(median(zooms.map((z) => z[key]))) : "");
  row(`served, ${(statSync(profile).size / 1e9).toFixed(2)} GB`, ms(took), middle("first"), middle("all"));
  await context.close();
  server.kill();
}

/* ── A day ────────────────────────────────────────────────────────────────────────── */

const RANGES = 15;

// By the page's own clock, from the new address until what it shows is drawn.
const shown = (page, hash) =>
  page.evaluate(async (hash) => {
    const frame = () => new Promise(requestAnimationFrame);
    window.drawn.length = 0;
    const began = performance.now();
    location.hash = hash;
    do await frame();
    while (!window.drawn.length || document.querySelector("main [aria-busy=true]"));
    await frame();
    await frame();
    return window.drawn.at(-1) - began;
  }, hash);

async function day(recording) {
  const ranges = Array.from({ length: RANGES }, () => Math.floor(random() * 80000)).map((from) => [from, from + 60 + below(6000)]);
  const of = ([from, to]) => `${from}s..${to}s`;
  const began = performance.now();
  const { server, address } = await serve(recording);
  const read = performance.now() - began;
  const answers = async (query) => {
    const times = [];
    for (const r of ranges) times.push(await timed(async () => (await fetch(address + "query?" + query(of(r)))).json()));
    return times;
  };
  const strip = await timed(async () => (await fetch(address + "query?view=timeline&buckets=700&limit=6&by=strand")).json());
  const flames = await answers((r) => `view=flame&threshold=0.0008&limit=8000&time=${r}`);
  const charts = await answers((r) => `view=chart&columns=700&limit=8000&span=${r}`);
  const { context, page } = await open("about:blank", {}, "body");
  const lane = await timed(async () => {
    await page.goto(address + "#view=flat");
    await page.waitForSelector(".strip:not([aria-busy=true]) .window");
  });
  await page.evaluate(watchDrawing);
  await page.evaluate(() => (location.hash = "view=flame"));
  await settled(page);
  const times = { flame: [], chart: [] };
  for (const r of ranges) times.flame.push(await shown(page, `view=flame&time=${of(r)}`));
  await page.evaluate(() => (location.hash = "view=timeline"));
  await settled(page);
  for (const r of ranges) times.chart.push(await shown(page, `view=timeline&strip=${of(r)}`));
  const spread = (t) => [ms(median(t)), `${ms(Math.min(...t))} to ${ms(Math.max(...t))}`];
  console.log("| what | ms | least to most |\n|:-----|---:|---:|");
  row("reading the recording", ms(read), "");
  row("the strip, by the engine", ms(strip), "");
  row("the page with its strip, in the browser", ms(lane), "");
  row("a range as a flame graph, by the engine", ...spread(flames));
  row("a range as a flame graph, in the browser", ...spread(times.flame));
  row("a range as a flame chart, by the engine", ...spread(charts));
  row("page Time with a range as a flame chart, in the browser", ...spread(times.chart));
  await context.close();
  server.kill();
}

async function all() {
  console.log("| what | first picture, ms | a zoom, ms | with all details, ms |");
  console.log("|:-----|------------------:|-----------:|---------------------:|");
  await single();
  await read();
  if (profile) await served();
}

try {
  if (mib === "day") await day(large);
  else await all();
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(); // whatever a browser has left open
