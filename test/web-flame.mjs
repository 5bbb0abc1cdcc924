// SPDX-License-Identifier: MIT
// The first page says what matters, by the kind of the recording.  The flame graph: siblings by
// size or name, the levels that all is in, colours, the legend, the drawing as SVG, and the
// differential one.  Figures are worked out here from the events.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cells, digits, folder, is, ok, replayed, report, run, settled, shoot, tallytree, to, view } from "./browser.mjs";

const word = (page, name) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);

// Six levels that all is in; below them three functions of two modules.
const levels = ["start", "init", "boot", "shell", "loop", "work"];
const costs = { beta: ["libx", 300], alpha: ["libx", 500], gamma: ["liby", 200] };
const events = (factor) =>
  Object.entries(costs).map(([n, [module]]) => `block ${n} kind=function module=/lib/${module} file=${n}.c line=1\n`).join("") +
  levels.map((n) => `push ${n}\n`).join("") +
  Object.entries(costs).map(([n, [, cost]]) => `push ${n}\ntick ${cost * (factor[n] ?? 1)}\npop\n`).join("") +
  "pop\n".repeat(levels.length);

// The saved drawing: its boxes from left to right, by the names in their titles.
async function drawn(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=save SVG")]);
  const svg = readFileSync(await download.path()).toString();
  return [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="\d+" fill="([^"]*)"[^>]*><title>([^<]*)<\/title>/g)].map(([, x, y, width, fill, title]) => ({ x: Number(x), y: Number(y), width: Number(width), fill, title, name: title.split(":")[0] }));
}
const order = (boxes) => boxes.filter((b) => b.name in costs).sort((a, b) => a.x - b.x).map((b) => b.name);
const axis = (page) => page.$$eval(".axis span", (e) => e.map((x) => x.textContent.split(/\s{2}/).map((t) => t.replace(/\u202f/g, " "))));
// How many labels of the axis begin before the one before them ends.
const overlaps = (page) =>
  page.$$eval(".axis span", (e) => {
    const range = document.createRange();
    const ends = e.map((x) => (range.selectNodeContents(x), range.getBoundingClientRect()));
    return ends.slice(1).filter((r, i) => r.left < ends[i].right).length;
  });
const fill = (boxes, name) => boxes.find((b) => b.name === name).fill;

