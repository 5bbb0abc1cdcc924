// SPDX-License-Identifier: MIT
// What is too much for one screen.  A table of 100,000 rows, of which those in sight are in the
// document: scrolled, by keys, searched, read aloud; the same as a tree.  A flame graph that is
// zoomed and moved; its drawing is searched by a browser.  Allocators' wrappers.  The single page
// in browsers that cannot unpack it.  Names and figures are worked out here from the input.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { broken, build, folder, is, ok, open, replayed, run, settled, shoot, tallytree, to, view } from "./browser.mjs";

const word = (page, name) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);
const ROWS = 100_000, MIDDLE = 100;
const leaf = (i) => `f${String(i).padStart(5, "0")}`;

// main calls m0 … m99, and each of these a thousand functions of its own, which cost 1 to 7.
const folded = join(folder, "many.folded");
writeFileSync(folded, Array.from({ length: ROWS }, (_, i) => `main;m${i % MIDDLE};${leaf(i)} ${1 + (i % 7)}\n`).join(""));
const names = ["main", ...Array.from({ length: MIDDLE }, (_, i) => `m${i}`), ...Array.from({ length: ROWS }, (_, i) => leaf(i))].sort();

// The rows of the document: number, name, place below the first row, in rows.
const seen = (page) =>
  page.$$eval("main tbody tr[data-row]", (rows) => {
    const top = rows[0].parentElement.getBoundingClientRect().top;
    return rows.map((r) => ({ row: Number(r.dataset.row), read: Number(r.getAttribute("aria-rowindex")), name: r.querySelector("[data-block]")?.dataset.block ?? "", at: (r.getBoundingClientRect().top - top) / 27 }));
  });
const focused = (page) => page.evaluate(() => document.activeElement.closest("tr")?.dataset.row + " " + (document.activeElement.dataset.block ?? document.activeElement.className));
const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));

async function table(page) {
  const found = await page.$$eval(".more-rows button", (e) => e.map((b) => b.textContent));
  is(found.map((f) => f.replace(/\W+\d.*/, "")), ["show more", "show all"], "what a limit leaves out can be shown in part, or all");
  await page.click(".more-rows button >> nth=1");
  await settled(page);
  const total = Number(await page.getAttribute("main table", "aria-rowcount")) - 1;
  ok(total >= names.length && total <= names.length + 2, "readers know how many rows there are", total);
  for (const part of [0, 0.3, 0.77, 1]) {
    await page.evaluate((p) => window.scrollTo(0, p * document.documentElement.scrollHeight), part);
    await frames(page);
    const rows = (await seen(page)).filter((r) => r.name);
    const wrong = rows.filter((r) => names[r.row] !== r.name || r.read !== r.row + 2 || Math.abs(r.at - r.row) > 0.1);
    ok(rows.length > 20 && rows.length < 200 && !wrong.length, `at ${part * 100} % the rows in sight are there, and few others`, `${rows.length} ${JSON.stringify(wrong.slice(0, 2))}`);
    const [head, bottom] = await page.evaluate(() => [document.querySelector("thead th").getBoundingClientRect().top, Math.max(...[...document.querySelectorAll("tbody tr[data-row]")].map((r) => r.getBoundingClientRect().bottom))]);
    ok(part === 0 || (head >= 0 && head < 60), "the heading stays in sight", head);
    ok(part === 1 || bottom > 860, "no part of the window is empty", bottom);
  }

  /* By keys. */
  await page.evaluate(() => window.scrollTo(0, 0));
  await frames(page);
  await page.focus("main tbody tr[data-row='3'] [data-block]");
  await page.keyboard.press("ArrowDown");
  await frames(page);
  is(await focused(page), `4 ${names[4]}`, "an arrow goes to the next row");
  await page.evaluate(() => window.scrollTo(0, 900000));
  await frames(page);
  is(await focused(page), `4 ${names[4]}`, "the row that has the focus keeps it, however far it is scrolled");
  await page.keyboard.press("End");
  await frames(page);
  is(await focused(page), `${names.length - 1} ${names[names.length - 1]}`, "End goes to the last");
  const inside = await page.evaluate(() => { const r = document.activeElement.getBoundingClientRect(); return r.top > 0 && r.bottom < window.innerHeight; });
  ok(inside, "which comes into sight");
  await page.keyboard.press("PageUp");
  await frames(page);
  is(await focused(page), `${names.length - 21} ${names[names.length - 21]}`, "PageUp goes twenty rows up");
  await page.keyboard.press("Home");
  await frames(page);
  is(await focused(page), `0 ${names[0]}`, "Home to the first");

  /* The search knows rows that are not in the document. */
  await page.fill('input[type="search"]', "f7777");
  await page.waitForFunction(() => document.querySelector(".found").textContent.startsWith("1 of 10"));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("tbody tr[aria-current] [data-block]")?.dataset.block.startsWith("f7777"));
  await frames(page);
  const hit = await page.$eval("tbody tr[aria-current]", (r) => [r.querySelector("[data-block]").dataset.block, r.getBoundingClientRect().top]);
  ok(hit[1] > 60 && hit[1] < 800, "and shows them", hit);
  await page.fill('input[type="search"]', "");
  await page.keyboard.press("Escape");
  await settled(page);
  is(await broken(page), [], "axe finds nothing");
  await shoot(page, "long");

  /* A tree. */
  await to(page, `#view=tree&limit=${2 * ROWS}&threshold=0`);
  await page.click("text=open all");
  await frames(page);
  const all = Number(await page.getAttribute("main table", "aria-rowcount")) - 1;
  ok(all >= names.length, "a tree has as many", all);
  await page.focus("main tbody tr[data-row='2'] a");
  await page.keyboard.press("ArrowLeft");
  await frames(page);
  is(Number(await page.getAttribute("main table", "aria-rowcount")) - 1, all - ROWS / MIDDLE, "whose parts close by a key");
  await page.keyboard.press("ArrowDown");
  await frames(page);
  ok(/^3 m\d+$/.test(await focused(page)), "so that the next row is the next function", await focused(page));
  is(page.complaints, [], "no complaint from the browser");
}

