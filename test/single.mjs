// SPDX-License-Identifier: MIT
// The viewer as one file: what is in it, how large it is, and that it is the same each time.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";

const build = process.env.TT_BUILD ?? "build";
const tallytree = join(build, "tallytree");
const folder = mkdtempSync(join(tmpdir(), "tallytree-single-"));
let number = 0, failed = 0;

function ok(good, name, why = "") {
  number++;
  if (!good) failed++;
  console.log(`${good ? "ok" : "not ok"} ${number} - ${name}`);
  if (!good && why !== "") console.log(`# ${String(why).slice(0, 400)}`);
}

const run = (...args) => execFileSync(tallytree, args, { maxBuffer: 1 << 30 });
function fails(...args) {
  try {
    execFileSync(tallytree, args, { stdio: ["ignore", "ignore", "pipe"] });
  } catch (e) {
    return { status: e.status, text: String(e.stderr) };
  }
  return { status: 0, text: "" };
}

// The profile that a page carries.
function carried(page) {
  const text = /id="profile">([^<]*)</.exec(page)[1].replace("PROFILE", "");
  const file = join(folder, "carried.tt");
  writeFileSync(file, gunzipSync(Buffer.from(text, "base64")));
  return file;
}
const total = (file) => {
  const t = JSON.parse(run("report", "header", "--json", file));
  return t.rows.filter((r) => r.values[0] === "metric").map((r) => r.values.slice(1).join(" "));
};

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
  ok(JSON.stringify(total(carried(whole))) === JSON.stringify(total(profile)), "all of the profile is in it");

  const engine = /id="engine">([^<]*)</.exec(whole)[1];
  const page = whole.replace(/id="profile">[^<]*</, "").replace(engine, "");
  ok(gzipSync(page).length < 150 << 10, "the page is below 150 KB packed", gzipSync(page).length);
  ok(gzipSync(page).length + Buffer.from(engine, "base64").length < 400 << 10, "and below 400 KB with the engine");

  const bare = whole.length - /id="profile">([^<]*)</.exec(whole)[1].length;
  const most = bare + Math.floor((whole.length - bare) / 2);
  const small = run("export", "--to", "html", "--max-size", String(most), profile).toString();
  ok(small.length <= most && small.length > bare, "small parts are left out, down to --max-size", `${small.length} of ${most}`);
  const left = carried(small);
  ok(JSON.stringify(total(left)) === JSON.stringify(total(profile)), "whose cost is still there");
  ok(/\[pruned\]/.test(run("report", "tree", "--limit", "all", "--threshold", "0", left).toString()), "in rows of their own");
  const none = fails("export", "--to", "html", "--max-size", "1K", profile);
  ok(none.status === 2 && /page alone/.test(none.text), "what cannot be that small is refused", none.text);
  for (const size of ["0", "x", "10Q", "-1", "99999999999"]) {
    const wrong = fails("export", "--to", "html", "--max-size", size, profile);
    ok(wrong.status === 2 && /--max-size/.test(wrong.text), `refused: --max-size ${size}`, wrong.text);
  }
  ok(fails("export", "--to", "folded", "--max-size", "1M", profile).status === 2, "it is for html alone");
  const selected = run("export", "--to", "html", "--select", "function_1_0", profile).toString();
  ok(total(carried(selected)).join() !== total(profile).join(), "filters are applied before");
} catch (e) {
  ok(false, "no surprise", e.stack);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`1..${number}`);
process.exit(failed ? 1 : 0);
