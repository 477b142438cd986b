// SPDX-License-Identifier: Apache-2.0
// The page: finds the traces that it carries or is given, opens one, and joins the views.
import { Client, latest } from "./client";
import type { Device, Stack, Trace } from "./analyzer";
import { STACKS } from "./analyzer";
import { byId, make, plain, write } from "./dom";
import { plural } from "./format";
import { bounded, go, pan, zoom } from "./chart";
import { LiveRun } from "./live";
import { pictureButtons } from "./picture";
import { onPrint } from "./print";
import { Run, carried, given } from "./runs";
import { Several } from "./several";
import { Change, State, Store, TABS, Tab, address, read, tabsOf, whole } from "./state";
import { AddressMap } from "./views/address-map";
import { Details } from "./views/details";
import { EventsView } from "./views/events";
import { Legend } from "./views/legend";
import { Minimap } from "./views/minimap";
import { showNumbers } from "./views/numbers";
import { TableView } from "./views/table";
import { Timeline } from "./views/timeline";
import { outOfMemory, showVerdict } from "./views/verdict";
import { WhoView } from "./views/who";
import { help } from "./views/help";
import { hide } from "./tip";
import { sourcesWith } from "./source";
import { Workers } from "./workers";

declare global {
  interface Window { memtap: { report?: () => unknown; ranks?: () => unknown; difference?: () => unknown }; }
}

const TAB_LABELS: { [tab in Tab]: string } = {
  who: "Who", table: "Table", map: "Address map", temporary: "Short-lived", report: "Report", events: "Events", held: "Held by",
};

/** What the button of the axis does. */
const axisLabel = (is_time: boolean) => (is_time ? "Show by event" : "Show by time");

function fail(why: string) {
  document.documentElement.dataset["state"] = "error";
  const has_texts = !has_opened && document.querySelector("#texts pre") !== null;
  write(byId("message"), plain(why) + (has_texts ? " The report is below as text." : ""));
  byId("message").hidden = false;
  byId("drop").hidden = !byId("views").hidden; // a trace is shown
  document.documentElement.classList.toggle("texts", has_texts);
}

class Page {
  readonly store: Store;
  private readonly timeline: Timeline;
  private readonly minimap: Minimap;
  private readonly map: AddressMap;
  private readonly views: { [tab in Tab]: { update(): void } | null };
  private readonly legend: Legend;
  private readonly details: Details;

  /** the first picture */
  readonly drawn: Promise<void>;