await run(async () => {
  const before = replayed("before.tt", events({})), now = replayed("now.tt", events({ alpha: 2, gamma: 0.5 }));
  const page = await view(now, "#view=flame", ["--before", before]);

  /* Levels that all is in are one line. */
  const stem = await page.textContent(".stem");
  ok(stem.startsWith("6 levels of 100 %") && stem.includes("shell › loop ›"), "levels that all is in are one line", stem);
  let boxes = await drawn(page);
  is(boxes[0].name, "work", "and the last of them is the first frame");
  is(order(boxes), ["alpha", "beta", "gamma"], "the largest is first");
  const whole = boxes[0].width;
  for (const [name, cost] of [["alpha", 1000], ["beta", 300], ["gamma", 100]]) {
    const b = boxes.find((x) => x.name === name);
    ok(Math.abs((b.width + 1) / (whole + 1) - cost / 1400) < 0.002 && b.title.includes(`total ${cost >= 1000 ? "1\u202f000" : cost}\u202fticks`), `${name} is as wide as its total, which its title says`, JSON.stringify(b));
  }
  is(await axis(page), [["0 %"], ["20 %", "280 ticks"], ["40 %", "560 ticks"], ["60 %", "840 ticks"], ["80 %", "1 120 ticks"], ["100 %", "1 400 ticks"]], "an axis has shares and figures");
  for (const width of [390, 680, 900]) {
    await page.setViewportSize({ width, height: 860 });
    await settled(page);
    ok((await overlaps(page)) === 0 && (await axis(page)).length > 1, `its labels have room in ${width} pixels`, await axis(page));
  }
  await page.setViewportSize({ width: 1237, height: 860 });
  await page.selectOption('select[aria-label="order"]', "name");
  await settled(page);
  is([word(page, "order"), order(await drawn(page))], ["name", ["alpha", "beta", "gamma"].sort()], "or by name");
  await to(page, "#view=flame&select=work&exclude=alpha");
  is(order(await drawn(page)), ["beta", "gamma"], "filters apply");
  await to(page, "#view=flame");
  await page.click(".stem");
  await settled(page);
  is((await drawn(page)).slice(0, 3).map((b) => b.name), ["[root]", "start", "init"], "a click shows the levels");

  /* Colours. */
  await to(page, "#view=flame");
  boxes = await drawn(page);
  const hue = (name) => fill(boxes, name).match(/hsl\((\d+)/)[1];
  ok(hue("alpha") === hue("beta") && hue("alpha") !== hue("gamma"), "a module has one hue", ["alpha", "beta", "gamma"].map((n) => fill(boxes, n)).join(" "));
  is(await page.$$eval(".legend button", (e) => e.map((x) => x.textContent.trim())), ["libx", "liby"], "a legend lists the modules, that with most self first");
  await page.click(".legend >> text=liby");
  await settled(page);
  is(order(await drawn(page)), ["gamma"], "and filters by one");
  is((await drawn(page)).length > 0 && report(now, "flat", "--select=liby:*").find((r) => r.role === "total").self, 100, "as the command does");
  await to(page, "#view=flame&colour=self");
  boxes = await drawn(page);
  ok(new Set(["alpha", "beta", "gamma", "work"].map((n) => fill(boxes, n))).size === 4, "colours show what each took itself", ["alpha", "beta", "gamma", "work"].map((n) => fill(boxes, n)).join(" "));

  /* A click chooses, and the line below has its figures. */
  await to(page, "#view=flame");
  await page.reload();
  await page.waitForSelector(".stem");
  await settled(page);
  const box = await page.$eval(".sheet canvas", (c) => { const r = c.getBoundingClientRect(); return { x: r.x, y: r.y }; });
  await page.mouse.click(box.x + 30, box.y + 30);
  await settled(page);
  const told = await page.textContent("figcaption");
  ok(told.startsWith("alpha: total 1\u202f000\u202fticks (71.43\u202f%), self 1\u202f000\u202fticks"), "a click shows a frame's figures", told);
  await page.reload();
  await page.waitForFunction(() => document.querySelector("figcaption")?.textContent.startsWith("alpha"));
  is([await page.textContent("figcaption"), await page.$$eval(".flame .tools button", (e) => e.some((b) => b.textContent === "what to do with it"))], [told, true], "which a reload keeps");
  is(await axis(page), [["0 %"], ["14.29 %", "200 ticks"], ["28.57 %", "400 ticks"], ["42.86 %", "600 ticks"], ["57.14 %", "800 ticks"], ["71.43 %", "1 000 ticks"]], "the axis is of the frame that is open");
  is(await page.$$eval(".crumbs li", (e) => e.map((x) => x.textContent)), ["all", "5 more", "work", "alpha"], "and the path that is open is above");
  await page.click(".crumbs >> text=work");
  await settled(page);
  is(await page.$$eval(".crumbs [aria-current]", (e) => e.map((x) => x.textContent)), ["work"], "whose parts lead back");
  await page.click("nav[aria-label=pages] >> text=Functions");
  await page.click(".bar >> text=Tree");
  await settled(page);
  is(await page.$$eval(".crumbs [aria-current]", (e) => e.map((x) => x.textContent)), ["work"], "on other pages, too");
  await shoot(page, "crumbs");

  /* The differential flame graph. */
  await to(page, "#view=diff&as=flame");
  boxes = await drawn(page);
  is(order(boxes), ["alpha", "beta", "gamma"], "a comparison is a flame graph");
  const sum = { alpha: 1500, beta: 600, gamma: 300 };
  for (const [name, cost] of Object.entries(sum)) ok(Math.abs((boxes.find((b) => b.name === name).width + 1) / (whole + 1) - cost / 2400) < 0.002, `${name} is as wide as before and now together`);
  const [more, same, less] = ["alpha", "beta", "gamma"].map((n) => fill(boxes, n).match(/hsl\((\d+) ([\d.]+)%/).slice(1).map(Number));
  ok(more[0] < 30 && more[1] > 20 && less[0] > 200 && less[1] > 20 && same[1] === 0, "red costs more, blue less, grey as much", JSON.stringify([more, same, less]));
  ok(boxes.find((b) => b.name === "alpha").title.includes("total before 500\u202fticks") && boxes.find((b) => b.name === "alpha").title.includes("total now 1\u202f000\u202fticks"), "with both figures", boxes.find((b) => b.name === "alpha").title);
  await shoot(page, "diff-flame");
  await to(page, "#view=diff");
  await page.click('[data-block="alpha"]');
  await settled(page);
  is(digits((await cells(page, "The function"))[0].figures[1]), "1000", "a name of a comparison opens its function");

  /* The first page. */
  await to(page, "#view=overview");
  const table = JSON.parse(execFileSync(tallytree, ["diff", "--json", before, now]).toString());
  const key = Object.fromEntries(table.columns.map((c, i) => [c.key, i]));
  const changed = table.rows.filter((r) => r.role === "entry" && r.values[key["self.change"]]).map((r) => r.values[key.name]);
  const findings = await page.$$eval(".findings li", (e) => e.map((x) => x.textContent));
  is(findings.slice(0, 2).map((f) => f.split(" ")[0]), changed.slice(0, 2), "with a profile before, what has changed comes first");
  ok(findings[0].includes("500\u202fticks more than before (500\u202fticks, now 1\u202f000\u202fticks)"), "by how much", findings[0]);
  await page.click(".first button");
  await page.reload();
  await settled(page);
  is(await page.$$eval(".first", (e) => e.length), 0, "first words are sent away for good");
  is(page.complaints, [], "no complaint from the browser");

  /* The callers' widths are of self figures; small figures are not rounded. */
  {
    const page = await view(replayed("self.tt", "push hot\ntick 4\npush inner\ntick 3\npop\npop\n"), "#view=callers");
    is(await axis(page), [["0 %"], ["20 %", "1.400 ticks"], ["40 %", "2.800 ticks"], ["60 %", "4.200 ticks"], ["80 %", "5.600 ticks"], ["100 %", "7 ticks"]], "the axis of callers ends with the total");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* A key opens the graph, and arrow keys are for it at once. */
  {
    const page = await view(now, "#view=overview");
    await page.keyboard.press("2");
    await settled(page);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const told = await page.textContent("figcaption");
    ok(told.startsWith("alpha: "), "after a key has opened the graph, arrow keys choose its frames", told);
    is(page.complaints, [], "no complaint from the browser");
  }

  /* What ran, in one sentence. */
  const sentence = async (page) => (await page.textContent(".sentence")).replace(/\u202f/g, " ").trim();
  {
    const [first, second, both] = ["first.tt", "second.tt", "both.tt"].map((n) => join(folder, n));
    execFileSync(tallytree, ["record", "-o", first, "--", "tail", "/dev/null"], { stdio: "ignore" });
    execFileSync(tallytree, ["record", "-o", second, "--", "cat", "/dev/null"], { stdio: "ignore" });
    execFileSync(tallytree, ["merge", "-o", both, first, second], { stdio: "ignore" });
    const page = await view(both, "");
    const said = await sentence(page);
    ok(/^tail and cat ran in 2 recordings, the longest of [\d.]+ [mµ]?s, with [\d.]+ [mµ]?s of CPU time\.$/.test(said), "runs that were merged have the longest time and the sum of CPU time, and the program that began first comes first", said);
    is(page.complaints, [], "no complaint from the browser");
  }

  /* A trace of events: threads of one name have their numbers, and there are no samples. */
  {
    const file = join(folder, "trace.json");
    const event = (tid, name, ts, dur) => ({ ph: "X", pid: 1, tid, name, ts, dur });
    const named = (tid) => ({ ph: "M", pid: 1, tid, name: "thread_name", args: { name: "worker" } });
    writeFileSync(file, JSON.stringify({ traceEvents: [1, 2, 3, 4].flatMap((tid) => [named(tid), event(tid, "work", 0, tid === 3 ? 9000 : 1000)]) }));
    const page = await view(file, "");
    ok(/^This profile has \d+ functions on \d+ paths in 4 threads\.$/.test(await sentence(page)), "without a duration the sentence says how large the profile is", await sentence(page));
    await page.waitForFunction(() => /Threads are uneven/.test(document.querySelector(".findings")?.textContent ?? ""));
    const found = await page.textContent(".findings");
    ok(/Threads are uneven: worker 3 has 200.00\s% more/.test(found), "a thread whose name others have is named by its number", found);
    await to(page, "#view=timeline");
    await page.waitForSelector(".about-chart");
    const about = await page.textContent(".about-chart");
    ok(about.startsWith("Time is known in ") && !about.includes("sample"), "events are no samples", about);
    await to(page, "#view=graph");
    const caption = await page.textContent("main figcaption");
    ok(/^1 function, 0 calls; left out: 1 function that all is in\./.test(caption), "one function is no plural", caption);
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Waits are no functions. */
  {
    const file = join(folder, "waits.folded");
    writeFileSync(file, "main;[waits: futex] 7\nmain;work 3\n");
    const page = await view(file, "");
    await page.waitForSelector(".findings");
    const found = await page.textContent(".findings");
    ok(/^Waits \(futex\) took most: 70.00\s%, 7\. the waits$/.test(found.trim()), "a wait is not said to be a function", found);
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Threads of which one has most. */
  {
    const threads = replayed("threads.tt", ["a", "b", "c", "d"].map((n) => `strand ${n}\npush main\ntick ${n === "d" ? 900 : 100}\npop\n`).join(""));
    const page = await view(threads, "");
    await page.waitForFunction(() => /Threads are uneven/.test(document.querySelector(".findings")?.textContent ?? ""));
    const finding = (await page.$$eval(".findings li", (e) => e.map((x) => x.textContent))).find((f) => f.startsWith("Threads are uneven"));
    const uneven = async (name, events) => {
      const other = await view(replayed(name, events), "");
      await other.waitForFunction(() => document.querySelector(".findings") && performance.getEntriesByType("resource").filter((e) => e.name.includes("view=strands")).length >= 2);
      await settled(other);
      return (await other.$$eval(".findings li", (e) => e.map((x) => x.textContent))).some((f) => f.startsWith("Threads are uneven"));
    };
    const works = (n, ticks) => `strand ${n}\npush main\ntick ${ticks}\npop\n`;
    ok(!(await uneven("waits.tt", "strand main\npush main\npop\n" + works("a", 100) + works("b", 105) + works("c", 95))), "a thread that only waits for others makes none uneven");
    ok(finding?.includes("d has") && finding.includes("200.00\u202f% more than the mean of 4 threads that ran"), "that threads are uneven is a finding", finding);
    is(page.complaints, [], "no complaint from the browser");
  }
});
