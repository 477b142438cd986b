// SPDX-License-Identifier: Apache-2.0
// Every block as a strip in the timeline: its life is the width, its bytes are the height. Blocks too thin to be
// seen are one band a category above the strips; zooming in turns them into strips.
import type { Device, Range, Strips, Trace } from "../analyzer";
import { IDLE, STRIP } from "../analyzer";
import { Chart, LEFT, ink } from "../chart";
import { Client, latest } from "../client";
import { SHADES, fill, hatch, shade } from "../palette";
import { PALE } from "../stack";
import { Store, whole } from "../state";

const THINNEST = 0.8; // CSS pixels of a strip if more than FEW moments are shown
const FEW = 30000, MOST_STRIPS = 150000;
const REST_MS = 120; // without a move, before another range's strips are requested

/** A block under the pointer. */
export interface Found { life: number; bytes: number; }

export class Blocks {
  private strips: Strips | null = null;
  private range: Range | null = null; // of the strips
  private category = -1; // of the strips
  private search = ""; // of the strips
  private is_needed = false; // of the strips
  private timer = 0;
  private readonly fetch: () => void;

  /** chart: the timeline's, which is `most()` bytes high and is redrawn by `redraw` */
  constructor(private readonly chart: Chart, client: Client, private readonly store: Store,
              private readonly trace: Trace, device: () => Device, private readonly most: () => number, redraw: () => void) {
    this.fetch = latest(async () => {
      const { slot, is_time, from, to, category, search, is_needed } = store.state;
      const columns = Math.min(this.chart.columns(), 1400);
      const all = whole(device(), is_time), range = { slot, is_time, from, to, columns };
      const is_few = (device().moments * (to - from)) / (all.to - all.from) <= FEW;
      const strips = is_few ? await client.strips(range, 0, category) : null;
      this.strips = strips && strips.numbers.length <= MOST_STRIPS * STRIP ? strips
        : await client.strips(range, (this.most() / this.chart.height) * THINNEST, category);
      this.range = range;
      this.category = category;
      this.search = search;
      this.is_needed = is_needed;
      redraw();
    });
  }

  /** During a move, move the drawn strips; after it, request the new range's strips. */
  update() {
    const { slot, is_time, category, search, is_needed } = this.store.state;
    const is_same = this.range?.slot === slot && this.range.is_time === is_time && this.category === category && this.is_needed === is_needed;
    clearTimeout(this.timer);
    if (is_same && this.search === search) {
      this.timer = window.setTimeout(() => this.fetch(), REST_MS);
    } else {
      if (!is_same) this.strips = null;
      this.fetch();
    }
  }

  /** Return the current x of a column of the strips. */
  private x(column: number): number {
    const { from, to, columns } = this.range!;
    return this.chart.pixel(this.store.state, from + (column / columns) * (to - from));
  }

  find(x: number, y: number): Found | null {
    if (!this.strips || y > this.chart.height) return null;
    const { numbers } = this.strips;
    const { from, to, columns } = this.range!;
    const column = ((this.chart.at(this.store.state, x) - from) / (to - from)) * columns;
    const bytes = (1 - y / this.chart.height) * this.most();
    for (let i = 0; i < numbers.length; i += STRIP)
      if (numbers[i]! <= column && column < numbers[i + 1]! && numbers[i + 2]! <= bytes &&
          bytes < numbers[i + 2]! + numbers[i + 4]!)
        return { life: numbers[i + 3]!, bytes: numbers[i + 4]! };
    return null;
  }

  /** Draw the strips there are, moved to the shown range; return whether there are any. */
  draw(y: (bytes: number) => number): boolean {
    const { strips, chart } = this, { context } = chart;
    if (!strips) return false;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, chart.width, chart.height);
    context.clip();
    this.drawStrips(strips, y);
    this.drawIdle(strips, y);
    this.drawRest(strips, y);
    this.drawChosen(strips, y);
    context.restore();
    return true;
  }

  private drawStrips({ numbers }: Strips, y: (bytes: number) => number) {
    const { context } = this.chart, chart = this.chart, most = this.most();
    for (let c = 0; c < this.trace.categories.length; c++)
      for (let k = 0; k < SHADES; k++) {
        context.fillStyle = shade(this.trace.categories[c]!.name, k);
        for (let i = 0; i < numbers.length; i += STRIP) {
          if (numbers[i + 5] !== c || numbers[i + 3]! % SHADES !== k) continue;
          const top = y(numbers[i + 2]! + numbers[i + 4]!), height = (numbers[i + 4]! / most) * chart.height;
          const edge = height > 3 ? 0.5 : 0;
          context.globalAlpha = numbers[i + 6] ? 1 : PALE;
          const left = this.x(numbers[i]!);
          context.fillRect(left, top + edge, this.x(numbers[i + 1]!) - left, Math.max(height - edge, 0.5));
        }
      }
    context.globalAlpha = 1;
  }

  private drawIdle({ idle }: Strips, y: (bytes: number) => number) {
    const { context } = this.chart;
    context.beginPath();
    for (let i = 0; i < idle.length; i += IDLE) {
      const top = y(idle[i + 2]! + idle[i + 3]!), left = this.x(idle[i]!);
      context.rect(left, top, this.x(idle[i + 1]!) - left, y(idle[i + 2]!) - top);
    }
    context.fillStyle = hatch();
    context.fill();
  }

  private drawChosen({ numbers }: Strips, y: (bytes: number) => number) {
    const { context, height } = this.chart, { life } = this.store.state;
    if (life < 0) return;
    context.strokeStyle = ink("accent");
    context.lineWidth = 2;
    for (let i = 0; i < numbers.length; i += STRIP)
      if (numbers[i + 3] === life)
        context.strokeRect(this.x(numbers[i]!), y(numbers[i + 2]! + numbers[i + 4]!),
          Math.max(2, this.x(numbers[i + 1]!) - this.x(numbers[i]!)), Math.max(2, (numbers[i + 4]! / this.most()) * height));
    context.lineWidth = 1;
  }

  /** Draw the blocks too thin for strips, paler than the strips. */
  private drawRest(strips: Strips, y: (bytes: number) => number) {
    const { context } = this.chart, n = this.trace.categories.length;
    const below = strips.below.slice();
    for (let c = 0; c < 2 * n; c++) { // those not found come second
      context.globalAlpha = c < n ? 0.6 : 0.6 * PALE;
      context.fillStyle = fill(this.trace.categories[c % n]!.name);
      for (let i = 0; i < this.range!.columns; i++) {
        const bytes = strips.rest[i * 2 * n + c]!;
        if (!bytes) continue;
        const top = y(below[i]! + bytes);
        context.fillRect(this.x(i), top, this.x(i + 1) - this.x(i) + 0.5, y(below[i]!) - top);
        below[i]! += bytes;
      }
    }
    context.globalAlpha = 1;
  }
}