  /** over: aborted when another trace is opened */
  constructor(private readonly client: Client, private readonly trace: Trace, private readonly over: AbortSignal,
              fragment: string) {
    const find = () => this.device();
    this.store = new Store(read(fragment, trace));
    this.legend = new Legend(byId("legend"), byId("moment"), client, this.store, trace, find);
    this.timeline = new Timeline(byId("timeline"), client, this.store, trace, find, (group) => this.legend.label(group),
      (group) => this.legend.look(group), (groups) => this.legend.setDrawn(groups));
    this.minimap = new Minimap(byId("minimap"), client, this.store, find, trace);
    this.map = new AddressMap(byId("panel-map"), client, this.store, trace, find, over);
    this.details = new Details(byId("details"), client, this.store, trace, () => this.lists());
    byId("panel-report").append(make("pre", { tabindex: 0 }, outOfMemory(trace.name)?.text ?? "", trace.text));
    this.views = {
      map: this.map,
      who: new WhoView(byId("panel-who"), client, this.store, trace),
      table: new TableView(byId("panel-table"), client, this.store, trace, "table"),
      temporary: new TableView(byId("panel-temporary"), client, this.store, trace, "temporary"),
      report: null,
      events: new EventsView(byId("panel-events"), client, this.store, trace),
      held: new WhoView(byId("panel-held"), client, this.store, trace, true),
    };
    this.bar();
    this.tabs();
    this.keys();
    this.store.listen((state, changed) => this.changed(state, changed));
    window.addEventListener("resize", () => this.all(), { signal: over });
    window.addEventListener("hashchange", () => {
      if (!byId("views").hidden) this.store.set(read(address(), trace));
    }, { signal: over });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.all(), { signal: over });
    onPrint(() => {
      for (const view of [this.timeline, this.minimap, this.map]) view.draw();
    }, over);
    byId<HTMLDetailsElement>("numbers").addEventListener("toggle", () => this.numbers());
    this.drawn = this.timeline.first;
    if (this.store.state.search) this.find();
    void this.stack();
  }

  /** Pass the analyzer the new grouping, if it changed, and show all views. */
  private async stack() {
    const { stack, is_needed } = this.store.state;
    if (this.trace.devices.some((one) => one.idle)) void this.client.needed(is_needed);
    if (stack !== "category" || this.legend.groups.length) {
      const { slot, peak } = this.device(), names = await this.client.stackBy(stack);
      const { numbers } = await this.client.bands({ slot, is_time: false, from: peak, to: peak + 1, columns: 1 });
      this.legend.setGroups(names, [...numbers.slice(0, this.trace.categories.length)]);
    }
    this.timeline.update();
    await this.drawn; // the first picture waits for nothing else
    this.lists();
  }

  /** Show the trace again after another view of the page: as the link says, if there is one. */
  show(fragment: string) {
    if (fragment) this.store.set(read(fragment, this.trace));
    this.all();
  }

  /** Show the trace, which has grown since `old`. */
  grew(old: Trace) {
    const { state } = this.store, device = this.device();
    const was = old.devices.find((one) => one.slot === state.slot) ?? device;
    const all = whole(was, state.is_time), had_all = state.from <= all.from && state.to >= all.to;
    this.store.set({ ...(had_all ? whole(device, state.is_time) : {}), ...(state.at === was.peak ? { at: device.peak } : {}) });
    this.timeline.grew();
    this.showTab(this.store.state.tab);
    write(byId("panel-report").querySelector("pre")!, (outOfMemory(this.trace.name)?.text ?? "") + this.trace.text);
    void this.stack();
    this.numbers();
  }

  private device(): Device {
    return this.trace.devices.find((one) => one.slot === this.store.state.slot)!;
  }

  /** Zoom around the chosen moment if it is shown, else around the middle. */
  private async zoom(factor: number) {
    const { state } = this.store, { from, to } = state;
    const at = state.is_time ? await this.client.momentNs(state.slot, state.at) : state.at + 0.5;
    zoom(this.store, this.device(), factor, at >= from && at <= to ? at : undefined);
  }

  /** Show the moments between the two chosen ones. */
  private async zoomIn() {
    const { slot, is_time, since, at } = this.store.state;
    const place = async (moment: number) => (is_time ? this.client.momentNs(slot, moment) : moment);
    if (since) this.store.set(bounded(this.device(), is_time, await place(since), await place(at + 1)));
  }

  private bar() {
    const { trace, store } = this;
    const devices = make("select", { id: "device", "aria-label": "device", change: (event: Event) => {
      const device = trace.devices.find((one) => one.slot === Number((event.target as HTMLSelectElement).value))!;
      store.set({ slot: device.slot, ...whole(device, store.state.is_time), at: device.peak, since: 0, life: -1 });
    } }, ...trace.devices.map((one) => make("option", { value: one.slot, selected: one.slot === store.state.slot },
      one.device < 0 ? "device unknown" : `device ${one.device}`)));
    const axis = make("button", { id: "axis", title: "switch the axis (t)", click: () => void this.turnAxis() }, axisLabel(store.state.is_time));
    const stack = make("select", { id: "stack", "aria-label": "grouping of the timeline", change: (event: Event) =>
      store.set({ stack: (event.target as HTMLSelectElement).value as Stack }) },
      ...STACKS.map((one) => make("option", { value: one, selected: one === store.state.stack }, `stack by ${one}`)));
    const search = make("input", { type: "search", id: "search", placeholder: "search (/)", "aria-label": "search",
      value: store.state.search, input: (event: Event) => store.set({ search: (event.target as HTMLInputElement).value }) });
    const button = (label: string, title: string, click: () => void) => make("button", { title, click }, label);
    byId("bar").append(...(trace.devices.length > 1 ? [devices] : []), axis, stack,
      button("Whole run", "show all (0)", () => store.set(whole(this.device(), store.state.is_time))),
      button("Peak", "go to the peak (p)", () => store.set({ at: this.device().peak })),
      ...(trace.devices.some((one) => one.idle) ? [make("button", { id: "needed", "aria-pressed": String(store.state.is_needed),
        title: "leave out memory that nothing uses at that moment (n)", click: () => this.turnNeeded() }, "Only what is needed")] : []),
      search, make("span", { id: "found", class: "said", role: "status" }),
      ...pictureButtons(),
      button("?", "keys and help", () => byId<HTMLDialogElement>("help").showModal()));
  }

  private turnNeeded() {
    if (this.trace.devices.some((one) => one.idle)) this.store.set({ is_needed: !this.store.state.is_needed });
  }

  private async turnAxis() {
    const { state } = this.store, device = this.device();
    const other = async (x: number) => state.is_time
      ? (await this.client.moment(state.slot, true, x)).moment : this.client.momentNs(state.slot, Math.floor(x));
    const range = bounded(device, !state.is_time, await other(state.from), await other(state.to));
    this.store.set({ is_time: !state.is_time, ...range });
  }

  private tabs() {
    byId("tabs").append(...TABS.map((tab) => make("button", {
      role: "tab", id: `tab-${tab}`, "aria-controls": `panel-${tab}`, click: () => this.store.set({ tab }),
      keydown: (event: KeyboardEvent) => {
        const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!by) return;
        event.stopPropagation();
        const tabs = tabsOf(this.trace), next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length]!;
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
      button.hidden = !tabsOf(this.trace).includes(tab);
    }
  }

  private keys() {
    help(byId("help"));
    const device = () => this.device(), store = this.store;
    const step = (by: number, isRange: boolean) => go(store, device(), by, isRange);
    const actions: { [key: string]: (isShift: boolean) => void } = {
      w: () => void this.zoom(0.7), s: () => void this.zoom(1 / 0.7), z: () => void this.zoomIn(),
      a: () => pan(store, device(), -0.15), d: () => pan(store, device(), 0.15),
      ArrowLeft: (isShift) => step(-1, isShift), ArrowRight: (isShift) => step(1, isShift),
      PageUp: (isShift) => step(-100, isShift), PageDown: (isShift) => step(100, isShift),
      "0": () => store.set(whole(device(), store.state.is_time)),
      p: () => store.set({ at: device().peak }), t: () => void this.turnAxis(), n: () => this.turnNeeded(),
      Escape: () => store.set({ category: -1, since: 0, life: -1, search: "" } as Change),
      " ": () => this.store.state.tab === "map" && this.map.turn(),
      "/": () => byId("search").focus(), "?": () => byId<HTMLDialogElement>("help").showModal(),
    };
    TABS.forEach((tab, i) => (actions[String(i + 1)] = () => tabsOf(this.trace).includes(tab) && store.set({ tab })));
    document.addEventListener("keydown", (event) => {
      const target = event.target as HTMLElement;
      const types = (target instanceof HTMLInputElement && target.type !== "checkbox") || target instanceof HTMLSelectElement;
      if (byId("views").hidden || event.ctrlKey || event.metaKey || event.altKey || byId<HTMLDialogElement>("help").open) return;
      if (types && event.key !== "Escape") return;
      if (event.key === " " && (target instanceof HTMLButtonElement || target instanceof HTMLInputElement)) return; // it presses it
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action) return;
      event.preventDefault();
      if (types) target.blur();
      action(event.shiftKey);
    }, { signal: this.over });
  }

  private numbers() {
    if (byId<HTMLDetailsElement>("numbers").open)
      void showNumbers(byId("numbers").querySelector("div")!, this.client, this.store.state, this.trace, this.legend.groups);
  }

  private all() {
    this.timeline.update();
    this.lists();
  }

  /** Find the search's text in all blocks, and show what has it. */
  private readonly find = latest(async () => {
    const { search } = this.store.state;
    this.legend.nFound = await this.client.search(search, search ? sourcesWith(this.trace.name, search) : []);
    this.timeline.update();
    this.legend.update();
    this.views[this.store.state.tab]?.update();
  });

  /** Show all views but the timeline. */
  private lists() {
    this.minimap.update();
    this.legend.update();
    this.details.update();
    this.views[this.store.state.tab]?.update();
  }

  private changed(state: State, changed: Set<keyof State>) {
    const has = (...keys: (keyof State)[]) => keys.some((key) => changed.has(key));
    if (has("stack")) byId<HTMLSelectElement>("stack").value = state.stack;
    if (has("is_needed")) byId("needed").setAttribute("aria-pressed", String(state.is_needed));
    if (has("stack", "is_needed")) void this.stack();
    if (has("slot") && this.trace.devices.length > 1) byId<HTMLSelectElement>("device").value = String(state.slot);
    if (has("is_time")) byId("axis").textContent = axisLabel(state.is_time);
    if (has("tab")) this.showTab(state.tab);
    if (has("slot", "is_time", "from", "to") || (state.stack === "block" && has("category"))) this.timeline.update();
    else if (has("at", "since", "category", "life")) this.timeline.draw();
    if (has("search")) this.find();
    if (has("slot", "is_time")) this.minimap.update();
    else if (has("from", "to")) this.minimap.draw();
    const isOther = has("slot", "at", "since", "category");
    if (isOther) this.legend.update();
    if (has("life") || (isOther && state.life < 0)) this.details.update();
    if (has("search")) byId<HTMLInputElement>("search").value = state.search;
    const range = has("slot", "is_time", "from", "to", "category", "is_needed"), list = isOther || has("by", "is_whole");
    if (has("tab") || list || (state.tab === "temporary" && range)) this.views[state.tab]?.update();
    if (has("life")) (this.views[state.tab] as { draw?: () => void } | null)?.draw?.();
    if (range) this.numbers();
  }
}

