// SPDX-License-Identifier: Apache-2.0
// Who holds memory at the chosen moment: an icicle of stacks, modules or operators; or what kept it alive at the moment
// that the report describes. Each box is a button, so that a keyboard and a screen reader go through it as a pointer does.
import type { Node, Trace } from "../analyzer";
import { WHO, Who } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { doubt, part, plural, size, time } from "../format";
import { colour } from "../palette";
import { sandwich } from "../sandwich";
import { Store, counted } from "../state";

const LABELS: { [by in Who]: string } = {
  python: "Python stack", native: "Python and native stack", callers: "Inverted: innermost first",
  module: "Module", operator: "Operator", line: "Category and line",
};
const STACKS: Who[] = ["python", "native", "callers"];
const ROW = 22, LEAST = 3; // CSS pixels

export class WhoView {
  private tree: Node | null = null;
  private path: Node[] = []; // from the root to the box that fills the width
  private is_sandwich = false; // the path's end with all its callers and all it calls
  private readonly boxes: HTMLElement;
  private readonly crumbs = make("div", { class: "crumbs" });
  private readonly said = make("span", { class: "said" });
  private readonly both = make("button", { title: "all calls of the selected frame: callers above, callees below",
    click: () => {
      this.is_sandwich = !this.is_sandwich;
      this.draw();
    } }, "Sandwich");
  private readonly fetch: () => void;

  constructor(private readonly place: HTMLElement, client: Client, private readonly store: Store,
              private readonly trace: Trace, private readonly isHeld = false) {
    this.boxes = make("div", { class: "icicle", role: "tree", "aria-label": isHeld ? "what keeps memory alive" : "who holds memory" });
    const choice = make("select", { "aria-label": "grouped by",
      change: (event: Event) => store.set({ by: (event.target as HTMLSelectElement).value as Who }) });
    for (const by of WHO) choice.append(make("option", { value: by, selected: by === store.state.by }, LABELS[by]));
    const whole = make("input", { type: "checkbox", checked: store.state.is_whole, change: (event: Event) =>
      store.set({ is_whole: (event.target as HTMLInputElement).checked }) });
    const label = make("label", { title: "frames of PyTorch and other libraries between your own" }, whole, " library frames");
    place.append(make("div", { class: "bar" }, ...(isHeld ? [] : [make("label", {}, "by ", choice), label, this.both]), this.crumbs, this.said), this.boxes);
    this.fetch = latest(async () => {
      const { slot, by, at, since, category, is_whole } = store.state, is_stack = STACKS.includes(by);
      if (isHeld) {
        const held = await client.held(slot, category);
        this.tree = { bytes: 0, blocks: 0, children: [], ...held, name: "all", place: "", found: 1, category: held?.children[0]?.category ?? 0, certainty: "" };
        this.said.textContent = held ? `known for ${held.bytes === held.live ? "all" : `${size(held.bytes)} of the`} ${size(held.live)} live at ${time(held.time_ns)}` : "";
        this.path = [this.tree];
        this.draw();
        return;
      }
      label.hidden = !is_stack || by === "native";
      this.tree = await client.who(slot, by, at, since, category, !is_whole && by !== "native");
      this.path = [this.tree];
      this.is_sandwich = false;
      this.draw();
    });
    let width = 0; // drawing may add a scroll bar, which changes the width
    new ResizeObserver(() => {
      if (place.clientWidth && place.clientWidth !== width) this.draw();
      width = place.clientWidth;
    }).observe(place);
    store.listen((state, changed) => {
      if (changed.has("by")) choice.value = state.by;
      if (changed.has("is_whole")) whole.checked = state.is_whole;
    });
  }

  update() {
    this.fetch();
  }

