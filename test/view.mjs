// SPDX-License-Identifier: MIT
// The viewer's server: its answers are those of `report`, and others get none.
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finish, ok, tallytree } from "./tap.mjs";

const folder = mkdtempSync(join(tmpdir(), "tallytree-view-"));

function start(env, ...args) {
  const child = spawn(tallytree, ["view", ...args], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  let text = "";
  const address = new Promise((resolve, reject) => {
    child.stdout.on("data", (d) => {
      text += d;
      if (text.includes("\n")) resolve(new URL(text.slice(0, text.indexOf("\n"))));
    });
    child.on("exit", () => reject(new Error("it ended: " + text)));
  });
  return { child, address, said: () => text };
}

function get(url, { method = "GET", headers = {}, path } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: url.hostname, port: url.port, path: path ?? url.pathname + url.search, method, headers },
      (reply) => {
        const parts = [];
        reply.on("data", (d) => parts.push(d));
        reply.on("end", () => resolve({ status: reply.statusCode, headers: reply.headers, body: Buffer.concat(parts).toString() }));
      },
    );
    request.on("error", reject);
    request.end();
  });
}

// A tree with a script for a name, many blocks, and some strands.
const events = ["block <script>alert(1)</script> kind=function file=" + join(folder, "a.c") + " line=3"];
for (let i = 0; i < 30000; i++) events.push(`push f${i % 9000}`, `push g${i % 7}`, `tick ${1 + (i % 13)}`, "pop", "pop");
events.push("push <script>alert(1)</script>", "tick 50", "pop");
writeFileSync(join(folder, "events"), events.join("\n") + "\n");
writeFileSync(join(folder, "a.c"), 'one\n"two"\nthree\n');
const profile = join(folder, "p.tallytree");
execFileSync(tallytree, ["replay", "-o", profile, join(folder, "events")]);