const caption = (page) => page.textContent(".flame figcaption");

async function flame(page) {
  await to(page, "#view=flame");
  const box = await (await page.$(".sheet canvas")).boundingBox();
  const at = { x: box.x + box.width / 4, y: box.y + 30 };
  await page.mouse.move(at.x, at.y);
  await page.keyboard.down("Control");
  const width = () => {
    const [from, to] = (word(page, "zoom") ?? "0..1").split("..").map(Number);
    return to - from;
  };
  for (let i = 0; i < 11; i++) await page.mouse.wheel(0, -200);
  // A busy browser takes several as one.
  for (let more = 0; more < 11 && width() >= 0.001; more++) {
    if (more) await page.mouse.wheel(0, -200);
    await page.waitForTimeout(400);
    await settled(page);
  }
  await page.keyboard.up("Control");
  // The address follows when the wheel rests.
  await page.waitForFunction(() => location.hash.includes("zoom="));
  for (let last = "", more = 0; last !== word(page, "zoom") && more < 20; more++, await page.waitForTimeout(1500)) last = word(page, "zoom");
  await settled(page);
  const [from, to_] = word(page, "zoom").split("..").map(Number);
  ok(to_ - from < 0.001 && Math.abs(from - 0.25) < 0.002, "the wheel with Ctrl zooms around the pointer, and the address has it", word(page, "zoom"));
  is(word(page, "context"), null, "without opening a frame");
  const where = await page.$eval(".axis span", (e) => e.textContent);
  ok(where.startsWith((from * 100).toFixed(4).slice(0, 5)), "the axis says where it is", where);
  await page.mouse.click(at.x, at.y + 40, { button: "right" });
  const name = await page.getAttribute(".menu", "aria-label");
  ok(/^f\d{5}$/.test(name), "functions that were narrower than a pixel are there", name);
  await page.keyboard.press("Escape");
  await shoot(page, "zoomed");
  await page.reload();
  await page.waitForSelector(".map");
  await settled(page);
  is(word(page, "zoom"), `${from.toFixed(7)}..${to_.toFixed(7)}`, "it is there again when the page is");

  const drag = async (dx) => {
    await page.mouse.move(at.x, at.y + 40);
    await page.mouse.down();
    await page.mouse.move(at.x + dx, at.y + 40, { steps: 4 });
    await page.mouse.up();
  };
  const start = () => Number(word(page, "zoom").split("..")[0]);
  // The address is written when the graph rests, and on a busy machine it may rest on the way.
  const movedTo = (at, by) =>
    page.waitForFunction(([at, size, by]) => Math.abs((Number(/zoom=([\d.]+?)\.\./.exec(location.hash)?.[1]) - at) / size - by) < 0.02, [at, to_ - from, by], { timeout: 30000 }).then(() => true, () => false);
  await drag(-300);
  ok((await movedTo(from, 300 / box.width)) && !word(page, "context"), "it is dragged, which opens nothing", `${from} ${start()}`);
  await settled(page);
  const there = start();
  await page.$eval(".sheet", (sheet, { x, y }) => {
    const send = (type, dx) => sheet.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: x + dx, clientY: y, buttons: 1, button: 0, pointerType: "mouse" }));
    send("pointerdown", 0);
    for (let dx = -30; dx >= -120; dx -= 30) send("pointermove", dx);
    send("pointerup", -120);
  }, { x: at.x, y: at.y + 40 });
  ok(await movedTo(there, 120 / box.width), "and as far if the browser was too busy to draw on the way", `${there} ${start()}`);
  const read = await page.getAttribute(".map", "aria-valuetext");
  await page.focus(".map");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction((r) => document.querySelector(".map").getAttribute("aria-valuetext") !== r, read);
  ok(true, "arrow keys move it on the map");
  is(await broken(page), [], "axe finds nothing");
  await page.focus(".sheet");
  await page.keyboard.press("0");
  await page.waitForFunction(() => !location.hash.includes("zoom="));
  is(await page.$(".map"), null, "0 shows all");
  await page.keyboard.press("ArrowDown");
  for (let i = 0; i < 3; i++) await page.keyboard.press("+");
  await page.waitForFunction(() => location.hash.includes("zoom="));
  const [a, b] = word(page, "zoom").split("..").map(Number);
  ok(Math.abs(b - a - 1 / 1.5 ** 3) < 1e-6, "plus zooms around the frame that is chosen", word(page, "zoom"));
  ok((await caption(page)).startsWith("[root]: total"), "whose figures are below", await caption(page));
  await settled(page);
  await page.mouse.click(at.x, at.y);
  await page.waitForFunction(() => location.hash.includes("context="));
  is(word(page, "zoom"), null, "a frame that is opened is seen as a whole");
  is(page.complaints, [], "no complaint from the browser");
}

