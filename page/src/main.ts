// SPDX-License-Identifier: Apache-2.0
// The page: finds the traces that it carries or is given, opens one, and joins the views.
import type { Bands, Device, Trace } from "./analyzer";
import type { Files } from "./wasi";
import { Client, connect } from "./client";
import { byId, make, plain } from "./dom";
import { part, plural, size } from "./format";
import { bounded, pan, zoom } from "./chart";
import { Change, State, Store, TABS, Tab, read, whole } from "./state";
import { AddressMap } from "./views/address-map";
import { Blocks } from "./views/blocks";
import { Details } from "./views/details";
import { Legend } from "./views/legend";
import { showNumbers } from "./views/numbers";
import { TableView } from "./views/table";
import { Timeline } from "./views/timeline";
import { WhoView } from "./views/who";
import { help } from "./views/help";

declare global {
  interface Window { memtap: { report: () => unknown }; }
}

const TAB_LABELS: { [tab in Tab]: string } = {
  blocks: "Blocks over time", map: "Address map", who: "Who", table: "Table", report: "Report",
};

function fail(why: string) {
  document.documentElement.dataset["state"] = "error";
  byId("message").textContent = plain(why);
  byId("message").hidden = false;
  byId("drop").hidden = false;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const quick = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (quick) return quick.call(Uint8Array, text);
  const characters = atob(text.trim()), out = new Uint8Array(characters.length);
  for (let i = 0; i < out.length; i++) out[i] = characters.charCodeAt(i);
  return out;
}

