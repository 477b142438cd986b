// SPDX-License-Identifier: Apache-2.0
// The categories with their bytes at the chosen moment; each filters all views.
import type { Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make } from "../dom";
import { count, part, size, time } from "../format";
import { colour } from "../palette";
import { Store } from "../state";

export class Legend {
  private readonly fetch: () => void;

  constructor(place: HTMLElement, moment: HTMLElement, client: Client, store: Store, trace: Trace) {
    this.fetch = latest(async () => {
      const { slot, at, category: chosen } = store.state;
      const bands = await client.bands({ slot, is_time: false, from: at, to: at + 1, columns: 1 });
      const where = await client.moment(slot, false, at);
      const bytes = [...bands.numbers.slice(0, trace.categories.length)];
      const sum = bytes.reduce((a, b) => a + b, 0), reserved = bands.numbers[trace.categories.length + 1]!;
      const spans = trace.spans[slot] ?? [];
      const span = spans.filter((one) => one.moment <= at).pop();
      moment.textContent = `${size(sum)} allocated` + (reserved ? `, ${size(reserved)} reserved` : "") +
        ` at ${time(where.time_ns)}, event ${count(where.event)}` +
        (span ? `, ${span.phase}${span.iteration ? ` of iteration ${span.iteration}` : ""}` : "");
      const order = trace.categories.map((_, i) => i).filter((i) => bytes[i] || i === chosen)
        .sort((a, b) => bytes[b]! - bytes[a]!);
      place.replaceChildren(...order.map((i) => make("button", {
        class: "category", "aria-pressed": String(chosen === i),
        title: `show ${chosen === i ? "all categories" : `${trace.categories[i]!.label} only`}`,
        click: () => store.set({ category: store.state.category === i ? -1 : i }),
      }, make("span", { class: "swatch", style: `--colour:${colour(trace.categories[i]!.name)}` }),
        `${trace.categories[i]!.label} `, make("b", {}, size(bytes[i]!)), ` ${part(bytes[i]!, sum)}`)));
    });
  }

  update() {
    this.fetch();
  }
}
