// SPDX-License-Identifier: MIT
// What we write, as speedscope's own importers read it: self and total of each function in its
// table are ours.  Recursion, and functions that several others call, included.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, finish, folder, is, report, tallytree } from "./browser.mjs";

const app = join(dirname(fileURLToPath(import.meta.url)), "../web/node_modules/speedscope/dist/release/index.html");
/* A call graph has no paths, and in a trace a span that ends when another of its name begins
 * cannot be told from it: these two get a tree in which each function stands once. */
function replay(name, events) {
  execFileSync(tallytree, ["replay", "-o", join(folder, name)], { input: events.replaceAll(";", "\n") + "\n" });
  return join(folder, name);
}
const recursive = replay("recursive", "push main;tick 2000;push f;tick 3000;push f;tick 5000;pop;push g;tick 1000;push f;tick 4000;pop;pop;pop;push g;tick 7000;push h;tick 11000;pop;pop;push h;push h;tick 13000");
const plain = replay("plain", "push main;tick 2000;push a;tick 3000;push b;tick 5000;pop;push c;tick 7000;pop;pop;tick 1000;push d;push e;tick 11000;pop;pop");

const ours = (file) =>
  report(file, "flat", "--metric", "ticks", "--limit", "all")
    .filter((r) => r.role === "entry" && r.inclusive)
    .map((r) => [r.name, Number(r.self), Number(r.inclusive)])
    .sort();

/* "17,000 (40%)", "8.00ms (19%)", "1.05s (3%)": in units of ours. */
function amount(text) {
  const [, number, unit] = text.match(/^([0-9.,]+)\s*([^ (]*)/);
  const worth = { "": 1, ns: 1e-3, "µs": 1, ms: 1000, s: 1e6 }[unit];
  return Math.round(Number(number.replaceAll(",", "")) * worth);
}

/* Rows of the table of all functions; of several profiles in a file, of the first. */
async function theirs(page, name) {
  const bytes = readFileSync(join(folder, name)).toString("base64");
  const script = join(folder, name + ".js");
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(name)}, "${bytes}")`);
  await page.goto("about:blank");
  await page.goto(`file://${app}#localProfilePath=${script.slice(1)}&view=sandwich`);
  await page.waitForSelector("table tbody tr, table tr td", { timeout: 120000 });
  const rows = await page.$$eval("table tr", (all) => all.map((r) => [...r.querySelectorAll("td")].map((d) => d.textContent)).filter((r) => r.length === 3));
  return rows.map(([total, self, who]) => [who, amount(self), amount(total)]).sort();
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--allow-file-access-from-files", "--use-gl=angle", "--use-angle=swiftshader"] });
const page = await browser.newPage();
const files = [
  ["speedscope", recursive, "a.speedscope.json"], ["folded", recursive, "a.folded.txt"], ["pprof", recursive, "a.pb.gz"],
  ["callgrind", plain, "callgrind.out.1"], ["chrome", plain, "trace.json"],
];
for (const [format, file, name] of files) {
  execFileSync(tallytree, ["export", "--to", format, "--metric", "ticks", "-o", join(folder, name), file]);
  const got = await theirs(page, name).catch((e) => e.message);
  is(Array.isArray(got) ? got.filter(([who]) => who !== "[root]") : got, ours(file), `each function of ${format} has our self and total`);
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
finish();
