// SPDX-License-Identifier: Apache-2.0
// The timeline's groups with their bytes at the chosen moment; a click on a category filters all views. Below them,
// what happened since the other chosen moment.
import type { Between, Device, Row, Trace } from "../analyzer";
import { bounded } from "../chart";
import { Client, latest } from "../client";
import { byId, make, plain } from "../dom";
import { change, count, doubt, part, plural, size, time } from "../format";
import { groupName, swatch } from "../palette";
import { Store, before, counted } from "../state";

const UNNEEDED = "hatched: no recorded kernel, copy or fill uses it then; it is freed late, allocated early or unused for long";
const LINES = 3; // that a range names; Who and Table have all

const total = (bytes: number[]) => bytes.reduce((a, b) => a + b, 0);

export class Legend {
  private readonly fetch: () => void;
  private drawn = new Set<number>(); // groups in the shown range
  groups: string[] = []; // the timeline's
  private places: number[] = []; // of their colours
  nFound = 0; // blocks in the trace that the search found

  constructor(private readonly place: HTMLElement, moment: HTMLElement, private readonly client: Client, private readonly store: Store,
              private readonly trace: Trace, private readonly device: () => Device) {
    this.fetch = latest(async () => {
      const { slot, at, since, category, search, is_needed } = store.state, range = { slot, is_time: false, from: at, to: at + 1, columns: 1 };
      const [bands, where, certainties, found, rows, between, idle] = await Promise.all([client.bands(range), client.moment(slot, false, at),
        client.certainties(slot, at), search ? client.found(range) : null, search ? client.table(slot, at, since, category, true) : [],
        since ? client.between(slot, since, at) : null, device().idle ? client.unneeded(range) : []]);
      const bytes = [...bands.numbers.slice(0, trace.categories.length)];
      const sum = total(bytes), spare = total([...idle]), reserved = bands.numbers[trace.categories.length + 1]!;
      const spans = trace.spans[slot] ?? [];
      const span = spans.filter((one) => one.moment <= at).pop();
      moment.textContent = (is_needed ? `${size(sum)} needed of ${size(sum + spare)} allocated` : `${size(sum)} allocated`) + (reserved ? `, ${size(reserved)} reserved` : "") +
        ` at ${time(where.time_ns)}, event ${count(where.event)}` +
        (span ? `, in ${span.where}` : "") + this.failed();
      if (between) this.list(between.left, total(between.left), certainties, null);
      else this.list(bytes, sum, certainties, found);
      if (device().idle && !is_needed) this.place.append(make("span", { class: "group", title: UNNEEDED }, swatch("idle"),
        make("span", { class: "label" }, "not needed"), ...(since ? [] : [" ", make("b", {}, size(spare)), ` ${part(spare, sum)}`])));
      byId("found").textContent = search ? `${plain(search)}: ${this.foundText(rows)}` : "";
      await this.range(between);
    });
  }

  /** Say what the search found, by the rows that are selected. */
  private foundText(rows: Row[]): string {
    if (!rows.length) return this.nFound ? "not in this selection, but elsewhere in the trace" : "not found";
    return `${size(total(rows.map((row) => row.bytes)))} in ${plural(new Set(rows.map((row) => row.line)).size, "line")}`;
  }

  label(group: number): string {
    const { stack } = this.store.state;
    return stack === "category" || stack === "block" ? this.trace.categories[group]?.label ?? "" : plain(this.groups[group] ?? "");
  }

  /** Set the timeline's groups. Those with the most bytes at the peak have colours, the smallest and all others are grey. */
  setGroups(names: string[], atPeak: number[]) {
    const last = atPeak.length - 1;
    this.groups = names;
    atPeak.map((_, i) => i).sort((a, b) => Number(a === last) - Number(b === last) || atPeak[b]! - atPeak[a]! || a - b)
      .forEach((group, place) => (this.places[group] = place));
  }

  /** Return a group's name in the palette. */
  look(group: number): string {
    const { stack } = this.store.state;
    return stack === "category" || stack === "block" ? this.trace.categories[group]!.name : groupName(this.places[group] ?? group);
  }

  /** Name the request that failed right after the chosen moment; "": none did. */
  private failed(): string {
    const { slot, at } = this.store.state, oom = this.trace.ooms.find((one) => one.slot === slot && before(one, this.device()) === at);
    return oom ? `; then ${size(oom.requested)}${oom.line && ` by ${plain(oom.line)}`} failed` : "";
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
    this.place.replaceChildren(make("span", { class: "said" }, `${counted(store.state)}:`), ...order.map((i) => {
      const label = this.label(i);
      const text = [swatch(this.look(i)), make("span", { class: "label" }, label), isCategory && bytes[i] ? doubt(certainties[i]!) : "", " ",
        make("b", {}, size(bytes[i]!)), ` ${part(bytes[i]!, sum)}`];
      const look = !bytes[i] ? " absent" : found && !found[i] ? " dim" : "", hint = bytes[i] ? "" : "nothing here";
      return isCategory ? make("button", {
        class: `category${look}`, "aria-pressed": String(chosen === i), title: hint || `show ${chosen === i ? "all categories" : `${label} only`}`,
        click: () => store.set({ category: store.state.category === i ? -1 : i }),
      }, ...text) : make("span", { class: `group${look}`, title: hint }, ...text);
    }));
  }

  /** Report what happened between the two selected moments. */
  private async range(what: Between | null) {
    const { slot, since, at, is_time } = this.store.state, place = byId("range");
    place.hidden = !since;
    if (place.hidden || !what) return;
    const [rows, from, to] = await Promise.all([this.client.table(slot, at, since, -1),
      this.client.moment(slot, false, since), this.client.moment(slot, false, at)]);
    if (this.store.state.since !== since || this.store.state.at !== at) return;
    const most = rows.slice(0, LINES).map((row) => `${size(row.bytes)} ${plain(row.line)}`).join("; ");
    const ends = is_time ? [from.time_ns, to.time_ns] as const : [since, at + 1] as const;
    place.replaceChildren(`From event ${count(from.event)} to ${count(to.event)}, ${time(to.time_ns - from.time_ns)}: `,
      make("b", {}, `${size(what.allocated)} allocated`), ` (${plural(what.allocations, "block")}), `,
      make("b", {}, `${size(what.freed)} freed`), ` (${count(what.frees)}), net `, make("b", {}, change(what.allocated - what.freed)),
      make("span", {}, `. ${size(total(what.left))} of it is still live${most ? `: ${most}${rows.length > LINES ? `; ${count(rows.length - LINES)} more in Table` : ""}` : ""}. `),
      make("button", { class: "link", title: "zoom to this range (z)", click: () =>
        this.store.set(bounded(this.device(), is_time, ...ends)) }, "Zoom in"), " ",
      make("button", { class: "link", title: "clear the range (Esc)", click: () => this.store.set({ since: 0 }) }, "Undo"));
  }

  update() {
    this.fetch();
  }
}
