// SPDX-License-Identifier: MIT
// Six questions, answered by as many clicks as the table of doc/viewer.md says: a click, a drag, a
// key and a typed name count as one each.  What must be found is worked out from the events.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cells, digits, folder, is, ok, replayed, run, settled, view } from "./browser.mjs";

const doc = readFileSync(join(dirname(fileURLToPath(import.meta.url)), "../doc/viewer.md")).toString();
const promised = (question) => Number(new RegExp(`^\\| ${question.replace("?", "\\?")} \\| (\\d+)`, "m").exec(doc)?.[1] ?? NaN);

/* Three threads; `target` is called by parse (30) and print (10), and is one of a hundred, so that
 * it is out of sight; its line 5 has most.  Samples are a millisecond each. */
const MS = 1000000;
const source = join(folder, "prog.c");
writeFileSync(source, Array.from({ length: 12 }, (_, i) => `statement ${i + 1};`).join("\n") + "\n");
const line = (n) => `prog.c:${n}`;
const blocks = `block target kind=function file=${source} line=3\n` + [4, 5, 6].map((n) => `block ${line(n)} kind=statement file=${source} line=${n}\n`).join("");
const samples = (n) => `sample ${MS}\n`.repeat(n);
const target = (four, five) => `push target\npush ${line(4)}\n${samples(four)}pop\npush ${line(5)}\n${samples(five)}pop\npop\n`;
const others = Array.from({ length: 100 }, (_, i) => `push other${i}\n${samples(50)}pop\n`).join("");
const events =
  blocks +
  `strand one\npush main\npush parse\n${target(10, 20)}pop\npush print\n${target(4, 6)}pop\n${others}pop\n` +
  `strand two\npush idle\n${samples(4000)}pop\npush collect\n${samples(900)}pop\n` +
  `strand three\npush serve\n${samples(400)}pop\n`;
const slower = (ticks) => `push main\ntick 500\npush serve\ntick ${ticks}\npop\npop\n`;
const leak = "push main\npush cache\ncount peak 900\ncount live 900\npop\npush once\ncount peak 300\ncount live 100\npop\npop\n";

let steps = 0;
const step = (what) => (steps++, what);

async function counted(question, page, answer) {
  steps = 0;
  await answer(page);
  is(steps, promised(question), `"${question}" takes as many steps as the table says`);
}

