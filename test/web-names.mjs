// SPDX-License-Identifier: MIT
// Names in the viewer: two blocks of one name are two wherever they are shown, opened and
// filtered; long names can be read and opened, names of one letter are drawn; an opened frame
// is addressed by its path.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { cells, digits, folder, is, ok, replayed, report, run, settled, shoot, to, view } from "./browser.mjs";

const flat = "Functions: self, and total with all that they called";
const word = (page, name) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);
const drawn = (page) =>
  page.evaluate(() => {
    window.drawn = [];
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
      window.drawn.push(text);
      return draw.call(this, text, ...rest);
    };
  });

const long = `std::__detail::_Executor<${"char const*, ".repeat(40)}std::allocator<int>>::_M_dfs(${"unsigned long, ".repeat(20)}int)`;
const longer = long.replace("_M_dfs", "_M_main");
const call = (file, name, cost) => ({ file, name, cost });
const callees = [call("b.c", "init", 300), call("c.c", "init", 500), call("a.c", "1000", 40), call("d.cc", long, 60), call("d.cc", longer, 70)];
const callgrind =
  "events: Ir\nfl=a.c\nfn=main\n1 10\n" +
  callees.map((c) => `cfi=${c.file}\ncfn=${c.name}\ncalls=1 5\n1 ${c.cost}\n`).join("") +
  callees.map((c) => `\nfl=${c.file}\nfn=${c.name}\n5 ${c.cost}\n`).join("");

