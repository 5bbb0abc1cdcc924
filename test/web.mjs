// SPDX-License-Identifier: MIT
// The viewer in a browser: every page, every list, undo, a shared link, the single file, the
// dark, the keyboard.  A page shows what `report --json` prints.
import { execFileSync, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, cells, digits, finish, folder, is, ok, open, report, serve, settled, shoot, tallytree, to } from "./browser.mjs";

/* ── A profile with all that there is: recursion, lines, threads, types, time ─────── */

function makeEvents() {
  const source = join(folder, "prog.c");
  writeFileSync(source, Array.from({ length: 40 }, (_, i) => `line ${i + 1};`).join("\n") + "\n");
  const lines = [];
  const names = ["main", "parse", "eval", "apply", "gc", "print", "lookup", "<img src=x onerror=alert(1)>"];
  names.forEach((n, i) => lines.push(`block ${n.replace(/ /g, "_")} kind=function module=prog file=${source} line=${3 * i + 2}`));
  lines.push(`block never kind=function module=prog file=${source} line=30`);
  const n = names.map((x) => x.replace(/ /g, "_"));
  let seed = 7;
  const random = (k) => (seed = (seed * 1103515245 + 12345) % 2147483648) % k;
  for (const strand of ["one", "two", "three"]) {
    lines.push(`strand ${strand}`, "push main", "tick 40");
    for (let i = 0; i < 300; i++) {
      const depth = 1 + random(6);
      for (let d = 0; d < depth; d++) lines.push(`push ${n[1 + random(n.length - 1)]}`, `tick ${1 + random(strand === "one" ? 60 : 20)}`);
      for (let d = 0; d < depth; d++) lines.push("pop");
    }
    lines.push("pop");
  }
  return lines.join("\n") + "\n";
}

const events = join(folder, "events");
writeFileSync(events, makeEvents());
const profile = join(folder, "p.tallytree");
execFileSync(tallytree, ["replay", "-o", profile, events]);

const { server, address } = await serve(profile);

