// SPDX-License-Identifier: Apache-2.0
// Allocated bytes over time, stacked by category or another group, or block by block; reserved above;
// iterations and phases below.
import type { Bands, Device, Span, Tick, Trace } from "../analyzer";
import { Chart, LEFT, gestures, ink } from "../chart";
import { Client, latest } from "../client";
import { byId, plain } from "../dom";
import { count, doubt, marks, size, time } from "../format";
import { nearest } from "../editor";
import { colour } from "../palette";
import { drawPhase, drawnPhase, phaseKeys } from "../phases";
import { Look, drawEdge, drawStack, highest, sumAt } from "../stack";
import { Store } from "../state";
import { Line, hovers, tip } from "../tip";
import { Blocks } from "./blocks";
import { Failure, drawFailure, failureOf, heightOf, roomText } from "./failure";
import { RangeLanes } from "./range-lanes";

const FAR = 4;
const BOTTOM = 44; // CSS pixels: phases, iterations, the axis
const BESIDE = 60; // room for a label next to its line
const TALL = 13; // of a label

/** A place that labels leave free. */
interface Taken { left: number; right: number; top: number; bottom: number; }

export class Timeline {
  private readonly chart: Chart;
  private readonly blocks: Blocks;
  private bands: Bands | null = null;
  private found: Float64Array | null = null; // of the bands; null: no search
  private idle: Float64Array | null = null; // of the bands, where it is known and shown
  private ticks: Tick[] = [];
  private failure: Failure | null = null;
  private readonly fetch: () => void;
  private readonly lanes: RangeLanes;
  private slot = -1; // the device whose ranges are in the lanes
  private most = 1; // bytes at the top of the chart
  private chosen: [number, number] | null = null; // pixels, while a range is dragged
  private over = 0; // the block under the pointer; counts up so that a late answer is dropped
  private drawing = 0;
  /** resolved when something was drawn, or when there is nowhere to draw */
  readonly first: Promise<void>;
  private isDrawn = () => {};

  /** text: what a column has, and what groups are drawn; called after each fetch */
  constructor(private readonly canvas: HTMLCanvasElement, private readonly client: Client, private readonly store: Store,
              private readonly trace: Trace, private readonly device: () => Device,
              private readonly label: (group: number) => string, private readonly look: (group: number) => string,
              private readonly drawn: (groups: Set<number>) => void) {
    this.chart = new Chart(canvas, BOTTOM);
    this.lanes = new RangeLanes(this.chart, store);
    this.blocks = new Blocks(this.chart, client, store, trace, device, () => this.most, () => this.draw());
    this.first = new Promise((resolve) => (this.isDrawn = resolve));
    this.fetch = latest(async () => {
      const { slot, is_time, from, to, search, is_needed } = this.store.state;
      const range = { slot, is_time, from, to, columns: this.chart.columns() };
      const [bands, found, idle, ranges, ticks, failure] = await Promise.all([
        client.bands(range), search ? client.found(range) : null, device().idle && !is_needed ? client.unneeded(range) : null,
        this.slot === slot ? null : client.ranges(slot),
        is_time ? [] : client.ticks(slot, from, to, Math.max(2, this.chart.width / 80)),
        this.slot === slot ? this.failure : failureOf(client, trace, device()),
      ]);
      if (ranges) {
        this.slot = slot;
        this.lanes.set(ranges);
        this.chart.bottom = BOTTOM + this.lanes.height;
      }
      this.bands = bands;
      this.found = found;
      this.idle = idle;
      this.ticks = ticks;
      this.failure = failure;
      this.draw();
      this.isDrawn();
      this.tell();
      if (this.isBlocks()) this.blocks.update();
    });
    gestures(this.chart, store, device, (event) => void this.choose(event), (from, to, is_done) => void this.select(from, to, is_done));
    hovers(canvas, (event) => void this.hover(event), () => this.over++);
  }

