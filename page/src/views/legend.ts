// SPDX-License-Identifier: Apache-2.0
// The timeline's groups with their bytes at the chosen moment; a click on a category filters all views.
import type { Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { count, part, size, time } from "../format";
import { colour, groupName } from "../palette";
import { Store } from "../state";

export class Legend {
  private readonly fetch: () => void;
  groups: string[] = []; // the timeline's

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
      const isCategory = store.state.stack === "category";
      const order = bytes.map((_, i) => i).filter((i) => bytes[i] || (isCategory && i === chosen))
        .sort((a, b) => bytes[b]! - bytes[a]!);
      place.replaceChildren(...order.map((i) => {
        const label = isCategory ? trace.categories[i]!.label : plain(this.groups[i] ?? "");
        const name = isCategory ? trace.categories[i]!.name : groupName(i);
        const text = [make("span", { class: "swatch", style: `--colour:${colour(name)}` }), `${label} `,
          make("b", {}, size(bytes[i]!)), ` ${part(bytes[i]!, sum)}`];
        return isCategory ? make("button", {
          class: "category", "aria-pressed": String(chosen === i), title: `show ${chosen === i ? "all categories" : `${label} only`}`,
          click: () => store.set({ category: store.state.category === i ? -1 : i }),
        }, ...text) : make("span", { class: "group" }, ...text);
      }));
    });
  }

  update() {
    this.fetch();
  }
}