const { child, address } = start({}, profile);
try {
  const url = await address;
  const at = (rest) => new URL(rest, url);

  const page = await get(url);
  ok(page.status === 200 && page.headers["content-type"].startsWith("text/html"), "the page is there");
  ok(/default-src 'none'/.test(page.headers["content-security-policy"]), "with a strict policy");
  ok((await get(at("app.js"))).status === 200 && (await get(at("app.css"))).status === 200, "and its parts");

  // Paths that begin with the process are not kept as those of other queries with the same filters.
  for (const query of ["view=tree&by=process&exclude=g1&limit=5", "view=tree&exclude=g1&limit=5", "view=tree&by=process&limit=5", "view=flat", "view=flat&sort=inclusive&limit=7", "view=tree&depth=1", "view=callers&limit=20",
    "view=block&block=g3", "view=flat&select=g1&fold=f1*", "view=flame&threshold=0.01", "view=flat&metric=calls", "view=header",
    "view=flat&exclude=%3Cscript%3E*", "view=strands", "view=flat&prune=1%25", "view=flat&select=g1&fold=f1*"]) {
    const words = [...new URLSearchParams(query)].map(([k, v]) => `--${k}=${v}`);
    const printed = execFileSync(tallytree, ["report", "--json", ...words, profile], { maxBuffer: 1 << 28 }).toString();
    const answered = await get(at("query?" + query));
    ok(answered.body === printed, `${query} is answered as report prints it`, answered.body);
  }
  const most = await get(at("query?view=tree&limit=all&threshold=0"));
  ok(most.body.length <= 1 << 20 && JSON.parse(most.body).rows.length > 1000, "no reply is larger than 1 MB", most.body.length);
  ok((await get(at("query?all&view=tree&limit=all&threshold=0"))).body === execFileSync(tallytree, ["report", "tree", "--json", "--limit", "all", "--threshold", "0", profile], { maxBuffer: 1 << 28 }).toString(), "unless all is asked for");
  const rows = JSON.parse(most.body).rows, columns = JSON.parse(most.body).columns.map((c) => c.key);
  const self = columns.indexOf("self");
  const sum = rows.filter((r) => r.role !== "total").reduce((n, r) => n + (r.values[self] ?? 0), 0);
  const all = JSON.parse((await get(at("query?view=flat&limit=1"))).body).rows.find((r) => r.role === "total").values;
  ok(sum === all[JSON.parse((await get(at("query?view=flat&limit=1"))).body).columns.findIndex((c) => c.key === "self")], "and it still adds up", sum);
  const wrong = await get(at("query?view=flta"));
  const alone = await get(at("query?diff&view=flat"));
  ok(alone.status === 400 && /'--before FILE'/.test(JSON.parse(alone.body).error), "so is a comparison with nothing", alone.body);
  ok(wrong.status === 400 && /did you mean 'flat'/.test(JSON.parse(wrong.body).error), "a wrong query is explained", wrong.body);

  const way = JSON.parse((await get(at("query?view=flame&context=2&threshold=0"))).body);
  const contextAt = way.columns.findIndex((c) => c.key === "context");
  const deep = way.rows.find((r) => r.depth === 1 && r.role === "entry");
  const to = JSON.parse((await get(at("query?view=tree&to=" + deep.values[contextAt]))).body);
  const entries = to.rows.filter((r) => r.role === "entry");
  const toContext = to.columns.findIndex((c) => c.key === "context");
  ok(entries.length === 3 && entries[2].values[toContext] === deep.values[contextAt], "the way to a context", JSON.stringify(entries));

  const source = JSON.parse((await get(at("source?file=" + encodeURIComponent(join(folder, "a.c"))))).body);
  ok(source.lines.join("|") === 'one|"two"|three' && source.more === false, "a source that the profile names", JSON.stringify(source));
  const later = JSON.parse((await get(at("source?first=3&file=" + encodeURIComponent(join(folder, "a.c"))))).body);
  ok(later.lines.join("|") === "three" && later.first === 3, "from a line on");
  for (const other of ["/etc/passwd", "../../../etc/passwd", join(folder, "events"), "", folder])
    ok((await get(at("source?file=" + encodeURIComponent(other)))).status === 404, `and no other: '${other ? "…" + other.slice(-12) : ""}'`);

  mkdirSync(join(folder, "moved"));
  renameSync(join(folder, "a.c"), join(folder, "moved", "a.c"));
  ok((await get(at("source?file=" + encodeURIComponent(join(folder, "a.c"))))).status === 404, "a source that is gone is not found");
  const elsewhere = start({}, "--source", join(folder, "moved"), profile);
  const found = await get(new URL("source?file=" + encodeURIComponent(join(folder, "a.c")), await elsewhere.address));
  elsewhere.child.kill("SIGTERM");
  ok(JSON.parse(found.body).lines?.join("|") === 'one|"two"|three', "--source finds it in another folder", found.body);

  const token = url.pathname.slice(1, -1);
  const paths = ["/", "/" + token, `/${token.slice(1)}/`, `/${"0".repeat(32)}/`, "/query?view=flat", "//", "", "*",
    `/x${token}/`, `/${token.toUpperCase() === token ? token.toLowerCase() + "0" : token.toUpperCase()}/`];
  for (const path of paths) {
    const status = await get(url, { path: path || "/" }).then((r) => r.status, () => 400);
    ok(status === 403 || status === 400, `no answer without the token: '${path.replace(token, "TOKEN")}'`, status);
  }
  for (const path of ["../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "app.js/../../x", "app.js%00", "index.html/", "..%2fquery"])
    ok((await get(url, { path: url.pathname + path })).status === 404, `nothing is at '${path}'`);
  for (const host of ["evil.example", `evil.example:${url.port}`, "localhost.evil.example", "[::1", "[evil.example]", "localhost:80:80", `127.0.0.1.evil.example:${url.port}`, "x"])
    ok([421, 400].includes((await get(url, { headers: { Host: host } })).status), `nobody else's host: '${host.replace(url.port, "PORT")}'`);
  ok((await get(url, { headers: { Host: `localhost:${url.port}` } })).status === 200, "this one by its name");
  ok((await get(url, { headers: { Host: "localhost:8080" } })).status === 200, "and behind a forwarded port, as of ssh -L");
  const opened = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document" };
  ok((await get(url, { headers: opened })).status === 200 && (await get(at("query?view=flat"), { headers: opened })).status === 403, "a link on another page opens the viewer, and nothing else of it");
  ok((await get(url, { headers: { ...opened, "Sec-Fetch-Dest": "iframe" } })).status === 403, "and not in a frame");

  // Only clients that accept gzip get it.
  for (const [accepted, packed] of [[undefined, false], ["gzip", true], ["deflate, gzip;q=0.5", true], ["gzip;q=0", false], ["gzip; q=0.000, *;q=1", false],
    ["*", true], ["*;q=0", false], ["gzipped, br", false], ["identity", false], ["x-gzip", true]]) {
    const headers = accepted === undefined ? {} : { "Accept-Encoding": accepted };
    const [one, other] = [await get(url, { headers }), await get(at("query?view=flat&limit=all"), { headers })];
    const is = [one, other].map((r) => r.headers["content-encoding"] === "gzip");
    ok(is[0] === packed && is[1] === packed && (packed || one.body.startsWith("<!doctype html>")), `Accept-Encoding ${accepted ?? "missing"}: ${packed ? "packed" : "as text"}`, JSON.stringify(is));
  }
  for (const headers of [{ Origin: "http://evil.example" }, { Origin: "null" }, { Origin: `https://127.0.0.1:${url.port}` },
    { "Sec-Fetch-Site": "cross-site" }, { "Sec-Fetch-Site": "same-site" }])
    ok((await get(at("query?view=flat"), { headers })).status === 403, `not for other sites: ${JSON.stringify(headers).replace(url.port, "PORT")}`);
  ok((await get(at("query?view=flat&limit=1"), { headers: { Origin: `http://127.0.0.1:${url.port}`, "Sec-Fetch-Site": "same-origin" } })).status === 200, "for its own page");
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"])
    ok((await get(url, { method })).status === 405, `${method} is not for this server`);

  const outside = Object.values((await import("node:os")).networkInterfaces()).flat().find((a) => a.family === "IPv4" && !a.internal);
  const reached = await new Promise((resolve) => {
    if (!outside) return resolve(false);
    const s = net.connect(Number(url.port), outside.address, () => resolve(true));
    s.on("error", () => resolve(false));
    return undefined;
  });
  ok(!reached, "it listens on loopback alone");

  // A thousand that send a byte now and then do not keep anybody waiting for good.
  const slow = [];
  for (let i = 0; i < 1000; i++) {
    const s = net.connect(Number(url.port), "127.0.0.1");
    s.on("error", () => {});
    s.write("GET /");
    slow.push(s);
  }
  await new Promise((r) => setTimeout(r, 300));
  for (const s of slow) s.write("x");
  ok((await get(at("query?view=flat&limit=1"))).status === 200, "a thousand slow connections keep nobody out");
  for (const s of slow) s.destroy();

  // More that say nothing than there may be: the oldest of them make room.
  const idle = [];
  for (let i = 0; i < 6000; i++) {
    const s = net.connect(Number(url.port), "127.0.0.1");
    s.on("error", () => {});
    idle.push(s);
    if (i % 500 === 499) await new Promise((r) => setTimeout(r, 20));
  }
  ok((await get(at("query?view=flat&limit=1"))).status === 200, "nor do six thousand that are idle");
  for (const s of idle) s.destroy();

  // A browser that is started has the signals of any program, and is not heard.  Those from
  // 32 on are as they were for us.
  {
    const none = (line) => (BigInt("0x" + line.split("\t")[1]) & 0x7fffffffn) === 0n;
    const opener = join(folder, "xdg-open"), said = join(folder, "opened");
    writeFileSync(opener, `#!/bin/sh\necho noise\ngrep -E 'Sig(Blk|Ign)' /proc/self/status >${said}.new\nstat -c %a "$1" "\${1%/*}" >>${said}.new\ncat "$1" >>${said}.new\necho "$1" >>${said}.new\nmv ${said}.new ${said}\n`, { mode: 0o755 });
    const other = start({ PATH: folder + ":" + process.env.PATH, XDG_RUNTIME_DIR: folder }, "--open", profile);
    const shown = await other.address;
    for (let i = 0; i < 600 && !existsSync(said); i++) await new Promise((r) => setTimeout(r, 100));
    const lines = existsSync(said) ? readFileSync(said).toString().trim().split("\n") : [];
    const file = lines[lines.length - 1] ?? "";
    ok(lines.slice(0, 2).every(none), "--open starts a browser with the signals of any program", lines.join("\n"));
    ok(lines[2] === "600" && lines[3] === "700" && file.startsWith(folder + "/tallytree-"), "with a file that only its owner can read", lines.join("\n"));
    ok(lines.slice(4, -1).join("\n").includes(`url=${shown}"`), "which leads to the address", lines.join("\n"));
    ok(!file.includes(shown.pathname.slice(1, -1)), "so that no argument has the token", file);
    other.child.kill("SIGTERM");
    await new Promise((r) => other.child.on("exit", r));
    ok(other.said() === String(shown) + "\n", "which says nothing on our standard output", other.said());
    ok(file && !existsSync(file) && !existsSync(file.slice(0, file.lastIndexOf("/"))), "and the file goes when the server ends", file);
  }

  // A name of a proxy.
  {
    const kept = join(folder, "token");
    const first = start({}, "--token-file", kept, profile), was = (await first.address).pathname;
    first.child.kill();
    const second = start({}, "--token-file", kept, profile), again = await second.address;
    ok(again.pathname === was && readFileSync(kept).toString().trim() === was.replaceAll("/", "") && (statSync(kept).mode & 0o777) === 0o600, "--token-file keeps the token, in a file that only its owner reads", was);
    ok((await get(again)).status === 200, "and the address has it");
    second.child.kill();
    writeFileSync(kept, "a/b".repeat(10));
    const wrong = spawnSync(tallytree, ["view", "--token-file", kept, profile]);
    ok(wrong.status === 2 && /only letters, digits/.test(String(wrong.stderr)), "a token that is no part of an address is refused", String(wrong.stderr));
    const named = start({}, "--host", "profiles.example", profile);
    const shown = await named.address;
    const of = async (headers) => (await get(new URL("query?view=flat&limit=1", shown), { headers })).status;
    ok((await of({ Host: "profiles.example", Origin: "https://profiles.example" })) === 200 && (await of({ Host: "other.example" })) === 421, "--host adds a name, and no other");
    named.child.kill("SIGKILL");
  }

  // A program that is recorded has names while it runs, and is followed to its end.
  {
    const source = join(folder, "busy.c"), program = join(folder, "busy"), out = join(folder, "busy.tt");
    writeFileSync(source, "#include <unistd.h>\nvolatile unsigned n;\n__attribute__((noinline)) void hot_loop(void) { for (unsigned i = 0; i < 1000000; i++) n += i; }\nint main(int c, char **v) { while (access(v[1], F_OK)) hot_loop(); return c == 9; }\n");
    execFileSync("cc", ["-O1", "-g", "-o", program, source]);
    const stop = join(folder, "stop");
    const recording = spawn(tallytree, ["record", "-o", out, "--", program, stop], { stdio: "ignore" });
    const patiently = async (what) => {
      for (let i = 0; i < 1200; i++) {
        const found = await what();
        if (found) return found;
        await new Promise((r) => setTimeout(r, 100));
      }
      return undefined;
    };
    const live = await patiently(() => readdirSync(folder).find((n) => /^\.busy\.tt\.\d+\.live$/.test(n) && readdirSync(join(folder, n)).length));
    ok(live, "a program is being recorded", readdirSync(folder).join(" "));
    const shown = await patiently(() => {
      const follower = start({}, join(folder, live));
      return follower.address.then((a) => ({ a, child: follower.child }), () => undefined);
    });
    const ask = async (rest) => JSON.parse((await get(new URL(rest, shown.a))).body);
    const named = await patiently(async () => {
      await ask("state");
      const t = await ask("query?view=flat&limit=all");
      const name = t.columns.findIndex((c) => c.key === "name");
      return t.rows.some((r) => r.values[name] === "hot_loop") && t.rows.map((r) => r.values[name]);
    });
    ok(named && !named.some((n) => String(n).startsWith("busy+")), "a live recording has its functions' names", JSON.stringify(named));
    const during = await ask("state");
    ok(during.live === true && during.end === "", "and is live", JSON.stringify(during));
    writeFileSync(stop, "");
    await new Promise((r) => recording.on("exit", r));
    const after = await patiently(async () => {
      const s = await ask("state");
      return !s.live && s;
    });
    ok(after?.end === "ended", "it is followed to its end, which is said", JSON.stringify(after));
    const whole = execFileSync(tallytree, ["report", "flat", "--json", out], { maxBuffer: 1 << 28 }).toString();
    ok((await get(new URL("query?view=flat", shown.a))).body === whole, "and then it is the profile that was written");
    shown.child.kill("SIGKILL");
  }

  // One that is killed, with its recorder, is lost, and what there was stays.
  {
    const out = join(folder, "lost.tt");
    const recording = spawn(tallytree, ["record", "-o", out, "--", join(folder, "busy"), join(folder, "never")], { stdio: "ignore", detached: true });
    const find = () => readdirSync(folder).find((n) => /^\.lost\.tt\.\d+\.live$/.test(n) && readdirSync(join(folder, n)).length);
    while (!find()) await new Promise((r) => setTimeout(r, 100));
    const follower = start({}, join(folder, find()));
    const shown = await follower.address;
    process.kill(-recording.pid, "SIGKILL");
    let state;
    for (let i = 0; i < 600 && state?.live !== false; i++) {
      state = JSON.parse((await get(new URL("state", shown))).body);
      await new Promise((r) => setTimeout(r, 100));
    }
    ok(state.end === "lost" && (await get(new URL("query?view=header", shown))).status === 200, "a recording whose process was killed is lost, and is said to be", JSON.stringify(state));
    follower.child.kill("SIGKILL");
  }

  child.kill("SIGTERM");
  const status = await new Promise((r) => child.on("exit", (code) => r(code)));
  ok(status === 0, "it ends when it is told to", status);
  for (const args of [["view"], ["view", join(folder, "none")], ["view", "--port", "x", profile], ["view", "--prot", "1", profile]]) {
    let code = 0;
    try {
      execFileSync(tallytree, args, { stdio: "ignore" });
    } catch (e) {
      code = e.status;
    }
    ok(code === 2, `refused: ${args.map((a) => a.replace(folder, "…")).join(" ")}`, code);
  }
} catch (e) {
  ok(false, "no surprise", e.stack);
} finally {
  child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
finish();
