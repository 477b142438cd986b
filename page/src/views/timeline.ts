// SPDX-License-Identifier: Apache-2.0
// Allocated bytes over time, stacked by category; reserved above; iterations and phases below.
import type { Bands, Device, Span, Trace } from "../analyzer";
import { Chart, LEFT, gestures, ink } from "../chart";
import { Client, latest } from "../client";
import { marks, size, time } from "../format";
import { groupName } from "../palette";
import { Look, drawStack, highest } from "../stack";
import { Store } from "../state";
import { RangeLanes } from "./range-lanes";

export const PHASES: { [label: string]: string } = {
  forward: "#56b4e955", backward: "#e69f0055", "optimizer step": "#009e7355", "start-up": "#80808033",
};

const FAR = 4;
const BOTTOM = 44; // CSS pixels: phases, iterations, the axis

export class Timeline {
  private readonly chart: Chart;
  private bands: Bands | null = null;
  private readonly fetch: () => void;
  private readonly lanes: RangeLanes;
  private slot = -1; // the device whose ranges are in the lanes
  most = 1; // bytes at the top of the chart
  /** fulfilled when something was drawn, or when there is no place to draw */
  readonly first: Promise<void>;
  private isDrawn = () => {};

  constructor(canvas: HTMLCanvasElement, private readonly client: Client, private readonly store: Store,
              private readonly trace: Trace, private readonly device: () => Device,
              hover: (event: PointerEvent, column: number, bands: Bands) => void,
              say: (event: PointerEvent, text: string) => void) {
    this.chart = new Chart(canvas, BOTTOM);
    this.lanes = new RangeLanes(this.chart, store);
    this.first = new Promise((resolve) => (this.isDrawn = resolve));
    this.fetch = latest(async () => {
      const { slot, is_time, from, to } = this.store.state;
      const [bands, ranges] = await Promise.all([
        client.bands({ slot, is_time, from, to, columns: this.chart.columns() }),
        this.slot === slot ? null : client.ranges(slot),
      ]);
      if (ranges) {
        this.slot = slot;
        this.lanes.set(ranges);
        this.chart.bottom = BOTTOM + this.lanes.height;
      }
      this.bands = bands;
      this.draw();
      this.isDrawn();
    });
    gestures(this.chart, store, device, (event) => void this.choose(event));
    canvas.addEventListener("pointermove", (event) => {
      const column = this.column(event.offsetX);
      const range = this.lanes.at(event.offsetX, event.offsetY - this.chart.height - BOTTOM);
      if (range) say(event, range);
      else if (this.bands && column >= 0) hover(event, column, this.bands);
    });
  }

  /** The trace has more: request the ranges again. */
  grew() {
    this.slot = -1;
  }

  private column(pixel: number): number {
    const columns = this.bands ? this.bands.numbers.length / this.bands.fields : 0;
    const at = Math.floor(((pixel - LEFT) / this.chart.width) * columns);
    return at >= 0 && at < columns ? at : -1;
  }

  private async choose(event: PointerEvent) {
    const column = this.column(event.offsetX);
    if (!this.bands || column < 0) return;
    const moment = this.bands.numbers[column * this.bands.fields + this.trace.categories.length]!;
    this.store.set(event.shiftKey ? { since: Math.max(0, moment) } : { at: Math.max(0, moment) });
  }

  update() {
    if (this.chart.fit()) this.fetch();
    else this.isDrawn();
  }

  /** Draw after a change of the chosen moment: nothing is fetched. */
  draw() {
    const bands = this.bands, chart = this.chart;
    if (!bands || !chart.fit()) return;
    const { context } = chart, n = this.trace.categories.length;
    const columns = bands.numbers.length / bands.fields, step = chart.width / columns;
    const most = highest(bands, n);
    let reserved = 0;
    for (let i = 0; i < columns; i++) reserved = Math.max(reserved, bands.numbers[i * bands.fields + n + 1]!);
    const is_far = reserved > FAR * most; // its line would leave no room for the rest
    this.most = (is_far ? most : Math.max(most, reserved)) * 1.04 || 1;
    const y = chart.begin(this.most);
    drawStack(context, bands, this.looks(), { left: LEFT, top: 0, width: chart.width, height: chart.height }, step, this.most);
    if (reserved) this.line(columns, step, (i) => y(bands.numbers[i * bands.fields + n + 1]!));
    if (is_far) {
      context.fillStyle = ink("ink");
      context.textAlign = "right";
      context.fillText(`reserved is above the chart: up to ${size(reserved)}`, LEFT + chart.width - 4, 8);
    }
    this.bandsBelow();
    this.lanes.draw(this.chart.height + BOTTOM);
    this.cursors();
  }

