// SPDX-License-Identifier: Apache-2.0
// The sentences at the top, each with a link to the view that shows its facts.
import type { Device, Trace } from "../analyzer";
import { make, plain } from "../dom";
import { Change, Store, before, lastOom, mainDevice, whole } from "../state";

interface Way {
  begins: RegExp; // the begin of a sentence in analyzer/report/headline.c
  label: string;
  to: (device: Device, trace: Trace) => Change;
}

/** Return the first moment of the second iteration: blocks allocated later that stay are the growth. */
function secondIteration(device: Device, trace: Trace): number {
  return trace.spans[device.slot]?.find((one) => one.iteration === 2)?.moment ?? 0;
}

/** Return the first moment of the last iteration: what is left by those before it is live then, and may be freed at the end. */
function lastIteration(device: Device, trace: Trace): number {
  const spans = trace.spans[device.slot] ?? [];
  const last = spans.reduce((most, one) => Math.max(most, one.iteration), 0);
  return last ? spans.find((one) => one.iteration === last)!.moment : device.moments - 1;
}

const WAYS: Way[] = [
  { begins: /^(Memory ran out|Out of memory)/, label: "the moment before", to: (main, trace) => {
    const oom = lastOom(trace) ?? trace.ooms[trace.ooms.length - 1];
    const device = trace.devices.find((one) => one.slot === oom?.slot) ?? main;
    return { tab: "who", slot: device.slot, at: oom?.slot === device.slot ? before(oom, device) : device.peak };
  } },
  { begins: /^The (peak|moment) of /, label: "who holds it", to: (device) => ({ tab: "who", at: device.peak }) },
  { begins: /^(Each (iteration|step) leaves |Every \d+ (iterations|steps) leave |Memory may grow: )/, label: "what is left", to: (device, trace) =>
    ({ tab: "table", since: secondIteration(device, trace), at: lastIteration(device, trace) }) },
  { begins: / never freed/, label: "what is left", to: (device) => ({ tab: "table", at: device.moments - 1 }) },
  { begins: / that PyTorch reserved is free/, label: "where it is free", to: (device) => ({ tab: "map", at: device.peak }) },
];

/** Return what memtap oom says of a carried trace that ran out: in lines for the top, and whole. */
export function outOfMemory(label: string): { lines: string[]; text: string } | null {
  const found = [...document.querySelectorAll<HTMLElement>("#texts pre[data-oom]")].find((one) => one.dataset["oom"] === label);
  if (!found) return null;
  const text = found.textContent ?? "", parts = text.split("\n\n"); // a loss of events is said first
  const head = parts.slice(0, parts.findIndex((one) => one.startsWith("Out of memory")) + 1);
  const lines = head.flatMap((one) => one.split(/\n(?=(?:Why|Kept|Do|Try|Or): )/)); // other lines continue the one before
  return { lines: lines.map((line) => line.replace(/\n */g, " ")).filter((line) => line), text: `${text}\n` };
}

/** Parts of what memtap oom says that open below its lines: how they begin there, and what they are called here. */
const PARTS: [begins: string, label: string][] = [["What each change achieves", "What would have made it fit"],
  ["Growth:", "What grows"], ["Why it did not fit", "Why it did not fit"], ["Whole device", "Whole device"]];

/** Return a part of the text, up to the next line that begins a part after an empty one; "": there is none. */
function part(text: string, begins: string): string {
  const at = `\n${text}`.indexOf(`\n${begins}`);
  return at < 0 ? "" : text.slice(at).split(/\n\n(?=\S)/)[0]!.trimEnd();
}

/** Parts of the report on a program that serves: the ends of their first lines. */
const OF_SERVERS = ["the server's memory budget", "the server's work"];

/** Return the report's parts on a server, under their names. */
function serving(text: string): [label: string, text: string][] {
  return text.split("\n\n").flatMap((one) => OF_SERVERS.filter((name) => one.split("\n")[0]!.endsWith(name))
    .map((name): [string, string] => [name.replace(/^./, (first) => first.toUpperCase()), one]));
}

/** Parts that open. */
function evidence(parts: [label: string, text: string][], is_open: boolean): HTMLElement[] {
  return !parts.length ? [] : [make("div", { class: "bar evidence" }, ...parts.map(([label, text]) =>
    make("details", { open: is_open }, make("summary", {}, label), make("pre", { tabindex: 0 }, text))))];
}

/** A line; what it says to paste is chosen as a whole by one click. */
function words(line: string): (Node | string)[] {
  const [, before, setting, after] = /^(Do: )(export \S+)(.*)$/.exec(line) ?? [];
  return setting ? [before!, make("code", { class: "paste" }, plain(setting)), plain(after!)] : [plain(line)];
}

export function showVerdict(place: HTMLElement, trace: Trace, store: Store | null) {
  const story = trace.headline.some((line) => line.startsWith("Ended: out of memory")) ? outOfMemory(trace.name) : null;
  const rest = story ? trace.headline.filter((line) => !/^Memory ran out/.test(line) && !story.lines.includes(line)) : trace.headline;
  const sentence = (line: string) => {
    const way = store && WAYS.find((one) => one.begins.test(line));
    return make("p", {}, ...words(line), ...(way ? [" ", make("button", { class: "link", click: () => {
      const device = mainDevice(trace); // the sentences describe this device
      const change = { slot: device.slot, category: -1, since: 0, ...way.to(device, trace) };
      store.set({ ...whole(trace.devices.find((one) => one.slot === change.slot)!, store.state.is_time), ...change });
    } }, way.label)] : []));
  };
  const parts = story ? PARTS.map(([begins, label]): [string, string] => [label, part(story.text, begins)]).filter(([, text]) => text) : [];
  place.replaceChildren(...(story ? [make("div", { class: "cause" }, ...story.lines.map(sentence), ...evidence(parts, false))] : []),
    ...rest.map(sentence), ...evidence(serving(trace.text), true));
}
