// SPDX-License-Identifier: MIT
// Ways through the viewer: to the hottest line and from a function to its source, names of the
// whole profile, back to where a page was left, a graph that can be read, trees that close,
// threads on a click, several metrics side by side, a function's lines beside its instructions.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { broken, build, cells, digits, folder, is, ok, open, replayed, report, run, settled, shoot, tallytree, to, view } from "./browser.mjs";

const flat = "Functions: self, and total with all that they called";
const word = (page, name) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);
const top = (page, selector) => page.$eval(selector, (e) => Math.round(e.getBoundingClientRect().top));

// 90 functions under main; f7 is hot, and far down in a long file.  Ticks and words of each are
// worked out here: fN has N + 1 ticks, but f7 5000, and words 2 N.
const ticks = (n) => (n === 7 ? 5000 : n + 1);
const functions = Array.from({ length: 90 }, (_, n) => n);
const source = join(folder, "long.c");
const gone = join(folder, "gone.c");
writeFileSync(source, Array.from({ length: 12000 }, (_, i) => `int line_${i + 1};\n`).join(""));
const events =
  functions.map((n) => `block f${n} kind=function module=prog file=${source} line=${n === 7 ? 9000 : n + 10}\n`).join("") +
  `block lost kind=function module=prog file=${gone} line=3\n` +
  "strand one\npush main\n" + functions.slice(0, 60).map((n) => `push f${n}\ntick ${ticks(n)}\ncount words ${2 * n}\npop\n`).join("") + "push lost\ntick 20000\npop\npop\n" +
  "strand two\npush main\n" + functions.slice(60).map((n) => `push f${n}\ntick ${ticks(n)}\ncount words ${2 * n}\npop\n`).join("") + "pop\n";

/* Source and instructions of a function, side by side: the figures of the command, and what is
   marked together.  Self is at chosen instructions. */
