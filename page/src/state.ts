// SPDX-License-Identifier: Apache-2.0
// The state of the views. The address's fragment has it, so that a link shows the same.
import { Device, Oom, STACKS, Stack, Trace, WHO, Who } from "./analyzer";

export const TABS = ["who", "table", "map", "temporary", "report", "events", "held"] as const;
export type Tab = (typeof TABS)[number];

export interface State {
  slot: number;
  is_time: boolean;
  /** moments or ns */
  from: number;
  to: number;
  /** the moment that lists describe */
  at: number;
  /** lists only have blocks allocated from this moment on; before `at`, or 0 */
  since: number;
  /** a category's number, or -1: all */
  category: number;
  by: Who;
  /** what the timeline stacks */
  stack: Stack;
  /** stacks with the frames of libraries, too */
  is_whole: boolean;
  tab: Tab;
  /** a block's number, or -1 */
  life: number;
  search: string;
  /** charts and lists have only what is needed at their moment */
  is_needed: boolean;
}

/** The rest of a link besides a run's state: the run, or the view of several runs. */
export const link = { outer: "" };

/** A page in a notebook's cell (a frame of about:srcdoc) has no address to write to: its state is kept here. */
let kept: string | null = null;

export const address = (): string => kept ?? location.hash.slice(1);

/** Write the state to the page's address; is_step: the browser's Back returns to the last state. */
export function keep(text: string, is_step = false) {
  try {
    if (is_step) history.pushState(null, "", `#${text}`);
    else history.replaceState(null, "", `#${text}`);
  } catch {
    kept = text;
  }
}

export type Change = Partial<State>;

export class Store {
  private listeners: ((state: State, changed: Set<keyof State>) => void)[] = [];
  private timer = 0;

  constructor(public state: State) {}

  listen(call: (state: State, changed: Set<keyof State>) => void) {
    this.listeners.push(call);
  }

  set(change: Change) {
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const next = ordered({ ...this.state, ...given }, change.since !== undefined);
    const changed = new Set((Object.keys(next) as (keyof State)[]).filter((key) => next[key] !== this.state[key]));
    if (!changed.size) return;
    this.state = next;
    for (const call of this.listeners) call(this.state, changed);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => keep([link.outer, write(this.state)].filter(Boolean).join("&")), 150);
  }
}

/** Two chosen moments are a range, whichever was chosen first; a moment before a range that was there is a new choice. */
function ordered(state: State, isRange: boolean): State {
  const { since, at } = state;
  if (!since || since < at) return state;
  return isRange && since > at ? { ...state, since: at, at: since } : { ...state, since: 0 };
}

function write(state: State): string {
  const out = new URLSearchParams();
  for (const [key, value] of Object.entries(state))
    if (value !== "" && value !== -1 && value !== false) out.set(key, String(+(value === true) || value));
  return out.toString();
}

function number(text: string | null, low: number, high: number, otherwise: number): number {
  const value = text === null || text === "" ? NaN : Number(text);
  return Number.isFinite(value) && value >= low && value <= high ? value : otherwise;
}

function one<T extends string>(text: string | null, of: readonly T[], otherwise: T): T {
  return of.find((name) => name === text) ?? otherwise;
}

/** Return the views of a trace: without lists of holders it has no last one. */
export function tabsOf(trace: Trace): Tab[] {
  return TABS.filter((tab) => tab !== "held" || trace.devices.some((one) => one.held));
}

/** Return a device's whole run as a range. */
export function whole(device: Device, is_time: boolean): { from: number; to: number } {
  return is_time ? { from: device.begin_ns, to: Math.max(device.end_ns, device.begin_ns + 1) }
                 : { from: 0, to: device.moments };
}

/** Return the device that the sentences at the top describe. */
export function mainDevice(trace: Trace): Device {
  const peak = trace.report["peak"] as { device: number } | null;
  return trace.devices.find((one) => one.device === (peak?.device ?? -1)) ?? trace.devices[0]!;
}

/** Return the last time that memory ran out for good, if it did. */
export function lastOom(trace: Trace): Oom | undefined {
  return trace.ooms.filter((one) => !one.went_on && trace.devices.some(({ slot }) => slot === one.slot)).pop();
}

/** Return what the chips and lists have, in words. */
export function counted({ since, is_needed }: State): string {
  const live = is_needed ? "needed" : "live";
  return since ? `allocated in the range, ${live} at its end` : `${live} at the selected moment`;
}

/** Return the moment before it. */
export function before(oom: Oom, device: Device): number {
  return Math.min(Math.max(oom.moment - 1, 0), device.moments - 1);
}

/** Return a fragment's state, limited to the contents of this trace. */
export function read(fragment: string, trace: Trace): State {
  const devices = trace.devices, nCategories = trace.categories.length;
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const oom = lastOom(trace);
  const device = devices.find((one) => String(one.slot) === (given.get("slot") ?? String(oom?.slot))) ?? mainDevice(trace);
  const is_time = given.get("is_time") === "1";
  const all = whole(device, is_time);
  const worst = oom?.slot === device.slot ? before(oom, device) : device.peak;
  const from = number(given.get("from"), all.from, all.to, all.from);
  const to = number(given.get("to"), all.from, all.to, all.to);
  return ordered({
    slot: device.slot,
    is_time,
    from: from < to ? from : all.from,
    to: from < to ? to : all.to,
    at: Math.round(number(given.get("at"), 0, device.moments - 1, worst)),
    since: Math.round(number(given.get("since"), 0, device.moments - 1, 0)),
    category: Math.round(number(given.get("category"), 0, nCategories - 1, -1)),
    by: one(given.get("by"), WHO, "python"),
    // links of earlier pages have the blocks in a tab of their own
    stack: one(given.get("tab") === "blocks" ? "block" : given.get("stack"), STACKS, "category"),
    is_whole: given.get("is_whole") === "1",
    tab: one(given.get("tab"), tabsOf(trace), "who"),
    life: Math.round(number(given.get("life"), 0, Number.MAX_SAFE_INTEGER, -1)),
    search: (given.get("search") ?? "").slice(0, 200),
    is_needed: given.get("is_needed") === "1" && devices.some((one) => one.idle),
  }, true);
}
