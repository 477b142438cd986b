// SPDX-License-Identifier: Apache-2.0
// Who holds memory at the chosen moment: an icicle of stacks, modules or operators. Each box is a
// button, so that a keyboard and a screen reader go through it as a pointer does.
import type { Node, Trace } from "../analyzer";
import { WHO, Who } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { part, plural, size } from "../format";
import { colour } from "../palette";
import { Store } from "../state";

const LABELS: { [by in Who]: string } = {
  python: "Python stack", native: "Python and native stack", callers: "Callers (innermost first)",
  module: "Module", operator: "Operator", line: "Category and line",
};
const ROW = 22, LEAST = 3; // CSS pixels

export class WhoView {
  private tree: Node | null = null;
  private path: Node[] = []; // from the root to the box that fills the width
  private readonly boxes = make("div", { class: "icicle", role: "tree", "aria-label": "who holds memory" });
  private readonly crumbs = make("div", { class: "crumbs" });
  private readonly fetch: () => void;

  constructor(private readonly place: HTMLElement, client: Client, private readonly store: Store,
              private readonly trace: Trace) {
    const choice = make("select", { "aria-label": "put together by",
      change: (event: Event) => store.set({ by: (event.target as HTMLSelectElement).value as Who }) });
    for (const by of WHO) choice.append(make("option", { value: by, selected: by === store.state.by }, LABELS[by]));
    place.append(make("div", { class: "bar" }, make("label", {}, "by ", choice), this.crumbs), this.boxes);
    this.fetch = latest(async () => {
      const { slot, by, at, since, category } = store.state;
      this.tree = await client.who(slot, by, at, since, category);
      this.path = [this.tree];
      this.draw();
    });
    let width = 0; // drawing may add a scroll bar, which changes the width
    new ResizeObserver(() => {
      if (place.clientWidth && place.clientWidth !== width) this.draw();
      width = place.clientWidth;
    }).observe(place);
    store.listen((state, changed) => {
      if (changed.has("by")) choice.value = state.by;
    });
  }

  update() {
    this.fetch();
  }

  draw() {
    if (!this.tree) return;
    const width = this.place.clientWidth - 4, top = this.path[this.path.length - 1]!;
    this.boxes.replaceChildren();
    this.crumbs.replaceChildren(...this.path.map((node, i) =>
      make("button", { class: "crumb", click: () => this.go(this.path.slice(0, i + 1)) },
        i ? plain(node.name) : `all: ${size(node.bytes)}`)));
    if (!top.bytes) {
      this.boxes.append(make("p", { class: "none" }, "Nothing is allocated here."));
      return;
    }
    const rows: HTMLElement[] = [];
    let deepest = 0;
    const put = (node: Node, path: Node[], left: number, pixels: number, depth: number) => {
      if (pixels < LEAST || depth > 200) return;
      deepest = Math.max(deepest, depth);
      rows.push(this.box(node, path, left, pixels, depth, top.bytes));
      let at = left;
      for (const child of node.children) {
        const wide = (child.bytes / top.bytes) * width;
        put(child, [...path, child], at, wide, depth + 1);
        at += wide;
      }
    };
    put(top, this.path, 0, width, 0);
    this.boxes.style.height = `${(deepest + 1) * ROW}px`;
    this.boxes.append(...rows);
  }

  private go(path: Node[]) {
    this.path = path;
    this.draw();
    this.boxes.querySelector<HTMLElement>("button")?.focus();
  }

  private box(node: Node, path: Node[], left: number, pixels: number, depth: number, whole: number) {
    const name = plain(node.name) || "(no name)", search = this.store.state.search.toLowerCase();
    const is_found = search !== "" && `${node.name} ${node.place}`.toLowerCase().includes(search);
    const title = `${name}${node.place ? `\n${plain(node.place)}` : ""}\n${size(node.bytes)}, ` +
      `${part(node.bytes, this.tree!.bytes)} of all, ${plural(node.blocks, "block")}`;
    return make("button", {
      class: `box${is_found ? " found" : ""}`, role: "treeitem", title,
      "aria-level": depth + 1,
      style: `left:${left}px;top:${depth * ROW}px;width:${Math.max(pixels - 1, 1)}px;` +
        `--colour:${colour(this.trace.categories[node.category]!.name)}`,
      click: () => this.go(path),
    }, pixels > 40 ? `${name} ${pixels > 160 ? `${size(node.bytes)} ${part(node.bytes, whole)}` : ""}` : "");
  }
}
