// SPDX-License-Identifier: MIT
// The viewer reads data, not sentences.  Where the engine's sentences and titles change, only the
// words on the page do: each page is drawn twice, once with all that the engine writes for people
// turned by thirteen letters, and each word is the same on both, or turned.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, is, ok, open, replayed, run, serve, settled, to } from "./browser.mjs";

const turned = (text) => text.replace(/[a-z]/gi, (c) => String.fromCharCode(c.charCodeAt(0) + (c.toLowerCase() < "n" ? 13 : -13)));
const ofPeople = ["figures", "modes", "paths", "wall"]; // facts that are sentences

// An answer of the engine in other words.
function otherWords(table) {
  if (!table.columns) return table;
  const name = table.columns.findIndex((c) => c.key === "name");
  for (const c of table.columns) c.title = turned(c.title);
  table.notes = table.notes.map(turned);
  for (const r of table.remarks) r.text = turned(r.text);
  for (const f of table.facts) if (ofPeople.includes(f.name)) f.text = turned(f.text);
  for (const r of table.rows) if (name >= 0 && ["heading", "remainder", "total"].includes(r.role)) r.values[name] = turned(r.values[name] ?? "");
  return table;
}

// All elements of the page by name and class, and the words below them.
const drawn = (page) =>
  page.$eval("body", (body) => {
    const out = [];
    const walk = document.createTreeWalker(body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const n = walk.currentNode;
      if (n.nodeType === 1) out.push(`<${n.tagName} ${n.getAttribute("class") ?? ""} ${n.getAttribute("href") ?? ""}>`, ...(n.getAttribute("aria-label") ?? "").split(/\s+/));
      else out.push(...n.textContent.split(/\s+/));
    }
    return out.filter((w) => w);
  });

const MS = 1000000;
const strand = (name, list) => `strand ${name}\npush outer\n` + list.map(([block, n]) => `push ${block}\ntick 5\n` + `sample ${MS}\n`.repeat(n) + "pop\n").join("") + "pop\n";
const source = join(folder, "a.c");
writeFileSync(source, "one\ntwo\n");
const events = `block twin file=${source} line=1\nblock twin2 file=${source} line=2\n` +
  strand("one", [["parse", 60], ["twin", 20], ["twin2", 30], ["print", 40]]) + strand("two", [["eval", 90], ["gc", 60]]);

const objects = "push main\nalloc vec 100 0 1\ntick 5000000\npush f\nalloc str 300 0 2\ntick 5000000\npop\npop\n";

// Draws views of a file in both ways.
async function compare(file, words, views) {
  const { server, address } = await serve(file, words);
  const pages = [await open(address), await open(address)];
  let answers = 0;
  await pages[1].context.route(/\/query\?/, async (route) => {
    const reply = await route.fetch();
    answers++;
    await route.fulfill({ response: reply, json: otherWords(await reply.json()) });
  });
  await pages[1].page.reload();
  await settled(pages[1].page);
  for (const view of views) {
    let as, other, strange;
    await Promise.all(pages.map(({ page }) => to(page, `#view=${view}`)));
    for (let i = 0; i < 50; i++) { // what comes when nothing else is asked may be in one page alone
      [as, other] = await Promise.all(pages.map(async ({ page }) => {
        await page.waitForFunction(() => !document.querySelector("[aria-busy=true]"));
        return drawn(page);
      }));
      strange = as.map((w, i) => [w, other[i]]).filter(([a, b]) => a !== b && (a.startsWith("<") || turned(a) !== b));
      if (as.length === other.length && !strange.length) break;
      await pages[0].page.waitForTimeout(100);
    }
    is([as.length, strange.slice(0, 3)], [other.length, []], `${view.replace(/&/g, " ")}: other words make no other page`);
  }
  ok(answers >= views.length / 2 && (await drawn(pages[1].page)).join(" ").length > 500, "there were words to change", answers);
  is([...pages[0].page.complaints, ...pages[1].page.complaints], [], "no complaint from the browser");
  for (const { context } of pages) await context.close();
  server.kill("SIGKILL");
}

await run(async () => {
  const before = replayed("before.tt", events.replace(/tick 5/g, "tick 9"));
  await compare(replayed("now.tt", events), ["--before", before],
    ["overview", "flat&limit=3", "flat&time=10ms..60ms", "tree", "callers&as=table", "groups", "block&block=parse", "block&block=twin*", "flame", "lines", "strands",
      "strands&by=context", "timeline", "bursts", "diff", "diff&as=tree", "diff&time=10ms..60ms&against=rest", "diff&as=flame&time=10ms..60ms&against=rest"]);
  await compare(replayed("objects.tt", objects, "--series=type+block"), [], ["overview", "space", "series"]);
});
