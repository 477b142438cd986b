// SPDX-License-Identifier: Apache-2.0
// All facts about the chosen block.
import type { Frame, Life, Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { size, time } from "../format";
import { colour } from "../palette";
import { Store } from "../state";

/** Return the file's folder, name and line. */
function place(frame: Frame): string {
  const name = frame.file.split("/").slice(-2).join("/");
  return frame.line ? `${name}:${frame.line}` : name;
}

function frames(title: string, list: Frame[]): HTMLElement[] {
  if (!list.length) return [];
  return [make("h3", {}, title), make("ol", { class: "frames" }, ...list.map((frame) =>
    make("li", { title: plain(frame.file) }, make("b", {}, plain(frame.function)), ` ${plain(place(frame))}`)))];
}

export class Details {
  private readonly fetch: () => void;

  constructor(private readonly place: HTMLElement, client: Client, private readonly store: Store,
              private readonly trace: Trace) {
    this.fetch = latest(async () => {
      const number = store.state.life;
      this.draw(number < 0 ? null : await client.life(number));
    });
  }

  update() {
    this.fetch();
  }

  private draw(life: Life | null) {
    if (!life) {
      this.place.replaceChildren(make("p", { class: "none" }, "Choose a block or a line to see all that is known of it."));
      return;
    }
    const category = this.trace.categories[life.category]!;
    const facts: [string, string][] = [
      ["size", `${size(life.bytes)} (${life.bytes.toLocaleString("en-US")} bytes)`],
      ["why", `${life.rule} (${life.certainty})`],
      ["allocated", `${time(life.born_ns)}, event ${life.born_event.toLocaleString("en-US")}, in ${life.phase}`],
      ["freed", life.ended_ns === null ? "not before the end of the trace"
        : `${time(life.ended_ns)}, after ${time(life.ended_ns - life.born_ns)}`],
      ["address", life.address], ["type", life.dtype], ["name", life.name ?? ""],
      ["operator", life.operator ?? ""], ["module", life.module],
    ];
    this.place.replaceChildren(
      make("h2", {}, make("span", { class: "swatch", style: `--colour:${colour(category.name)}` }), category.label),
      make("dl", {}, ...facts.filter(([, text]) => text).flatMap(([name, text]) =>
        [make("dt", {}, name), make("dd", {}, plain(text))])),
      make("button", { click: () => this.store.set({ at: life.born }) }, "Go to its allocation"),
      ...frames("Allocated by", life.stack), ...frames("In backward of", life.forward_stack));
  }
}