  private looks(): Look[] {
    const { stack, category } = this.store.state;
    return this.trace.categories.map(({ name }, c) => stack !== "category" ? { name: groupName(c) }
      : { name, alpha: category >= 0 && category !== c ? 0.25 : 1 });
  }

  private line(columns: number, step: number, y: (column: number) => number) {
    const { context } = this.chart;
    context.beginPath();
    for (let i = 0; i < columns; i++) {
      if (y(i) < -1) continue;
      context.lineTo(LEFT + i * step, y(i));
      context.lineTo(LEFT + (i + 1) * step, y(i));
    }
    context.strokeStyle = ink("ink");
    context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
  }

  private x(span: { moment: number; time_ns: number }): number {
    return this.chart.pixel(this.store.state, this.store.state.is_time ? span.time_ns : span.moment);
  }

  private bandsBelow() {
    const { context, width, height } = this.chart;
    const spans = this.trace.spans[this.store.state.slot] ?? [];
    const text = ink("ink");
    const right = LEFT + width;
    context.save();
    context.beginPath();
    context.rect(LEFT - 30, 0, width + 40, height + this.chart.bottom);
    context.clip();
    context.textAlign = "left";
    let lastLabel = -Infinity, lastNumber = -1;
    spans.forEach((span: Span, i: number) => {
      const from = Math.max(LEFT - 1, this.x(span)), next = spans[i + 1];
      const to = Math.min(right + 1, next ? this.x(next) : right);
      if (to < LEFT || from > right) return;
      context.fillStyle = PHASES[span.phase] ?? "#80808022";
      context.fillRect(from, height + 4, Math.max(1, to - from), 12);
      if (to - from > context.measureText(span.phase).width + 6) {
        context.fillStyle = text;
        context.fillText(span.phase, from + 3, height + 10);
      }
      if (span.iteration !== lastNumber && this.x(span) >= LEFT && from - lastLabel > 46) {
        context.fillStyle = text;
        context.fillText(span.iteration ? `#${span.iteration}` : "start", from + 2, height + 24);
        context.fillRect(from, height + 18, 1, 10);
        lastLabel = from;
      }
      lastNumber = span.iteration;
    });
    const { from, to, is_time } = this.store.state;
    context.textAlign = "center";
    context.fillStyle = text;
    for (const mark of marks(from, to, 8)) {
      const label = is_time ? time(mark) : Math.round(mark).toLocaleString("en-US");
      const x = this.chart.pixel(this.store.state, mark), half = context.measureText(label).width / 2;
      context.fillText(label, Math.min(x, right + 10 - half), height + 37);
    }
    context.restore();
  }

  /** Draw the peak, out of memory, the chosen moment and the lists' first moment. */
  private cursors() {
    const { state } = this.store, device = this.device();
    const draw = async (moment: number, colour: string, label: string, dash: number[]) => {
      const x = state.is_time ? await this.client.momentNs(state.slot, moment) : moment + 0.5;
      const { context, height, width } = this.chart, pixel = this.chart.pixel(state, x);
      if (pixel < LEFT || pixel > LEFT + width) return;
      context.strokeStyle = context.fillStyle = colour;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(pixel, 0);
      context.lineTo(pixel, height);
      context.stroke();
      context.setLineDash([]);
      context.textAlign = pixel > LEFT + width - 60 ? "right" : "left";
      context.fillText(label, pixel + (pixel > LEFT + width - 60 ? -4 : 4), 8);
    };
    if (device.peak !== state.at) void draw(device.peak, ink("mark"), "peak", [2, 3]);
    const ooms = this.trace.ooms.filter((oom) => oom.slot === state.slot);
    ooms.forEach((oom, i) => // only the last has the label: they may be close together
      void draw(Math.max(0, oom.moment - 1), ink("bad"), i === ooms.length - 1 ? "out of memory" : "", []));
    if (state.since) void draw(state.since, ink("mark"), "since", [6, 3]);
    const isOom = ooms.some((oom) => oom.moment - 1 === state.at);
    void draw(state.at, ink("accent"), state.at === device.peak ? "peak" : isOom ? "" : "here", []);
  }
}
