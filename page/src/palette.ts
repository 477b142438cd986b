// SPDX-License-Identifier: Apache-2.0
// A colour and a pattern for each category. People with any kind of colour blindness can tell the
// colours apart (after Okabe and Ito), and the patterns differ without colour.

const LOOKS: { [name: string]: [colour: string, pattern: Pattern] } = {
  parameters: ["#0072b2", "none"],
  buffers: ["#56b4e9", "dots"],
  gradients: ["#f0c800", "none"],
  optimizer_state: ["#3f4fa3", "lines"],
  activations: ["#e08a00", "none"],
  inputs: ["#cc79a7", "none"],
  kv_cache: ["#4c9a2a", "lines"],
  weight_copies: ["#87d787", "dots"],
  persistent: ["#87af5f", "dots"],
  temporaries: ["#d55e00", "falling"],
  workspace: ["#8c6d31", "cross"],
  communication: ["#009e73", "none"],
  runtime: ["#808890", "dots"],
  other: ["#b8bec6", "none"],
};

/** Groups other than categories have colours that no category has; the last place is that of all others. */
const GROUPS = ["#7b4fa3", "#2a9d8f", "#c2557f", "#8ab17d", "#4d6fb3", "#b5838d", "#6b705c", "#e9a6c1", "#5fa8d3", "#a98467"];
GROUPS.forEach((one, i) => (LOOKS[`group ${i}`] = [one, i % 2 ? "dots" : "none"]));

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

type Pattern = "none" | "dots" | "lines" | "falling" | "cross";

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
