// SPDX-License-Identifier: Apache-2.0
// One axis for two runs: iteration k of one is above iteration k of the other, and phase above phase
// if both have the same phases. Runs without iterations are aligned as a whole.
import type { Device, Span } from "./analyzer";
import { drawnPhase } from "./phases";

/** A run's moment at a place on the axis: x grows by 1 an iteration; 0 to 1 is before the first. */
interface Knot { x: number; moment: number; }

export interface Axis {
  knots: [Knot[], Knot[]]; // each run's, ascending
  end: number; // the longer run's
  has_iterations: boolean;
  phases: { from: number; to: number; phase: string }[]; // the longer run's
}

interface Iteration { spans: Span[]; end: number; }

function iterations(device: Device, spans: Span[]): Iteration[] {
  const out: Iteration[] = [];
  for (const span of spans) {
    const at = span.iteration;
    if (!out[at]) out[at] = { spans: [], end: device.moments };
    out[at]!.spans.push(span);
  }
  const there = out.filter((one) => one);
  there.forEach((one, i) => (one.end = there[i + 1]?.spans[0]!.moment ?? device.moments));
  return out;
}

/** Return the parts of an iteration as shares whose sum is 1; null: one part. */
function shares(a: Iteration | undefined, b: Iteration | undefined): number[] | null {
  const of = (one: Iteration) => one.spans.map((span, i) =>
    ((one.spans[i + 1]?.moment ?? one.end) - span.moment) / Math.max(1, one.end - one.spans[0]!.moment));
  if (a && b) {
    if (a.spans.length !== b.spans.length || a.spans.some((span, i) => span.phase !== b.spans[i]!.phase)) return null;
    const x = of(a), y = of(b);
    return x.map((one, i) => (one + y[i]!) / 2);
  }
  return a ? of(a) : b ? of(b) : null;
}

function put(knots: Knot[], at: number, one: Iteration | undefined, parts: number[] | null) {
  if (!one) return;
  let x = at;
  one.spans.forEach((span, i) => {
    if (i && !parts) return;
    knots.push({ x, moment: span.moment });
    x += parts ? parts[i]! : 0;
  });
  knots.push({ x: at + 1, moment: one.end });
}

export function align(devices: [Device, Device], spans: [Span[], Span[]]): Axis {
  const all = [iterations(devices[0], spans[0]), iterations(devices[1], spans[1])] as const;
  const last = all.map((one) => one.length - 1);
  if (last[0]! < 1 || last[1]! < 1) {
    const whole = (device: Device) => [{ x: 0, moment: 0 }, { x: 1, moment: device.moments }];
    return { knots: [whole(devices[0]), whole(devices[1])], end: 1, has_iterations: false, phases: [] };
  }
  const end = Math.max(last[0]!, last[1]!) + 1, longer = last[1]! >= last[0]! ? 1 : 0;
  const knots: [Knot[], Knot[]] = [[], []], phases: Axis["phases"] = [];
  for (let k = 0; k < end; k++) {
    const pair = [all[0][k], all[1][k]] as const, parts = shares(pair[0], pair[1]);
    put(knots[0], k, pair[0], parts);
    put(knots[1], k, pair[1], parts);
    let x = k;
    if (parts)
      (pair[longer] ?? pair[1 - longer])!.spans.forEach((span, i) => {
        phases.push({ from: x, to: x + parts[i]!, phase: drawnPhase(span) });
        x += parts[i]!;
      });
  }
  return { knots, end, has_iterations: true, phases };
}

/** Return a run's moment at x; beyond its end, the end. */
export function momentAt(knots: Knot[], x: number): number {
  let low = 0, high = knots.length - 1;
  if (x <= knots[0]!.x) return knots[0]!.moment;
  if (x >= knots[high]!.x) return knots[high]!.moment;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (knots[middle]!.x <= x) low = middle;
    else high = middle;
  }
  const a = knots[low]!, b = knots[high]!;
  return b.x > a.x ? a.moment + ((x - a.x) / (b.x - a.x)) * (b.moment - a.moment) : b.moment;
}

/** Return the moments at which the columns of a range of x begin; the run's end is the last. */
export function edges(knots: Knot[], from: number, to: number, columns: number): number[] {
  const out: number[] = [], end = knots[knots.length - 1]!.x;
  for (let i = 0; i <= columns; i++) {
    const x = from + (i * (to - from)) / columns;
    out.push(momentAt(knots, x));
    if (x >= end) break;
  }
  return out;
}
