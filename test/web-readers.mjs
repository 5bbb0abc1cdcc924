// SPDX-License-Identifier: MIT
// The viewer without a mouse, without eyes, and with weak ones: on every page each control is
// reached by the Tab key and has a name, each table has one and headers that say of what, and
// all text stands out from what is behind it by 4.5 to 1, in the light and in the dark.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, inks, is, ok, replayed, run, settled, to, view, watchInks } from "./browser.mjs";

// Recursion, lines, two threads, types, a marked block: something on every page.
function events(times) {
  const source = join(folder, "prog.c");
  writeFileSync(source, "a line;\n".repeat(40));
  const lines = ["main", "parse", "eval", "apply", "gc"].map((n, i) => `block ${n} kind=function module=prog file=${source} line=${3 * i + 2}`);
  for (const strand of ["one", "two"]) {
    lines.push(`strand ${strand}`, "push main", "tick 40");
    for (let i = 0; i < times; i++)
      lines.push("push parse", `tick ${5 + (i % 7)}`, "push eval", "alloc cons 16 8", "tick 30", "push apply", "push eval", "tick 9", "pop", "pop", "pop", "pop", "push gc", "tick 4", "pop");
    lines.push("pop");
  }
  return lines.join("\n") + "\n";
}

/* ── What is asked of a page, in the page ─────────────────────────────────────────── */

// Controls that a mouse could use, and those of them that have no name.
function controls() {
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, [role=button], [role=link], [role=application], [tabindex]")];
  const seen = all.filter((e) => e.checkVisibility({ checkVisibilityCSS: true }) && !e.disabled && e.getBoundingClientRect().width > 0 && e.tabIndex >= 0);
  seen.forEach((e, i) => e.setAttribute("data-control", i));
  const name = (e) => (e.getAttribute("aria-label") || e.textContent || e.title || [...(e.labels ?? [])].map((l) => l.textContent).join("") || "").trim();
  const say = (e) => e.outerHTML.slice(0, 120);
  // What listens to clicks, and is neither a control, nor in one, nor has one in it or beside
  // it: a block's ⋯ is for the mouse, what it opens is the key m on the block's name; the arrow
  // keys go from one radio button to the next.
  const deaf = [...document.querySelectorAll("body *")].filter(
    (e) => e.l?.clickfalse && !e.matches(":disabled") && !e.closest("[data-control]") && !e.querySelector("[data-control]") && !e.matches("[data-control] + .more, [role=radiogroup]:has([data-control]) [role=radio]") && e.checkVisibility(),
  );
  return { count: seen.length, nameless: seen.filter((e) => !name(e)).map(say), deaf: deaf.map(say) };
}

function tables() {
  const wrong = [];
  for (const t of document.querySelectorAll("table")) {
    const say = (what) => wrong.push(`${what}: ${t.outerHTML.slice(0, 100)}`);
    if (!(t.getAttribute("aria-label") || t.caption?.textContent)) say("no name");
    const heads = [...t.querySelectorAll("th")];
    if (!heads.length) say("no headers");
    for (const th of heads) {
      if (!th.getAttribute("scope")) say("a header of nothing");
      if (!th.textContent.trim() && !th.getAttribute("aria-label")) say("an empty header");
    }
    const columns = [...t.querySelectorAll("thead tr:last-child > *")].reduce((n, c) => n + c.colSpan, 0);
    for (const tr of t.querySelectorAll("tbody tr"))
      if (columns && [...tr.children].reduce((n, c) => n + c.colSpan, 0) !== columns) {
        say(`a row of other columns than ${columns}`);
        break;
      }
  }
  return { count: document.querySelectorAll("table").length, wrong };
}

