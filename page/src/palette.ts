// SPDX-License-Identifier: Apache-2.0
// A colour and a pattern for each category. People with any kind of colour blindness can tell the
// colours apart (after Okabe and Ito), and the patterns differ without colour.
import { make } from "./dom";

const LOOKS: { [name: string]: [colour: string, pattern: Pattern] } = {
  parameters: ["#0b76b4", "none"],
  buffers: ["#56b4e9", "dots"],
  gradients: ["#f0c800", "none"],
  optimizer_state: ["#364ca1", "lines"],
  activations: ["#e38c01", "none"],
  inputs: ["#ce7fb5", "none"],
  kv_cache: ["#529e2b", "lines"],
  weight_copies: ["#8ad888", "dots"],
  persistent: ["#85ad5d", "dots"],
  temporaries: ["#d15a00", "falling"],
  workspace: ["#876930", "cross"],
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

type Pattern = "none" | "dots" | "lines" | "falling" | "cross" | "idle";

const stripes = (angle: number) => `repeating-linear-gradient(${angle}deg,rgb(255 255 255/.6) 0 1px,transparent 1px 4px)`;
const HATCHES: { [pattern in Pattern]: string } = {
  none: "", dots: "radial-gradient(rgb(255 255 255/.7) 1px,transparent 1.2px) 0 0/4px 4px", lines: stripes(135), falling: stripes(45),
  cross: `${stripes(135)},${stripes(45)}`, idle: "repeating-linear-gradient(135deg,var(--paper) 0 2px,transparent 2px 5px)",
};

/** Return an element that shows a category's colour and pattern. */
export function swatch(name: string): HTMLElement {
  const hatch = HATCHES[(LOOKS[name] ?? LOOKS["other"])![1]];
  return make("span", { class: "swatch", "data-look": name, style: `--colour:${colour(name)}${hatch && `;--hatch:${hatch}`}` });
}

export function colour(name: string): string {
  return (LOOKS[name] ?? LOOKS["other"])![0];
}

function draw(context: CanvasRenderingContext2D, pattern: Pattern) {
  context.strokeStyle = context.fillStyle = "rgba(255,255,255,0.35)";
  context.lineWidth = 1;
  context.beginPath();
  if (pattern === "dots") context.fillRect(2, 2, 1.6, 1.6);
  if (pattern === "lines" || pattern === "cross") {
    context.moveTo(-1, 7);
    context.lineTo(7, -1);
  }
  if (pattern === "falling" || pattern === "cross") {
    context.moveTo(-1, -1);
    context.lineTo(7, 7);
  }
  context.stroke();
}

const made = new Map<string, CanvasPattern | string>();

/** Return a canvas's fill for a category's area. */
export function fill(name: string): CanvasPattern | string {
  const known = made.get(name);
  if (known) return known;
  const [plain, pattern] = (LOOKS[name] ?? LOOKS["other"])!;
  let result: CanvasPattern | string = plain;
  if (pattern !== "none") {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const context = tile.getContext("2d")!;
    context.fillStyle = plain;
    context.fillRect(0, 0, 6, 6);
    draw(context, pattern);
    result = context.createPattern(tile, "repeat") ?? plain;
  }
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