  private isBlocks(): boolean {
    return this.store.state.stack === "block";
  }

  /** Say which groups occur in the shown range. */
  private tell() {
    const { numbers, fields } = this.bands!, groups = new Set<number>(), n = this.trace.categories.length;
    for (let at = 0; at < numbers.length; at += fields)
      for (let c = 0; c < n; c++) if (numbers[at + c]) groups.add(c);
    this.drawn(groups);
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

  private async hover(event: PointerEvent) {
    const column = this.column(event.offsetX), over = ++this.over;
    const range = this.lanes.at(event.offsetX, event.offsetY - this.chart.height - BOTTOM);
    if (range) tip(event, range);
    else if (!this.bands || column < 0) tip(event, "");
    else {
      const block = this.isBlocks() ? this.blocks.find(event.offsetX, event.offsetY) : null;
      if (!block) {
        tip(event, this.columnLines(column, this.bands));
        return;
      }
      const life = await this.client.life(block.life);
      if (over !== this.over) return;
      const category = this.trace.categories[life.category]!;
      tip(event, [{ colour: colour(category.name), text: `${size(life.bytes)} ${category.label}${doubt(life.certainty)}` }, ...nearest(life), plain(life.module),
        life.ended_ns === null ? `allocated at ${time(life.born_ns)}, not freed` : `live for ${time(life.ended_ns - life.born_ns)}, from ${time(life.born_ns)}`]
        .filter((one) => one !== ""));
    }
  }

  private columnLines(column: number, bands: Bands): Line[] {
    const at = column * bands.fields, n = this.trace.categories.length;
    const bytes = [...bands.numbers.slice(at, at + n)], sum = sumAt(bands, at, n);
    const lines = bytes.map((one, i) => [one, i] as const).filter(([one]) => one).sort((a, b) => b[0] - a[0]).slice(0, 6)
      .map(([one, i]) => ({ colour: colour(this.looks()[i]!.name), text: `${size(one)} ${this.label(i)}` }));
    const least = bands.numbers[at + n + 2]!, reserved = bands.numbers[at + n + 1]!;
    const spare = this.idle ? sumAt({ fields: n, numbers: this.idle }, column * n, n) : 0;
    return [`${size(sum)} ${this.store.state.is_needed ? "needed" : "allocated"}` + (least < sum ? ` (down to ${size(least)} in this column)` : ""),
      ...(spare ? [`${size(spare)} of it not needed`] : []),
      ...(reserved ? [`${size(reserved)} reserved`] : []),
      ...(this.found ? [`${size(sumAt({ fields: n, numbers: this.found }, column * n, n))} found by the search`] : []), ...lines];
  }

  private async choose(event: PointerEvent) {
    const column = this.column(event.offsetX);
    if (!this.bands || column < 0) return;
    const found = this.isBlocks() ? this.blocks.find(event.offsetX, event.offsetY) : null;
    const moment = Math.max(0, this.bands.numbers[column * this.bands.fields + this.trace.categories.length]!);
    this.store.set(event.shiftKey ? { since: moment } : { at: moment, ...(found ? { life: found.life } : {}) });
  }

  /** Choose the moments between two places: lists show what was allocated there and is left. */
  private async select(from: number, to: number, is_done: boolean) {
    const { state } = this.store, { width } = this.chart;
    const inside = (pixel: number) => Math.min(Math.max(pixel, LEFT), LEFT + width - 1);
    const ends = [inside(Math.min(from, to)), inside(Math.max(from, to))] as const;
    this.chosen = is_done ? null : [...ends];
    if (!is_done) {
      this.later();
      return;
    }
    const [since, at] = await Promise.all(ends.map(async (pixel) =>
      Math.max(0, (await this.client.moment(state.slot, state.is_time, this.chart.at(state, pixel))).moment)));
    this.store.set({ since: since!, at: at! });
    this.draw();
  }

  private later() {
    cancelAnimationFrame(this.drawing);
    this.drawing = requestAnimationFrame(() => this.draw());
  }

  update() {
    this.canvas.classList.toggle("tall", this.isBlocks());
    if (this.chart.fit()) this.fetch();
    else this.isDrawn();
  }

  /** Draw after a change of the chosen moment: nothing is fetched. */
  draw() {
    const bands = this.bands, chart = this.chart;
    if (!bands || !chart.fit()) return;
    const { context } = chart, n = this.trace.categories.length;
    const columns = bands.numbers.length / bands.fields, step = chart.width / columns;
    const most = highest(bands, n), card = this.device().memory;
    let reserved = 0;
    for (let i = 0; i < columns; i++) reserved = Math.max(reserved, bands.numbers[i * bands.fields + n + 1]!);
    const is_far = reserved > FAR * most; // its line would leave no room for the rest
    const failed = this.failure, fails_at = failed ? this.x({ moment: failed.at + 1, time_ns: failed.oom.time_ns }) : -1;
    const is_failed = failed !== null && fails_at >= LEFT && fails_at <= LEFT + chart.width + 1;
    const has_room = is_failed && failed.room > 0 && failed.room <= heightOf(failed);
    const has_card = !is_far && card > 0 && card < 1.5 * Math.max(most, reserved) && !has_room;
    this.most = Math.max(is_far ? most : Math.max(most, reserved, has_card ? card : 0), is_failed ? heightOf(failed) : 0) * 1.06 || 1;
    const y = chart.begin(this.most);
    const box = { left: LEFT, top: 0, width: chart.width, height: chart.height };
    if (this.isBlocks() && this.blocks.draw(y)) {
      if (!this.store.state.is_needed) drawEdge(context, Float64Array.from({ length: columns }, (_, i) => sumAt(bands, i * bands.fields, n)), box, step, this.most);
    } else drawStack(context, bands, this.looks(), box, step, this.most, this.found, this.idle);
    if (reserved) this.line(columns, step, (i) => y(bands.numbers[i * bands.fields + n + 1]!));
    if (has_card) {
      context.fillStyle = ink("bad");
      context.fillRect(LEFT, Math.round(y(card)), chart.width, 1);
    }
    const failures = is_failed ? drawFailure(chart, failed, fails_at, y) : [];
    this.bandsBelow();
    this.lanes.draw(this.chart.height + BOTTOM);
    const labels = (taken: Taken[]) => {
      const all: [number, number] = [LEFT, LEFT + chart.width], top = reserved ? y(reserved) : 0;
      if (has_card) this.beside(`the card has ${size(card)}`, y(card), all, taken);
      for (const { text, line, left } of failures) this.beside(text, line, [left - context.measureText(text).width - 14, left], taken, true);
      if (has_room) this.beside(roomText(failed, card), y(failed.room), all, taken);
      if (is_far) this.beside(`reserved is above the chart, up to ${size(reserved)}`, 1, all, taken);
      else if (reserved) this.beside(`reserved ${size(reserved)}`, top, this.highest(columns, step, (i) => bands.numbers[i * bands.fields + n + 1]!), taken);
    };
    void this.cursors().then((taken) => taken && labels(taken));
  }

  /** Return where a line is highest: the pixels of the longest such part. */
  private highest(columns: number, step: number, value: (column: number) => number): [number, number] {
    const most = Array.from({ length: columns }, (_, i) => value(i)).reduce((a, b) => Math.max(a, b), 0);
    let best: [number, number] = [0, 0];
    for (let i = 0, from = 0; i <= columns; i++) {
      if (i < columns && value(i) === most) continue;
      if (i - from > best[1] - best[0]) best = [from, i];
      from = i + 1;
    }
    return [LEFT + best[0] * step, LEFT + best[1] * step];
  }

  /** Write a label above or below a line between two pixels, on the background colour, where it is free, and reserve the place. is_near: rather across a line than far away. */
  private beside(text: string, line: number, [from, to]: [number, number], taken: Taken[], is_near = false) {
    const { context, width } = this.chart, wide = context.measureText(text).width + 6;
    const inside = (x: number) => Math.max(Math.min(x, LEFT + width - wide - 4), LEFT + 4);
    const rows = [line - TALL - 1, ...[0, 1, 2, 3, 4].map((k) => line + 2 + k * (TALL + 2))].filter((top) => top >= 0 && top + TALL <= this.chart.height);
    const near = [from + 4, to - wide - 4, (from + to - wide) / 2], any = Array.from({ length: width / 8 }, (_, i) => LEFT + 8 * i);
    const [close, anywhere] = [near, any].map((list) => rows.flatMap((top) => list.map((x) =>
      ({ left: inside(x), right: inside(x) + wide, top, bottom: top + TALL })))) as [Taken[], Taken[]];
    const apart = (one: Taken, other: Taken) =>
      other.right < one.left || other.left > one.right || other.bottom <= one.top || other.top >= one.bottom;
    const free = (list: Taken[]) => list.find((one) => taken.every((other) => apart(one, other)));
    const across = (list: Taken[]) => list.find((one) => taken.every((other) => other.bottom > TALL * 5 || apart(one, other))); // a line, never a label
    const place = free(close) ?? (is_near ? across(close) : undefined) ?? free(anywhere) ?? across(close) ?? across(anywhere) ?? close[0]!;
    taken.push(place);
    context.fillStyle = ink("paper");
    context.globalAlpha = 0.8;
    context.fillRect(place.left, place.top, wide, TALL);
    context.globalAlpha = 1;
    context.fillStyle = ink("ink");
    context.textAlign = "left";
    context.fillText(text, place.left + 3, place.top + 7, width);
  }

  private looks(): Look[] {
    const { stack, category } = this.store.state;
    const is_category = stack === "category" || stack === "block";
    return this.trace.categories.map((_, c) => ({ name: this.look(c), alpha: is_category && category >= 0 && category !== c ? 0.25 : 1 }));
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
    const text = ink("ink"), edge = ink("mark");
    const right = LEFT + width;
    context.save();
    context.beginPath();
    context.rect(0, 0, LEFT + width + 10, height + this.chart.bottom);
    context.clip();
    context.textAlign = "left";
    let lastLabel = -Infinity, lastNumber = -1;
    const phases = new Set<string>();
    spans.forEach((span: Span, i: number) => {
      const from = Math.max(LEFT - 1, this.x(span)), next = spans[i + 1];
      const to = Math.min(right + 1, next ? this.x(next) : right);
      if (to < LEFT || from > right) return;
      const name = drawnPhase(span);
      phases.add(name);
      drawPhase(context, name, from, height + 4, to, edge, text);
      const isStart = !span.iteration && next !== undefined && this.x(next) - from < 46; // its label would hide the first iteration's
      if (span.iteration !== lastNumber && this.x(span) >= LEFT && from - lastLabel > 46 && !isStart) {
        context.fillStyle = text;
        context.fillText(span.iteration ? `#${span.iteration}` : "start", from + 4, height + 24);
        context.fillRect(from, height + 19, 1, 9);
        lastLabel = from;
      }
      lastNumber = span.iteration;
    });
    this.axis(height, right);
    context.restore();
    this.key([...phases].join());
  }

  private key(phases: string) {
    const place = byId("phases");
    if (place.dataset["shown"] === phases) return;
    place.dataset["shown"] = phases;
    place.replaceChildren(...phaseKeys(phases.split(",").filter((one) => one)));
  }

  /** Write the events' numbers in the trace, as the words above count them, or the time. */
  private axis(height: number, right: number) {
    const { context } = this.chart, { from, to, is_time } = this.store.state;
    context.fillStyle = ink("quiet");
    context.textAlign = "right";
    context.fillText(is_time ? "time" : "event", LEFT - 14, height + 38);
    context.fillStyle = ink("ink");
    context.textAlign = "center";
    const labels: [number, string][] = is_time ? marks(from, to, Math.max(2, this.chart.width / 80)).map((ns) => [ns, time(ns)])
      : this.ticks.map(({ event, moment }) => [moment, count(event)]);
    let last = -Infinity;
    for (const [at, label] of labels) {
      const half = context.measureText(label).width / 2, x = this.chart.pixel(this.store.state, at);
      const place = Math.max(Math.min(x, right + 10 - half), LEFT - 8 + half);
      if (x < LEFT - 1 || x > right + 1 || place - half < last + 8) continue;
      context.fillRect(x, height + 29, 1, 3);
      context.fillText(label, place, height + 38);
      last = place + half;
    }
  }

  /** Draw the peak, out of memory, the chosen moment and the lists' first moment, each label on a row of its own.
   *  Return the places of both; null: another picture is wanted by now. */
  private async cursors(): Promise<Taken[] | null> {
    const { state } = this.store, device = this.device(), { context, height, width } = this.chart;
    if (this.chosen) this.region(...this.chosen);
    const place = async (moment: number) =>
      this.chart.pixel(state, state.is_time ? await this.client.momentNs(state.slot, moment) : moment + 0.5);
    const taken: Taken[] = [];
    const draw = async (moment: number, colour: string, label: string, dash: number[], row: number) => {
      const pixel = await place(moment), top = 1 + 14 * row;
      if (state !== this.store.state || pixel < LEFT || pixel > LEFT + width) return;
      taken.push({ left: pixel - 1, right: pixel + 1, top: 0, bottom: height });
      context.fillStyle = ink("paper"); // on any category
      context.fillRect(pixel - 1.5, 0, 3, height);
      context.strokeStyle = context.fillStyle = colour;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(pixel, 0);
      context.lineTo(pixel, height);
      context.stroke();
      context.setLineDash([]);
      const is_right = pixel > LEFT + width - BESIDE, wide = context.measureText(label).width;
      if (!label) return;
      const left = is_right ? pixel - wide - 7 : pixel + 2;
      taken.push({ left, right: left + wide + 5, top, bottom: top + TALL });
      context.fillStyle = ink("paper");
      context.fillRect(left, top, wide + 5, TALL);
      context.fillStyle = colour;
      context.textAlign = is_right ? "right" : "left";
      context.fillText(label, pixel + (is_right ? -4 : 4), top + 7);
    };
    const work: Promise<void>[] = [];
    if (state.since && !this.chosen)
      work.push(Promise.all([place(state.since), place(state.at)]).then(([from, to]) => {
        if (state === this.store.state) this.region(Math.max(from!, LEFT), Math.min(to!, LEFT + width));
      }));
    if (device.peak !== state.at) work.push(draw(device.peak, ink("mark"), "peak", [2, 3], 1));
    const ooms = this.trace.ooms.filter((oom) => oom.slot === state.slot);
    ooms.forEach((oom, i) => // only the last has the label: they may be close together
      work.push(draw(Math.max(0, oom.moment - 1), ink("bad"), i === ooms.length - 1 ? "out of memory" : "", [], 2)));
    if (state.since) work.push(draw(state.since, ink("accent"), "from", [6, 3], 3));
    const isOom = ooms.some((oom) => oom.moment - 1 === state.at);
    work.push(draw(state.at, ink("accent"), state.at === device.peak ? "peak" : isOom ? "" : state.since ? "to" : "here", [], 0));
    await Promise.all(work);
    return state === this.store.state ? taken : null;
  }

  private region(from: number, to: number) {
    const { context, height } = this.chart;
    if (to <= from) return;
    context.fillStyle = ink("accent");
    context.globalAlpha = 0.14;
    context.fillRect(from, 0, to - from, height);
    context.globalAlpha = 1;
  }
}
