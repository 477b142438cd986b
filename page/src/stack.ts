// SPDX-License-Identifier: Apache-2.0
// Categories over time, stacked, in a part of a canvas.
import type { Bands } from "./analyzer";
import { ink } from "./chart";
import { fill, hatch } from "./palette";

/** The look of a category or another group: its name in the palette, and its opacity. */
export interface Look { name: string; alpha?: number; }

export interface Box { left: number; top: number; width: number; height: number; }

/** Return the highest sum of categories in a column, in bytes. */
export function highest(bands: Bands, categories: number): number {
  let most = 0;
  for (let at = 0; at < bands.numbers.length; at += bands.fields) most = Math.max(most, sumAt(bands, at, categories));
  return most;
}

export function sumAt(bands: Bands, at: number, categories: number): number {
  let sum = 0;
  for (let c = 0; c < categories; c++) sum += bands.numbers[at + c]!;
  return sum;
}

/** The opacity of what a search does not find. */
export const PALE = 0.2;

/** Draw columns from the box's left, each `step` pixels wide; the box is `most` bytes high. found, idle: bytes by column and group;
 *  what is more than found is pale, what is idle is hatched. */
export function drawStack(context: CanvasRenderingContext2D, bands: Bands, looks: Look[], box: Box, step: number,
                          most: number, found: Float64Array | null = null, idle: Float64Array | null = null) {
  const columns = bands.numbers.length / bands.fields, below = new Float64Array(columns);
  const y = (bytes: number) => box.top + box.height * (1 - bytes / most);
  const draw = (name: string, alpha: number, bytes: (column: number) => number, is_idle = false) => {
    let any = false;
    context.beginPath();
    for (let i = 0; i < columns; i++) {
      const more = bytes(i);
      if (!more) continue;
      any = true;
      const top = y(below[i]! + more), from = y(below[i]!);
      context.rect(box.left + i * step, top, step + 0.5, from - top);
      below[i]! += more;
    }
    if (!any) return;
    context.fillStyle = fill(name);
    context.globalAlpha = alpha;
    context.fill();
    if (is_idle) {
      context.fillStyle = hatch();
      context.fill();
    }
    context.globalAlpha = 1;
  };
  looks.forEach(({ name, alpha = 1 }, c) => {
    const all = (i: number) => bands.numbers[i * bands.fields + c]!;
    const part = (bytes: Float64Array | null) => (i: number) => bytes?.[i * looks.length + c] ?? 0;
    if (found) {
      draw(name, alpha, part(found));
      draw(name, alpha * PALE, (i) => all(i) - part(found)(i));
    } else {
      draw(name, alpha, (i) => all(i) - part(idle)(i));
      if (idle) draw(name, alpha, part(idle), true);
    }
  });
  drawEdge(context, below, box, step, most);
}

/** Draw the upper edge of columns of bytes: some categories hardly differ from the background. */
export function drawEdge(context: CanvasRenderingContext2D, sums: Float64Array, box: Box, step: number, most: number) {
  context.beginPath();
  sums.forEach((bytes, i) => {
    for (const k of [i, i + 1]) context.lineTo(box.left + k * step, box.top + box.height * (1 - bytes / most));
  });
  context.strokeStyle = ink("mark");
  context.stroke();
}

/** Make a canvas as large as its place; return its context, in CSS pixels. null: no place. box: its place, if it is known:
 *  looking for it lays the page out anew after each canvas that was changed. */
export function fitted(canvas: HTMLCanvasElement, box = canvas.getBoundingClientRect()):
    { context: CanvasRenderingContext2D; width: number; height: number } | null {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  if (box.width < 10 || box.height < 10) return null;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  return { context, width: box.width, height: box.height };
}