async function bytesOf(text: string, compressed: boolean): Promise<Uint8Array> {
  const raw = fromBase64(text);
  if (!compressed) return raw;
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function start(): Promise<Client> {
  if (typeof WebAssembly !== "object")
    throw new Error("This browser has no WebAssembly. The command memtap report shows the same numbers as text.");
  const source = byId("worker").textContent ?? "";
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(url);
  const analyzer = await bytesOf(byId("analyzer").textContent ?? "", true);
  worker.postMessage(await WebAssembly.compile(analyzer as BufferSource));
  return connect(worker);
}

function carried(): HTMLScriptElement[] {
  return [...document.querySelectorAll<HTMLScriptElement>("script[data-trace]")];
}

/** A trace's files: itself, its tail, and older segments, by name. */
async function given(list: File[]): Promise<[string, Files]> {
  const files: Files = {};
  for (const file of list) files[file.name] = new Uint8Array(await file.arrayBuffer());
  const name = list.map((file) => file.name).find((one) => !one.endsWith(".tail")) ?? list[0]!.name;
  return [name, files];
}

class Page {
  private readonly store: Store;
  private readonly timeline: Timeline;
  private readonly blocks: Blocks;
  private readonly map: AddressMap;
  private readonly views: { [tab in Tab]: { update(): void } | null };
  private readonly legend: Legend;
  private readonly details: Details;

  /** the first picture */
  readonly drawn: Promise<void>;

  /** over: when another trace is opened */
  constructor(private readonly client: Client, private readonly trace: Trace, private readonly over: AbortSignal) {
    const find = () => this.device();
    this.store = new Store(read(location.hash, trace));
    this.timeline = new Timeline(byId("timeline"), client, this.store, trace, find, (event, column, bands) =>
      this.tip(event, this.columnText(column, bands)));
    this.blocks = new Blocks(byId("blocks"), client, this.store, trace, find, () => this.timeline.most,
      (event, found) => this.tip(event, found ? `${size(found.bytes)}\nclick for its stack` : ""));
    this.map = new AddressMap(byId("panel-map"), client, this.store, trace, find, (event, text) => this.tip(event, text), over);
    this.legend = new Legend(byId("legend"), byId("moment"), client, this.store, trace);
    this.details = new Details(byId("details"), client, this.store, trace);
    byId("panel-report").append(make("pre", { tabindex: 0 }, trace.text));
    this.views = {
      blocks: this.blocks,
      map: this.map,
      who: new WhoView(byId("panel-who"), client, this.store, trace),
      table: new TableView(byId("panel-table"), client, this.store, trace),
      report: null,
    };
    this.bar();
    this.tabs();
    this.keys();
    this.store.listen((state, changed) => this.changed(state, changed));
    for (const id of ["timeline", "blocks"])
      byId(id).addEventListener("pointerleave", () => (byId("tip").hidden = true));
    window.addEventListener("resize", () => this.all(), { signal: over });
    window.addEventListener("hashchange", () => this.store.set(read(location.hash, trace)), { signal: over });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.all(), { signal: over });
    byId<HTMLDetailsElement>("numbers").addEventListener("toggle", () => this.numbers());
    this.drawn = this.timeline.first;
    this.all();
  }

  private device(): Device {
    return this.trace.devices.find((one) => one.slot === this.store.state.slot)!;
  }

  private columnText(column: number, bands: Bands): string {
    const at = column * bands.fields, n = this.trace.categories.length;
    const bytes = [...bands.numbers.slice(at, at + n)], sum = bytes.reduce((a, b) => a + b, 0);
    const lines = bytes.map((one, i) => [one, this.trace.categories[i]!.label] as const).filter(([one]) => one)
      .sort((a, b) => b[0] - a[0]).slice(0, 6).map(([one, label]) => `${size(one)} ${label}, ${part(one, sum)}`);
    const least = bands.numbers[at + n + 2]!;
    return [`${size(sum)} allocated` + (least < sum ? ` (down to ${size(least)} in this column)` : ""), ...lines].join("\n");
  }

  private tip(event: PointerEvent, text: string) {
    const tip = byId("tip");
    tip.hidden = !text;
    tip.textContent = text;
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 8)}px`;
  }

  private bar() {
    const { trace, store } = this;
    const devices = make("select", { "aria-label": "device", change: (event: Event) => {
      const device = trace.devices.find((one) => one.slot === Number((event.target as HTMLSelectElement).value))!;
      store.set({ slot: device.slot, ...whole(device, store.state.is_time), at: device.peak, since: 0, life: -1 });
    } }, ...trace.devices.map((one) => make("option", { value: one.slot, selected: one.slot === store.state.slot },
      one.device < 0 ? "device unknown" : `device ${one.device}`)));
    const axis = make("button", { id: "axis", click: () => void this.turnAxis() }, store.state.is_time ? "by time" : "by event");
    const search = make("input", { type: "search", id: "search", placeholder: "search (/)", "aria-label": "search",
      value: store.state.search, input: (event: Event) => store.set({ search: (event.target as HTMLInputElement).value }) });
    const button = (label: string, title: string, click: () => void) => make("button", { title, click }, label);
    byId("bar").append(...(trace.devices.length > 1 ? [devices] : []), axis,
      button("Whole run", "show all (0)", () => store.set(whole(this.device(), store.state.is_time))),
      button("Peak", "go to the peak (p)", () => store.set({ at: this.device().peak })),
      search,
      button("Save picture", "the timeline as PNG", () => this.picture()),
      button("?", "keys and hints", () => byId<HTMLDialogElement>("help").showModal()));
  }

  private picture() {
    make("a", { href: byId<HTMLCanvasElement>("timeline").toDataURL("image/png"), download: "memtap.png" }).click();
  }

  private async turnAxis() {
    const { state } = this.store, device = this.device();
    const other = async (x: number) => state.is_time
      ? (await this.client.moment(state.slot, true, x)).moment : this.client.momentNs(state.slot, Math.floor(x));
    const range = bounded(device, !state.is_time, await other(state.from), await other(state.to));
    this.store.set({ is_time: !state.is_time, ...range });
    byId("axis").textContent = this.store.state.is_time ? "by time" : "by event";
  }

  private tabs() {
    byId("tabs").append(...TABS.map((tab) => make("button", {
      role: "tab", id: `tab-${tab}`, "aria-controls": `panel-${tab}`, click: () => this.store.set({ tab }),
      keydown: (event: KeyboardEvent) => {
        const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!by) return;
        event.stopPropagation();
        const next = TABS[(TABS.indexOf(tab) + by + TABS.length) % TABS.length]!;
        this.store.set({ tab: next });
        byId(`tab-${next}`).focus();
      },
    }, TAB_LABELS[tab])));
    for (const tab of TABS) byId(`panel-${tab}`).setAttribute("aria-labelledby", `tab-${tab}`);
    this.showTab(this.store.state.tab);
  }

  private showTab(chosen: Tab) {
    for (const tab of TABS) {
      byId(`panel-${tab}`).hidden = tab !== chosen;
      const button = byId(`tab-${tab}`);
      button.setAttribute("aria-selected", String(tab === chosen));
      button.tabIndex = tab === chosen ? 0 : -1;
    }
  }

  private keys() {
    help(byId("help"));
    const device = () => this.device(), store = this.store;
    const step = (by: number) => store.set({ at: Math.min(Math.max(store.state.at + by, 0), device().moments - 1) });
    const actions: { [key: string]: () => void } = {
      w: () => zoom(store, device(), 0.7), s: () => zoom(store, device(), 1 / 0.7),
      a: () => pan(store, device(), -0.15), d: () => pan(store, device(), 0.15),
      ArrowLeft: () => step(-1), ArrowRight: () => step(1),
      PageUp: () => step(-100), PageDown: () => step(100),
      "0": () => store.set(whole(device(), store.state.is_time)),
      p: () => store.set({ at: device().peak }), t: () => void this.turnAxis(),
      Escape: () => store.set({ category: -1, since: 0, life: -1, search: "" } as Change),
      " ": () => this.store.state.tab === "map" && this.map.turn(),
      "/": () => byId("search").focus(), "?": () => byId<HTMLDialogElement>("help").showModal(),
    };
    TABS.forEach((tab, i) => (actions[String(i + 1)] = () => store.set({ tab })));
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      const types = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
      if (event.ctrlKey || event.metaKey || event.altKey || byId<HTMLDialogElement>("help").open) return;
      if (types && event.key !== "Escape") return;
      if (event.key === " " && target instanceof HTMLButtonElement) return; // it presses the button
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action) return;
      event.preventDefault();
      if (types) target.blur();
      action();
    }, { signal: this.over });
  }

  private numbers() {
    if (byId<HTMLDetailsElement>("numbers").open)
      void showNumbers(byId("numbers").querySelector("div")!, this.client, this.store.state, this.trace);
  }

  private all() {
    this.timeline.update();
    this.legend.update();
    this.details.update();
    this.views[this.store.state.tab]?.update();
  }

  private changed(state: State, changed: Set<keyof State>) {
    const has = (...keys: (keyof State)[]) => keys.some((key) => changed.has(key));
    if (has("tab")) this.showTab(state.tab);
    if (has("slot", "is_time", "from", "to")) this.timeline.update();
    else if (has("at", "since", "category")) this.timeline.draw();
    if (has("slot", "at", "category")) this.legend.update();
    if (has("life")) this.details.update();
    if (has("search")) byId<HTMLInputElement>("search").value = state.search;
    const range = has("slot", "is_time", "from", "to", "category"), list = has("slot", "at", "since", "category", "by");
    if (has("tab") || (state.tab === "blocks" ? range : list)) this.views[state.tab]?.update();
    else if (state.tab === "blocks" && has("life")) this.blocks.draw();
    if (has("search", "life")) (this.views[state.tab] as { draw?: () => void } | null)?.draw?.();
    if (range) this.numbers();
  }
}

function title(trace: Trace): string {
  const process = trace.report["process"] as { [key: string]: unknown } | undefined;
  return plain(String(process?.["command"] ?? process?.["cmdline"] ?? trace.name));
}

let shown: AbortController | null = null;
let empty: HTMLElement; // the views before a trace was opened

async function open(client: Client, name: string, files: Files) {
  document.documentElement.dataset["state"] = "loading";
  shown?.abort();
  shown = new AbortController();
  byId("views").replaceWith(empty.cloneNode(true));
  byId("help").replaceChildren();
  const trace = await client.open(name, files);
  byId("title").textContent = title(trace);
  document.title = `${plain(trace.name)} – memtap`;
  byId("headline").replaceChildren(...trace.headline.map((line) => make("p", {}, plain(line))));
  window.memtap = { report: () => trace.report };
  byId("message").textContent = plain(trace.fault);
  byId("message").hidden = !trace.fault;
  byId("drop").hidden = true;
  if (trace.devices.length) {
    byId("views").hidden = false;
    await new Page(client, trace, shown.signal).drawn;
  } else {
    byId("message").textContent = `${plural(0, "allocation")} of GPU memory in this trace. ${plain(trace.fault)}`;
    byId("message").hidden = false;
  }
  requestAnimationFrame(() => (document.documentElement.dataset["state"] = "ready"));
}

async function main() {
  empty = byId("views").cloneNode(true) as HTMLElement;
  const client = await start(); // while the traces are still being loaded
  if (document.readyState === "loading")
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
  const files: Files = {};
  for (const script of carried()) files[script.dataset["trace"]!] = await bytesOf(script.textContent ?? "", false);
  const names = Object.keys(files).filter((one) => !/\.(tail|0)$/.test(one));
  const take = (list: File[]) => {
    if (list.length) void given(list).then(([one, all]) => open(client, one, all)).catch((error: Error) => fail(error.message));
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    take([...(event.dataTransfer?.files ?? [])]);
  });
  byId<HTMLInputElement>("file").addEventListener("change", (event) =>
    take([...((event.target as HTMLInputElement).files ?? [])]));
  if (names.length > 1)
    byId("traces").append(make("label", {}, "trace ", make("select", { change: (event: Event) => {
      history.replaceState(null, "", "#");
      void open(client, (event.target as HTMLSelectElement).value, files).catch((error: Error) => fail(error.message));
    } }, ...names.map((one) => make("option", { value: one }, plain(one))))));
  if (names.length) {
    await open(client, names[0]!, files);
    return;
  }
  byId("message").hidden = true;
  byId("drop").hidden = false;
  document.documentElement.dataset["state"] = "ready";
}

window.addEventListener("unhandledrejection", (event) => fail(String((event.reason as Error)?.message ?? event.reason)));
main().catch((error: Error) => fail(error.message));
