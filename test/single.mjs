// SPDX-License-Identifier: MIT
// The viewer as one file: its content, its size, and that it is the same each time.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { finish, ok, tallytree } from "./tap.mjs";

const folder = mkdtempSync(join(tmpdir(), "tallytree-single-"));

const run = (...args) => execFileSync(tallytree, args, { maxBuffer: 1 << 30 });
function fails(...args) {
  try {
    execFileSync(tallytree, args, { stdio: ["ignore", "ignore", "pipe"] });
  } catch (e) {
    return { status: e.status, text: String(e.stderr) };
  }
  return { status: 0, text: "" };
}

const unpacked = (page, id) => gunzipSync(Buffer.from(new RegExp(`id="${id}">([^<]*)<`).exec(page)[1], "base64"));

// What a page answers: its engine, over the profile that it carries.
async function carried(page) {
  const part = (id) => unpacked(page, id);
  const refuse = () => 52;
  const { instance } = await WebAssembly.instantiate(part("engine"), { wasi_snapshot_preview1: { fd_close: refuse, fd_seek: refuse, fd_write: refuse } });
  const e = instance.exports;
  const put = (bytes) => {
    const at = e.room(bytes.length);
    new Uint8Array(e.memory.buffer).set(bytes, at);
    return at;
  };
  const text = (at) => {
    const bytes = Buffer.from(e.memory.buffer, at);
    return bytes.subarray(0, bytes.indexOf(0)).toString();
  };
  e._initialize();
  const embedded = part("profile");
  const wrong = e.open(put(embedded), embedded.length);
  if (wrong) throw new Error(text(wrong));
  return (query) => text(e.ask(put(Buffer.from(query + "\0"))));
}
const metrics = (header) => JSON.parse(header).rows.filter((r) => r.values[0] === "metric").map((r) => r.values.slice(1).join(" "));
const total = (file) => metrics(run("report", "header", "--json", file));

