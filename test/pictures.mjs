// SPDX-License-Identifier: MIT
// pictures.mjs FOLDER - takes README's pictures of the recordings that its lines have left
// there: see readme.t.
import { join } from "node:path";
import { run, settled, shoot, view } from "./browser.mjs";

const folder = process.argv[2];

// The clearest burst, compared with the rest of the run.
async function chooseBurst(page) {
  await page.click('.burst[title*="sqlite3RunVacuum"]');
  await page.click('.strip >> text="compare"');
  await page.mouse.move(0, 0);
  await page.waitForFunction(() => location.hash.includes("view=diff"));
  await settled(page);
  await page.evaluate(() => document.activeElement.blur());
}

const pictures = [
  ["python", "python.tt", "view=flame", 1100, 700],
  ["flame", "run.tt", "view=flame", 1100, 640],
  ["burst", "vacuum.tt", "view=flame", 1100, 560, chooseBurst],
  ["source", "tcl.tt", "view=lines", 900, 600],
  ["ranks", "all.tt", "view=strands&by=block&metric=calls", 1100, 420],
];

await run(async () => {
  for (const [name, file, hash, width, height, act] of pictures) {
    const page = await view(join(folder, file), "#" + hash);
    await page.setViewportSize({ width, height });
    await act?.(page);
    await shoot(page, name);
  }
});
