// SPDX-License-Identifier: Apache-2.0
// Two runs, one above the other, on one axis of iterations; below them, the new run minus the old.
import type { Bands, Device, Trace } from "../analyzer";
import { Axis, align, edges } from "../aligned";
import { LEFT, RIGHT, ink } from "../chart";
import { Client, latest } from "../client";
import { isolated, plain } from "../dom";
import { change, marks, part, size, ticks } from "../format";
import { gestures } from "../gestures";
import { colour } from "../palette";
import { onPrint } from "../print";
import { drawStack, fitted, highest, sumAt } from "../stack";
import { drawPhase } from "../phases";
import { Line, hovers, tip } from "../tip";

export interface RunSide { name: string; client: Client; trace: Trace; device: Device; }

const GAP = 22, BELOW = 96, FOOT = 34, LEAST = 0.02; // pixels; the least range, in iterations
const COLUMNS = 1200; // the same for any window, so that the reported differences do not depend on its width

export class DifferenceChart {
  private axis: Axis;
  private bands: [Bands, Bands] | null = null;
  private readonly columns = COLUMNS;
  private width = 1;
  from = 0;
  to: number;
  private readonly fetch: () => void;

  constructor(private readonly canvas: HTMLCanvasElement, private readonly sides: [RunSide, RunSide], over: AbortSignal,
              private readonly ranged: (chart: DifferenceChart) => void, drawn: () => void) {
    const spans = sides.map((side) => side.trace.spans[side.device.slot] ?? []);
    this.axis = align([sides[0].device, sides[1].device], [spans[0]!, spans[1]!]);
    this.to = this.axis.end;
    this.fetch = latest(async () => {
      if (!this.fits()) return;
      const { from, to, columns } = this;
      const get = (i: 0 | 1) => sides[i].client.columns(sides[i].device.slot, edges(this.axis.knots[i], from, to, columns));
      const bands = await Promise.all([get(0), get(1)]);
      if (over.aborted) return;
      this.bands = bands;
      this.draw();
      drawn();
    });
    gestures(canvas, {
      zoom: (factor, pixel) => {
        const { from, to } = this;
        this.zoom(factor, this.at(pixel));
        return from !== this.from || to !== this.to;
      },
      pan: (pixels) => this.pan(-pixels / this.width),
      click: () => undefined,
    });
    hovers(canvas, (event) => tip(event, this.linesAt(event.offsetX)));
    canvas.addEventListener("keydown", (event) => {
      const action = { w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7), a: () => this.pan(-0.15), d: () => this.pan(0.15),
                       0: () => this.show(0, this.axis.end) }[event.key.toLowerCase()];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    });
    window.addEventListener("resize", () => this.update(), { signal: over });
    onPrint(() => this.draw(), over);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw(), { signal: over });
  }

  get end() {
    return this.axis.end;
  }

  get phases() {
    return new Set(this.axis.phases.map((one) => one.phase));
  }

  get has_iterations() {
    return this.axis.has_iterations;
  }

  update() {
    this.fetch();
  }

  show(from: number, to: number) {
    const width = Math.min(Math.max(to - from, LEAST), this.axis.end);
    this.from = Math.min(Math.max(from, 0), this.axis.end - width);
    this.to = this.from + width;
    this.ranged(this);
    this.fetch();
  }

  zoom(factor: number, around = (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  private pan(part: number) {
    const by = (this.to - this.from) * part;
    this.show(this.from + by, this.to + by);
  }

  private at(pixel: number) {
    return this.from + ((pixel - LEFT) / this.width) * (this.to - this.from);
  }

  private pixel(x: number) {
    return LEFT + ((x - this.from) / (this.to - this.from)) * this.width;
  }

  private fits(): boolean {
    this.width = this.canvas.getBoundingClientRect().width - LEFT - RIGHT;
    return this.width > 10;
  }

  private sum(i: 0 | 1, column: number): number {
    const { numbers, fields } = this.bands![i];
    return column * fields < numbers.length ? sumAt(this.bands![i], column * fields, fields - 3) : 0;
  }

  private linesAt(pixel: number): Line[] {
    const column = Math.floor(((pixel - LEFT) / this.width) * this.columns);
    if (!this.bands || column < 0 || column >= this.columns) return [];
    const sums = [this.sum(0, column), this.sum(1, column)] as const;
    const names = this.sides[1].trace.categories;
    const by = names.map((one, c) => {
      const of = (i: 0 | 1) => this.bands![i].numbers[column * this.bands![i].fields + c] ?? 0;
      return [of(1) - of(0), one] as const;
    }).filter(([bytes]) => bytes).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 6);
    const x = this.at(pixel);
    const where = !this.axis.has_iterations ? `${part(x, 1)} of each run` : x < 1 ? "before the first iteration"
      : `iteration ${Math.floor(x)}`;
    return [where, `old ${size(sums[0])}, new ${size(sums[1])}: ${change(sums[1] - sums[0])}`,
      ...by.map(([bytes, one]) => ({ colour: colour(one.name), text: `${change(bytes)} ${one.label}` }))];
  }

  draw() {
    const place = this.bands && fitted(this.canvas);
    if (!place) return;
    const { context, width, height } = place;
    this.width = width - LEFT - RIGHT;
    context.clearRect(0, 0, width, height);
    const tall = (height - BELOW - FOOT - 3 * GAP) / 2, step = this.width / this.columns;
    const most = 1.04 * Math.max(1, ...[0, 1].map((i) => highest(this.bands![i]!, this.bands![i]!.fields - 3)));
    context.save();
    [0, 1].forEach((i) => {
      const top = GAP + i * (tall + GAP), side = this.sides[i]!;
      this.scale(context, top, tall, most);
      drawStack(context, this.bands![i]!, side.trace.categories, { left: LEFT, top, width: this.width, height: tall }, step, most);
      context.fillStyle = ink("ink");
      context.textAlign = "left";
      context.font = "600 12px system-ui, sans-serif";
      context.fillText(`${i ? "new" : "old"}: ${isolated(plain(side.name))}`, LEFT, top - 10, this.width);
      context.font = "11px system-ui, sans-serif";
      const end = this.pixel(this.axis.knots[i]!.at(-1)!.x);
      if (end < LEFT + this.width - 1) {
        context.fillStyle = ink("soft");
        context.fillRect(Math.max(end, LEFT), top, 1, tall);
      }
    });
    this.drawChange(context, GAP + 2 * (tall + GAP), step);
    this.drawFoot(context, height - FOOT);
    context.restore();
  }

  private scale(context: CanvasRenderingContext2D, top: number, tall: number, most: number) {
    context.textAlign = "right";
    for (const tick of ticks(most, 4)) {
      const y = top + tall * (1 - tick / most);
      context.fillStyle = ink("soft");
      context.fillRect(LEFT, Math.round(y), this.width, 1);
      context.fillStyle = ink("ink");
      context.fillText(size(tick).replace(/\.00 /, " "), LEFT - 8, y);
    }
  }

  /** Draw the change above the line in one colour and below it in another; both are distinguishable with colour blindness. */
  private drawChange(context: CanvasRenderingContext2D, top: number, step: number) {
    const both = Math.min(...this.bands!.map((one) => one.numbers.length / one.fields)); // the shorter run has ended
    const by = Array.from({ length: both }, (_, i) => this.sum(1, i) - this.sum(0, i));
    const up = Math.max(0, ...by), down = Math.max(0, ...by.map((one) => -one)), all = up + down || 1;
    const tall = BELOW - 6, zero = top + tall * (up / all || (down ? 0 : 0.5));
    for (const is_up of [true, false]) {
      context.fillStyle = ink(is_up ? "more" : "less");
      context.beginPath();
      by.forEach((bytes, i) => {
        if (bytes && bytes > 0 === is_up) context.rect(LEFT + i * step, zero, step + 0.5, (-bytes / all) * tall);
      });
      context.fill();
    }
    context.fillStyle = ink("quiet");
    context.fillRect(LEFT, Math.round(zero), this.width, 1);
    context.fillStyle = ink("ink");
    context.textAlign = "left";
    context.font = "600 12px system-ui, sans-serif";
    const most = [up, -down].filter((bytes) => bytes).map(change).join(" and ");
    context.fillText(`new − old: ${most ? `up to ${most}` : "no difference"}`, LEFT, top - 10, this.width);
    context.font = "11px system-ui, sans-serif";
    if (both < this.columns - 1) {
      context.textAlign = "left";
      context.fillStyle = ink("quiet");
      const left = LEFT + both * step + 6;
      if (left < LEFT + this.width - 80) context.fillText("one run only", left, top + (up > down ? 8 : tall - 8));
    }
  }

  private drawFoot(context: CanvasRenderingContext2D, top: number) {
    context.save();
    context.beginPath();
    context.rect(LEFT, top, this.width, FOOT);
    context.clip();
    const wide = this.width / (this.to - this.from), edge = ink("mark"), text = ink("ink"); // wide: an iteration
    for (const { from, to, phase } of wide > 8 ? this.axis.phases : []) {
      const left = this.pixel(from), right = this.pixel(to);
      if (right < LEFT || left > LEFT + this.width) continue;
      context.textAlign = "left";
      drawPhase(context, phase, Math.max(left, LEFT - 1), top + 1, right, edge, text);
    }
    context.fillStyle = text;
    context.textAlign = "left";
    if (this.axis.has_iterations)
      for (const k of [...new Set([...(wide > 46 ? [0] : []), ...marks(this.from, this.to, this.width / 70).map(Math.round)])]) {
        context.fillRect(Math.round(this.pixel(k)), top + 2, 1, 18);
        const label = k ? `#${k}` : "start", left = this.pixel(k) + 3;
        if (left + context.measureText(label).width <= LEFT + this.width) context.fillText(label, left, top + 22);
      }
    else
      context.fillText("The runs are aligned by their first and last moments, because one of them has no iterations.",
        LEFT, top + 22);
    context.restore();
  }
}