// Texts with less contrast than WCAG's 4.5 (3 for large ones), each colour once.
function contrasts() {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const light = (c) => c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    const layers = e.closest(".box") ? [rgba(getComputedStyle(e.closest(".box").querySelector("rect")).fill)] : [];
    for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
    const canvas = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    return layers.reduceRight((under, top) => over(top, under), canvas);
  };
  const wrong = new Map();
  let count = 0;
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement, style = getComputedStyle(e);
    if (!n.data.trim() || !e.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true }) || e.closest("noscript, script, style, title, :disabled")) continue;
    const back = behind(e);
    const ink = e instanceof SVGElement ? style.fill : style.color;
    const a = light(over(rgba(ink), back)), b = light(back);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    count++;
    if (ratio < (large ? 3 : 4.5)) wrong.set(`${ink} on ${back.map(Math.round)}`, `${ratio.toFixed(2)} "${n.data.trim().slice(0, 30)}" ${e.outerHTML.slice(0, 80)}`);
  }
  return { count, wrong: [...wrong].map(([k, v]) => `${k}: ${v}`) };
}

// Which controls the Tab key does not come by, in two rounds: a search may list more meanwhile.
async function reached(page, count) {
  await page.evaluate(() => {
    document.activeElement?.blur();
    getSelection().removeAllRanges();
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
  });
  const found = new Set();
  for (let i = 0; i < 2 * count + 100 && found.size < count; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => document.activeElement?.getAttribute("data-control"));
    if (at !== null && at !== undefined) found.add(at);
  }
  return page.evaluate((found) => [...document.querySelectorAll("[data-control]")].filter((e) => !found.includes(e.getAttribute("data-control"))).map((e) => e.outerHTML.slice(0, 120)), [...found]);
}

const addresses = [
  "overview", "flame", "flame&context=2", "flat&limit=3", "callers", "tree", "graph", "groups", "lines", "strands", "strands&by=context",
  "space", "diff", "block&block=eval", "flat&select=eval&exclude=gc", "flat&find=eval", "flame&find=eval", "flat&metric=calls&beside=ticks",
];

await run(async () => {
  const before = replayed("before.tallytree", events(30)), profile = replayed("now.tallytree", events(60));
  const page = await view(profile, "", ["--before", before]);
  await watchInks(page);
  for (const address of addresses) {
    await to(page, "#view=" + address);
    const all = await page.evaluate(controls), table = await page.evaluate(tables);
    is(all.nameless, [], `${address}: each of ${all.count} controls has a name`);
    is(all.deaf, [], `${address}: whatever takes a click is a control`);
    is(await reached(page, all.count), [], `${address}: the Tab key reaches each`);
    is(table.wrong, [], `${address}: each of ${table.count} tables has a name and headers`);
    await page.setViewportSize({ width: 360, height: 800 });
    await settled(page);
    is(await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0, `${address}: a narrow window does not scroll sideways`);
    await page.setViewportSize({ width: 1237, height: 860 });
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await settled(page);
      const text = await page.evaluate(contrasts);
      is(text.wrong, [], `${address}: ${text.count} texts stand out in the ${colorScheme}`);
      if (!(await page.$("main canvas"))) continue;
      const drawn = await inks(page);
      ok(drawn.count && !Object.keys(drawn.wrong).length, `${address}: and so do those that are drawn`, JSON.stringify(drawn));
    }
  }

  /* What stands for much that is small is grey, and has an ink of its own. */
  {
    const file = replayed("small.tallytree", "push main\n" + Array.from({ length: 3000 }, (_, i) => `push small_${i}\ntick 1\npop\n`).join("") + "pop\n");
    const page = await view(file, "");
    await watchInks(page);
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await to(page, "#view=flame");
      const drawn = await inks(page);
      ok(drawn.count > 2 && !Object.keys(drawn.wrong).length, `what is too small to be shown is read in the ${colorScheme}`, JSON.stringify(drawn));
    }
  }

  /* What a search finds is said by an element that is there before it says anything. */
  await to(page, "#view=flat");
  await page.evaluate(() => {
    window.region = document.querySelector("[aria-live].found");
    window.said = [];
    if (window.region) new MutationObserver(() => window.said.push(window.region.textContent)).observe(window.region, { childList: true, characterData: true, subtree: true });
  });
  await page.keyboard.press("/");
  await page.keyboard.type("eval");
  await settled(page);
  await page.waitForFunction(() => /of \d/.test(document.querySelector(".found")?.textContent ?? ""));
  const said = await page.evaluate(() => window.said);
  ok(said.some((s) => /^1 of \d+/.test(s)), "how much a search finds is said to readers", JSON.stringify(said));
  is(page.complaints, [], "and nothing went wrong");
});