await run(async () => {
  {
    const file = join(folder, "callgrind.out");
    writeFileSync(file, callgrind);
    const page = await view(file, "#view=flat");
    const rows = () => page.$$eval(`table[aria-label="${flat}"] tbody tr.entry`, (e) => e.map((r) => [r.querySelector("[data-block]").dataset.block, r.querySelector(".place").textContent, r.querySelectorAll("td.figure")[1].title.replace(/[^0-9]/g, "")]));
    const inits = async () => (await rows()).filter(([name]) => name === "init");
    is(await inits(), [["init", "c.c", "500"], ["init", "b.c", "300"]], "blocks of one name are two rows, each with its place");
    const open = (place) => page.locator("tr.entry", { hasText: place }).locator("[data-block]").click();
    for (const [place, cost] of [["b.c", "300"], ["c.c", "500"]]) {
      await to(page, "#view=flat");
      await open(place);
      await settled(page);
      is((await cells(page, "The function")).map((r) => digits(r.figures[1])), [cost], `the row of ${place} opens the page of its figure`);
    }
    await to(page, "#view=block&block=init");
    is(digits((await cells(page, "The function"))[0].figures[1]), "800", "a name that is written by hand asks about both");
    ok((await page.textContent("main .notice")).includes("2 blocks match and are added up as one: b.c:init#"), "and the page says so above the figures", await page.textContent("main"));

    for (const [key, left, kind] of [["s", [["init", "b.c", "300"]], "select"], ["x", [["init", "c.c", "500"]], "exclude"], ["f", [["init", "c.c", "500"]], "fold"], ["p", [["init", "c.c", "500"]], "prune"], ["r", [["init", "b.c", "300"]], "root"]]) {
      await to(page, "#view=flat");
      await page.locator("tr.entry", { hasText: "b.c" }).locator("[data-block]").focus();
      await page.keyboard.press("m");
      await page.keyboard.press(key);
      await settled(page);
      is(await inits(), left, `${kind} by the menu means the block of the row`);
    }
    is(await page.textContent(".chip .pattern"), "b.c:init", "its chip says which one");
    await to(page, "#view=flat");
    await page.locator("tr.entry", { hasText: "a.c" }).locator('[data-block="1000"]').focus();
    await page.keyboard.press("m");
    await page.keyboard.press("p");
    await settled(page);
    is((await rows()).map(([name]) => name).filter((n) => n.length < 20).sort(), ["[pruned]", "init", "init", "main"], "a block whose name is a number is pruned alone");

    /* Long names. */
    await to(page, "#view=overview");
    const names = await page.$$eval(".top li .name", (e) => e.map((x) => x.textContent));
    ok(names.includes("std::__detail::_Executor<…>::_M_dfs(…)") && names.includes("std::__detail::_Executor<…>::_M_main(…)"), "long names are told apart without what is in their brackets", names.join("\n"));
    is(await page.locator(".top li button", { hasText: "_M_dfs" }).first().getAttribute("title"), `${long}\nd.cc`, "the whole name is in the title");
    await shoot(page, "long-names");
    await page.locator(".top li button", { hasText: "_M_dfs" }).first().click();
    await settled(page);
    is((await cells(page, "The function")).map((r) => digits(r.figures[1])), ["60"], "and a name of hundreds of letters can be opened");
    is(await page.textContent("main h2"), "std::__detail::_Executor<…>::_M_dfs(…)", "its heading is short");
    await page.click(".whole-name summary");
    is(await page.textContent(".whole-name p"), long, "and whole when it is asked for");
    is(await page.$$eval(".error", (e) => e.length), 0, "without an error");
    is(page.complaints, [], "and without a complaint");
  }
  {
    const page = await view(replayed("letters", "push a\ntick 5\npush b\ntick 500\npush +\ntick 300\npop\npop\npush cd\ntick 20\npop\npop\n"), "#view=flame");
    await drawn(page);
    await page.setViewportSize({ width: 1200, height: 800 });
    await settled(page);
    const texts = await page.evaluate(() => [...new Set(window.drawn)]);
    is(["a", "b", "+", "cd"].filter((t) => !texts.includes(t)), [], "names of one letter are drawn");

    /* Narrow frames keep the part of a name that says most, and no text is wider than its frame. */
    const narrow = [ // each has a tenth of the width
      ["std::__detail::_Executor<char const*, std::allocator<int>, true>::_M_dfs(std::__detail::_Executor<char const*, long>::_Match_mode, long)", "_M_dfs"],
      ["bool std::less<std::basic_string<char> >::operator()(std::string const&, std::string const&) const", "operator()"],
      ["std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char const*)", "operator<<"],
      ["work(int)::{lambda(auto:1 const&, auto:2 const&)#1}::operator()(int const&, int const&) const", "operator()"],
      ["<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop", "drop"],
      ["std::function<void (int)>::operator bool() const", "operator bool"],
      ["(anonymous namespace)::Parser::expression(int, char const*)", "expression"],
      ["net/http.(*Server).ServeRequest", "ServeRequest"],
    ];
    const folded = join(folder, "narrow.folded");
    writeFileSync(folded, narrow.map(([n]) => `main;${n} 10\n`).join("") + `main;${"W".repeat(50)} 10\nmain;rest 8\n`);
    const names = await view(folded, "#view=flame");
    await drawn(names);
    await names.evaluate(() => {
      window.wide = [];
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
        window.wide.push([text, this.measureText(text).width]);
        return draw.call(this, text, ...rest);
      };
    });
    await names.setViewportSize({ width: 1500, height: 800 });
    await settled(names);
    const seen = await names.evaluate(() => window.drawn);
    is(narrow.map(([, n]) => n).filter((n) => !seen.some((s) => s.replace(/ ?<…>$/, "").endsWith(n))), [], "narrow frames have the last part of a name", JSON.stringify(seen));
    const room = (1500 - 2 * 14) * (10 / 98);
    const wide = (await names.evaluate(() => window.wide)).filter(([text, width]) => !["main", "rest"].includes(text) && width > room - 8);
    ok(!wide.length && seen.length > narrow.length, "no text is wider than its frame", JSON.stringify(wide));

    /* Rows of long names are as high as others. */
    const table = await view(folded, "#view=flat");
    const tall = await table.$$eval("main table tbody tr.entry", (rows) => rows.map((r) => r.getBoundingClientRect().height));
    ok(Math.max(...tall) - Math.min(...tall) < 1, "rows of long names have one line", JSON.stringify(tall));
    await to(table, `#view=block&block=${encodeURIComponent(narrow[0][0])}`);
    is(await table.textContent("main h2"), narrow[0][0], "the page of a function has its name");
    is([...names.complaints, ...table.complaints], [], "without a complaint");

    /* An opened frame keeps its path, whatever the page and the filters. */
    const plus = report(join(folder, "letters"), "tree").find((r) => r.name === "+");
    await to(page, `#view=flame&context=${encodeURIComponent("1#" + plus.path)}`);
    const sheet = page.locator('[role="application"]');
    await sheet.focus();
    for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
    ok((await page.textContent("figcaption")).startsWith("+: total 300"), "a path opens its context, whatever number stands before it", await page.textContent("figcaption"));
    await to(page, page.url().replace(/^.*#view=flame/, "#view=tree"));
    is((await page.$$eval("table tbody tr.entry [data-block]", (e) => e.map((x) => x.textContent))), ["+"], "another page shows the same part");
    await page.keyboard.press("2");
    await settled(page);
    const hide = async (name) => {
      await page.fill('input[type="search"]', name);
      await page.click(".matches .all >> text=hide");
    };
    await hide("cd");
    await settled(page);
    is(word(page, "context"), `1#${plus.path}`, "a filter leaves it open");
    await hide("b");
    await settled(page);
    ok((await page.textContent("main .notice")).includes("not in what is shown now"), "one that takes it away is said, and all is shown");
    is(page.complaints.filter((c) => !c.includes("400")), [], "which is no error of the page");
  }
});