function title(trace: Trace): string {
  const process = trace.report["process"] as { [key: string]: unknown } | undefined;
  return plain(String(process?.["command"] ?? process?.["cmdline"] ?? trace.name));
}

let shown: { run: Run; trace: Trace; page: Page | null; over: AbortController } | null = null;
let has_started = false; // whether the analyzer has
let has_opened = false; // whether any trace has; the texts describe the carried traces
let empty: HTMLElement; // the views before a trace was opened

function head(trace: Trace, store: Store | null) {
  write(byId("title"), title(trace));
  document.title = `${plain(trace.name)} – memtap`;
  showVerdict(byId("headline"), trace, store);
  const none = trace.devices.length ? "" : `${plural(0, "allocation")} of GPU memory in this trace. `;
  const said = [none + plain(trace.fault), ...trace.notes.split("\n").map(plain)].filter(Boolean).join("\n");
  write(byId("message"), said);
  byId("message").hidden = !said;
  byId("views").hidden = !trace.devices.length;
}

async function open(client: Client, run: Run, fragment: string) {
  if (shown?.run === run) {
    head(shown.trace, shown.page?.store ?? null);
    shown.page?.show(fragment);
    return;
  }
  shown?.over.abort();
  shown = null;
  byId("views").replaceWith(empty.cloneNode(true));
  byId("help").replaceChildren();
  byId("headline").replaceChildren();
  write(byId("title"), plain(run.label));
  const trace = await client.open(run.file, await run.files(), run.is_running), over = new AbortController();
  trace.name = run.label; // several files may have one name
  has_opened = true;
  byId("views").hidden = !trace.devices.length; // drawing needs a visible place
  const page = trace.devices.length ? new Page(client, trace, over.signal, fragment) : null;
  head(trace, page?.store ?? null);
  window.memtap = { ...window.memtap, report: () => trace.report };
  shown = { run, trace, over, page };
  await page?.drawn;
}

