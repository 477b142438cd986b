// SPDX-License-Identifier: Apache-2.0
// All facts about the chosen block, or about the largest block of the largest line if none is chosen.
import type { Frame, Life, Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { editorChoice, place } from "../editor";
import { count, size, time } from "../format";
import { colour } from "../palette";
import { Store } from "../state";

function frames(title: string, list: Frame[]): HTMLElement[] {
  if (!list.length) return [];
  return [make("h3", {}, title), make("ol", { class: "frames" }, ...list.map((frame) =>
    make("li", { title: plain(frame.file), class: frame.is_own ? "own" : "" }, make("b", {}, plain(frame.function)), " ", place(frame))))];
}

export class Details {
  private readonly fetch: () => void;
  private suggested = -1; // shown until a block is chosen

  constructor(private readonly place: HTMLElement, client: Client, private readonly store: Store,
              private readonly trace: Trace) {
    this.fetch = latest(async () => {
      const { slot, life, at, since } = store.state, number = life >= 0 ? life : this.suggested;
      if (number < 0) {
        this.draw(null, number, []);
        return;
      }
      const facts = await client.life(number);
      this.draw(facts, number, []); // at once: its line's other blocks are looked for among all
      const same = await client.same(slot, number, at, since);
      if (same.length > 1) this.draw(facts, number, same);
    });
  }

  /** Show a block although none is chosen. */
  show(number: number) {
    this.suggested = number;
    this.fetch();
  }

  update() {
    this.fetch();
  }

  private draw(life: Life | null, number: number, same: number[]) {
    if (!life) {
      this.place.replaceChildren(make("p", { class: "none" }, "Choose a block or a line to see all that is known of it."));
      return;
    }
    const category = this.trace.categories[life.category]!;
    const facts: [string, string][] = [
      ["line", life.line],
      ["size", `${size(life.bytes)} (${life.bytes.toLocaleString("en-US")} bytes)`],
      ["why", `${life.rule} (${life.certainty})`],
      ["allocated", `${time(life.born_ns)}, event ${life.born_event.toLocaleString("en-US")}, in ${life.phase}`],
      ["freed", life.ended_ns === null ? "not before the end of the trace"
        : `${time(life.ended_ns)}, after ${time(life.ended_ns - life.born_ns)}`],
      ["address", life.address], ["type", life.dtype], ["name", life.name ?? ""],
      ["operator", life.operator ?? ""], ["module", life.module],
    ];
    this.place.replaceChildren(
      ...(this.store.state.life < 0 ? [make("p", { class: "none" }, "The largest block of the largest line at the chosen moment:")] : []),
      make("h2", {}, make("span", { class: "swatch", style: `--colour:${colour(category.name)}` }), category.label),
      make("dl", {}, ...facts.filter(([, text]) => text).flatMap(([name, text]) =>
        [make("dt", {}, name), make("dd", {}, plain(text))])),
      ...this.others(number, same),
      make("button", { click: () => this.store.set({ at: life.born }) }, "Go to its allocation"),
      ...frames("Allocated by", life.stack), ...frames("In backward of", life.forward_stack),
      make("p", {}, editorChoice(() => this.fetch())));
  }

  /** The other blocks of its line and category at the chosen moment. */
  private others(number: number, same: number[]): HTMLElement[] {
    const at = same.indexOf(number);
    if (same.length < 2 || at < 0) return [];
    const step = (label: string, title: string, to: number) =>
      make("button", { title, click: () => this.store.set({ life: same[(to + same.length) % same.length]! }) }, label);
    return [make("p", { class: "steps" }, step("◀", "a larger block of this line", at - 1), ` ${count(at + 1)} of ${count(same.length)} of this line `,
      step("▶", "a smaller block of this line", at + 1))];
  }
}