try {
  const events = [];
  let seed = 1;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let i = 0; i < 40000; i++) {
    const depth = 1 + random(7);
    for (let d = 0; d < depth; d++) events.push(`push function_${random(40)}_${d}`, `tick ${1 + random(100)}`);
    for (let d = 0; d < depth; d++) events.push("pop");
  }
  writeFileSync(join(folder, "events"), events.join("\n") + "\n");
  const profile = join(folder, "p.tallytree");
  run("replay", "-o", profile, join(folder, "events"));

  const whole = run("export", "--to", "html", profile).toString();
  const markup = whole.replace(/<script type="application[^]*?<\/script>/g, "");
  ok(!/(src|href)="?(https?:)?\/\//.test(markup + unpacked(whole, "script")), "it loads nothing from elsewhere");
  ok(run("export", "--to", "html", profile).toString() === whole, "it is the same each time");
  const answer = await carried(whole);
  ok(JSON.stringify(metrics(answer("view=header"))) === JSON.stringify(total(profile)), "all of the profile is in it");
  for (const view of ["flat", "tree", "graph", "callers"])
    ok(answer(`view=${view}&limit=all`) === run("report", view, "--limit", "all", "--json", profile).toString(), `its ${view} view is the command's, byte by byte`);

  const engine = /id="engine">([^<]*)</.exec(whole)[1];
  const page = whole.replace(/id="profile">[^<]*</, "").replace(engine, "");
  ok(gzipSync(page).length < 150 << 10, "the page is below 150 KB packed", gzipSync(page).length);
  ok(gzipSync(page).length + Buffer.from(engine, "base64").length < 400 << 10, "and below 400 KB with the engine");

  writeFileSync(join(folder, "one"), "push a\ntick 5\npop\n");
  run("replay", "-o", join(folder, "one.tallytree"), join(folder, "one"));
  const one = run("export", "--to", "html", join(folder, "one.tallytree")).length;
  ok(one < 450_000, "a page with a small profile is below 450 KB", one);

  const bare = whole.length - /id="profile">([^<]*)</.exec(whole)[1].length;
  const most = bare + Math.floor((whole.length - bare) / 2);
  const small = run("export", "--to", "html", "--max-size", String(most), profile).toString();
  ok(small.length <= most && small.length > bare, "small parts are left out, down to --max-size", `${small.length} of ${most}`);
  const left = await carried(small);
  ok(JSON.stringify(metrics(left("view=header"))) === JSON.stringify(total(profile)), "whose cost is still there");
  ok(/\[pruned\]/.test(left("view=tree&limit=all&threshold=0")), "in rows of their own");
  const none = fails("export", "--to", "html", "--max-size", "1K", profile);
  ok(none.status === 2 && /page alone/.test(none.text), "what cannot be that small is refused", none.text);
  for (const size of ["0", "x", "10Q", "-1", "99999999999G"]) {
    const wrong = fails("export", "--to", "html", "--max-size", size, profile);
    ok(wrong.status === 2 && /--max-size/.test(wrong.text), `refused: --max-size ${size}`, wrong.text);
  }
  ok(fails("export", "--to", "folded", "--max-size", "1M", profile).status === 2, "it is for html alone");

  // Sources: four files, the hottest first; one is elsewhere, one is gone.
  const text = { "a.c": 'first "line"\n\tsecond </script>\n', "b.c": "é\0x\n", "c.c": "moved\n", "d.c": "gone\n" };
  mkdirSync(join(folder, "old/deep"), { recursive: true });
  mkdirSync(join(folder, "new"));
  const named = Object.keys(text).map((n, i) => `block f${i} file=${join(folder, "old/deep", n)} line=1\npush f${i}\ntick ${100 - i}\npop\n`);
  writeFileSync(join(folder, "named"), named.join(""));
  const sourced = join(folder, "s.tallytree");
  run("replay", "-o", sourced, join(folder, "named"));
  for (const n of ["a.c", "b.c"]) writeFileSync(join(folder, "old/deep", n), text[n]);
  writeFileSync(join(folder, "new/c.c"), text["c.c"]);
  const texts = (page) => {
    const packed = /id="sources">([^<]*)</.exec(page)[1];
    return packed ? JSON.parse(gunzipSync(Buffer.from(packed, "base64"))) : null;
  };
  const exported = (...args) => {
    const done = spawnSync(tallytree, ["export", "--to", "html", ...args, sourced], { maxBuffer: 1 << 28 });
    return { status: done.status, page: String(done.stdout), text: String(done.stderr) };
  };
  const at = (n) => join(folder, "old/deep", n);
  ok(texts(exported().page) === null, "a page has no sources");
  const with2 = exported("--with-sources");
  ok(with2.status === 0 && JSON.stringify(texts(with2.page)) === JSON.stringify({ [at("a.c")]: text["a.c"], [at("b.c")]: "é x\n" }), "--with-sources puts in those that are there, as they are", with2.page.length);
  ok(/2 of 4 source files were not found, such as .*old\/deep\/c\.c;/.test(with2.text), "and says what is missing", with2.text);
  ok(JSON.stringify(metrics((await carried(with2.page))("view=header"))) === JSON.stringify(total(sourced)), "the profile is as without");
  const with3 = exported("--source", join(folder, "new"));
  ok(texts(with3.page)[at("c.c")] === "moved\n" && /1 of 4 .*d\.c/.test(with3.text), "--source finds what has moved", with3.text);
  const only = exported("--with-sources", "--select", "f1");
  ok(Object.keys(texts(only.page)).join() === at("b.c") && only.text === "", "filters select the sources, too", only.text);
  for (const n of ["a.c", "b.c"]) writeFileSync(at(n), `${n}\n`.repeat((9 << 20) / 4));
  const two = exported("--with-sources");
  ok(Object.keys(texts(two.page)).join() === at("a.c") && /16 MiB .* 1 with the least self/.test(two.text), "sources are limited, and those with the least self are left out", two.text);
  const many = fails("export", "--to", "html", ...Array(17).fill("--source=" + folder), sourced);
  ok(many.status === 2 && /'--source' may be given 16 times/.test(many.text), "so many folders are too many", many.text);
  const refused = fails("export", "--to", "folded", "--with-sources", sourced);
  ok(refused.status === 2 && /for html alone/.test(refused.text), "other formats refuse sources", refused.text);
  const nameless = spawnSync(tallytree, ["export", "--to", "html", "--with-sources", profile], { maxBuffer: 1 << 28 });
  ok(nameless.status === 0 && /names no source files/.test(String(nameless.stderr)), "a profile without files has none", String(nameless.stderr));

  const selected = run("export", "--to", "html", "--select", "function_1_0", profile).toString();
  ok(metrics((await carried(selected))("view=header")).join() !== total(profile).join(), "filters are applied before");
} catch (e) {
  ok(false, "no surprise", e.stack);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
finish();
