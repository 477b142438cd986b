// SPDX-License-Identifier: Apache-2.0
// memtap diff's tables: totals with bars, call sites, modules and operators.
import type { Category } from "../analyzer";
import type { Change, DiffDevice, DiffShare, DiffSite } from "../diff-report";
import { make, plain } from "../dom";
import { change, doubt, percent, size } from "../format";
import { swatch } from "../palette";
import { Column } from "../sorted-table";

const KINDS: { [kind: string]: string } = {
  new: "new", gone: "gone", grown: "more", shrunk: "less", longer: "kept longer", earlier: "freed earlier",
  moved: "live at another peak", same: "",
};
const PHASES: [name: string, label: string][] = [
  ["outside", "start-up"], ["forward", "forward"], ["backward", "backward"], ["optimizer", "optimizer step"],
];

/** Return a bar: from the middle to the right for an increase, to the left for a decrease. */
function bar(by: number, most: number): HTMLElement {
  const part = most ? (50 * Math.abs(by)) / most : 0;
  return make("span", { class: "diverging", "aria-hidden": "true" }, ...(!by ? [] : [make("span", {
    class: by > 0 ? "more" : "less", style: `left:${by > 0 ? 50 : 50 - part}%;width:${part}%` })]));
}

function row(label: (Node | string)[], one: Change, most: number): HTMLElement {
  const cell = (text: string, hint = "") => make("td", { class: "number", title: hint }, text);
  return make("tr", {}, make("th", { scope: "row" }, ...label), cell(size(one.old), `${one.old} bytes`),
    cell(size(one.new), `${one.new} bytes`), cell(change(one.change), `${one.change} bytes`),
    cell(one.noise ? "noise" : percent(one.old, one.change)), make("td", {}, bar(one.change, most)));
}

/** Return a device's totals, categories and phases. */
export function totals(device: DiffDevice, categories: Category[]): HTMLElement {
  const is_phase = device.compared_in !== null;
  const plain_rows: [string, Change][] = [["peak allocated", device.allocated], ["peak reserved", device.reserved],
    ["unused cache at peak", device.cached], ["not recorded", device.unseen],
    ["allocated at the end", device.at_end], ["growth per iteration", device.growth]];
  const kinds = categories.map((one) => [one, device.categories[one.name]!] as const).filter(([, one]) => one && (one.old || one.new));
  const phases = PHASES.map(([name, label]) => [label, device.phases[name]] as const).filter(([, one]) => one && (one.old || one.new));
  const body = (caption: string, rows: HTMLElement[]) => rows.length
    ? [make("tbody", {}, make("tr", { class: "section" }, make("th", { colspan: 6, scope: "rowgroup" }, caption)), ...rows)] : [];
  const most = (changes: Change[]) => Math.max(...changes.map((one) => Math.abs(one.change)), 0);
  const widest = most(kinds.map(([, one]) => one));
  const shown = plain_rows.filter(([label, one]) => one && (label === "peak allocated" || one.old || one.new));
  return make("table", { class: "totals" }, make("caption", { class: "hidden" }, "Old and new run"),
    make("thead", {}, make("tr", {}, ...["", "old", "new", "change", "", ""].map((text) =>
      make(text ? "th" : "td", text ? { scope: "col", class: "number" } : {}, text)))),
    ...body("whole run", shown.map(([label, one]) => row([label], one, most(shown.map(([, of]) => of))))),
    ...body(is_phase ? `categories at the highest moment of the ${labelOf(device.compared_in!)}` : "categories at the peaks",
      kinds.map(([category, one]) => row([swatch(category.name), category.label + doubt(device.certainty[category.name]!)], one, widest))),
    ...body("peak of each phase", phases.map(([label, one]) => row([label], one!, most(phases.map(([, of]) => of!))))));
}

export function labelOf(phase: string): string {
  return PHASES.find(([name]) => name === phase)?.[1] ?? phase;
}

export function lineOf(site: DiffSite): string {
  if (site.file === "?" && site.function === "?") return "unknown line";
  const name = site.file.split("/").pop()!;
  return `${name}${site.line ? `:${site.line}` : ""} ${site.function}`;
}

/** Return how much a site contributes to the peak's change; "": all of its own change. */
function contribution(site: DiffSite): string {
  const counted = Math.sign(site.bytes.change) * Math.abs(site.blame);
  return site.bytes.noise || change(counted) === change(site.bytes.change) ? "" : counted ? `contributes ${change(counted)}` : "offset by other changes";
}

/** Return why a row may mislead. */
function doubts(site: DiffSite): string {
  const was = site.renamed_from
    ? `was ${site.renamed_from.file.split("/").pop()}${site.old_line ? `:${site.old_line}` : ""} ${site.renamed_from.function}`
    : site.old_line && site.old_line !== site.line ? `was line ${site.old_line}` : "";
  const saver = site.saver ? `now saved by ${site.saver.file.split("/").pop()}:${site.saver.line} ${site.saver.function}` : "";
  return [saver || (KINDS[site.kind] ?? site.kind), plain(site.held_by?.text ?? ""), was, site.guess ? `a guess (${site.guess})` : "",
    site.bytes.noise ? "within the noise between runs" : "", contribution(site)].filter((one) => one).join(", ");
}

export function siteColumns(categories: Category[]): Column<DiffSite>[] {
  const label = (site: DiffSite) =>
    (categories.find((one) => one.name === site.category)?.label ?? site.category) + doubt(site.certainty);
  return [
    { title: "change", is_number: true, key: (site) => -site.bytes.change, text: (site) => change(site.bytes.change),
      hint: (site) => `${site.bytes.change} bytes${site.bytes.old ? `, ${percent(site.bytes.old, site.bytes.change)}` : ""}` },
    { title: "old", is_number: true, key: (site) => -site.bytes.old, text: (site) => size(site.bytes.old),
      hint: (site) => `${site.bytes.old} bytes in ${site.blocks.old} blocks` },
    { title: "new", is_number: true, key: (site) => -site.bytes.new, text: (site) => size(site.bytes.new),
      hint: (site) => `${site.bytes.new} bytes in ${site.blocks.new} blocks` },
    { title: "category", key: label, text: label, cell: (site) => [swatch(site.category), label(site)] },
    { title: "line", key: lineOf, text: lineOf, hint: (site) => site.stack.split(";").join("\n") },
    { title: "operator", key: (site) => site.operator ?? "", text: (site) => site.operator ?? "" },
    { title: "module", key: (site) => site.module ?? "", text: (site) => site.module ?? "" },
    { title: "what", key: doubts, text: doubts },
  ];
}

export const shareColumns: Column<DiffShare>[] = [
  { title: "change", is_number: true, key: (one) => -one.bytes.change, text: (one) => change(one.bytes.change) },
  { title: "old", is_number: true, key: (one) => -one.bytes.old, text: (one) => size(one.bytes.old) },
  { title: "new", is_number: true, key: (one) => -one.bytes.new, text: (one) => size(one.bytes.new) },
  { title: "name", key: (one) => one.name, text: (one) => one.name },
];
