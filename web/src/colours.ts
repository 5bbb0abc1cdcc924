// SPDX-License-Identifier: MIT
// colours.ts - the colours of frames: by module, by self figure, or by change.
import type { Frame } from "./flame";

export interface Paint {
  fill: string;
  ink: string; // its contrast to the fill is at least 4.5 to 1
}

export type ColourBy = "module" | "self" | "change";

const none = (dark: boolean): Paint => (dark ? { fill: "#4a4a4a", ink: "#e6e8e9" } : { fill: "#d4d4d4", ink: "#111" });

// Of things that lie on each other over time.
export const bands = ["#2f7f73", "#c9772b", "#5b6fb5", "#b5486b", "#6f9a2f", "#8a5bb0", "#b59a2f", "#3f93b8", "#a05a3f", "#5f6b73"];

// Paler, but not to be seen through: bands are drawn over each other.
export function pale(colour: string, dark: boolean): string {
  const back = dark ? 0x20 : 0xff;
  const part = (at: number) => Math.round(parseInt(colour.slice(at, at + 2), 16) * 0.62 + back * 0.38);
  return `rgb(${part(1)} ${part(3)} ${part(5)})`;
}

// Frames that do not match the search.
export const faintPaint = (dark: boolean): Paint => (dark ? { fill: "#33383b", ink: "#a4adb3" } : { fill: "#e6e6e6", ink: "#555" });

const hues = [165, 32, 215, 95, 285, 50, 340, 190, 250, 15, 130, 310];
const given = new Map<string, number>(); // of modules, in the order in which they were seen

function hueOf(module: string): number {
  if (!given.has(module)) given.set(module, hues[given.size % hues.length]!);
  return given.get(module)!;
}

// The C library, the loader, the kernel: they are in every profile, and seldom looked for.
const isSystem = (module: string) => /^(libc|libpthread|libm|ld-linux[\w-]*|ld|linux-vdso|libstdc\+\+|libgcc_s)([.-]|$)|^\[|vmlinux/.test(module);

// The last part of a path.
export const moduleName = (module: string) => module.split("/").pop() ?? "";

function shadeOf(name: string): number {
  let h = 2166136261;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  return (h >>> 0) % 9;
}

export function modulePaint(module: string, name: string, dark: boolean): Paint {
  const shade = shadeOf(name);
  const [hue, full] = !module || isSystem(module) ? [210, dark ? 6 : 9] : [hueOf(module), dark ? 36 : 58];
  return { fill: `hsl(${hue} ${full}% ${dark ? 58 + shade : 78 + shade}%)`, ink: "#111" };
}

// 0: no self figure, 1: the largest one.
export function heat(part: number, dark: boolean): Paint {
  return { fill: dark ? `hsl(${40 - part * 28} ${20 + part * 60}% ${60 + part * 4}%)` : `hsl(${45 - part * 30} ${30 + part * 65}% ${92 - part * 27}%)`, ink: "#111" };
}

// -1: gone, 1: new.  What has not changed is the quietest.
export function changePaint(by: number, noise: boolean, dark: boolean): Paint {
  const part = noise ? 0 : Math.min(1, Math.abs(by) * 1.5);
  if (!part) return { fill: `hsl(212 0% ${dark ? 27 : 88}%)`, ink: dark ? "#e6e8e9" : "#111" };
  return { fill: `hsl(${by > 0 ? 8 : 212} ${part * (dark ? 65 : 85)}% ${(dark ? 62 : 88) - part * (dark ? 0 : 18)}%)`, ink: "#111" };
}

// The largest self figure of all frames of a picture.
export const hottest = (frames: Frame[]) => frames.reduce((most, f) => Math.max(most, f.colour ? (f.table.number(f.row, "self") ?? 0) : 0), 0);

export function paintOf(f: Frame, by: ColourBy, most: number, dark: boolean): Paint {
  if (!f.colour) return none(dark);
  if (by === "self") return heat(most ? (f.table.number(f.row, "self") ?? 0) / most : 0, dark);
  if (by === "change") {
    const before = f.table.number(f.row, "total.a") ?? 0;
    const now = f.table.number(f.row, "total.b") ?? 0;
    return changePaint(now + before ? (now - before) / (now + before) : 0, f.table.text(f.row, "total.verdict") === "noise", dark);
  }
  return modulePaint(moduleName(f.table.text(f.row, "module")) || moduleName(f.table.text(f.row, "file")), f.name, dark);
}