async function instructions() {
  const source = join(folder, "code.c"), program = join(folder, "code"), file = join(folder, "code.tt");
  writeFileSync(source, `static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
    x ^= x << 13;
    return x ^ x >> 7;
}
__attribute__((noinline)) unsigned work(unsigned n)
{
    unsigned s = 1;
    for (unsigned i = 0; i < n; i++) {
        s = mix(s + i);
        if (s % 5 == 0)
            s /= 7;
    }
    return s;
}
int main(int n, char **v) { (void)v; return (int)work((unsigned)n * 10); }
`);
  execFileSync("cc", ["-O2", "-g", "-o", program, source]);
  const code = execFileSync("objdump", ["-d", "--no-show-raw-insn", program]).toString().split("<work>:\n")[1].split("\n\n")[0];
  const all = [...code.matchAll(/^\s*([0-9a-f]+):\t/gm)].map((m) => m[1]);
  const stacks = all.filter((_, i) => i % 3 === 1).map((address, i) => `${program} - ${1000 + 37 * i} ${address}\n`).join("");
  execFileSync(join(build, "test/addresses"), ["-o", file], { input: stacks });
  execFileSync(tallytree, ["symbolize", file]);

  const page = await view(file, "#view=block&block=work");
  await page.keyboard.press("l");
  await page.waitForSelector("#instructions tr[data-link]");
  await settled(page);
  is([word(page, "view"), word(page, "block")], ["assembly", "work"], "one key leads from a function to its code");
  const at = (address) => page.$$eval("#instructions tr[data-link]", (e, a) => "#" + e.find((r) => r.cells[1].textContent === a).id, address);
  const printed = (self) => (self ? String(self) : "");
  const want = report(file, "assembly", "--block=work").filter((r) => r.role === "entry");
  const got = await page.$$eval("#instructions tr[data-link]", (e) => e.map((r) => [r.cells[0].title.replace(/[^0-9]/g, ""), r.cells[1].textContent, r.cells[2].textContent, r.cells[3].textContent]));
  is(got, want.map((r) => [printed(r.self), r.address, (r.label ?? "").replace(":", ""), r.name]), "each instruction with its figure, as the command has it");
  is(got.reduce((n, r) => n + Number(r[0]), 0), all.filter((_, i) => i % 3 === 1).reduce((n, _, i) => n + 1000 + 37 * i, 0), "which add up to what was recorded");
  const lines = new Map(report(file, "source", "--block=work").filter((r) => r.role === "entry" && r.inclusive !== null).map((r) => [String(r.line), [printed(r.self), String(r.inclusive)]]));
  const shown = await page.$$eval("#source tr[data-line]", (e) => e.map((r) => [r.dataset.line, r.cells[0].title.replace(/[^0-9]/g, ""), r.cells[1].title.replace(/[^0-9]/g, ""), r.cells[3].textContent]));
  const text = readFileSync(source).toString().split("\n");
  is(shown, shown.map(([line]) => [line, ...(lines.get(line) ?? ["", ""]), text[line - 1] || " "]), "each line with its text and figures");
  is([...lines.keys()].filter((line) => !shown.some((r) => r[0] === line)), [], "and none is missing");
  is(await page.$$eval(".pane:has(#instructions) .minimap span", (e) => e.length), want.filter((r) => r.self).length, "the minimap has a mark for each hot instruction");

  /* What is marked together: by the debug information, the inlined part by its call's line, too. */
  const linked = (id) => page.$$eval(`#${id} tr[data-linked]`, (e) => e.map((r) => r.cells[1].textContent + (r.dataset.line ?? "")));
  const ofLine = (line) => want.filter((r) => (r.function === "work" && r.line === line) || (r.function === "mix" && r.at_line === line)).map((r) => r.address);
  await page.hover('#source tr[data-line="11"] .code');
  is(await linked("instructions"), ofLine(11), "below the pointer, a line's instructions are marked");
  const other = want.find((r) => r.function === "work" && r.line !== 11);
  await page.hover(await at(other.address));
  is(await page.$$eval("#source tr[data-linked]:not(.inner)", (e) => e.map((r) => r.dataset.line)), [String(other.line)], "and an instruction's line");
  await page.focus("#source");
  const chosen = (id) => page.$eval(`#${id}`, (e) => document.getElementById(e.getAttribute("aria-activedescendant"))?.dataset.line ?? "");
  await page.keyboard.press("Home");
  const first = Number(await chosen("source"));
  for (let i = first; i < 9; i++) await page.keyboard.press("ArrowDown");
  is([await chosen("source"), await linked("instructions")], ["9", ofLine(9)], "the arrow keys do the same");
  const jump = want.find((r) => /\bL\d+ [↓↑]$/.test(r.name));
  await page.click(await at(jump.address));
  const target = want.find((r) => r.label === /\bL\d+/.exec(jump.name)[0] + ":").address;
  is(await page.$eval("#instructions tr[data-chosen]", (e) => e.cells[1].textContent), target, "a click on a jump leads to its label");
  const hottest = [...lines].filter(([, [self]]) => self).sort((a, b) => b[1][0] - a[1][0]).map(([line]) => line);
  is(await page.$$eval(".hot a", (e) => e.map((a) => a.textContent)), hottest.slice(0, 8), "the hottest lines are led to");
  for (const [width, height] of [[1237, 860], [390, 844]])
    for (const colorScheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme });
      await settled(page);
      is(await broken(page), [], `axe finds nothing on ${width} pixels in the ${colorScheme}`);
      is(await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0, "and the page does not scroll sideways");
      await shoot(page, `instructions-${width}-${colorScheme}`);
    }
  is(page.complaints, [], "no complaint from the browser");

  /* A page without a server has the figures, and says where the instructions are. */
  const html = join(folder, "code.html");
  execFileSync(tallytree, ["export", "--to", "html", "--with-sources", "-o", html, file]);
  const { context, page: single } = await open("file://" + html + "#view=assembly&block=work");
  await single.waitForSelector("#instructions tr[data-link]");
  await settled(single);
  is(await single.$$eval("#instructions tr[data-link]", (e) => e.map((r) => [r.cells[0].title.replace(/[^0-9]/g, ""), r.cells[1].textContent])), want.filter((r) => r.self).map((r) => [String(r.self), r.address]), "a single file has a row for each address with a figure");
  ok((await single.textContent(".notes")).includes("tallytree view"), "and says what shows its instructions");
  is((await single.$$eval("#source tr[data-line]", (e) => e.map((r) => r.cells[3].textContent))).includes(text[10]), true, "beside the source that is in it");
  is(single.complaints, [], "no complaint from the browser");
  await context.close();
}