/** Show the same run, which has grown. If the whole run was shown, keep showing the whole run. */
async function refresh(client: Client, run: Run) {
  if (shown?.run !== run) return; // another run is shown
  const trace = await client.open(run.file, await run.files(), run.is_running);
  if (!shown.page) {
    shown = null;
    await open(client, run, address());
    return;
  }
  hide(); // the tip tells of what was there before
  const { trace: before, page } = shown, old = { ...before };
  trace.name = run.label;
  Object.assign(before, trace);
  head(before, page.store);
  window.memtap = { ...window.memtap, report: () => before.report };
  page.grew(old);
}

function followLive(client: Client, run: LiveRun) {
  const place = byId("live-state");
  const say = (text: string) => {
    place.hidden = false;
    place.textContent = text;
  };
  say(run.is_running ? "Live" : "The recording has ended.");
  void run.follow(() => refresh(client, run).catch((error: Error) => say(plain(error.message))), say);
}

const whole_page = new Promise<void>((resolve) => {
  if (document.readyState !== "loading") resolve();
  else document.addEventListener("DOMContentLoaded", () => resolve());
});

async function main() {
  empty = byId("views").cloneNode(true) as HTMLElement;
  const workers = await Workers.load(), { client } = workers.start(); // start while the traces are still being loaded
  has_started = true;
  await whole_page;
  const several = new Several(byId("traces"), workers, (run, fragment) => open(client, run, fragment), fail);
  let runs: Run[] = [];
  const take = (list: File[]) => {
    const more = given(list, runs);
    runs = [...runs, ...more];
    void several.add(more, false).catch((error: Error) => {
      runs = runs.filter((one) => !more.includes(one));
      fail(error.message);
    });
  };
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    take([...(event.dataTransfer?.files ?? [])]);
  });
  byId<HTMLInputElement>("file").addEventListener("change", (event) =>
    take([...((event.target as HTMLInputElement).files ?? [])]));
  if (document.getElementById("live")) {
    const run = new LiveRun();
    await run.update();
    runs = [run];
    await several.add(runs, true);
    followLive(client, run);
    return;
  }
  runs = carried();
  if (runs.length) {
    await several.add(runs, true);
    return;
  }
  byId("message").hidden = true;
  byId("drop").hidden = false;
  document.documentElement.dataset["state"] = "ready";
}

window.addEventListener("unhandledrejection", (event) => fail(String((event.reason as Error)?.message ?? event.reason)));
main().catch((error: Error) => void whole_page.then(() => {
  fail(error.message);
  byId("drop").hidden ||= !has_started;
}));
