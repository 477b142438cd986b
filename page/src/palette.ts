// SPDX-License-Identifier: Apache-2.0
// A colour and a pattern for each category. People with any kind of colour blindness can tell the
// colours apart (after Okabe and Ito), and the patterns differ without colour. No pattern is diagonal:
// hatching says that memory is not needed.
import { make } from "./dom";

const LOOKS: { [name: string]: [colour: string, pattern: Pattern] } = {
  parameters: ["#0b76b4", "none"],
  buffers: ["#56b4e9", "dots"],
  gradients: ["#f0c800", "none"],
  optimizer_state: ["#364ca1", "dashes"],
  activations: ["#e38c01", "none"],
  inputs: ["#ce7fb5", "none"],
  kv_cache: ["#529e2b", "dashes"],
  weight_copies: ["#8ad888", "dots"],
  persistent: ["#85ad5d", "dots"],
  temporaries: ["#d15a00", "bars"],
  workspace: ["#876930", "grid"],
  communication: ["#049e72", "none"],
  runtime: ["#7c8187", "dots"],
  other: ["#b8bec6", "none"],
};

/** Groups other than categories have colours that no category has; the last place is that of all others. */
const GROUPS = ["#734593", "#128d86", "#cc517f", "#89b46f", "#4b75bf", "#b290b5", "#5d6353", "#df9d9a", "#5eb1e2", "#9e7a5e"];
GROUPS.forEach((one, i) => (LOOKS[`group ${i}`] = [one, i % 2 ? "dots" : "none"]));

LOOKS["idle"] = [LOOKS["runtime"]![0], "idle"]; // the key of hatch

export function groupName(place: number): string {
  return place < GROUPS.length ? `group ${place}` : "other";
}

export const SHADES = 4;

/** Return a block's colour: its category's in one of four shades, so that neighbours differ. */
export function shade(name: string, block: number): string {
  const by = [0, 0.16, 0.32, -0.14][block % SHADES]!, to = by < 0 ? 0 : 255;
  const part = (at: number) => Math.round(parseInt(colour(name).slice(at, at + 2), 16) * (1 - Math.abs(by)) + to * Math.abs(by));
  return `rgb(${part(1)},${part(3)},${part(5)})`;
}

type Pattern = "none" | "dots" | "dashes" | "bars" | "grid" | "idle";

const TILE = 6; // CSS pixels
/** Boxes in a tile: left, top, width, height. */
const BOXES: { [pattern in Pattern]: [number, number, number, number][] } = {
  none: [], idle: [], dots: [[2, 2, 1.6, 1.6]], dashes: [[0, 1, 4, 1], [3, 4, 3, 1], [0, 4, 1, 1]], bars: [[1, 0, 1, 4], [4, 3, 1, 3], [4, 0, 1, 1]],
  grid: [[0, 2, 6, 1], [2, 0, 1, 6]],
};

/** Return a tile of a pattern, white on a colour. */
function tileOf(pattern: Pattern, colour: string, alpha: number): HTMLCanvasElement {
  const tile = make("canvas", { width: TILE, height: TILE }), context = tile.getContext("2d")!;
  context.fillStyle = colour;
  context.fillRect(0, 0, TILE, TILE);
  context.fillStyle = `rgb(255 255 255/${alpha})`;
  for (const box of BOXES[pattern]) context.fillRect(...box);
  return tile;
}

const HATCH = "repeating-linear-gradient(135deg,var(--paper) 0 2px,transparent 2px 5px)";
const hatches = new Map<Pattern, string>([["none", ""], ["idle", HATCH]]);

/** Return an element that shows a category's colour and pattern. */
export function swatch(name: string): HTMLElement {
  const pattern = (LOOKS[name] ?? LOOKS["other"])![1];
  if (!hatches.has(pattern)) hatches.set(pattern, `url(${tileOf(pattern, "transparent", 0.6).toDataURL()})`);
  const hatch = hatches.get(pattern);
  return make("span", { class: "swatch", "data-look": name, style: `--colour:${colour(name)}${hatch && `;--hatch:${hatch}`}` });
}

export function colour(name: string): string {
  return (LOOKS[name] ?? LOOKS["other"])![0];
}

const made = new Map<string, CanvasPattern | string>();

/** Return a canvas's fill for a category's area. */
export function fill(name: string): CanvasPattern | string {
  const known = made.get(name);
  if (known) return known;
  const [plain, pattern] = (LOOKS[name] ?? LOOKS["other"])!;
  const tile = pattern !== "none" && tileOf(pattern, plain, 0.35);
  const result = (tile && document.createElement("canvas").getContext("2d")!.createPattern(tile, "repeat")) || plain;
  made.set(name, result);
  return result;
}

/** Return a canvas's fill over the area of what is not needed. */
export function hatch(): CanvasPattern | string {
  const paper = getComputedStyle(document.documentElement).getPropertyValue("--paper"), key = `idle ${paper}`;
  const tile = document.createElement("canvas"), context = tile.getContext("2d")!;
  tile.width = tile.height = 8;
  context.strokeStyle = paper;
  context.lineWidth = 2.5;
  context.beginPath();
  for (const x of [0, 8, 16]) {
    context.moveTo(x - 12, 12);
    context.lineTo(x + 4, -4);
  }
  context.stroke();
  const result = made.get(key) ?? context.createPattern(tile, "repeat") ?? "transparent";
  made.set(key, result);
  return result;
}
