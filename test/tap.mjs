// SPDX-License-Identifier: MIT
// What the tests in JavaScript share, as tap.sh is for the shell; ends with `finish`.
import { join, resolve } from "node:path";

export const build = resolve(process.env.TT_BUILD ?? "build");
export const tallytree = join(build, "tallytree");
let number = 0, failed = 0;

export function ok(good, name, why = "") {
  number++;
  if (!good) failed++;
  console.log(`${good ? "ok" : "not ok"} ${number} - ${name}`);
  if (!good) for (const line of String(why).slice(0, 600).split("\n")) console.log(`# ${line}`);
}
export const is = (got, want, name) => ok(JSON.stringify(got) === JSON.stringify(want), name, `got ${JSON.stringify(got)}\nwant ${JSON.stringify(want)}`);

export function finish() {
  console.log(`1..${number}`);
  process.exit(failed ? 1 : 0);
}
