// SPDX-License-Identifier: Apache-2.0
// The ranges that the program named, below the timeline: a lane for each depth.
import type { Ranges } from "../analyzer";
import { RANGE } from "../analyzer";
import { Chart, LEFT, ink } from "../chart";
import { isolated, plain } from "../dom";
import { time } from "../format";
import { Store } from "../state";

const LANE = 14, MOST_LANES = 4; // CSS pixels; deeper ones are in the last lane's tip only
const COLOURS = ["#0072b255", "#e69f0055", "#009e7355", "#cc79a755", "#56b4e955", "#d55e0055"];

export class RangeLanes {
  private ranges: Ranges = { numbers: new Float64Array(), names: {} };
  private lanes = 0;

  constructor(private readonly chart: Chart, private readonly store: Store) {}

  get height() {
    return this.lanes ? this.lanes * LANE + 4 : 0;
  }

  set(ranges: Ranges) {
    this.ranges = ranges;
    this.lanes = 0;
    for (let i = 4; i < ranges.numbers.length; i += RANGE)
      this.lanes = Math.min(Math.max(this.lanes, ranges.numbers[i]! + 1), MOST_LANES);
  }

  private ends(i: number): [from: number, to: number] {
    const { numbers } = this.ranges, at = this.store.state.is_time ? i + 2 : i;
    return [this.chart.pixel(this.store.state, numbers[at]!), this.chart.pixel(this.store.state, numbers[at + 1]!)];
  }

  draw(top: number) {
    const { numbers, names } = this.ranges, { context, width } = this.chart, right = LEFT + width;
    const until = new Float64Array(this.lanes).fill(-1); // by lane: draw ranges thinner than a pixel once
    context.save();
    context.beginPath();
    context.rect(LEFT, top, width, this.height);
    context.clip();
    context.textAlign = "left";
    for (let i = 0; i < numbers.length; i += RANGE) {
      const lane = numbers[i + 4]!, [from, to] = this.ends(i);
      if (lane >= this.lanes || to < LEFT || from > right || to < until[lane]!) continue;
      const y = top + lane * LANE, wide = Math.max(to - from, 1);
      until[lane] = Math.floor(from + wide) + 1;
      context.fillStyle = COLOURS[numbers[i + 5]! % COLOURS.length]!;
      context.fillRect(from, y, wide, LANE - 2);
      if (wide < 30) continue;
      context.save();
      context.beginPath();
      context.rect(Math.max(from, LEFT), y, wide - 3, LANE);
      context.clip();
      context.fillStyle = ink("ink");
      context.fillText(isolated(plain(names[numbers[i + 5]!] ?? "")), Math.max(from, LEFT) + 3, y + LANE / 2);
      context.restore();
    }
    context.restore();
  }

  /** Return the text for a place; "": nothing there. y: from the lanes' top. */
  at(x: number, y: number): string {
    const lane = Math.floor(y / LANE), { numbers, names } = this.ranges;
    if (y < 0 || lane >= this.lanes) return "";
    for (let i = 0; i < numbers.length; i += RANGE) {
      const [from, to] = this.ends(i);
      if (numbers[i + 4] === lane && from <= x && x < Math.max(to, from + 1))
        return `${plain(names[numbers[i + 5]!] ?? "")}\n${time(numbers[i + 3]! - numbers[i + 2]!)}`;
    }
    return "";
  }
}
