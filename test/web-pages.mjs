// SPDX-License-Identifier: MIT
// Pages of the viewer that need separate recordings: the heap over time with its maxima, a
// Tcl script's source, what has changed, waits between ranks; the slider that prunes, and the
// wheel.  A page shows what the command prints.
import { execFileSync } from "node:child_process";
import { existsSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, cells, digits, folder, is, ok, replayed, report, run, settled, shoot, tallytree, to, view } from "./browser.mjs";

const flat = "Functions: self, and total with all that they called";
const quiet = { stdio: ["ignore", "ignore", "pipe"] };

const word = (page, name) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);

const calls = (figures) =>
  "push main\ntick 10\n" + Object.entries(figures).map(([name, [times, ticks]]) => `push ${name}\ntick ${ticks}\npop\n`.repeat(times)).join("") + "pop\n";

await run(async () => {
  /* The heap over time: marks, and what was alive then. */
  {
    const file = join(folder, "waves.tt");
    execFileSync(tallytree, ["record", "--heap", "-o", file, "--", join(build, "test/heap-guest"), "waves"], quiet);
    const page = await view(file, "#view=series");
    const maxima = report(file, "series", "--series=maxima").filter((r) => r.role === "entry");
    is(await page.$$eval(".maxima a", (e) => e.map((a) => a.title.replace(/[^0-9]/g, ""))), maxima.map((m) => String(m.amount)), "the time line has a mark for each maximum");
    const peak = maxima.findIndex((m) => m.name === "peak");
    ok(peak >= 0, "one of which is the peak", JSON.stringify(maxima));
    await page.selectOption('select[aria-label="series"]', "live by type");
    await page.waitForFunction(() => location.hash.includes("live+by+type"));
    await page.selectOption('select[aria-label="series"]', "live by block");
    await page.waitForFunction(() => location.hash.includes("live+by+block"));
    await settled(page);
    is(await page.$$eval("figure.series tbody tr:not(.total) td.name", (e) => e.map((x) => x.textContent.trim()).sort()),
      [...new Set(report(file, "series", "--series=live by block", "--limit=9").map((r) => r.name))].sort(), "by block, with their names");
    await shoot(page, "heap-series");
    const points = report(file, "series", "--series=live by block", "--limit=9");
    const times = [...new Set(points.map((r) => r.time))].sort((a, b) => a - b);
    const sumAt = (time) => points.filter((r) => r.time === time && r.role !== "total").reduce((n, r) => n + r.amount, 0);
    await page.focus(".plot");
    for (const [key, time] of [["Home", times[0]], ["ArrowRight", times[1]], ["End", times.at(-1)], ["ArrowLeft", times.at(-2)]]) {
      await page.keyboard.press(key);
      await settled(page);
      is(digits(await page.$eval("figure.series tr.total td", (e) => e.title)), String(sumAt(time)), `${key} goes through time, and the table has the figures of then`);
    }
    await page.click(`.maxima a >> nth=${peak}`);
    await settled(page);
    is([word(page, "view"), word(page, "metric")], ["flame", "peak"], "a mark opens what was alive then");
    await to(page, "#view=flat&metric=peak");
    const got = await cells(page, flat);
    is(got.map((r) => [r.name, digits(r.figures[1])]), report(file, "flat", "--metric=peak").map((r) => [r.name, String(r.self)]), "all of it");
    is(digits(got.find((r) => r.role === "total").figures[1]), String(maxima[peak].amount), "which is as much as the mark says");

    /* Time and space in one table, weighted by a slider. */
    await to(page, "#view=space&by=weighted");
    const slider = 'input[aria-label="weight of time against memory"]';
    const widths = () => page.$$eval(".twin span", (e) => e.map((x) => parseFloat(x.style.width)));
    const space = report(file, "space", "--by=block", "--limit=200").filter((r) => r.role === "entry" && r.share > 0).sort((a, b) => b.share - a.share);
    await page.fill(slider, "0");
    await settled(page);
    is(word(page, "weight"), "0", "the slider is in the address");
    is((await page.$$eval(".weighted td.name [data-block]", (e) => e.map((x) => x.textContent)))[0], space[0].name, "all space: the bars are those of space");
    for (const at of ["0", "37", "100"]) {
      await page.fill(slider, at);
      await settled(page);
      ok((await widths()).every((w) => w >= 0 && w <= 100.001), `at ${at} % no bar is longer than all, or less than nothing`, await widths());
    }
    await to(page, "#view=space");
    const by = () => page.$eval('[aria-label="by"] [aria-checked=true]', (e) => e.textContent);
    const spaces = async () => (await cells(page, "What was allocated, copied and freed")).map((r) => r.name);
    is([await by(), await spaces()], ["functions", report(file, "space").map((r) => r.name)], "an allocator's events are shown by block when nothing is said");
    await page.click('[aria-label="by"] button >> text=/^types$/');
    await settled(page);
    is([await by(), await spaces()], ["types", report(file, "space", "--by=type").map((r) => r.name)], "and by type when that is");
    await to(page, "#view=space&by=block");
    const heads = await page.$$eval("main th", (e) => e.map((x) => x.textContent.trim()));
    ok(heads.includes("freed bytes") && !heads.includes("copied bytes"), "what an allocator never does has no columns", heads);
    await to(page, "#view=space&by=weighted&weight=900");
    ok((await widths()).every((w) => w >= 0 && w <= 100.001), "nor at a weight that is none");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* A Tcl script: each statement in its place, hot ones shaded, those that never ran marked. */
  {
    const script = join(folder, "f.tcl");
    writeFileSync(script, 'proc fact {n} {\n    if {$n < 2} { return 1 } elseif {$n > 99} { puts never }\n    return [expr {$n * [fact [expr {$n - 1}]]}]\n}\nset sum 0; set other 1\nfor {set i 0} {$i < 50} {incr i} {\n    incr sum [fact 10]; incr other\n}\nputs $sum\n');
    const file = join(folder, "tcl.tt");
    execFileSync(tallytree, ["tcl", "-o", file, script], quiet);
    const page = await view(file, "#view=lines&by=statement");
    const rows = report(file, "lines", "--by=statement", "--limit=all", "--uncovered=1", `--file=${script}`).filter((r) => r.role === "entry");
    const source = report(file, "lines", "--by=statement", "--limit=all", "--uncovered=1").filter((r) => r.role === "entry" && r.line);
    const inPlace = source.sort((a, b) => a.line - b.line || a.column - b.column);
    is(await page.$$eval("table.source tr.covered, table.source tr.uncovered", (e) => e.map((r) => [r.querySelector("td").title.replace(/[^0-9]/g, ""), r.querySelector("td:nth-child(3)").textContent.replace(/[^0-9a-z]/g, "")])),
      inPlace.map((r) => [String(r.self), r.calls ? String(r.calls) : "never"]), "statements of a Tcl script, in their places", JSON.stringify(rows.length));
    is(await page.$$eval("table.source tr.uncovered code", (e) => e.map((c) => c.textContent.trim())), ["puts never"], "what never ran");
    const hot = await page.$$eval("table.source tr.covered", (e) => e.map((r) => [Number(r.querySelector("td").title.replace(/[^0-9]/g, "")), Number(r.style.getPropertyValue("--heat"))]));
    const hottest = hot.reduce((a, b) => (a[0] >= b[0] ? a : b));
    ok(hottest[1] === 1 && hot.every(([n, heat]) => heat * 20 === Math.round(heat * 20) && (n > 0) === heat > 0), "the hottest has the last of twenty shades", JSON.stringify(hot));
    const sorted = hot.sort((a, b) => a[0] - b[0]).map((h) => h[1]);
    ok(sorted.every((h, i) => !i || h >= sorted[i - 1]), "and none that is hotter is paler");
    await shoot(page, "tcl-source");
    await to(page, "#view=lines");
    const lines = report(file, "lines", "--limit=all", "--uncovered=1").filter((r) => r.role === "entry" && r.line).sort((a, b) => a.line - b.line);
    is(await page.$$eval("table.source tr.covered", (e) => e.map((r) => [r.querySelector(".line").textContent, r.querySelector("td").title.replace(/[^0-9]/g, "")])),
      lines.filter((r) => r.self || r.calls || r.inclusive).map((r) => [String(r.line), String(r.self)]), "and line by line");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Waits: the page has what the command prints; without waits there is no page. */
  {
    const file = join(folder, "locks.tt");
    execFileSync(tallytree, ["record", "--locks", "-o", file, "--", join(build, "test/locks-guest"), "convoy"], quiet);
    const page = await view(file, "");
    await page.waitForSelector(".findings");
    const rows = report(file, "waits");
    const finding = (await page.$$eval(".findings li", (e) => e.map((x) => x.textContent))).find((f) => f.startsWith("Threads waited"));
    ok(finding?.includes(` for ${rows[0].name}, in ${rows[0].count} waits, the longest of `), "the lock with the longest waits is a finding", finding);
    await page.click(".findings >> text=all waits");
    await settled(page);
    const onPage = async (caption) => (await cells(page, caption)).map((r) => [r.name, ...r.figures.map((f) => f.replace(/ ns$/, ""))]);
    is((await onPage("What was waited for")).map((r) => [r[0], digits(r[2])]), rows.map((r) => [r.name, String(r.self)]), "its page has the figures of the command");
    await page.click("text=waiters and holders");
    await settled(page);
    is((await onPage("Which function waited for which, by what")).map((r) => [r[0], digits(r[2])]), report(file, "waits", "--by=pair").map((r) => [r.name, String(r.self)]), "also by waiters and holders");
    is(await page.$$eval("nav[aria-label=pages] a.on", (e) => e.map((a) => a.textContent)), ["Waits"], "and is in the list of pages");
    const metrics = await page.$$eval('select[aria-label="metric"] option', (e) => e.map((o) => o.value));
    ok(metrics.includes("delay") && !metrics.includes("calls"), "a metric that has no figures is not offered", metrics);
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Addresses by hand. */
  {
    const file = join(folder, "rings.folded");
    writeFileSync(file, "main;fib;fib;fib 5\nmain;x 2\nmain;a;b;a 3\n");
    const page = await view(file, "#view=flat&limit=all");
    is((await cells(page, flat)).map((r) => r.name), report(file, "flat", "--limit=all").map((r) => r.name), "limit=all is no error");
    is(await page.$$eval("nav[aria-label=pages] a", (e) => e.some((a) => a.textContent === "Waits")), false, "without waits there is no page of waits");
    for (const [name, says] of [["whatif", '"tallytree report whatif FILE" shows this view'], ["flaat", "may be misspelt"]]) {
      await to(page, `#view=${name}`);
      const said = await page.textContent("main");
      ok(said.includes(`The viewer has no page "${name}"`) && said.includes(says), `${name}: a page that is not there says so`, said);
    }

    /* Rings. */
    await to(page, "#view=groups");
    const rings = await cells(page, "Rings of recursion, each taken as one");
    is(rings.map((r) => r.name), ["fib", "a, b", "a", "b", "total"], "only rings are on the page of recursion");
    ok((await page.$$eval("main th", (e) => e.map((x) => x.textContent.trim()))).includes("functions"), "which counts their functions");
    await to(page, "#view=groups&select=x");
    is(await page.textContent("main .empty"), "No function calls itself here.", "or says that there are none");
    await to(page, "#view=flat&select=nothing");
    ok((await page.textContent("main .notes")).includes("No function matches the filter nothing."), "a filter that nothing matches is named");
    is(page.complaints.filter((c) => !/400/.test(c)), [], "no complaint from the browser");
  }

  /* Another file in the place of the one that is shown. */
  {
    const once = (name) => replayed(`${name}.tt`, `push ${name}\ntick 5\npop\n`);
    const file = once("before");
    const page = await view(file, "#view=flat");
    const names = async () => (await cells(page, flat)).map((r) => r.name);
    const focus = () => page.evaluate(() => window.dispatchEvent(new Event("focus")));
    await focus();
    is([await names(), await page.$$eval("header .replaced", (e) => e.length)], [["before", "total"], 0], "a file that stays is shown without a word");
    renameSync(once("after"), file);
    await focus();
    await page.click("header .replaced");
    await page.waitForSelector('[data-block="after"]');
    is([await names(), await page.$$eval("header .replaced", (e) => e.length)], [["after", "total"], 0], "one that was replaced is shown by a button, or when the page is loaded again");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* More threads than figures are kept of. */
  {
    const file = replayed("crowd.tt", Array.from({ length: 4200 }, (_, i) => `strand w${i}\npush main\ntick ${1 + (i % 7)}\npop\n`).join(""));
    const page = await view(file, "#view=strands");
    is(await page.$$eval("main tbody a", (e) => e.length), 0, "threads without figures lead nowhere");
    ok((await page.textContent("main .notice")).startsWith("There are too many threads"), "and the page says why above them");
    await to(page, "#view=strands&by=block");
    ok((await page.textContent("main .notice")).startsWith("There are too many threads"), "also where functions have no figures of threads");
    await page.click("main .notice a");
    await settled(page);
    ok((await cells(page, "How figures spread over threads")).some((r) => r.name === "main"), "and leads to what is known");
  }

  /* Samples may miss a line that ran. */
  {
    const source = join(folder, "sampled.c");
    writeFileSync(source, "one\ntwo\nthree\n");
    const frames = ["one", "two", "three"].map((name, i) => ({ name, file: source, line: i + 1 }));
    const file = join(folder, "sampled.speedscope.json");
    writeFileSync(file, JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames },
      profiles: [{ type: "sampled", name: "s", unit: "none", startValue: 0, endValue: 5, samples: [[0, 1], [2]], weights: [2, 3] }] }));
    const page = await view(file, "#view=lines&exclude=two");
    const lines = () => page.$$eval("table.source tbody tr", (e) => e.map((r) => [r.className, ...[...r.querySelectorAll("td.figure")].map((c) => c.textContent.replace("\u202f", " "))]));
    is(await lines(), [["", "", "", "1"], ["", "", "", "2"], ["covered", "3 ticks", "3 ticks", "3"]], "no line of a sampled profile is said to have never run");
    await to(page, "#view=lines");
    is(await lines(), [["covered", "", "2 ticks", "1"], ["covered", "2 ticks", "2 ticks", "2"], ["covered", "3 ticks", "3 ticks", "3"]], "and it has no column for calls");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* A source of more than a reply holds: from above its hottest line on, and on from there. */
  {
    const source = join(folder, "long.c");
    const last = 60000;
    writeFileSync(source, Array.from({ length: last }, (_, i) => `int line_${i + 1}; /* .............. */\n`).join(""));
    const block = (name, line) => `block ${name} file=${source} line=${line}\n`;
    const file = replayed("long.tt", block("cold", 10) + block("hot", 50000) + "push cold\ntick 5\npop\npush hot\ntick 500\npop\n");
    const page = await view(file, "#view=lines");
    const shown = () => page.$$eval("table.source tbody tr", (e) => [e[0], e[e.length - 1]].map((r) => Number(r.querySelector(".line").textContent)));
    const figures = () => page.$$eval("table.source tr.covered", (e) => e.map((r) => [r.querySelector(".line").textContent, r.querySelector("td").title.replace(/[^0-9]/g, ""), r.querySelector("code").textContent]));
    is([(await shown())[0], await figures()], [49800, [["50000", "500", "int line_50000; /* .............. */"]]], "a long source is shown where it is hottest");
    const isSeen = (line) => page.$eval(`table.source [data-line="${line}"]`, (e) => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; });
    for (const width of [1237, 390]) {
      await page.setViewportSize({ width, height: 860 });
      await to(page, "#view=overview");
      await to(page, "#view=lines");
      await page.waitForSelector("table.source [data-line]");
      ok(await page.waitForFunction(() => { const r = document.querySelector('table.source [data-line="50000"]').getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight; }), `the page opens at the hottest line in ${width} pixels`);
      await page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".scroll")].forEach((e) => (e.scrollTop = 0)));
      for (const time of ["first", "second"]) {
        await page.click(".hot a");
        await settled(page);
        ok(await isSeen(50000), `a link leads to it, the ${time} time, too`);
        await page.evaluate(() => [document.documentElement, ...document.querySelectorAll(".scroll")].forEach((e) => (e.scrollTop = 0)));
      }
    }
    await page.setViewportSize({ width: 1237, height: 860 });
    await to(page, "#view=lines");
    const [, end] = await shown();
    await page.click("text=/lines below/");
    await settled(page);
    is(await shown(), [end + 1, end + 1000], "what is below is one step away");
    await to(page, "#view=lines&first=900");
    await page.click("text=/lines above/");
    await settled(page);
    is([(await shown())[0], await figures()], [1, [["10", "5", "int line_10; /* .............. */"]]], "and what is above");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* What is dominated: not by what only leads to it.  start, main and twice have all from one
     call, and turn has it from wheel's; where wheel's call of turn has its cost, too, they are
     a ring, whose largest stays. */
  {
    const events = "push start\npush main\npush twice\npush parse\ntick 300\npop\npush turn\ntick 2\npush wheel\ntick 3\npush turn\n" +
      "push wheel\ntick 400\npop\npop\npop\npop\npop\ntick 5\npop\npop\n";
    for (const [recursion, list, left] of [["edge", ["twice", "wheel", "parse"], ["main", "start", "turn"]], ["none", ["twice", "turn", "parse"], ["main", "start", "wheel"]]]) {
      const page = await view(replayed("ways.tt", events, "--recursion", recursion), "");
      const names = (part) => page.$$eval(part, (e) => e.map((x) => x.textContent));
      is(await names(".top:nth-child(2) li .name"), list, `${recursion}: what all goes through is not in the list of what is dominated`);
      is(await names(".left-out [data-block]"), left, "which names it");
      is(await names(".top:nth-child(1) li .name"), ["wheel", "parse", "main", "turn"], "and in that of what took it itself is all");
      const chosen = () => page.$eval('select[aria-label="metric"]', (e) => e.selectedOptions[0].textContent);
      is(await chosen(), "ticks", "the metric that is looked at has its name");
      for (const [name, told] of [["calls", "calls"], ["ticks", null]]) {
        await page.selectOption('select[aria-label="metric"]', name);
        await settled(page);
        is([await chosen(), word(page, "metric")], [name, told], `${name} is chosen`);
      }
      is(page.complaints, [], "no complaint from the browser");
    }
  }

  /* Deeper than a window is high: it scrolls, and what is chosen is in sight. */
  {
    const depth = 90;
    const name = (i) => `level${i}`;
    const page = await view(replayed("deep.tt", Array.from({ length: depth }, (_, i) => `push ${name(i)}\ntick 1\n`).join("") + "count cpu/a,b/ 7\n" + "pop\n".repeat(depth)), "#view=flame");
    is(await page.$$eval('select[aria-label="metric"] option', (e) => e.map((o) => o.value).sort()), ["calls", "cpu/a,b/", "ticks"], "a metric has its whole name");
    const sheets = () => page.$$eval(".sheet", (e) => e.map((s) => ({ top: s.scrollTop, all: s.scrollHeight, seen: s.clientHeight })));
    const [sheet] = await sheets();
    ok(sheet.all >= (depth + 1) * 20 && sheet.seen < sheet.all, "a picture that is higher than its place scrolls", JSON.stringify(sheet));
    await page.focus(".sheet");
    for (let i = 0; i < depth; i++) await page.keyboard.press("ArrowDown");
    await settled(page);
    const [below] = await sheets();
    ok(below.top + below.seen >= depth * 20 && below.top > 0, "and what the keys choose is in sight", JSON.stringify(below));
    await to(page, `#view=block&block=${name(depth - 1)}`);
    await page.waitForFunction(() => document.querySelectorAll(".sandwich .sheet").length === 2 && document.querySelector(".sandwich .sheet").scrollTop > 0);
    const [callers] = await sheets();
    ok(callers.all - callers.top - callers.seen < 2, "of who called a block, those that stand nearest are seen first", JSON.stringify(callers));
    await to(page, "#view=block&block=level5");
    await (await page.$$(".sandwich canvas"))[1].hover({ position: { x: 40, y: 10 } });
    is(await page.textContent(".tip strong"), "level5", "what a block called begins with it, and not with a root");

    /* In a narrow window a name has room for itself, however deep it stands. */
    await page.setViewportSize({ width: 400, height: 800 });
    await to(page, "#view=tree");
    is(await page.$$eval("td.name [data-block]", (e) => e.filter((x) => x.getClientRects().length !== 1).map((x) => x.textContent)), [], "no name of the tree is broken into letters");
    is(await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0, "and the page does not scroll sideways");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Changes, since a profile before. */
  {
    const before = replayed("before.tt", calls({ parse: [10, 30], eval: [5, 100], print: [3, 7] }));
    const now = replayed("now.tt", calls({ parse: [10, 10], eval: [9, 100], log: [4, 25] }));
    const page = await view(now, "#view=diff", ["--before", before]);
    for (const [hash, label, words] of [["#view=diff", "Each function, before and now", []], ["#view=diff&normalise=1", "Each function, before and now", ["--normalise"]]]) {
      await to(page, hash);
      const table = JSON.parse(execFileSync(tallytree, ["diff", "--json", ...words, before, now]).toString());
      const name = table.columns.findIndex((c) => c.key === "name");
      const got = await cells(page, label);
      is(got.map((r) => r.name), table.rows.map((r) => String(r.values[name])), `${hash}: what has changed, in the engine's order`);
      const figures = table.columns.map((c, i) => [c, i]).filter(([c]) => c.type === "amount" || c.type === "change").map(([, i]) => i);
      const flatten = (x) => x.flat().filter((d) => d !== "" && d !== "0").sort();
      const shown = flatten(got.filter((r) => r.role === "entry").map((r) => r.figures.map(digits)));
      const missing = flatten(table.rows.filter((r) => r.role === "entry").map((r) => figures.map((i) => digits(String(r.values[i] ?? ""))))).filter((d) => !shown.includes(d));
      is(missing, [], `${hash}: with its figures`);
    }
    await to(page, "#view=diff");
    const whole = (await cells(page, "Each function, before and now")).at(-1);
    is([whole.role, ...[1, 5].map((i) => whole.figures.slice(i, i + 2).map(digits))], ["total", ["831", "1110"], ["831", "1110"]], "and the whole, last");
    await shoot(page, "changes");
    const sorted = (...words) => {
      const table = JSON.parse(execFileSync(tallytree, ["diff", "--json", ...words, before, now]).toString());
      return table.rows.map((r) => r.values[table.columns.findIndex((c) => c.key === "name")]);
    };
    for (const [turn, column] of [["first", "self.b"], ["then", "-self.b"]]) {
      await page.click("th button:has-text('self now')");
      await settled(page);
      is((await cells(page, "Each function, before and now")).map((r) => r.name), sorted("--sort", column), `sorted by a column, ${turn}`);
    }
    await to(page, "#view=diff&limit=1");
    is((await cells(page, "Each function, before and now")).map((r) => r.name), sorted("--limit", "1"), "what is cut off is said");
    await page.click(".more-rows button");
    await settled(page);
    is((await cells(page, "Each function, before and now")).map((r) => r.name), sorted("--limit", "4"), "and can be had");
    is(page.complaints, [], "no complaint from the browser");

    /* The slider that prunes: in the address, one step back, as the command prunes. */
    await to(page, "#view=flat");
    const slider = 'input[aria-label="cut off what is below a share of all"]';
    await page.focus('input[type="search"]');
    await page.focus(slider);
    for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowRight");
    await settled(page);
    const share = word(page, "prune");
    ok(/^[\d.]+%$/.test(share ?? ""), "the slider adds to a list", page.url());
    let got = await cells(page, flat);
    is(got.map((r) => [r.name, digits(r.figures[1])]), report(now, "flat", `--prune=${share}`).map((r) => [r.name, String(r.self)]), `pruned below ${share}, as by the command`);
    is(await page.$$eval(".chip.prune .pattern", (e) => e.map((c) => c.textContent)), [share], "a chip has it");
    await page.keyboard.press("Home");
    await settled(page);
    is(word(page, "prune"), null, "at its beginning nothing is pruned");

    /* The wheel. */
    await to(page, "#view=flame");
    const box = await page.$eval(".sheet canvas", (c) => { const r = c.getBoundingClientRect(); return { x: r.x, y: r.y }; });
    await page.mouse.move(box.x + 60, box.y + 30);
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -200);
    await page.waitForFunction(() => /zoom=/.test(location.hash));
    const seen = word(page, "zoom").split("..").map(Number);
    ok(Math.abs(seen[1] - seen[0] - Math.exp(-0.8)) < 1e-3, "the wheel with Ctrl zooms", page.url());
    for (let i = 0; i < 3; i++) await page.mouse.wheel(0, 200);
    await page.waitForFunction(() => !/zoom=/.test(location.hash));
    ok(true, "and out again");
    await to(page, "#view=flame&context=1");
    await page.mouse.wheel(0, 200);
    await page.waitForFunction(() => !/context=/.test(location.hash));
    await page.keyboard.up("Control");
    is(word(page, "context"), null, "and leaves the frame that is opened");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Changes between runs, of which there are several, and what of them is noise. */
  {
    const [before, now] = [1, 2].map((n) => {
      const runs = [1, 2, 3].map((k) => replayed(`run${n}${k}`, calls({ parse: [1, 300 * n + k], eval: [1, 900 / n + k], print: [1, 40 + k] })));
      const file = join(folder, `runs${n}.tt`);
      execFileSync(tallytree, ["merge", "-o", file, ...runs]);
      return file;
    });
    const page = await view(now, "#view=diff", ["--before", before]);
    const signs = { more: "▲ more", less: "▼ less", noise: "≈ noise" };
    const verdicts = JSON.parse(execFileSync(tallytree, ["diff", "--json", before, now]).toString()).rows.flatMap((r) => r.values).filter((v) => v in signs);
    ok(Object.keys(signs).every((v) => verdicts.includes(v)), "something is more, less, or noise", JSON.stringify(verdicts));
    is(await page.$$eval("main td.text", (e) => e.map((x) => x.textContent).filter((t) => t)), verdicts.map((v) => signs[v]), "which is told by signs, and not by colours alone");
  }

  /* Few samples of two threads of one name, and a comparison that they say nothing of. */
  {
    const sampled = (name, ...samples) => {
      const file = join(folder, name);
      writeFileSync(file, samples.map(([thread, f], i) => `prog 7/${thread} 1.${100000 + i * 1000}: 4000000 cpu-clock: \n\t${f === "work" ? 1000 : 2000} ${f} (/bin/prog)\n\n`).join(""));
      return file;
    };
    const before = sampled("before.perf", [10, "work"], [11, "work"], [10, "rest"]);
    const page = await view(sampled("now.perf", [10, "work"], [11, "work"], [11, "work"]), "#view=overview", ["--before", before]);
    await page.waitForSelector(".findings li");
    ok(/^The largest changes may all be chance/.test(await page.textContent(".findings li")), "a few samples more are no finding", await page.textContent(".findings"));
    await to(page, "#view=diff");
    ok(/^No function that is shown/.test(await page.textContent("main .hint")), "the comparison says so, too", await page.textContent("main"));
    is((await page.$$eval("main thead th button", (e) => e.map((x) => x.textContent.replace(/ [▾▴]/, "")))).filter((t) => t), ["name", "self change", "self before", "self now", "total change", "change %", "total before", "total now"], "what has changed comes before both sides");
    await to(page, "#view=strands");
    is(await page.$$eval("main td.name a", (e) => e.map((x) => x.textContent).sort()), ["prog 10", "prog 11"], "threads of one name have their numbers");
    ok(!(await page.$$eval("main thead th", (e) => e.map((x) => x.textContent))).includes("node"), "a column without a text is left out");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* The slowest activations of a marked block, each with what it called. */
  {
    const file = replayed("slow.tt", "push main\n" + Array.from({ length: 40 }, (_, i) => `push frame\ntick ${10 + ((i * 7) % 40)}\npush draw\ntick ${(i * 13) % 29}\npop\npop\n`).join("") + "pop\n", "--slowest", "frame:5");
    const page = await view(file, "#view=overview");
    await page.click("nav >> text=Time");
    await settled(page);
    const want = report(file, "slowest");
    ok(want.filter((r) => r.name === "draw").length >= 5, "each of the slowest has its subtree", JSON.stringify(want));
    const got = await cells(page, "Single activations, each with what it called");
    is(got.map((r) => r.name), want.map((r) => String(r.name ?? "")), "the slowest activations have a page");
    const missing = want.flatMap((r, i) => ["duration", "self", "calls"].filter((k) => r[k] > 0 && !got[i].figures.map(digits).includes(String(r[k]))));
    is(missing, [], "with their figures");
    await shoot(page, "slowest");
    is(page.complaints, [], "no complaint from the browser");
  }

  /* A Lua script. */
  if (existsSync(join(build, "adapters/lua/libtallytree-lua.so"))) {
    const script = join(folder, "f.lua"), file = join(folder, "lua.tt");
    writeFileSync(script, "local function leaf(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end\nlocal function walk(n) if n == 0 then return leaf(50) end return walk(n - 1) + leaf(n) end\nlocal sum = 0\nfor i = 1, 200 do sum = sum + walk(6) end\nprint(sum)\n");
    execFileSync(tallytree, ["lua", "-o", file, script], quiet);
    const page = await view(file, "#view=flat");
    for (const [hash, words] of [["#view=flat", []], ["#view=flat&metric=calls", ["--metric=calls"]], ["#view=flat&select=*walk*&fold=*leaf*", ["--select=*walk*", "--fold=*leaf*"]]]) {
      await to(page, hash);
      const got = await cells(page, flat), want = report(file, "flat", ...words);
      const most = (title) => digits(title.replace(/^between .* and (.*):.*$/, "$1")); // of a bracket
      is(got.map((r) => [r.name, most(r.figures[1])]), want.map((r) => [r.name, String(r.self)]), `a Lua run: ${hash}`);
    }
    is(page.complaints, [], "no complaint from the browser");
  }

  /* Waits between ranks. */
  {
    const wait = (rank, n) => `push MPI_Recv\npush rank_${rank}\ncount waited ${n}\npop\npop\n`;
    const file = replayed("waits.tt", ["block rank_1 kind=function module=mpi.peer", "block rank_2 kind=function module=mpi.peer", "strand a", "push main", "tick 100"].join("\n") + "\n" + wait(1, 70) + wait(2, 30) + wait(1, 5) + "pop\n");
    const page = await view(file, "#view=strands&by=wait");
    const ways = (page) => page.$$eval('[aria-label="by"] button', (e) => e.map((x) => x.textContent));
    ok((await ways(page)).includes("who waits for whom"), "who waits for whom is asked where something waits");
    const want = report(file, "strands", "--by=wait");
    const got = await cells(page, "Who waits for whom: the time until calls came back");
    is(got.map((r) => digits(r.figures[1])), want.map((r) => String(r.self)), "who waits for whom");
    ok(want.some((r) => r.self === 75) && want.some((r) => r.self === 30), "summed over calls", JSON.stringify(want));
    const [total] = want.filter((r) => r.role === "total");
    is([total.self, total.calls], ["self", "calls"].map((k) => want.filter((r) => r.role === "entry").reduce((n, r) => n + r[k], 0)), "and these to the total");
    await shoot(page, "waits");
    is(page.complaints, [], "no complaint from the browser");
    const other = await view(replayed("nowaits.tt", "push main\npush parse\ntick 30\npop\npop\n"), "#view=strands");
    ok(!(await ways(other)).includes("who waits for whom"), "and not where nothing does");
    await to(other, "#view=strands&by=block");
    const spread = report(join(folder, "nowaits.tt"), "strands", "--by=block").filter((r) => r.role === "entry");
    ok(spread.some((r) => r.imbalance === null) && spread.some((r) => r.imbalance !== null), "a block without a self of its own has no mean to be above of", JSON.stringify(spread));
    is(await other.$$eval(".spreads tbody .figure", (e) => e.map((x) => x.textContent.includes("above the mean"))), spread.map((r) => r.imbalance !== null), "how far above the mean is said of what has one");
  }
});
