// SPDX-License-Identifier: MIT
// build.mjs OUT DEPFILE - the viewer's page as a C file of bytes.
//
// Installs what package-lock.json names, checks the types, and bundles; the same sources
// give the same bytes.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [out, depfile] = process.argv.slice(2);
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

// A C array of what is packed; without the time and the system that gzip would write down.
function array(name, bytes) {
  const packed = gzipSync(bytes, { level: 9 });
  packed[9] = 255;
  const rows = [];
  for (let i = 0; i < packed.length; i += 24) rows.push([...packed.subarray(i, i + 24)].join(","));
  return { code: `static const unsigned char ${name}[] = {\n${rows.join(",\n")}};\n`, size: packed.length };
}

install();
run(join(here, "node_modules/.bin/tsc"), ["-p", "."]);
const { js, css } = await bundle();
const assets = [
  ["index.html", "text/html; charset=utf-8", "index_html", readFileSync(join(here, "src/index.html"))],
  ["app.js", "text/javascript; charset=utf-8", "app_js", js],
  ["app.css", "text/css; charset=utf-8", "app_css", css],
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
