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

/* Of one thread, by time: 2 ms each, and a gap. */
const timed = join(folder, "timed.cpuprofile");
const nodes = [["(root)", [2]], ["main", [3, 5]], ["f", [4]], ["f"], ["g"]].map(([functionName, children], i) => ({ id: i + 1, callFrame: { functionName }, children }));
const samples = [2, 3, 3, 4, 5, 5, 3, 2];
writeFileSync(timed, JSON.stringify({ nodes, startTime: 0, endTime: 16000, samples, timeDeltas: samples.map(() => 2000) }));

const ours = (file, metric, scale) =>
  report(file, "flat", "--metric", metric, "--limit", "all")
    .filter((r) => r.role === "entry" && r.inclusive)
    .map((r) => [r.name, r.self / scale, r.inclusive / scale])
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
  ["speedscope", timed, "b.speedscope.json", "--by-time"], ["chrome", timed, "by-time.json", "--by-time"],
  ["v8", plain, "a.cpuprofile"], ["v8", timed, "b.cpuprofile", "--by-time"],
];
for (const [format, file, name, ...more] of files) {
  const [metric, scale] = more.length ? ["sampled time", 1000] : ["ticks", 1];
  execFileSync(tallytree, ["export", "--to", format, "--metric", metric, ...more, "-o", join(folder, name), file]);
  const got = await theirs(page, name).catch((e) => e.message);
  is(Array.isArray(got) ? got.filter(([who]) => who !== "[root]") : got, ours(file, metric, scale), `each function of ${[format, ...more].join(" ")} has our self and total`);
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
finish();
