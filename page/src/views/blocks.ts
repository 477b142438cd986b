// SPDX-License-Identifier: Apache-2.0
// Every block as a strip: its life is its width, its bytes are its height. What is thinner than can be
// seen is one band above; zooming in makes strips of it.
import type { Device, Strips, Trace } from "../analyzer";
import { STRIP } from "../analyzer";
import { Chart, LEFT, gestures, ink } from "../chart";
import { Client, latest } from "../client";
import { fill } from "../palette";
import { Store } from "../state";

const THINNEST = 0.8; // CSS pixels

/** A block under the pointer. */
export interface Found { life: number; bytes: number; }

export class Blocks {
  private readonly chart: Chart;
  private strips: Strips | null = null;
  private columns = 1;
  private most = 1;
  private readonly fetch: () => void;

  constructor(canvas: HTMLCanvasElement, client: Client, private readonly store: Store,
              private readonly trace: Trace, device: () => Device, height: () => number,
              hover: (event: PointerEvent, found: Found | null) => void) {
    this.chart = new Chart(canvas, 6);
    this.fetch = latest(async () => {
      const { slot, is_time, from, to, category } = store.state;
      this.columns = Math.min(this.chart.columns(), 1400);
      const least = (height() / this.chart.height) * THINNEST;
      this.strips = await client.strips({ slot, is_time, from, to, columns: this.columns }, least, category);
      this.draw();
    });
    gestures(this.chart, store, device, (event) => {
      const found = this.find(event.offsetX, event.offsetY);
      if (found) store.set({ life: found.life });
    });
    canvas.addEventListener("pointermove", (event) => {
      hover(event, this.find(event.offsetX, event.offsetY));
    });
  }

  update() {
    if (this.chart.fit()) this.fetch();
  }

  private find(x: number, y: number): Found | null {
    if (!this.strips) return null;
    const { numbers } = this.strips;
    const column = ((x - LEFT) / this.chart.width) * this.columns;
    const bytes = (1 - y / this.chart.height) * this.most;
    for (let i = 0; i < numbers.length; i += STRIP)
      if (numbers[i]! <= column && column < numbers[i + 1]! && numbers[i + 2]! <= bytes &&
          bytes < numbers[i + 2]! + numbers[i + 4]!)
        return { life: numbers[i + 3]!, bytes: numbers[i + 4]! };
    return null;
  }

  draw() {
    const strips = this.strips, chart = this.chart;
    if (!strips || !chart.fit()) return;
    const { context } = chart, { numbers } = strips, { state } = this.store;
    this.most = 1;
    for (let i = 0; i < this.columns; i++)
      this.most = Math.max(this.most, strips.rest[i]! + strips.below[i]!);
    this.most *= 1.04;
    const y = chart.begin(this.most);
    const step = chart.width / this.columns;
    for (let c = 0; c < this.trace.categories.length; c++) {
      context.fillStyle = fill(this.trace.categories[c]!.name);
      for (let i = 0; i < numbers.length; i += STRIP) {
        if (numbers[i + 5] !== c) continue;
        const top = y(numbers[i + 2]! + numbers[i + 4]!), height = (numbers[i + 4]! / this.most) * chart.height;
        const edge = height > 3 ? 0.5 : 0;
        context.fillRect(LEFT + numbers[i]! * step, top + edge, (numbers[i + 1]! - numbers[i]!) * step,
          Math.max(height - edge, 0.5));
      }
    }
    context.fillStyle = ink("soft");
    for (let i = 0; i < this.columns; i++)
      if (strips.rest[i]) {
        const top = y(strips.below[i]! + strips.rest[i]!);
        context.fillRect(LEFT + i * step, top, step + 0.5, y(strips.below[i]!) - top);
      }
    if (state.life < 0) return;
    context.strokeStyle = ink("accent");
    context.lineWidth = 2;
    for (let i = 0; i < numbers.length; i += STRIP)
      if (numbers[i + 3] === state.life)
        context.strokeRect(LEFT + numbers[i]! * step, y(numbers[i + 2]! + numbers[i + 4]!),
          Math.max(2, (numbers[i + 1]! - numbers[i]!) * step), Math.max(2, (numbers[i + 4]! / this.most) * chart.height));
    context.lineWidth = 1;
  }
}