const browsers = [];
try {
  const { context, page } = await open(address);
  browsers.push(context);
  await settled(page);
  const want = report(profile, "flat");
  const entries = want.filter((r) => r.role === "entry");

  /* Overview: the hottest block is first. */
  is(await page.$eval(".top li .name", (e) => e.textContent), entries[0].name, "the overview begins with the hottest block");
  const notes = await page.$$eval("main .notes li", (e) => e.map((n) => n.textContent));
  ok(notes.length && new Set(notes).size === notes.length, "which says once what it cannot see", notes.join("\n"));
  await shoot(page, "overview");

  /* Blocks. */
  await page.keyboard.press("3");
  await settled(page);
  let got = await cells(page, "Functions: self, and total with all that they called");
  is(got.filter((r) => r.role === "entry").map((r) => r.name), entries.map((r) => r.name), "blocks are in the engine's order");
  is(got.filter((r) => r.role === "entry").map((r) => [digits(r.figures[1]), digits(r.figures[3]), digits(r.figures[4])]),
    entries.map((r) => [String(r.self), String(r.inclusive), String(r.calls)]), "with its exact figures");
  is(digits(got.find((r) => r.role === "total").figures[1]), String(want.find((r) => r.role === "total").self), "and its total");
  await shoot(page, "blocks");
  await page.click('th button:text-is("total")');
  await settled(page);
  got = await cells(page, "Functions: self, and total with all that they called");
  is(got[0].name, report(profile, "flat", "--sort=inclusive")[0].name, "by total times");
  await page.click("th button:has-text('calls')");
  await settled(page);
  got = await cells(page, "Functions: self, and total with all that they called");
  is(got.filter((r) => r.role === "entry").map((r) => r.name), report(profile, "flat", "--sort=calls").filter((r) => r.role === "entry").map((r) => r.name), "sorted by a column");
  is(await page.$eval("th[aria-sort=descending]", (e) => e.textContent.trim().split(" ")[0]), "calls", "which says so to readers");
  ok(!page.complaints.length && (await page.$("img")) === null, "a name that is HTML stays a text", page.complaints.join("\n"));

  /* A block. */
  await page.click('[data-block="eval"]');
  await settled(page);
  const block = report(profile, "block", "--block=eval");
  for (const [label, role] of [["Callers: what would be saved without their calls", "caller"], ["Callees: what it called", "callee"]]) {
    got = await cells(page, label);
    is(got.map((r) => [r.name, digits(r.figures[1])]), block.filter((r) => r.role === role).map((r) => [r.name, String(r.inclusive)]), `the block page: ${role}s`);
  }
  await shoot(page, "block");

  /* Lists: by the menu, by its key, by hand; chips; undo. */
  await to(page, "#view=flat");
  await page.click('[data-block="parse"]', { button: "right" });
  await page.click("text=hide paths through it");
  await settled(page);
  is(await page.$eval(".chip .pattern", (e) => e.textContent), "parse", "the menu adds to a list");
  const without = report(profile, "flat", "--exclude=parse");
  got = await cells(page, "Functions: self, and total with all that they called");
  is(got.map((r) => [r.name, digits(r.figures[1])]), without.map((r) => [r.name, String(r.self)]), "and the page shows what is left");
  await page.focus('[data-block="apply"]');
  await page.keyboard.press("m");
  await page.keyboard.press("f");
  await settled(page);
  is(await page.$$eval(".chip", (e) => e.map((c) => c.className)), ["chip exclude", "chip fold"], "by keys");
  got = await cells(page, "Functions: self, and total with all that they called");
  is(got.map((r) => [r.name, digits(r.figures[1])]), report(profile, "flat", "--exclude=parse", "--fold=apply").map((r) => [r.name, String(r.self)]), "both in their order");
  const shared = page.url();
  await page.click(".chip.exclude .remove");
  await settled(page);
  is(await page.$$eval(".chip", (e) => e.length), 1, "a chip is removed by its button");
  await page.goBack();
  await settled(page);
  is(await page.$$eval(".chip", (e) => e.length), 2, "going back undoes it");
  await page.fill('input[type="search"]', "5%");
  await page.click("text=cut off parts below 5%");
  await settled(page);
  got = await cells(page, "Functions: self, and total with all that they called");
  is(got.map((r) => [r.name, digits(r.figures[1])]), report(profile, "flat", "--exclude=parse", "--fold=apply", "--prune=5%").map((r) => [r.name, String(r.self)]), "a limit that is typed");
  const figuresOf = async (...words) => is((await cells(page, "Functions: self, and total with all that they called")).map((r) => [r.name, digits(r.figures[1])]), report(profile, "flat", ...words).map((r) => [r.name, String(r.self)]), `filters are ${words.join(" ")}`);
  await page.click(".chip.fold .edit");
  await page.fill('.editor input[aria-label="pattern"]', "g*");
  await page.selectOption('.editor select[aria-label="kind of filter"]', "select");
  await page.click(".editor >> text=apply");
  await settled(page);
  await figuresOf("--exclude=parse", "--select=g*", "--prune=5%");
  await page.click(".chip.select .edit");
  await page.click(".editor >> text=switch off");
  await settled(page);
  await figuresOf("--exclude=parse", "--prune=5%");
  is(await page.$$eval(".chip.off .pattern", (e) => e.map((c) => c.textContent)), ["g*"], "one that is switched off is kept");
  await page.click(".editor >> text=switch on");
  await page.click('.editor [aria-label="apply it earlier"]');
  await page.keyboard.press("Escape");
  await page.focus(".chip.prune .edit");
  await page.keyboard.press("Alt+ArrowLeft");
  await settled(page);
  is(await page.$$eval(".chip", (e) => e.map((c) => c.classList[1])), ["select", "prune", "exclude"], "filters are moved by buttons and by keys");
  await figuresOf("--select=g*", "--prune=5%", "--exclude=parse");
  await page.focus(".chip.select .edit");
  await page.keyboard.press("Delete");
  await settled(page);
  await figuresOf("--prune=5%", "--exclude=parse");
  await page.click("text=remove all");
  await settled(page);
  await figuresOf();
  for (const [key, kind] of [["hide", "exclude"], ["merge", "fold"], ["charge to", "centre"], ["begin at", "root"], ["only", "select"]]) {
    await to(page, "#view=flat");
    await page.fill('input[type="search"]', "^ev");
    await page.fill('input[type="search"]', "/^ev/");
    await page.click(`.matches .all >> text=${key}`);
    await settled(page);
    await figuresOf(`--${kind}=/^ev/`);
  }
  {
    const other = await context.newPage();
    await other.goto(shared);
    await other.waitForSelector(".chip");
    await settled(other);
    got = await cells(other, "Functions: self, and total with all that they called");
    is(got.map((r) => [r.name, digits(r.figures[1])]), report(profile, "flat", "--exclude=parse", "--fold=apply").map((r) => [r.name, String(r.self)]), "a copied link shows the same");
    await other.close();
  }

  /* Flame graph. */
  await to(page, "#view=flame");
  await page.focus(".sheet");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const first = report(profile, "flame").filter((r) => r.depth === 1 && r.role === "entry").sort((a, b) => b.inclusive - a.inclusive)[0];
  ok((await page.$eval("figcaption", (e) => e.textContent)).startsWith(first.name + ":"), "arrows go to the widest frame", await page.$eval("figcaption", (e) => e.textContent));
  await shoot(page, "flame");
  await page.keyboard.press("Enter");
  await settled(page);
  is(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("context"), `${first.context}#${first.path}`, "Enter opens it");
  await page.focus(".sheet");
  await page.keyboard.press("Backspace");
  await settled(page);
  is(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("context"), null, "Backspace leaves it");
  const box = await page.$eval(".sheet canvas", (c) => { const r = c.getBoundingClientRect(); return { x: r.x, y: r.y, w: r.width }; });

  /* What is there of a frame that is opened is seen before the engine has answered. */
  {
    const pointed = async () => {
      const names = [];
      for (const line of [0, 1, 2])
        for (const x of [0.05, 0.3, 0.6, 0.97]) {
          await page.mouse.move(box.x + x * box.w, box.y + 20 * line + 10);
          names.push((await page.$$eval(".tip strong", (e) => e.map((t) => t.textContent))).join() || "none");
        }
      return names;
    };
    const second = report(profile, "flame").filter((r) => r.depth === 2 && r.role === "entry").sort((a, b) => b.inclusive - a.inclusive)[0];
    let answer;
    const held = new Promise((done) => (answer = done));
    await page.route(/query\?view=(flame|tree).*(context|to)=/, async (route) => {
      await held;
      await route.continue();
    });
    await page.evaluate((c) => (location.hash = "#view=flame&context=" + c), second.context);
    await page.waitForSelector("main [aria-busy=true]");
    const before = await pointed();
    ok(before.slice(8).every((name) => name === second.name), "a frame that is opened is as wide as all before it is answered", before.join(" "));
    answer();
    await settled(page);
    await page.unroute(/query\?view=(flame|tree).*(context|to)=/);
    is(await pointed(), before, "and stands where it will");
    await to(page, "#view=flame");
  }
  await page.mouse.move(box.x + 20, box.y + 30);
  ok((await page.textContent(".tip")).includes(first.name), "a frame tells its figures", await page.textContent(".tip"));
  await page.keyboard.press("/");
  await page.keyboard.type("gc");
  await page.waitForFunction(() => /of \d+, on paths of/.test(document.querySelector(".found")?.textContent ?? ""));
  const through = report(profile, "flat", "--select=/gc/i").find((r) => r.role === "total").self / want.find((r) => r.role === "total").self;
  ok((await page.textContent(".found")).includes((through * 100).toFixed(2)), "the share of what is found", await page.textContent(".found"));
  await page.keyboard.press("Enter");
  ok((await page.$eval("figcaption", (e) => e.textContent)).startsWith("gc:"), "Enter goes to a hit");
  const place = async () => (await page.textContent(".found")).match(/(\d+) of (\d+)/).slice(1);
  const [second, hits] = await place();
  is(second, "2", "which has its number");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.press("Shift+Enter");
  await settled(page);
  is(await place(), [hits, hits], "before the first comes the last");
  await page.focus(".sheet");
  await page.keyboard.press("Enter");
  await settled(page);
  ok(/context=\d/.test(page.url()), "and Enter in the picture opens it", page.url());

  /* On a page of tables and pictures each place counts, in the order of the page. */
  await to(page, "#view=block&block=eval&find=e");
  await page.waitForFunction(() => /of \d/.test(document.querySelector(".found").textContent));
  const counted = await page.$$eval("main .hit, main [data-hits]", (all) => all.map((e) => Number(e.dataset.hits ?? 1)));
  const tables = await page.$$eval("main [data-block]", (all) => all.filter((e) => /e/i.test(e.dataset.block)).length);
  ok(counted.length === tables + 2 && counted.slice(-2).every((n) => n > 0) && tables > 1, "names in tables and frames are found", JSON.stringify(counted));
  is((await place())[1], String(counted.reduce((a, b) => a + b)), "and all of them are counted");
  const currents = () => page.$$eval("main [aria-current]", (all) => all.map((e) => e.dataset.hits ?? e.textContent.trim()));
  const went = [await currents()];
  for (let i = 0; i < tables; i++) {
    await page.keyboard.press("n");
    await settled(page);
    went.push(await currents());
  }
  ok(went.every((c) => c.length === 1) && went[tables][0] === String(counted[tables]), "n goes from one to the next, and on to the picture", JSON.stringify(went));
  await to(page, "#view=graph&find=e");
  const boxes = await page.$$eval(".graph .box", (all) => all.filter((e) => /e/i.test(e.querySelector("title").textContent)).length);
  await page.waitForFunction((n) => document.querySelector(".found").textContent.startsWith(`1 of ${n},`), boxes);
  ok(boxes > 1, "and so are boxes of the graph");

  /* The other pages, against the engine. */
  await to(page, "#view=tree");
  await page.click("text=open all");
  got = await cells(page, "Paths from the root, the largest first");
  is(got.map((r) => [r.name, digits(r.figures[1])]), report(profile, "tree", "--limit=200").map((r) => [r.name, String(r.self)]), "the tree");
  await to(page, "#view=callers&as=table");
  await page.click("text=open all");
  got = await cells(page, "Each function, and below it its callers");
  is(got.map((r) => [r.name, digits(r.figures[1])]), report(profile, "callers", "--limit=200").map((r) => [r.name, String(r.self)]), "callers");
  await to(page, "#view=groups");
  got = await cells(page, "Rings of recursion, each taken as one");
  is(got.map((r) => r.name), report(profile, "groups", "--rings=1").map((r) => r.name), "groups");
  await to(page, "#view=graph");
  is((await page.$$eval(".graph .box", (b) => b.length)), report(profile, "graph", "--limit=30").filter((r) => r.role === "entry" && !(r.inclusive_share > 0.98 && r.self_share < 0.001)).length, "the graph has a box for each function, but those that all is in");
  const edges = report(profile, "graph", "--limit=30").filter((r) => r.role === "callee").map((r) => `${(r.inclusive_share * 100).toFixed(r.inclusive_share < 0.1 ? 1 : 0)}\u202f%`);
  const labels = await page.$$eval(".graph .call", (e) => e.map((x) => x.textContent));
  ok(labels.length > 3 && labels.every((l) => edges.includes(l)), "each arrow says its share", labels.join(" "));
  is(labels.length, await page.$$eval(".graph .arrow", (e) => e.length), "all of them");
  await shoot(page, "graph");
  {
    // a box that is in sight
    const box = await page.$$eval(".graph .box rect", (all) => {
      const svg = document.querySelector(".graph svg").getBoundingClientRect();
      return all.findIndex((e) => { const r = e.getBoundingClientRect(); return r.top >= svg.top && r.bottom + 60 <= Math.min(svg.bottom, innerHeight) && r.left >= svg.left && r.right + 100 <= svg.right; });
    });
    const at = () => page.$$eval(".graph .box rect", (all, box) => { const r = all[box].getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }, box);
    const [x, y] = await at();
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 90, y + 40, { steps: 5 });
    await page.mouse.up();
    await settled(page);
    const [dx, dy] = (await at()).map((n, i) => n - [x, y][i]);
    ok(Math.abs(dx - 90) < 2 && Math.abs(dy - 40) < 2, "the graph goes with the pointer that drags it", `${dx} ${dy}`);
    ok(page.url().includes("view=graph"), "and a box that it is dragged by is not opened");
  }
  await page.focus(".graph .box");
  await page.keyboard.press("Enter");
  await settled(page);
  ok(page.url().includes("view=block"), "a box is opened");
  await to(page, "#view=strands");
  got = await cells(page, "Threads, processes, ranks");
  is(got.map((r) => digits(r.figures[1])), report(profile, "strands").map((r) => String(r.self)), "strands");
  await to(page, "#view=strands&by=block");
  got = await cells(page, "How figures spread over threads");
  is(got.map((r) => r.name), report(profile, "strands", "--by=block", "--limit=100").map((r) => r.name), "and how blocks spread over them");
  await shoot(page, "strands");
  await to(page, "#view=strands&by=rank");
  got = await cells(page, "Threads, processes, ranks");
  is(got.map((r) => digits(r.figures[1])), report(profile, "strands", "--by=rank").map((r) => String(r.self)), "processes and ranks");
  await to(page, "#view=lines");
  const lines = report(profile, "lines", "--limit=all").filter((r) => r.role === "entry" && r.line);
  const hot = await page.$$eval("table.source tr.covered", (rows) => rows.map((r) => [r.querySelector(".line").textContent, r.querySelector("td").title.replace(/[^0-9]/g, "")]));
  is(hot, lines.sort((a, b) => a.line - b.line).map((r) => [String(r.line), String(r.self)]), "the source, line by line");
  is(await page.$$eval("table.source tr.uncovered .line", (cells) => cells.map((c) => c.textContent)), ["30"], "and what never ran");
  await shoot(page, "source");
  await to(page, "#view=lines&select=print");
  is(await page.$$eval("table.source tr.uncovered", (e) => e.length), 0, "a filter hides lines that ran, and none is said to have never run");
  await to(page, "#view=flta");
  ok((await page.textContent("main")).includes('no page "flta"'), "an unknown page says so");
  await to(page, "#view=flat&metric=nope");
  ok(/no metric 'nope'/.test(await page.textContent(".error")), "a wrong query is explained");
  await to(page, "#view=flat&metric=calls");
  got = await cells(page, "Functions: self, and total with all that they called");
  is(got.map((r) => r.name), report(profile, "flat", "--metric=calls").map((r) => r.name), "another metric");
  await to(page, "#view=flat&beside=calls");
  const calls = new Map(report(profile, "flat", "--metric=calls").map((r) => [r.name, String(r.self)]));
  is(await page.$$eval("tr.entry", (rows) => rows.map((r) => [r.querySelector("[data-block]").textContent, [...r.querySelectorAll("td.figure")].at(-2).title.replace(/[^0-9]/g, "")])),
    entries.map((r) => [r.name, calls.get(r.name)]), "and two side by side");
  await page.keyboard.press("?");
  ok(await page.$("dialog[open]"), "? lists the keys");
  await page.keyboard.press("Escape");
  is(page.complaints.filter((c) => !/400/.test(c)), [], "no complaint from the browser");
  is([...new Set(page.asked.map((u) => new URL(u).host))].filter((h) => h && h !== new URL(address).host), [], "nothing is asked of anybody else");

  /* A narrow window in the dark. */
  {
    const dark = await open(address + "#view=flat", { colorScheme: "dark", viewport: { width: 420, height: 800 } });
    browsers.push(dark.context);
    await settled(dark.page);
    is(await dark.page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(22, 25, 27)", "the dark is dark");
    ok(await dark.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), "a narrow window does not scroll sideways", await dark.page.evaluate(() => document.documentElement.scrollWidth));
    await shoot(dark.page, "dark-narrow");
    await dark.page.setViewportSize({ width: 330, height: 700 });
    await to(dark.page, "#view=flame");
    await dark.page.hover(".sheet canvas", { position: { x: 200, y: 30 } });
    const tip = await dark.page.$eval(".tip", (e) => { const r = e.getBoundingClientRect(); return [r.left, r.right]; });
    ok(tip[0] >= 0 && tip[1] <= 330, "what a frame tells is within it", tip);
    await shoot(dark.page, "narrow-tip");
  }

  /* One file. */
  const file = join(folder, "one.html");
  execFileSync(tallytree, ["export", "--to", "html", "-o", file, profile]);
  const carrying = join(folder, "sources.html");
  execFileSync(tallytree, ["export", "--with-sources", "-o", carrying, profile]);
  server.kill("SIGTERM");
  {
    const single = await open("file://" + file + "#view=flat", { offline: true });
    browsers.push(single.context);
    await settled(single.page);
    got = await cells(single.page, "Functions: self, and total with all that they called");
    is(got.filter((r) => r.role === "entry").map((r) => [r.name, digits(r.figures[1])]), entries.map((r) => [r.name, String(r.self)]), "one file shows the same without a server");
    await to(single.page, "#view=flat&exclude=parse&fold=apply");
    got = await cells(single.page, "Functions: self, and total with all that they called");
    is(got.map((r) => [r.name, digits(r.figures[1])]), report(profile, "flat", "--exclude=parse", "--fold=apply").map((r) => [r.name, String(r.self)]), "its filters too");
    is(single.page.complaints, [], "no complaint from the browser");
    is(single.page.asked.filter((u) => !u.startsWith("file:") && !u.startsWith("data:")), [], "it asks nobody");
    await to(single.page, "#view=lines");
    const said = (await single.page.$$eval(".empty", (all) => all.map((e) => e.textContent))).join(" ");
    ok(/--with-sources/.test(said), "without sources, it says how to have them", said);
  }
  {
    const single = await open("file://" + carrying + "#view=lines", { offline: true });
    browsers.push(single.context);
    await settled(single.page);
    is(await single.page.$$eval("table.source tr.covered", (rows) => rows.map((r) => [r.querySelector(".line").textContent, r.querySelector("td").title.replace(/[^0-9]/g, "")])), hot, "with sources, it shows them line by line");
    is(await single.page.$$eval("table.source code", (texts) => texts.map((t) => t.textContent)), Array.from({ length: 40 }, (_, i) => `line ${i + 1};`), "their text is that of the file");
    is(single.page.complaints, [], "no complaint from the browser");
  }
  /* A program that runs: the page follows, holds still when paused, and sees the end. */
  {
    const growing = join(folder, "live.tallytree");
    const program = spawn(join(build, "examples/wordtree"), [`output=${growing}`], { stdio: ["pipe", "ignore", "ignore"] });
    const say = (n) => new Promise((done) => program.stdin.write("alpha beta gamma delta\n".repeat(n), done));
    await say(5000);
    await new Promise((done) => setTimeout(done, 300));
    const view = spawn(tallytree, ["view", growing], { stdio: ["ignore", "pipe", "inherit"] });
    const at = await new Promise((done) => view.stdout.once("data", (d) => done(String(d).trim())));
    const live = await open(at + "#view=flat&metric=calls");
    browsers.push(live.context);
    await settled(live.page);
    const total = () => live.page.$eval("tr.total td.figure:nth-child(3)", (e) => Number(e.title.replace(/[^0-9]/g, "")));
    const before = await total();
    ok((await live.page.textContent(".live")) === "live", "a running program is live");
    await say(50000);
    await live.page.waitForFunction((n) => Number(document.querySelector("tr.total td.figure:nth-child(3)")?.title.replace(/[^0-9]/g, "")) > n, before);
    ok(true, "the page follows it");
    await live.page.click(".live");
    let held, last;
    do { // what was asked for before may still come
      last = held;
      await live.page.waitForTimeout(1000);
      held = await total();
    } while (held !== last);
    await say(50000);
    await live.page.waitForTimeout(2500);
    is(await total(), held, "and holds still when it is paused");
    await live.page.click(".live");
    program.stdin.end();
    const status = await new Promise((done) => program.on("exit", done));
    is(status, 0, "the program has noticed nothing");
    await live.page.waitForFunction(() => !document.querySelector(".live"));
    await settled(live.page);
    const whole = report(growing, "flat", "--metric=calls").find((r) => r.role === "total").self;
    for (let tries = 0; tries < 20 && (await total()) !== whole; tries++)
      await live.page.waitForTimeout(500); // a busy machine draws it later
    is(await total(), whole, "its end is the whole");
    view.kill("SIGTERM");
  }
} catch (e) {
  ok(false, "no surprise", e.stack);
} finally {
  for (const b of browsers) await b.close().catch(() => {});
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
finish();
