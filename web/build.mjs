// SPDX-License-Identifier: MIT
// build.mjs ENGINE OUT DEPFILE - the viewer's page as a C file of bytes: for the server, and
// whole in one file, around the engine as WebAssembly.
//
// Installs what package-lock.json names, checks the types, and bundles; the same sources
// give the same bytes.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [engine, out, depfile] = process.argv.slice(2);
const run = (command, args) => execFileSync(command, args, { cwd: here, stdio: ["ignore", "pipe", "inherit"] });

function install() {
  const mark = join(here, "node_modules/.package-lock.json");
  if (existsSync(mark) && statSync(mark).mtimeMs >= statSync(join(here, "package-lock.json")).mtimeMs) return;
  run("npm", ["ci", "--loglevel=error", "--ignore-scripts", "--no-progress"]);
}

async function bundle() {
  const { build } = await import("esbuild");
  const result = await build({
    absWorkingDir: here,
    entryPoints: { app: "src/app.tsx", style: "src/style.css" },
    outdir: "out",
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2021",
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' },
  });
  const file = (end) => Buffer.from(result.outputFiles.find((f) => f.path.endsWith(end)).contents);
  return { js: file("app.js"), css: file("style.css") };
}

// Runs in the single file: unpacks the page's script and adds it. The policy allows these two scripts alone.
const LOADER = `(async () => {
const element = document.getElementById("script");
const bytes = Uint8Array.from(atob(element.textContent), (c) => c.charCodeAt(0));
const script = document.createElement("script");
script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
element.replaceWith(script);
})().catch((e) => {
document.querySelector("#app p").textContent = window.DecompressionStream ?
"The page cannot be unpacked, so this file may be damaged: " + e.message :
"This browser is too old for this page. Open it in Chrome or Edge 80, Firefox 113, Safari 16.4, or a newer one.";
});`;

// One file that needs no other. The profile and the texts of sources go into two empty elements.
function single(html, js, css, wasm) {
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  const style = css.toString();
  const policy =
    `default-src 'none'; script-src ${hash(LOADER)} ${hash(js)} 'wasm-unsafe-eval'; style-src ${hash(style)}; ` +
    "img-src data: blob:; base-uri 'none'; form-action 'none'";
  const data = (id, bytes) => `<script type="application/octet-stream" id="${id}">${bytes.toString("base64")}</script>\n`;
  const none = Buffer.alloc(0);
  return html
    .replace("<title>", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<title>`)
    .replace(/<link rel="preload".*\n/, "")
    .replace('<link rel="stylesheet" href="app.css">', () => `<style>${style}</style>`)
    .replace(
      '<script src="app.js"></script>',
      () => data("engine", pack(wasm)) + data("profile", none) + data("sources", none) + data("script", pack(js)) + `<script>${LOADER}</script>`,
    );
}

// Without the time and the system that gzip would write down.
function pack(bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255;
  return packed;
}

// A C array of the packed bytes.
function array(name, bytes) {
  const packed = pack(bytes);
  const rows = [];
  for (let i = 0; i < packed.length; i += 24) rows.push([...packed.subarray(i, i + 24)].join(","));
  return { code: `static const unsigned char ${name}[] = {\n${rows.join(",\n")}};\n`, size: packed.length };
}

install();
run(join(here, "node_modules/.bin/tsc"), ["-p", "."]);
const { js, css } = await bundle();
const html = readFileSync(join(here, "src/index.html"));
const assets = [
  ["index.html", "text/html; charset=utf-8", "index_html", html],
  ["app.js", "text/javascript; charset=utf-8", "app_js", js],
  ["app.css", "text/css; charset=utf-8", "app_css", css],
  ["single.html", "text/html; charset=utf-8", "single_html", Buffer.from(single(html.toString(), js, css, readFileSync(engine)))],
];
let code = '/* SPDX-License-Identifier: MIT */\n#include "asset.h"\n\n';
let list = "";
for (const [name, type, id, bytes] of assets) {
  const a = array(id, bytes);
  code += a.code;
  list += `    {"${name}", "${type}", ${id}, ${a.size}},\n`;
}
code += `\nconst struct tt_asset tt_assets[] = {\n${list}    {0, 0, 0, 0},\n};\n`;
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, code);
const sources = readdirSync(join(here, "src")).map((f) => join(here, "src", f));
writeFileSync(depfile, `${out}: ${[...sources, join(here, "package-lock.json"), join(here, "build.mjs")].join(" ")}\n`);
