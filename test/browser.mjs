// SPDX-License-Identifier: MIT
// Shared by tests of the viewer: a browser, the content of a page, the answers of the engine.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { finish, ok, tallytree } from "./tap.mjs";

export { build, finish, is, ok, tallytree } from "./tap.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const modules = createRequire(join(here, "../web/package.json"));
export const { chromium } = modules("playwright-core");
export const folder = mkdtempSync(join(tmpdir(), "tallytree-web-"));
const shots = process.env.TT_SHOTS; // where screenshots go, when they are wanted

// Replays events into a recording.
export function replayed(name, events, ...words) {
  const file = join(folder, name);
  writeFileSync(file + ".events", events);
  execFileSync(tallytree, ["replay", ...words, "-o", file, file + ".events"]);
  return file;
}

export function report(file, ...words) {
  const table = JSON.parse(execFileSync(tallytree, ["report", "--json", ...words, file], { maxBuffer: 1 << 28 }).toString());
  const index = Object.fromEntries(table.columns.map((c, i) => [c.key, i]));
  return table.rows.map((r) => ({ role: r.role, depth: r.depth, ...Object.fromEntries(Object.entries(index).map(([k, i]) => [k, r.values[i]])) }));
}

// The figures of a table of the page: the titles have the exact ones.
export const cells = (page, label) =>
  page.$$eval(`table[aria-label="${label}"] tbody tr`, (rows) =>
    rows.map((r) => ({
      role: r.className.split(" ")[0],
      figures: [...r.querySelectorAll("td.figure")].map((td) => td.title),
      name: r.querySelector("td.name [data-block], td.name .plain")?.textContent ?? "",
    })),
  );
export const digits = (text) => text.replace(/[^0-9]/g, "");

// One browser for the whole test; it ends with the process.  It is waited for as long as a busy
// machine may need.
const PATIENCE = 120000;
// The one that never has a window takes a seventh less time.
const program = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync);
let browser;
const launched = () =>
  (browser ??= chromium.launch({
    executablePath: program,
    headless: true,
    timeout: PATIENCE,
    // A separate process for each page takes longer than most pages; so do two pages that a
    // window of the browser has for its field of addresses.
    args: ["--renderer-process-limit=1", "--disable-features=SpareRendererForSitePerProcess,WebUIOmniboxPopup,WebUIOmniboxAimPopup", "--disable-site-isolation-trials", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  }));

async function begin(options = {}) {
  const context = await (await launched()).newContext({ viewport: { width: 1237, height: 860 }, ...options });
  context.setDefaultTimeout(PATIENCE);
  return context;
}

// A page of the viewer, or another one that has `ready` on it, in a context without the storage of
// other pages.
export async function open(address, options = {}, ready = "nav a.on") {
  const context = await begin(options);
  return { context, page: await addPage(context, address, ready) };
}

async function addPage(context, address, ready = "nav a.on") {
  const page = await context.newPage();
  page.complaints = [];
  page.asked = [];
  page.on("pageerror", (e) => page.complaints.push(e.message));
  page.on("console", (m) => m.type() === "error" && page.complaints.push(m.text()));
  page.on("request", (r) => r.url().endsWith("query?part") || page.asked.push(r.url())); // those come when nothing else is asked
  await page.goto(address);
  await page.waitForSelector(ready, { state: "attached" });
  return page;
}

export async function shoot(page, name) {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  await page.waitForTimeout(250);
  await page.screenshot({ path: join(shots, name + ".png") });
}

// What was asked for is there: two frames after the address has changed, nothing is busy.
export async function settled(page) {
  await page.evaluate(() => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)))));
  await page.waitForFunction(() => document.querySelector("main *") && !document.querySelector("main [aria-busy=true]"));
}
export async function to(page, hash) {
  await page.evaluate((h) => (location.hash = h), hash);
  await settled(page);
}

// Texts on canvases that stand out by less than 4.5 to 1 from the pixels below them, each pair
// of colours once; `inks` has them of a whole drawing.
export const watchInks = (page) =>
  page.evaluate(() => {
    const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = colour;
      pen.fillRect(0, 0, 1, 1);
      return [...pen.getImageData(0, 0, 1, 1).data];
    };
    const over = (top, under) => [0, 1, 2].map((i) => (top[i] * top[3] + under[i] * (255 - top[3])) / 255);
    const light = (c) => c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (e) => {
      const layers = [];
      for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
      return layers.reduceRight((under, top) => over(top, under), matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]);
    };
    const draw = CanvasRenderingContext2D.prototype.fillText;
    window.inks = { count: 0, wrong: {} };
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
      const at = this.getTransform(), width = this.measureText(text).width;
      const left = x - { center: width / 2, right: width, end: width }[this.textAlign] || x;
      const back = behind(this.canvas);
      for (let part = 0.05; part < 1; part += 0.3) {
        const p = at.transformPoint({ x: left + width * part, y });
        const below = over([...this.getImageData(Math.round(p.x), Math.round(p.y), 1, 1).data], back);
        const a = light(over(rgba(this.fillStyle), below)), b = light(below);
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) window.inks.wrong[`${this.fillStyle} on ${below.map(Math.round)}`] = `${ratio.toFixed(2)} "${text.slice(0, 30)}"`;
      }
      window.inks.count++;
      return draw.call(this, text, x, y, ...rest);
    };
  });
// A theme that has just changed may be drawn in parts of both: another size draws it again.
export async function inks(page) {
  let seen;
  for (let i = 0; i < 20; i++) {
    const { width, height } = page.viewportSize();
    await page.evaluate(() => (window.inks = { count: 0, wrong: {} }));
    await page.setViewportSize({ width: width + (i % 2 ? -1 : 1), height });
    await settled(page);
    seen = await page.evaluate(() => window.inks);
    if (seen.count && !Object.keys(seen.wrong).length) break;
  }
  return seen;
}

// The rules of axe-core that a page breaks, and where; of all rules, or of some.
export async function broken(page, runOnly) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(readFileSync(modules.resolve("axe-core/axe.min.js")).toString());
  const { violations } = await page.evaluate((runOnly) => window.axe.run(document, { resultTypes: ["violations"], ...(runOnly && { runOnly }) }), runOnly);
  return violations.map((v) => `${v.id} [${v.impact}]: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 140)} ${n.failureSummary.split("\n")[1] ?? ""}`).join(" | ")}`);
}

// A server of the viewer for a file, and its address.
export async function serve(file, words = []) {
  const server = spawn(tallytree, ["view", ...words, file], { stdio: ["ignore", "pipe", "inherit"] });
  const address = await new Promise((done) => {
    let text = "";
    server.stdout.on("data", (d) => {
      text += d;
      if (text.includes("\n")) done(text.trim());
    });
  });
  return { server, address };
}

// A page of a file, with a server; both end with `run`.  These pages have one context: each
// server has a port, and so its page has its own storage.
const browsers = [], servers = [];
export async function view(file, hash, words = []) {
  const { server, address } = await serve(file, words);
  servers.push(server);
  if (!browsers.length) browsers.push(await begin());
  const page = await addPage(browsers[0], address + hash);
  await settled(page);
  return page;
}

// Runs the tests, and clears up after them whatever happened.
export async function run(tests) {
  try {
    await tests();
  } catch (e) {
    ok(false, "no surprise", e.stack);
  }
  for (const b of browsers) await b.close().catch(() => {});
  for (const s of servers) s.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  finish();
}