await run(async () => {
  const file = replayed("run.tt", events);
  const overview = "#view=overview";
  const find = async (page) => {
    await step(page.keyboard.press("/"));
    await step(page.keyboard.type("targ"));
    await page.waitForSelector(".matches a");
    await step(page.click(".matches a"));
    await settled(page);
  };

  const page = await view(file, overview);
  await counted("which functions call X, and how much?", page, async () => {
    await find(page);
    const rows = await cells(page, "Callers: what would be saved without their calls");
    is(rows.map((r) => [r.name, digits(r.figures[1])]).sort(), [["parse", String(30 * MS)], ["print", String(10 * MS)]], "its callers have their figures");
  });

  await page.goto(page.url().replace(/#.*/, overview));
  await settled(page);
  await counted("which line of Y is the hottest?", page, async () => {
    await find(page);
    const rows = await cells(page, "Callees: what it called");
    is([rows[0].name, digits(rows[0].figures[1])], [line(5), String(26 * MS)], "its hottest line is the first of its lines");
  });

  await page.goto(page.url().replace(/#.*/, overview));
  await settled(page);
  await counted("what does thread 3 do?", page, async () => {
    await step(page.keyboard.press("6"));
    await settled(page);
    await step(page.click("main td.name a:has-text('three')"));
    await settled(page);
    is(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("view"), "flame", "it is a flame graph of that thread");
  });

  await page.goto(page.url().replace(/#.*/, overview));
  await settled(page);
  await page.waitForSelector(".strip:not([aria-busy=true]) .lane");
  await counted("what happened at second 4?", page, async () => {
    const box = await page.$eval(".lane", (e) => { const r = e.getBoundingClientRect(); return { x: r.x, y: r.y + 12, width: r.width }; });
    const at = (s) => box.x + (s / 5.04) * box.width;
    await page.mouse.move(at(4.1), box.y);
    await page.mouse.down();
    await page.mouse.move(at(4.6), box.y, { steps: 4 });
    await step(page.mouse.up());
    await page.waitForFunction(() => location.hash.includes("time="));
    await settled(page);
    is(await page.$eval(".top li .name", (e) => e.textContent), "collect", "the Overview is of that time");
  });

  /* Lines are listed as functions are; one click merges them. */
  await page.goto(page.url().replace(/#.*/, "#view=flat&block=/prog|target/"));
  await settled(page);
  const entries = async () => (await cells(page, "Functions: self, and total with all that they called")).filter((r) => r.role === "entry").map((r) => [r.name, digits(r.figures[1])]);
  is(await entries(), [[line(5), String(26 * MS)], [line(4), String(14 * MS)], ["target", "0"]], "lines are rows of their own");
  await page.click("text=merge lines into their functions");
  await settled(page);
  is(await entries(), [["target", String(40 * MS)]], "until they are merged into their functions");

  /* A function that calls nothing: its page says so, its graph is not as large as the window. */
  await page.goto(page.url().replace(/#.*/, "#view=block&block=idle"));
  await settled(page);
  is(await page.textContent(".two .empty"), "No callees were recorded.", "a function that calls nothing says so");
  await page.goto(page.url().replace(/#.*/, "#view=graph&root=idle"));
  await page.waitForSelector(".graph .box text");
  const letters = await page.$eval(".graph .box text", (e) => parseFloat(getComputedStyle(e).fontSize) * e.ownerSVGElement.getScreenCTM().a);
  ok(letters > 10 && letters < 40, "and its graph has letters of a common size", letters);
  is(page.complaints, [], "no complaint from the browser");

  const compared = await view(replayed("now.tt", slower(900)), overview, ["--before", replayed("before.tt", slower(100))]);
  await counted("what got slower since?", compared, async () => {
    await compared.waitForFunction(() => /more than before/.test(document.querySelector(".findings")?.textContent ?? ""));
    const found = await compared.textContent(".findings li");
    ok(/^serve itself costs 800\b.* more than before/.test(found), "the first finding says it", found);
  });

  const heap = await view(replayed("leak.tt", leak), overview);
  await counted("where is the leak?", heap, async () => {
    await heap.waitForFunction(() => /never freed/.test(document.querySelector(".findings")?.textContent ?? ""));
    const found = await heap.textContent(".findings");
    ok(/were never freed, 90.00\s*% of them allocated by cache/.test(found), "a finding says it", found);
  });

  /* Functions of a library are not the answer. */
  const costs = join(folder, "library.out");
  const call = (from, to, figures, self = "0 0") => `fn=${from}\n1 ${self}\ncfn=${to}\ncalls=1 1\n1 ${figures}\n`;
  const push = "std::vector<int>::push_back(int const&)";
  const made = "operator new(unsigned long)";
  writeFileSync(costs, `events: peak live\n${call("main", "index", "700 300")}${call("index", push, "700 300")}${call("main", "keep(std::string, int)", "300 700")}${call("keep(std::string, int)", "xmalloc", "300 700")}${call(push, made, "700 300")}fn=${made}\n1 700 300\nfn=xmalloc\n1 300 700\n`);
  const library = await view(costs, overview);
  await library.waitForFunction(() => /never freed/.test(document.querySelector(".findings")?.textContent ?? "") && /at the peak/.test(document.querySelector(".findings").textContent));
  const wanted = await library.textContent(".findings");
  ok(/70.00\s*% of what was alive at the peak was allocated by index\./.test(wanted) && /70.00\s*% of them allocated by keep\(std::string, int\)\./.test(wanted), "findings name the program's functions, and not its allocators", wanted);
});