  draw() {
    if (!this.tree) return;
    const width = this.place.clientWidth - 4, top = this.path[this.path.length - 1]!;
    this.boxes.replaceChildren();
    this.both.hidden = !STACKS.includes(this.store.state.by) || this.path.length < 2;
    this.both.setAttribute("aria-pressed", String(this.is_sandwich));
    this.crumbs.replaceChildren(...this.path.map((node, i) =>
      make("button", { class: "crumb", title: plain(node.name), click: () => this.go(this.path.slice(0, i + 1)) },
        i ? plain(node.name) : `all: ${size(node.bytes)}`)));
    if (!this.isHeld) this.said.textContent = counted(this.store.state);
    if (!top.bytes) {
      this.boxes.append(make("p", { class: "none" }, this.isHeld ? "No holders are known here." : "Nothing is allocated here."));
      return;
    }
    const rows: HTMLElement[] = [];
    const put = (node: Node, path: Node[] | null, left: number, pixels: number, depth: number, whole: number, down: 1 | -1): number => {
      if (pixels < LEAST || Math.abs(depth) > 200) return depth - down;
      let deepest = depth;
      rows.push(this.box(node, path, left, pixels, depth, whole));
      let at = left;
      for (const child of node.children) {
        const wide = (child.bytes / whole) * width;
        const end = put(child, path && [...path, child], at, wide, depth + down, whole, down);
        deepest = down > 0 ? Math.max(deepest, end) : Math.min(deepest, end);
        at += wide;
      }
      return deepest;
    };
    let highest = 0, deepest: number;
    if (this.is_sandwich) {
      const { callers, callees } = sandwich(this.tree, top);
      for (let at = 0, i = 0; i < callers.children.length; i++) {
        const wide = (callers.children[i]!.bytes / callers.bytes) * width;
        highest = Math.min(highest, put(callers.children[i]!, null, at, wide, -1, callers.bytes, -1));
        at += wide;
      }
      deepest = put(callees, null, 0, width, 0, callees.bytes, 1);
    } else deepest = put(top, this.path, 0, width, 0, top.bytes, 1);
    for (const row of rows) row.style.top = `${(Number(row.dataset["depth"]) - highest) * ROW}px`;
    this.boxes.style.height = `${(deepest - highest + 1) * ROW}px`;
    this.boxes.append(...rows);
  }

  private matches(node: Node): boolean {
    const search = this.store.state.search.toLowerCase();
    return search !== "" && `${node.name} ${node.place}`.toLowerCase().includes(search);
  }

  private go(path: Node[]) {
    this.path = path;
    this.is_sandwich = false;
    this.draw();
    this.boxes.querySelector<HTMLElement>("button")?.focus();
  }

  /** path: null: a click leads nowhere */
  private box(node: Node, path: Node[] | null, left: number, pixels: number, depth: number, whole: number) {
    const category = this.trace.categories[node.category]!, is_named = node.name === category.label && /^(category)?$/.test(node.place);
    const name = (plain(node.name) || "(no name)") + (is_named ? doubt(node.certainty) : ""), place = plain(node.place);
    const is_found = this.matches(node), is_dim = this.store.state.search !== "" && !node.found;
    const title = `${name}${place ? `\n${place}` : ""}\n${size(node.bytes)}, ` +
      `${part(node.bytes, this.tree!.bytes)} of total, ${plural(node.blocks, "block")}` +
      ((node.only ?? node.bytes) < node.bytes ? `, ${size(node.bytes - node.only!)} also held elsewhere` : "") +
      (is_named || (this.isHeld && node.life === undefined) ? "" : `\nmostly ${category.label}${doubt(node.certainty)}`);
    return make("button", {
      class: `box${is_found ? " found" : is_dim ? " dim" : ""}`, role: "treeitem", title,
      "aria-level": Math.abs(depth) + 1, "data-depth": depth,
      style: `left:${left}px;width:${Math.max(pixels - 1, 1)}px;` +
        `--colour:${this.isHeld && place ? "var(--bad)" : colour(category.name)}`,
      click: () => {
        if (path) this.go(path);
        if (node.life !== undefined) this.store.set({ life: node.life });
      },
    }, pixels > 40 ? `${this.isHeld && place ? `${place}: ` : ""}${name}${!this.isHeld && place && pixels > 110 ? ` ${place}` : ""} ${pixels > 220 ? `${size(node.bytes)} ${part(node.bytes, whole)}` : ""}` : "");
  }
}