/* Recursion is collapsed in both trees by a click, and undone by another: the figures are those of
   paths on which each function is once, reckoned here from the stacks. */
async function recursion() {
  const stacks = [["main;eval", 3], ["main;eval;apply", 5], ["main;eval;apply;eval;gc", 7], ["main;eval;apply;eval;apply;eval", 11], ["main;gc;gc;eval", 13]];
  const once = (stack) => stack.reduce((path, f) => [...path.slice(0, path.includes(f) ? path.indexOf(f) : path.length), f], []);
  const totals = new Map();
  const add = (map, key, n) => map.set(key, (map.get(key) ?? 0) + n);
  for (const [text, n] of stacks) {
    const path = once(text.split(";"));
    path.forEach((_, i) => add(totals, path.slice(0, i + 1).join(";"), n));
  }
  const file = join(folder, "recursive.folded");
  writeFileSync(file, stacks.map(([s, n]) => `${s} ${n}\n`).join(""));
  const page = await view(file, "#view=tree&threshold=0");
  const tree = (column) =>
    page.$$eval("tbody tr.entry", (rows, column) => {
      const path = [];
      return rows.map((r) => {
        path.length = Number(getComputedStyle(r.cells[0]).getPropertyValue("--depth"));
        path.push(r.querySelector("[data-block]").dataset.block);
        return [path.filter((n) => n !== "[root]").join(";"), Number(r.querySelectorAll("td.figure")[column].title.replace(/[^0-9]/g, ""))];
      }).filter(([p]) => p).sort();
    }, column);
  const sorted = (map) => [...map].sort();
  await page.click("text=open all");
  const whole = await tree(3);
  await page.click("text=collapse recursion");
  await settled(page);
  await page.click("text=open all");
  is([word(page, "collapse"), await page.getAttribute("text=collapse recursion", "aria-pressed")], ["*", "true"], "a click collapses recursion");
  is(await tree(3), sorted(totals), "each function is on a path once, with the total of what was collapsed");
  await to(page, "#view=callers&as=table&threshold=0&collapse=*");
  await page.click("text=open all");
  const inverted = new Map((await tree(1)).filter(([p, n]) => p.includes(";") && n));
  const self = new Map();
  for (const [text, n] of stacks) {
    const path = once(text.split(";")).reverse();
    path.forEach((_, i) => i && add(self, path.slice(0, i + 1).join(";"), n));
  }
  is(sorted(inverted), sorted(self), "the callers do so, too, with what each function itself cost below each of them");
  await to(page, "#view=tree&threshold=0&collapse=*");
  await page.click("text=collapse recursion");
  await settled(page);
  await page.click("text=open all");
  is([word(page, "collapse"), await tree(3)], [null, whole], "another click undoes it");
  await page.focus('main [data-block="apply"]');
  await page.keyboard.press("m");
  await page.keyboard.press("e");
  await settled(page);
  ok(word(page, "collapse").startsWith("apply#") && (await page.textContent(".chips")).includes("collapse"), "the menu does so for one function", word(page, "collapse"));
  is(page.complaints, [], "no complaint from the browser");
}

/* Waits for what requests make true, up to 30 s. */
async function until(page, test) {
  const end = Date.now() + 30000;
  while (!test() && Date.now() < end) await page.evaluate(() => new Promise(requestAnimationFrame));
}

