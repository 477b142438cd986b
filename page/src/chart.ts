// SPDX-License-Identifier: Apache-2.0
// A canvas with an x axis that the user pans and zooms; the timeline and the blocks share it.
import { Device } from "./analyzer";
import { size, ticks } from "./format";
import { gestures as listen } from "./gestures";
import { State, Store, whole } from "./state";

/** One of the page's colours (style.css). */
export function ink(name: "paper" | "ink" | "soft" | "quiet" | "mark" | "bad" | "accent" | "more" | "less"): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);
}

export const LEFT = 76, RIGHT = 12; // CSS pixels next to the plot

export class Chart {
  readonly context: CanvasRenderingContext2D;
  width = 0; // the plot's, CSS pixels
  height = 0;
  ratio = 1;

  /** bottom: CSS pixels below the plot */
  constructor(readonly canvas: HTMLCanvasElement, public bottom: number) {
    this.context = canvas.getContext("2d")!;
  }

  /** Fit the canvas to its place; return whether it has one. */
  fit(): boolean {
    const box = this.canvas.getBoundingClientRect();
    this.ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.round(box.width * this.ratio), height = Math.round(box.height * this.ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.width = box.width - LEFT - RIGHT;
    this.height = box.height - this.bottom;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    return this.width > 10 && this.height > 10;
  }

  /** Clear the canvas and draw the axis of bytes; return a function from bytes to y. */
  begin(most: number): (bytes: number) => number {
    const { context } = this, y = (bytes: number) => this.height * (1 - bytes / most);
    context.clearRect(0, 0, this.width + LEFT + RIGHT, this.height + this.bottom);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks(most, 5)) {
      context.fillStyle = ink("soft");
      context.fillRect(LEFT, Math.round(y(tick)), this.width, 1);
      context.fillStyle = ink("ink");
      context.fillText(size(tick).replace(/\.00 /, " "), LEFT - 8, Math.max(7, y(tick)));
    }
    return y;
  }

  columns(): number {
    return Math.max(1, Math.min(2000, Math.round(this.width * this.ratio)));
  }

  /** Convert a place on the canvas to the state's x, and back. */
  at(state: State, pixel: number): number {
    return state.from + ((pixel - LEFT) / this.width) * (state.to - state.from);
  }

  pixel(state: State, x: number): number {
    return LEFT + ((x - state.from) / (state.to - state.from)) * this.width;
  }
}

/** Keep a range within the run and wide enough to show. */
export function bounded(device: Device, is_time: boolean, from: number, to: number) {
  const all = whole(device, is_time);
  const least = is_time ? 1000 : 8;
  const width = Math.min(Math.max(to - from, Math.min(least, all.to - all.from)), all.to - all.from);
  const begin = Math.min(Math.max(from, all.from), all.to - width);
  return { from: begin, to: begin + width };
}

export function zoom(store: Store, device: Device, factor: number, around?: number) {
  const { from, to, is_time } = store.state;
  const middle = around ?? (from + to) / 2;
  store.set(bounded(device, is_time, middle - (middle - from) * factor, middle + (to - middle) * factor));
}

/** Choose the moment `by` later; isRange: as the end of a range, which begins at the moment chosen before. */
export function go(store: Store, device: Device, by: number, isRange = false) {
  const { at, since } = store.state, to = Math.min(Math.max(at + by, 0), device.moments - 1);
  store.set(isRange && to !== at ? { since: since || Math.max(at, 1), at: to } : { at: to });
}

export function pan(store: Store, device: Device, part: number) {
  const { from, to, is_time } = store.state;
  const by = (to - from) * part;
  store.set(bounded(device, is_time, from + by, to + by));
}

/** Listen to wheel, drag, two fingers and click on a chart. */
export function gestures(chart: Chart, store: Store, device: () => Device, click: (event: PointerEvent) => void,
                         select: (from: number, to: number, is_done: boolean) => void) {
  listen(chart.canvas, {
    zoom: (factor, pixel) => {
      const before = store.state;
      zoom(store, device(), factor, chart.at(before, pixel));
      return store.state !== before;
    },
    pan: (pixels) => pan(store, device(), -pixels / chart.width),
    click,
    select,
  });
}
