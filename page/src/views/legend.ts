// SPDX-License-Identifier: Apache-2.0
// The timeline's groups with their bytes at the chosen moment; a click on a category filters all views. Below them,
// what happened since the other chosen moment.
import type { Device, Trace } from "../analyzer";
import { bounded } from "../chart";
import { Client, latest } from "../client";
import { byId, make, plain } from "../dom";
import { change, count, doubt, part, plural, size, time } from "../format";
import { colour, groupName } from "../palette";
import { Store } from "../state";

const LINES = 3; // that a range names; Who and Table have all

export class Legend {
  private readonly fetch: () => void;
  private drawn = new Set<number>(); // groups in the shown range
  groups: string[] = []; // the timeline's

  constructor(private readonly place: HTMLElement, moment: HTMLElement, private readonly client: Client, private readonly store: Store,
              private readonly trace: Trace, private readonly device: () => Device) {
    this.fetch = latest(async () => {
      const { slot, at, search } = store.state, range = { slot, is_time: false, from: at, to: at + 1, columns: 1 };
      const [bands, where, certainties, found] = await Promise.all([client.bands(range), client.moment(slot, false, at),
        client.certainties(slot, at), search ? client.found(range) : null]);
      const bytes = [...bands.numbers.slice(0, trace.categories.length)];
      const sum = bytes.reduce((a, b) => a + b, 0), reserved = bands.numbers[trace.categories.length + 1]!;
      const spans = trace.spans[slot] ?? [];
      const span = spans.filter((one) => one.moment <= at).pop();
      moment.textContent = `${size(sum)} allocated` + (reserved ? `, ${size(reserved)} reserved` : "") +
        ` at ${time(where.time_ns)}, event ${count(where.event)}` +
        (span ? `, in ${span.where}` : "");
      this.list(bytes, sum, certainties, found);
      if (found && (store.state.tab === "map" || store.state.tab === "report")) { // the other views count their own rows
        const bytes_found = found.reduce((a, b) => a + b, 0);
        byId("found").textContent = `${size(bytes_found)} found at the selected moment${sum ? `, ${part(bytes_found, sum)}` : ""}`;
      }
      await this.range();
    });
  }

  label(group: number): string {
    const { stack } = this.store.state;
    return stack === "category" || stack === "block" ? this.trace.categories[group]?.label ?? "" : plain(this.groups[group] ?? "");
  }

  /** Set the groups in the shown range: those without bytes at the chosen moment are listed, too. */
  setDrawn(groups: Set<number>) {
    if (groups.size === this.drawn.size && [...groups].every((one) => this.drawn.has(one))) return;
    this.drawn = groups;
    this.fetch();
  }

  private list(bytes: number[], sum: number, certainties: string[], found: Float64Array | null) {
    const { store, trace } = this, { stack, category: chosen } = store.state;
    const isCategory = stack === "category" || stack === "block", others = isCategory ? -1 : trace.categories.length - 1;
    const order = bytes.map((_, i) => i).filter((i) => bytes[i] || this.drawn.has(i) || (isCategory && i === chosen))
      .sort((a, b) => Number(a === others) - Number(b === others) || bytes[b]! - bytes[a]!);
    this.place.replaceChildren(...order.map((i) => {
      const label = this.label(i), name = isCategory ? trace.categories[i]!.name : groupName(i);
      const text = [make("span", { class: "swatch", style: `--colour:${colour(name)}` }), make("span", { class: "label" }, label), isCategory && bytes[i] ? doubt(certainties[i]!) : "", " ",
        make("b", {}, size(bytes[i]!)), ` ${part(bytes[i]!, sum)}`];
      const look = !bytes[i] ? " absent" : found && !found[i] ? " dim" : "", hint = bytes[i] ? "" : "not allocated at the selected moment";
      return isCategory ? make("button", {
        class: `category${look}`, "aria-pressed": String(chosen === i), title: hint || `show ${chosen === i ? "all categories" : `${label} only`}`,
        click: () => store.set({ category: store.state.category === i ? -1 : i }),
      }, ...text) : make("span", { class: `group${look}`, title: hint }, ...text);
    }));
  }

  /** Report what happened between the two selected moments. */
  private async range() {
    const { slot, since, at, is_time } = this.store.state, place = byId("range");
    place.hidden = !since;
    if (place.hidden) return;
    const [what, rows, from, to] = await Promise.all([this.client.between(slot, since, at), this.client.table(slot, at, since, -1),
      this.client.moment(slot, false, since), this.client.moment(slot, false, at)]);
    if (this.store.state.since !== since || this.store.state.at !== at) return;
    const most = rows.slice(0, LINES).map((row) => `${size(row.bytes)} ${plain(row.line)}`).join("; ");
    const ends = is_time ? [from.time_ns, to.time_ns] as const : [since, at + 1] as const;
    place.replaceChildren(`From event ${count(from.event)} to ${count(to.event)}, ${time(to.time_ns - from.time_ns)}: `,
      make("b", {}, `${size(what.allocated)} allocated`), ` (${plural(what.allocations, "block")}), `,
      make("b", {}, `${size(what.freed)} freed`), ` (${count(what.frees)}), net `, make("b", {}, change(what.allocated - what.freed)),
      make("span", {}, `. ${size(what.left)} of it is still live${most ? `: ${most}${rows.length > LINES ? `; ${count(rows.length - LINES)} more in Table` : ""}` : ""}. `),
      make("button", { class: "link", title: "zoom to this range (z)", click: () =>
        this.store.set(bounded(this.device(), is_time, ...ends)) }, "Zoom in"), " ",
      make("button", { class: "link", title: "clear the range (Esc)", click: () => this.store.set({ since: 0 }) }, "Undo"));
  }

  update() {
    this.fetch();
  }
}
