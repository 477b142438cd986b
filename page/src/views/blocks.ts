// SPDX-License-Identifier: Apache-2.0
// Every block as a strip: its life is its width, its bytes are its height. What is thinner than can be
// seen is one band above; zooming in makes strips of it.
import type { Device, Strips, Trace } from "../analyzer";
import { STRIP } from "../analyzer";
import { Chart, LEFT, RIGHT, gestures } from "../chart";
import { Client, latest } from "../client";
import { size, ticks } from "../format";
import { fill } from "../palette";
import { Store } from "../state";

const THINNEST = 0.8; // CSS pixels

export class Blocks {
  private readonly chart: Chart;
  private strips: Strips | null = null;
  private columns = 1;
  private most = 1;
  private readonly fetch: () => void;

  constructor(canvas: HTMLCanvasElement, client: Client, private readonly store: Store,
              private readonly trace: Trace, device: () => Device, height: () => number,
              hover: (event: PointerEvent, life: number, bytes: number) => void) {
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
      if (found >= 0) store.set({ life: found });
    });
    canvas.addEventListener("pointermove", (event) => {
      const found = this.find(event.offsetX, event.offsetY);
      hover(event, found, found < 0 ? 0 : this.bytes(found));
    });
  }

  update() {
    if (this.chart.fit()) this.fetch();
  }

  private bytes(life: number): number {
    const { numbers } = this.strips!;
    for (let i = 0; i < numbers.length; i += STRIP) if (numbers[i + 3] === life) return numbers[i + 4]!;
    return 0;
  }

  private find(x: number, y: number): number {
    if (!this.strips) return -1;
    const { numbers } = this.strips;
    const column = ((x - LEFT) / this.chart.width) * this.columns;
    const bytes = (1 - y / this.chart.height) * this.most;
    for (let i = 0; i < numbers.length; i += STRIP)
      if (numbers[i]! <= column && column < numbers[i + 1]! && numbers[i + 2]! <= bytes &&
          bytes < numbers[i + 2]! + numbers[i + 4]!)
        return numbers[i + 3]!;
    return -1;
  }

  draw() {
    const strips = this.strips, chart = this.chart;
    if (!strips || !chart.fit()) return;
    const { context } = chart, { numbers } = strips, { state } = this.store;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft");
    const paper = style.getPropertyValue("--paper"), accent = style.getPropertyValue("--accent");
    this.most = 1;
    for (let i = 0; i < this.columns; i++)
      this.most = Math.max(this.most, strips.rest[i]! + strips.below[i]!);
    this.most *= 1.04;
    const y = (value: number) => chart.height * (1 - value / this.most);
    const step = chart.width / this.columns;
    context.clearRect(0, 0, chart.width + LEFT + RIGHT, chart.height + chart.bottom);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks(this.most, 5)) {
      context.fillStyle = soft;
      context.fillRect(LEFT, Math.round(y(tick)), chart.width, 1);
      context.fillStyle = ink;
      context.fillText(size(tick).replace(/\.00 /, " "), LEFT - 8, Math.max(7, y(tick)));
    }
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
    context.fillStyle = soft;
    for (let i = 0; i < this.columns; i++)
      if (strips.rest[i]) {
        const top = y(strips.below[i]! + strips.rest[i]!);
        context.fillRect(LEFT + i * step, top, step + 0.5, y(strips.below[i]!) - top);
      }
    context.strokeStyle = paper;
    if (state.life < 0) return;
    context.strokeStyle = accent;
    context.lineWidth = 2;
    for (let i = 0; i < numbers.length; i += STRIP)
      if (numbers[i + 3] === state.life)
        context.strokeRect(LEFT + numbers[i]! * step, y(numbers[i + 2]! + numbers[i + 4]!),
          Math.max(2, (numbers[i + 1]! - numbers[i]!) * step), Math.max(2, (numbers[i + 4]! / this.most) * chart.height));
    context.lineWidth = 1;
  }
}