/* What is asked and then not wanted any more is cancelled: the server is held here. */
async function superseded(page) {
  const held = [], gone = [];
  const failed = (r) => gone.push(new URL(r.url()).search);
  page.on("requestfailed", failed);
  await page.route(/exclude=f1&|exclude=f2&/, (route) => held.push(route));
  const ask = async (hash) => {
    const before = held.length;
    await page.evaluate((h) => (location.hash = h), hash);
    await until(page, () => held.length > before);
  };
  await ask("#view=flat&exclude=f1&limit=100");
  await ask("#view=flat&exclude=f2&limit=100");
  await until(page, () => gone.length > 0);
  ok(gone.length > 0 && gone.every((q) => q.includes("exclude=f1")), "a question that another one replaces is cancelled", gone.join(" "));
  for (const route of held) if (route.request().url().includes("exclude=f2")) await route.continue();
  await page.unroute(/exclude=f1&|exclude=f2&/);
  await settled(page);
  is((await cells(page, flat)).some((r) => r.name === "f2"), false, "and the other one is answered");
  page.off("requestfailed", failed);
  page.complaints = page.complaints.filter((c) => !c.includes("ERR_ABORTED"));
}

await run(async () => {
  const file = replayed("explore.tt", events);
  const page = await view(file, "#view=lines");

  /* Source: a file that is not there is passed over, and the hottest line is in sight. */
  ok((await page.textContent("main")).includes(`left out: ${gone}`), "a source that is not there is left out, and said", (await page.textContent("main")).slice(0, 300));
  await page.waitForFunction(() => window.scrollY > 0);
  const hot = await top(page, '[data-line="9000"]');
  ok(hot > 0 && hot < 860, "the hottest line is in sight", hot);
  ok((await page.$$("table.source tbody tr")).length <= 1000, "and only lines around it are on the page");
  is(digits((await page.textContent(".hot a")) ?? ""), "9000", "hottest lines are led to");
  await page.click(".hot a >> nth=1");
  await settled(page);
  is(await page.$eval(".hot a[aria-current]", (e) => e.textContent), word(page, "line"), "the address has the line");
  const second = await top(page, `[data-line="${word(page, "line")}"]`);
  ok(second > 0 && second < 860, "which is in sight", second);
  await to(page, "#view=block&block=f7");
  await page.click("main .hot a");
  await settled(page);
  is([word(page, "view"), word(page, "file"), word(page, "line")], ["lines", source, "9000"], "a function leads to its source");

  /* Names of the whole profile, asked once for what was typed. */
  await to(page, "#view=flat&limit=2");
  await page.evaluate(() => {
    const set = window.setTimeout, clear = window.clearTimeout;
    window.held = new Map();
    window.setTimeout = (f, ms, ...rest) => (ms >= 100 && ms < 1000 ? (window.held.set(-window.held.size - 1, f), -window.held.size) : set(f, ms, ...rest));
    window.clearTimeout = (id) => window.held.delete(id) || clear(id);
    window.letGo = () => {
      const all = [...window.held.values()];
      window.held.clear();
      window.setTimeout = set;
      window.clearTimeout = clear;
      all.forEach((f) => f());
    };
  });
  const before = page.asked.length;
  await page.keyboard.press("/");
  await page.keyboard.type("f8");
  await settled(page);
  is(page.asked.slice(before).filter((u) => /select=|block=/.test(u)), [], "while letters are typed nothing is asked");
  await page.evaluate(() => window.letGo());
  await page.waitForFunction(() => document.querySelectorAll(".matches li").length > 0 && document.querySelector(".found").textContent.includes("%"));
  const names = functions.map((n) => `f${n}`).filter((n) => n.includes("f8"));
  is((await page.$$eval(".matches .name", (e) => e.map((x) => x.firstChild.textContent.trim()))).sort(), names.filter((n) => n !== "f8").sort(), "then what matches in the whole profile is listed, the largest first");
  is(await page.textContent(".matches li:last-child a"), `${names.length - 10} more`, "and how many more there are");
  ok((await page.textContent(".found")).startsWith("none on this page"), "none of it being on the page", await page.textContent(".found"));
  const sum = functions.reduce((n, f) => n + ticks(f), 20000);
  const part = functions.filter((n) => `f${n}`.includes("f8")).reduce((n, f) => n + ticks(f), 0);
  ok((await page.textContent(".found")).includes(((100 * part) / sum).toFixed(2)), "with the share of all", await page.textContent(".found"));
  await shoot(page, "matches");
  is(page.asked.slice(before).filter((u) => /select=|block=/.test(u)).length, 1, "by one question, which walks no filtered profile");
  await page.click(".matches li:last-child a");
  await settled(page);
  is((await cells(page, flat)).filter((r) => r.role === "entry").map((r) => r.name).sort(), names.sort(), "more leads to all of them");
  for (const [find, matches] of [["/f\\d$/", /f\d$/], ["/^f[[:digit:]]$/", /^f\d$/], ["f1?", /^f1.$/], ["/^f[\\d]{2}$/", /^f\d{2}$/], ["/^[^\\d]+$/", /^[^\d]+$/], ["/F7$/i", /f7$/]]) {
    await to(page, "#view=flat&limit=200&find=" + encodeURIComponent(find));
    await page.waitForFunction(() => document.querySelector(".found").textContent.includes("on paths of"));
    const want = ["main", "lost", ...functions.map((n) => `f${n}`)].filter((n) => matches.test(n));
    const marked = await page.$$eval("main .block.hit a", (e) => e.map((x) => x.dataset.block));
    is(marked.sort(), want.sort(), `${find} marks what an expression of JavaScript does`);
    const cost = want.includes("main") ? sum : want.reduce((n, f) => n + (f === "lost" ? 20000 : ticks(Number(f.slice(1)))), 0);
    ok((await page.textContent(".found")).includes(`${((100 * cost) / sum).toFixed(2)}\u202f%`), `and the share is of the same names`, `${await page.textContent(".found")} ${(100 * cost) / sum}`);
  }
  for (const find of ["/(unclosed/", "/(?<=a)b/", "/a\\1/"]) {
    await to(page, "#view=flat&find=" + encodeURIComponent(find));
    ok((await page.textContent(".found")).startsWith("not an expression"), `${find} is said to be none`, await page.textContent(".found"));
  }

  /* Going back. */
  await to(page, "#view=flat&limit=100");
  await page.evaluate(() => window.scrollTo(0, 1200));
  const link = page.locator('main [data-block="f59"]');
  const was = await page.evaluate(() => window.scrollY);
  await link.evaluate((e) => e.click());
  await settled(page);
  is(word(page, "view"), "block", "a name opens its page");
  is(await page.evaluate(() => window.scrollY), 0, "at its top");
  ok(await page.evaluate(() => document.activeElement.tagName === "MAIN"), "where the keyboard goes on", await page.evaluate(() => document.activeElement.outerHTML.slice(0, 90)));
  await page.goBack();
  await settled(page);
  await page.waitForFunction((y) => window.scrollY === y, was);
  ok(was > 500, "going back leads to where it was left");
  await page.locator('main a[data-block="f58"]').focus();
  await page.keyboard.press("Enter");
  await settled(page);
  await page.goBack();
  await page.waitForFunction(() => document.activeElement.dataset.block === "f58");
  ok(true, "and to the name that had the focus");
  const first = await view(file, "#view=flat");
  await first.keyboard.press("u");
  await settled(first);
  is(await first.evaluate(() => document.querySelectorAll("nav a").length > 0), true, "u does not leave the viewer");
  await first.keyboard.press("2");
  await settled(first);
  await first.keyboard.press("u");
  await first.waitForFunction(() => location.hash.includes("view=flat"));
  ok(true, "and undoes within it");

  /* Keys: not behind a dialog, not to pages that are left out, not when they are off. */
  await first.keyboard.press("?");
  await first.keyboard.press("5");
  is(word(first, "view"), "flat", "keys do nothing behind the help");
  await first.click(".help input");
  await first.keyboard.press("Escape");
  await first.keyboard.press("5");
  await settled(first);
  is(word(first, "view"), "flat", "nor where they are switched off");
  await first.click('[aria-label="help and keys"]');
  await first.click(".help input");
  await first.keyboard.press("Escape");
  for (const key of ["7", "8", "9", "0"]) await first.keyboard.press(key);
  await settled(first);
  is(word(first, "view"), "flat", "nor lead to pages that are left out");
  await first.keyboard.press("3");
  await first.waitForFunction(() => location.hash.includes("view=tree"));
  ok(true, "and do again where they are on");

  /* The graph: letters of ten pixels at least, the heaviest box in sight, its place kept. */
  for (const limit of [30, 120]) {
    await to(page, `#view=graph&limit=${limit}`);
    await page.waitForFunction(() => document.querySelector(".graph .box text").getBoundingClientRect().height > 8);
    const [letters, inside] = await page.evaluate(() => {
      const svg = document.querySelector(".graph svg").getBoundingClientRect();
      const boxes = [...document.querySelectorAll(".graph .box")];
      const lost = boxes.find((b) => b.querySelector("title").textContent === "lost").getBoundingClientRect();
      return [parseFloat(getComputedStyle(boxes[0].querySelector("text")).fontSize) * document.querySelector(".graph svg").getScreenCTM().a, lost.left >= svg.left && lost.right <= svg.right && lost.top >= svg.top && lost.bottom <= svg.bottom];
    });
    ok(letters >= 10, `${limit} blocks are drawn with letters that can be read`, letters);
    ok(inside, "around the one that cost most");
  }
  await page.focus(".graph svg");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => location.hash.includes("at="));
  ok(true, "where one looks is in the address");
  // The scale and the middle of the picture, whatever the size of the window.
  const seen = () =>
    page.$eval(".graph svg", (e) => {
      const { a, e: left, f: top } = e.getScreenCTM(), box = e.getBoundingClientRect();
      return [a, (box.left + box.width / 2 - left) / a, (box.top + box.height / 2 - top) / a].map((n) => Math.round(n * 10) / 10);
    });
  const resized = async (width, height) => {
    await page.setViewportSize({ width, height });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return seen();
  };
  const window_ = page.viewportSize();
  const looked = await seen();
  is(await resized(900, 500), looked, "a smaller window has the same middle in the same scale");
  is(await resized(window_.width, window_.height), looked, "and the window as it was");
  await page.reload();
  await settled(page);
  await page.waitForFunction(() => document.querySelector(".graph .box text"));
  is(await seen(), looked, "so has the page that is opened again");
  await page.click("button:text-is('whole')");
  for (const [width, height] of [[900, 500], [window_.width, window_.height]]) {
    await resized(width, height);
    await page.waitForFunction(() => {
      const svg = document.querySelector(".graph svg").getBoundingClientRect();
      return [...document.querySelectorAll(".graph .box")].every((b) => {
        const box = b.getBoundingClientRect();
        return box.left >= svg.left && box.right <= svg.right && box.top >= svg.top && box.bottom <= svg.bottom;
      });
    });
    ok(true, `all of it is in a window of ${width} by ${height}`);
  }

  /* Tables. */
  await to(page, "#view=tree");
  is(await page.$eval("th[aria-sort=descending]", (e) => e.textContent.trim()), "total ▾", "the order that nobody chose is marked");
  const rows = () => page.$$eval("tbody tr", (e) => e.length);
  const open = await rows();
  await page.click('main [aria-label="close main"]');
  ok((await rows()) < open && (await rows()) <= 4, "a part of the tree closes", `${open} ${await rows()}`);
  await page.focus('main [data-block="main"]');
  await page.keyboard.press("ArrowRight");
  is(await rows(), open, "and opens, by a key, too");
  await page.click("text=close all");
  is(await rows(), 1, "all closes: the root is left");
  await page.click("text=heaviest path");
  const names_ = await page.$$eval("tbody [data-block]", (e) => e.slice(0, 3).map((x) => x.dataset.block));
  is(names_, ["[root]", "main", "lost"], "the heaviest path opens");
  const more = await page.$$eval("tbody a.plain", (e) => e.map((x) => x.textContent));
  const left = report(file, "tree", "--limit=200").filter((r) => r.role === "remainder").map((r) => r.name);
  is(more, left, "what a threshold left out is a link");
  await page.click("tbody a.plain");
  await settled(page);
  is(await page.$$eval(".crumbs [aria-current]", (e) => e.map((x) => x.textContent)), ["main"], "to the part that has it");
  await to(page, "#view=tree");
  await page.click(".drop:has-text('columns') summary");
  await page.click(".drop label:has-text('self %') input");
  await settled(page);
  is([word(page, "without"), await page.$$eval("th", (e) => e.map((x) => x.textContent.trim()).includes("self %"))], ["self_share", false], "a column can be left out");
  await page.click(".drop label:has-text('self %') input");
  await settled(page);
  await page.focus('main [data-block="f7"]');
  await page.keyboard.press("m");
  await page.keyboard.press("/");
  await page.keyboard.type("mer all");
  is(await page.$$eval(".menu [role=menuitem]", (e) => e.map((x) => x.textContent)), ["h charge to it: merge all others", "k merge all of prog"], "a search in the menu shows what has words that begin so");
  await page.keyboard.type("xyz");
  is(await page.$$eval(".menu [role=menuitem]", (e) => e.length), 0, "or nothing");
  await page.keyboard.press("Escape");
  await page.focus('main [data-block="f7"]');
  await page.keyboard.press("m");
  await page.keyboard.press("/");
  await page.keyboard.type("open path");
  await page.keyboard.press("Enter");
  await settled(page);
  is(word(page, "view"), "flame", "Enter does the first of them");
  await page.goBack();
  await settled(page);
  await page.focus('main [data-block="f7"]');
  await page.keyboard.press("m");
  await page.keyboard.press("z");
  await settled(page);
  const f7 = report(file, "tree", "--limit=200").find((r) => r.name === "f7");
  is([word(page, "view"), word(page, "context")], ["flame", `${f7.context}#${f7.path}`], "its menu leads to the same path in the flame graph");
  await to(page, "#view=flat&limit=100");
  await page.evaluate(() => window.scrollTo(0, 900));
  const head = await top(page, "thead th");
  ok(head >= 0 && head < 100, "a table's heading stays in sight", head);
  await page.evaluate(() => window.scrollTo(0, 0));
  await page.click("th.name button");
  await settled(page);
  const sorted = (await cells(page, flat)).filter((r) => r.role === "entry").map((r) => r.name);
  is(sorted, [...sorted].sort(), "names are sorted from A first");

  /* Several metrics. */
  await to(page, "#view=flat&limit=100&beside=words");
  const got = Object.fromEntries(await page.$$eval("tbody tr.entry", (e) => e.map((r) => [r.querySelector("[data-block]").dataset.block, [...r.querySelectorAll("td.figure")].slice(-2).map((td) => td.title.replace(/[^0-9]/g, ""))])));
  is(functions.map((n) => got[`f${n}`]), functions.map((n) => [String(2 * n), String(2 * n)]), "another metric stands in the columns behind");
  await page.click(".beside summary");
  await page.click(".beside label:has-text('calls') input");
  await settled(page);
  is(word(page, "beside"), "words,calls", "and a third one");
  await to(page, "#view=callers&as=table&beside=words");
  await page.click("text=open all");
  const inverted = report(file, "callers", "--metric=ticks,words", "--limit=200").filter((r) => r.role === "entry");
  const callers = (await cells(page, "Each function, and below it its callers")).filter((r) => r.role === "entry");
  is(callers.map((r) => [r.name, ...r.figures.map(digits).filter((_, i) => i !== 4)]).slice(0, 5), inverted.map((r) => [r.name, ...Object.keys(r).filter((k) => /(self|inclusive)/.test(k) && r[k] !== null).map((k) => String(r[k]).replace(/[^0-9]/g, ""))]).slice(0, 5), "the callers have both, too");
  await to(page, "#view=tree&beside=words");
  ok((await page.$$eval("th", (e) => e.map((x) => x.textContent.trim()))).includes("words"), "the tree has them, too");
  await shoot(page, "several");

  /* Work that takes long can be cancelled. */
  const held = [];
  await page.route(/query.*exclude=f8/, (route) => void held.push(route));
  const failed = page.waitForEvent("requestfailed", (r) => r.url().includes("exclude=f8"));
  await to(page, "#view=flat");
  await page.evaluate(() => void (location.hash += "&exclude=f8"));
  await page.waitForSelector(".working button");
  ok(held.length > 0, "the page says that it works");
  await page.click(".working button");
  await failed;
  await page.waitForSelector("main .hint");
  is([await page.textContent("main .hint p"), await page.$$eval(".working button", (e) => e.length)], ["The work at this page was cancelled.", 0], "a click cancels it");
  await page.click("main .hint button:has-text('go back')");
  await settled(page);
  is([word(page, "exclude"), (await cells(page, flat)).length > 60], [null, true], "and another leads back");
  await page.unroute(/query.*exclude=f8/);

  /* Choices go by arrow keys. */
  await to(page, "#view=flame");
  await page.focus('[role=radio][aria-checked=true]');
  await page.keyboard.press("ArrowRight");
  await settled(page);
  is([word(page, "style"), await page.evaluate(() => document.activeElement.textContent)], ["flame", "▴ up"], "an arrow key takes the next choice");

  /* Threads. */
  await to(page, "#view=strands");
  await page.click("tbody a >> nth=0");
  await settled(page);
  const chosen = word(page, "strand");
  is([word(page, "view"), /^one|two$/.test(chosen)], ["flame", true], "a thread leads to its flame graph, by its name where no other has it");
  await to(page, "#view=flat&limit=100&strand=" + encodeURIComponent(chosen));
  const of = chosen === "one" ? functions.slice(0, 60) : functions.slice(60);
  is((await cells(page, flat)).filter((r) => /^f\d/.test(r.name)).map((r) => r.name).sort(), of.map((n) => `f${n}`).sort(), "which has what it did");
  is(page.complaints.filter((c) => !/400|404/.test(c)), [], "no complaint from the browser");

  await recursion();
  await superseded(page);

  /* A unit and a metric may be called anything. */
  {
    const file = replayed("odd.tt", "push main\ntick 5\ncount constructor 7\ncount x, sampled 3\npush b\ntick 4\npop\npop\n".replace("count x, sampled 3\n", ""));
    const json = join(folder, "odd.speedscope.json");
    writeFileSync(json, JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames: [{ name: "=HYPERLINK(1)" }, { name: "main" }] }, profiles: [{ type: "sampled", name: "x, sampled", unit: "none", startValue: 0, endValue: 5, samples: [[1, 0]], weights: [5] }] }));
    const page = await view(file, "#view=flat&metric=constructor");
    is(digits((await cells(page, flat)).find((r) => r.name === "main").figures[1]), "7", "a metric called constructor is shown");
    is(page.complaints, [], "without a complaint");
  }

  /* A heap recording says what it was made for, first. */
  {
    const file = join(folder, "heap.tt");
    execFileSync(tallytree, ["record", "--heap", "-o", file, "--", join(build, "test/heap-guest"), "waves"], { stdio: "ignore" });
    const page = await view(file, "");
    const peak = report(file, "flat", "--metric=peak").find((r) => r.role === "total").self;
    await page.waitForFunction(() => location.hash.includes("metric=peak") && document.querySelector(".sentence"));
    await settled(page);
    ok((await page.textContent(".sentence")).includes(`At the peak ${(peak / 2 ** 20).toFixed(3)}\u202fMiB were alive`), "a heap recording opens on its peak", await page.textContent(".sentence"));
    is(digits(await page.$eval(".top .amount", (e) => e.textContent)).slice(0, 3), String((report(file, "flat", "--metric=peak")[0].self / 2 ** 20).toFixed(3)).replace(".", "").slice(0, 3), "function by function");
    const live = report(file, "flat", "--metric=live");
    const found = await page.$$eval(".findings li", (e) => e.map((x) => x.textContent));
    const share = (100 * live[0].self) / live.find((r) => r.role === "total").self;
    ok(found.length === 3 && found.some((f) => f.includes("never freed") && f.includes(live[0].name) && f.includes(`${share.toFixed(2)}\u202f%`)), "what was never freed is a finding", found.join("\n"));
    await page.click(".findings a >> nth=1");
    await settled(page);
    is([word(page, "view"), word(page, "metric"), (await cells(page, flat))[0].name], ["flat", "live", live[0].name], "which leads to all of it");
    is(page.complaints, [], "no complaint from the browser");
  }
  await instructions();
  rmSync(source);
});