async function drawing() {
  const file = join(folder, "narrow.folded");
  writeFileSync(file, "main;wide 100000\nmain;other 4000\nmain;narrow_without_room 200\n");
  const page = await view(file, "#view=flame");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=save SVG")]);
  const svg = join(folder, "flame.svg");
  writeFileSync(svg, readFileSync(await download.path()));
  const { page: shown, context } = await open("file://" + svg, {}, "svg");
  is(await shown.evaluate(() => ["wide", "narrow_without_room", "absent"].map((n) => (getSelection().empty(), window.find(n)))), [true, true, false], "a browser finds names in the drawing, with and without room");
  ok((await shown.$$eval("title", (e) => e.map((t) => t.textContent))).some((t) => /^narrow_without_room: total 200/.test(t)), "and shows their figures");
  await context.close();
}

async function memory() {
  const file = replayed("wrapped.tt", "push main\npush load\npush xmalloc\nalloc text 600 8\npop\npop\npush parse\npush xmalloc\nalloc text 300 8\npop\nalloc node 100 8\npop\npop\n");
  const page = await view(file, "#view=space&by=block");
  const rows = () => page.$$eval("tbody tr.entry", (e) => Object.fromEntries(e.map((r) => [r.querySelector("[data-block]").dataset.block, r.querySelectorAll("td.figure")[1].title.replace(/\D/g, "")])));
  is(await rows(), { xmalloc: "900", parse: "100" }, "memory is by the function that allocated it");
  is(await page.$$eval("th", (e) => e.slice(1, 4).map((x) => x.textContent.trim())), ["objects", "bytes", "overhead"], "columns say of what");
  ok((await page.textContent(".wrapper")).startsWith("xmalloc allocates for its callers."), "one that is known to allocate for others is named", await page.textContent(".wrapper"));
  await page.click(".wrapper button");
  await settled(page);
  is(await rows(), { load: "600", parse: "400" }, "and is folded into its callers by a click");
  ok((await page.textContent(".wrapper")).startsWith("load allocated 60.00\u202f%"), "and then another one that may be", await page.textContent(".wrapper"));
  const names = ["g_malloc", "PyMem_RawMalloc", "sqlite3MemMalloc", "std::allocator<char>::allocate", "xalloc_of_mine"];
  const many = replayed("wrappers.tt", names.map((n, i) => `push f${i}\npush ${n}\nalloc t ${100 + i} 8\npop\npop\n`).join(""));
  await page.goto("about:blank");
  const other = await view(many, "#view=space&by=block");
  await other.click(".wrapper button");
  await settled(other);
  is(await other.$$eval("tbody tr.entry [data-block]", (e) => e.map((x) => x.dataset.block).sort()), ["f0", "f1", "f2", "f3", "xalloc_of_mine"], "all known ones go by one click");
}

async function unpacking() {
  const saved = join(folder, "many.html");
  execFileSync(tallytree, ["export", "--to", "html", "-o", saved, join(folder, "narrow.folded")]);
  const said = async (file, prepare) => {
    const { page, context } = await open("about:blank", {}, "body");
    await page.addInitScript(prepare);
    await page.goto("file://" + file);
    await page.waitForFunction(() => !document.querySelector("#app p.waiting")?.textContent.startsWith("Reading"));
    const text = await page.textContent("#app");
    await context.close();
    return text;
  };
  const old = await said(saved, () => delete window.DecompressionStream);
  ok(old.startsWith("This browser is too old for this page. Open it in Chrome"), "a browser that cannot unpack the page says so", old);
  const damaged = join(folder, "damaged.html");
  writeFileSync(damaged, readFileSync(saved).toString().replace(/(id="script">.{2000}).{40}/, `$1${"A".repeat(40)}`));
  const text = await said(damaged, () => {});
  ok(text.startsWith("The page cannot be unpacked, so this file may be damaged"), "and one that is damaged", text.slice(0, 200));
}

await run(async () => {
  const page = await view(folded, "#view=flat&sort=-name");
  for (const part of [table, flame, drawing, memory, unpacking]) await part(page);
});
