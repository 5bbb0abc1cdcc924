// SPDX-License-Identifier: MIT
// pictures.mjs FOLDER - takes README's pictures of the recordings that its lines have left
// there: see readme.t.
import { join } from "node:path";
import { run, shoot, view } from "./browser.mjs";

const folder = process.argv[2];
const pictures = [
  ["python", "python.tt", "view=flame", 1100, 700],
  ["flame", "run.tt", "view=flame", 1100, 640],
  ["source", "tcl.tt", "view=lines", 900, 600],
  ["ranks", "all.tt", "view=strands&by=block&metric=calls", 1100, 420],
];

await run(async () => {
  for (const [name, file, hash, width, height] of pictures) {
    const page = await view(join(folder, file), "#" + hash);
    await page.setViewportSize({ width, height });
    await shoot(page, name);
  }
});
