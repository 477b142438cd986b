// SPDX-License-Identifier: Apache-2.0
// All facts about the chosen block, or about the largest block of the largest line if none is chosen.
import { FROM_CACHE, FROM_CUDA, Frame, Life, Served, Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { editorChoice, place } from "../editor";
import { count, lastUse, plural, size, time } from "../format";
import { swatch } from "../palette";
import { code, source } from "../source";
import { Store } from "../state";

/** Return what PyTorch's allocator did for a block. */
function served({ from, made, room }: Served, bytes: number): string {
  if (from === FROM_CUDA) return `new segment from CUDA (${size(made)})`;
  if (from !== FROM_CACHE) return "";
  return "PyTorch's cache" + (room > bytes ? `, part of a free piece of ${size(room)}` : room ? ", a free piece of its size" : "");
}

/** Return what held a block when the trace's list of holders was made; "": unknown. */
function holder({ holder: one }: Life): string {
  if (!one) return "";
  return `${one.verb === "held by" ? "" : `${one.verb} `}${one.path}${one.n > 1 ? `, and ${plural(one.n - 1, "other path")}` : ""}`;
}

/** Return the frame of the block's line. */
function lineOf(life: Life): Frame | undefined {
  const stack = life.forward_stack.length ? life.forward_stack : life.stack;
  return stack.find((one) => one.is_own) ?? stack[0];
}

/** Runs of at most this many library frames are unfolded; the newest frame always is, since it names the operator. */
const LIBRARY_SHOWN = 1;

export class Details {
  private readonly fetch: () => void;
  private same: number[] = []; // the last shown line's blocks

  constructor(private readonly place: HTMLElement, client: Client, private readonly store: Store,
              private readonly trace: Trace, private readonly editorChanged: () => void) {
    this.fetch = latest(async () => {
      const { slot, life, at, since, category } = store.state;
      const number = life >= 0 ? life : (await client.table(slot, at, since, category))[0]?.life ?? -1;
      if (number < 0) {
        this.draw(null, number, [], "");
        return;
      }
      const facts = await client.life(number);
      this.draw(facts, number, this.same.includes(number) ? this.same : [], ""); // now, because the next calls scan all blocks
      const [same, from] = await Promise.all([client.same(slot, number, at, since), client.served(number)]);
      this.same = same;
      this.draw(facts, number, same, served(from, facts.bytes));
    });
  }

  update() {
    this.fetch();
    // on a narrow screen they are below the lists
    if (this.store.state.life >= 0 && this.place.getBoundingClientRect().top > window.innerHeight - 60)
      this.place.scrollIntoView({ block: "nearest" });
  }

  private draw(life: Life | null, number: number, same: number[], from: string) {
    if (!life) {
      this.place.replaceChildren(make("p", { class: "none" }, "Nothing is allocated here."));
      return;
    }
    const category = this.trace.categories[life.category]!, line = lineOf(life);
    const { iteration = 0 } = (this.trace.spans[this.store.state.slot] ?? []).filter((one) => one.moment <= life.born).pop() ?? {};
    const facts: [string, string][] = [
      ["line", life.line],
      ["size", `${size(life.bytes)} (${count(life.bytes)} bytes)`],
      ["type", life.dtype && `${life.dtype}${life.bits ? `, at most ${count(Math.floor((life.bytes * 8) / life.bits))} elements` : ""}`],
      ["why", `${life.rule} (${life.certainty})`],
      ["allocated", `${time(life.born_ns)}, event ${count(life.born_event)}, ${life.phase}, ${iteration ? `iteration ${count(iteration)}` : "start-up"}`],
      ["freed", life.ended_ns === null ? "still live at the end"
        : `${time(life.ended_ns)}, after ${time(life.ended_ns - life.born_ns)}`],
      ["last used", life.uses ? lastUse(life.uses, life.ended_ns) : ""], ["held by", holder(life)],
      ["served from", from], ["address", life.address], ["name", life.name ?? ""],
      ["operator", life.operator ?? ""], ["module", life.module],
    ];
    this.place.replaceChildren(
      ...(this.store.state.life < 0 ? [make("p", { class: "none" }, "Largest block here")] : []),
      make("h2", {}, swatch(category.name), category.label),
      make("dl", {}, ...facts.filter(([, text]) => text).flatMap(([name, text]) =>
        [make("dt", {}, name), make("dd", {}, plain(text), ...(name === "line" && line ? code(source(this.trace.name, line)) : []))])),
      ...this.others(number, same),
      make("button", { click: () => this.store.set({ at: life.born }) }, "Go to allocation"),
      ...this.frames("Allocated by", life.stack), ...this.frames("In backward of", life.forward_stack),
      make("p", {}, editorChoice(this.editorChanged)));
  }

  private frames(title: string, list: Frame[]): HTMLElement[] {
    if (!list.length) return [];
    const items = list.map((frame, i) => make("li", { value: i + 1, title: plain(frame.file), class: frame.is_own ? "own" : "" },
      make("b", {}, plain(frame.function)), " ", place(frame), ...code(source(this.trace.name, frame))));
    const rows: HTMLElement[] = [], isFolded = (i: number) => i > 0 && i < list.length && !list[i]!.is_own;
    for (let at = 0, end = 0; at < list.length; at = end) {
      do end++; while (isFolded(at) && isFolded(end));
      const run = items.slice(at, end);
      if (run.length <= LIBRARY_SHOWN || !list.some((frame) => frame.is_own)) rows.push(...run);
      else rows.push(make("li", { class: "folded" }, make("details", {}, make("summary", {}, `${run.length} library frames`), make("ol", {}, ...run))));
    }
    return [make("h3", {}, title), make("ol", { class: "frames", tabindex: 0 }, ...rows)];
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
