// SPDX-License-Identifier: MIT
// The viewer as one file: its content, its size, and that it is the same each time.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

// What a page answers: its engine, over the profile that it carries.
async function carried(page) {
  const part = (id) => gunzipSync(Buffer.from(new RegExp(`id="${id}">([^<]*)<`).exec(page)[1], "base64"));
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
  ok(!/(src|href)="?(https?:)?\/\//.test(whole.replace(/<script type="application[^]*?<\/script>/g, "")), "it loads nothing from elsewhere");
  ok(run("export", "--to", "html", profile).toString() === whole, "it is the same each time");
  const answer = await carried(whole);
  ok(JSON.stringify(metrics(answer("view=header"))) === JSON.stringify(total(profile)), "all of the profile is in it");
  for (const view of ["flat", "tree", "graph", "callers"])
    ok(answer(`view=${view}&limit=all`) === run("report", view, "--limit", "all", "--json", profile).toString(), `its ${view} view is the command's, byte by byte`);

  const engine = /id="engine">([^<]*)</.exec(whole)[1];
  const page = whole.replace(/id="profile">[^<]*</, "").replace(engine, "");
  ok(gzipSync(page).length < 150 << 10, "the page is below 150 KB packed", gzipSync(page).length);
  ok(gzipSync(page).length + Buffer.from(engine, "base64").length < 400 << 10, "and below 400 KB with the engine");

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
  const selected = run("export", "--to", "html", "--select", "function_1_0", profile).toString();
  ok(metrics((await carried(selected))("view=header")).join() !== total(profile).join(), "filters are applied before");
} catch (e) {
  ok(false, "no surprise", e.stack);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
finish();
