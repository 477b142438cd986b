// SPDX-License-Identifier: Apache-2.0
// Every event of the device in order. Only the rows in sight exist; a scroll bar stands for all of them.
import type { EventRow, Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { count, fixed, plural, size } from "../format";
import { swatch } from "../palette";
import { Store } from "../state";

const ROW = 22, HEIGHT = 440, SHOWN = HEIGHT / ROW; // CSS pixels
const MOST_PIXELS = 8e6; // browsers have a limit; of more rows the bar shows the proportion
const KINDS = ["allocated", "freed", "segment", "segment freed", "CUDA memory", "CUDA memory freed", "out of memory"];
const OOM = 6;
const HEADS = ["event", "time", "what", "bytes", "allocated", "line"];

export class EventsView {
  private readonly space = make("p", { role: "presentation" });
  private readonly rows = make("div", { role: "presentation" });
  private readonly list = make("div", { id: "events", role: "listbox", tabindex: 0, "aria-label": "events",
    scroll: () => this.scrolled(), wheel: (event: WheelEvent) => this.wheel(event), keydown: (event: KeyboardEvent) => this.key(event) }, this.rows, this.space);
  private readonly said = make("span", { class: "said", role: "status" });
  private n = 0;
  private top = 0; // the first row in sight; not whole while it scrolls
  private chosen = -1; // its row
  private at = -1; // the moment that it was found for
  private slot = -1;
  private known: EventRow[] = [];
  private first = 0; // the first known row
  private readonly fetch: () => void;
  private readonly read: () => void;

  constructor(place: HTMLElement, private readonly client: Client, private readonly store: Store, private readonly trace: Trace) {
    place.append(make("div", { class: "bar" }, this.said),
      make("div", { class: "event-heads", "aria-hidden": "true" }, ...HEADS.map((one) =>
        make("span", { class: /what|line/.test(one) ? "" : "number" }, one))), this.list);
    this.fetch = latest(async () => {
      const { slot, at } = store.state, { n, row } = await client.events(slot, at);
      this.n = n;
      this.known = [];
      this.space.style.height = `${Math.min(n * ROW, MOST_PIXELS)}px`;
      this.said.textContent = `${plural(n, "event")} of this device`;
      if (at !== this.at || slot !== this.slot) this.choose(row);
      this.at = at;
      this.slot = slot;
      this.draw();
    });
    this.read = latest(async () => {
      const first = Math.max(0, Math.floor(this.top) - 2 * SHOWN), { slot } = store.state;
      this.known = await client.eventRows(slot, first, 5 * SHOWN);
      this.first = first;
      this.draw();
    });
  }

  update() {
    this.fetch();
  }

  private get last() {
    return Math.max(this.n - SHOWN, 0);
  }

  /** Mark a row, and bring it into sight: into the middle if it was not. */
  private choose(row: number) {
    this.chosen = row;
    if (row < this.top || row > this.top + SHOWN - 1) this.go(Math.abs(row - this.top) < SHOWN + 2 ? (row < this.top ? row : row - SHOWN + 1) : row - SHOWN / 2);
  }

  /** Bring a row to the top; the scroll bar follows. */
  private go(top: number) {
    this.top = Math.min(Math.max(top, 0), this.last);
    this.list.scrollTop = this.top * this.pixels;
    this.draw();
  }

  /** What the bar scrolls for a row. */
  private get pixels() {
    return this.n * ROW <= MOST_PIXELS ? ROW : (MOST_PIXELS - HEIGHT) / this.last;
  }

  private scrolled() {
    const { scrollTop } = this.list;
    if (Math.abs(scrollTop - this.top * this.pixels) < 1.5) return; // our own doing
    this.top = scrollTop / this.pixels;
    this.draw();
  }

  /** Where the bar shows a proportion, the wheel still moves by rows. */
  private wheel(event: WheelEvent) {
    if (this.pixels === ROW || event.ctrlKey) return;
    event.preventDefault();
    this.go(this.top + event.deltaY / ROW);
  }

  private key(event: KeyboardEvent) {
    const by: { [key: string]: number } = { ArrowUp: -1, ArrowDown: 1, PageUp: -SHOWN, PageDown: SHOWN, Home: -this.n, End: this.n };
    const step = by[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(Math.min(Math.max(this.chosen + step, 0), this.n - 1));
    void this.show();
  }

  /** Show the chosen row's moment and block in the other views, once it is known. */
  private async show() {
    const row = this.chosen, one = this.known[row - this.first] ?? (await this.client.eventRows(this.slot, row, 1))[0];
    if (!one || row !== this.chosen) return;
    const device = this.trace.devices.find((each) => each.slot === this.slot)!;
    const is_after = one.life < 0 && one.kind !== OOM; // CUDA's memory is for the block that comes next
    this.at = Math.min(Math.max(one.life >= 0 || is_after ? one.moment : one.moment - 1, 0), device.moments - 1);
    this.store.set({ at: this.at, life: one.life });
    this.draw();
  }

  draw() {
    const from = Math.floor(this.top), to = Math.min(from + SHOWN + 1, this.n), end = this.first + this.known.length;
    if ((from < this.first || to > end) && this.n) {
      this.read();
      if (from >= end || to <= this.first) return; // the old rows stay for a moment
    }
    const rows: HTMLElement[] = [];
    for (let i = Math.max(from, this.first); i < Math.min(to, end); i++) rows.push(this.row(this.known[i - this.first]!, i));
    this.rows.replaceChildren(...rows);
    const chosen = this.chosen >= from && this.chosen < to ? `event-${this.chosen}` : "";
    if (chosen) this.list.setAttribute("aria-activedescendant", chosen);
    else this.list.removeAttribute("aria-activedescendant");
  }

  private row(one: EventRow, i: number): HTMLElement {
    const { category: only, search } = this.store.state, category = this.trace.categories[one.category];
    const is_pale = (only >= 0 && one.category !== only) || (search !== "" && !one.found);
    return make("div", { class: `event${one.kind === OOM ? " oom" : ""}${is_pale ? " dim" : ""}`, role: "option", id: `event-${i}`,
      "aria-selected": String(i === this.chosen), "aria-posinset": i + 1, "aria-setsize": this.n, style: `top:${(i - this.top) * ROW}px`,
      click: () => {
        this.choose(i);
        void this.show();
      } },
      make("span", { class: "number" }, count(one.event)), make("span", { class: "number" }, `${fixed(one.time_ns / 1e9, 6)} s`),
      make("span", {}, ...(category ? [swatch(category.name)] : []), KINDS[one.kind]!),
      make("span", { class: "number" }, size(one.bytes)), make("span", { class: "number" }, size(one.allocated)),
      make("span", { title: plain(one.line) }, plain(one.line)));
  }
}
