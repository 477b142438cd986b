// SPDX-License-Identifier: Apache-2.0
// How far the highest rank is above the others, as in analyzer/findings/imbalance.c, from summaries:
// the analyzer would need all traces at once.
import { size } from "./format";
import type { Summary } from "./summary";

/** In bytes, against the median of the ranks with device memory (of an even number, the mean of the two in the middle). */
export interface Imbalance {
  highest: Summary;
  median: number;
  above: number;
  categories: { [name: string]: number }; // the highest rank's bytes minus the category's median, if they differ
  text: string;
}

/** How many ranks a trace represents: memtap's --rank all-different runs one of each kind. */
export function standsFor(one: Summary): number {
  const text = one.process["env.CUDASIM_STANDS_FOR"] ?? "";
  return /^[0-9]{1,9}$/.test(text) ? Math.max(1, Number(text)) : 1;
}

/** The median of `of` over the ranks, each counted as often as it represents ranks. */
function middle(ranks: Summary[], of: (one: Summary) => number): number {
  const sorted = [...ranks].sort((a, b) => of(a) - of(b)), n = ranks.reduce((sum, one) => sum + standsFor(one), 0);
  const at = (place: number) => of(sorted.find((one) => (place -= standsFor(one)) < 0)!);
  const low = at(Math.floor((n - 1) / 2)), high = at(Math.floor(n / 2));
  return low + Math.floor((high - low) / 2);
}

export function imbalance(ranks: Summary[]): Imbalance {
  const highest = ranks.reduce((a, b) => (b.allocated > a.allocated ? b : a));
  if (highest.allocated) ranks = ranks.filter((one) => one.allocated);
  const median = middle(ranks, (one) => one.allocated), above = highest.allocated - median;
  const categories: { [name: string]: number } = {};
  let most = 0;
  highest.names.forEach((name, c) => {
    const by = highest.categories[c]! - middle(ranks, (one) => one.categories[c]!);
    if (by) categories[name.name] = by;
    if (by > (categories[highest.names[most]!.name] ?? 0)) most = c;
  });
  const extra = categories[highest.names[most]!.name] ?? 0;
  const who = highest.rank >= 0 ? `Rank ${highest.rank}` : "One process";
  const text = !above ? (ranks.every((one) => one.allocated === median) ? "All ranks have the same peak."
      : `No rank exceeds the median peak of ${size(median)}.`)
    : `${who} has the highest peak, ${size(highest.allocated)}: ${size(above)} above the median of ${size(median)}` +
      (extra > 0 ? `, with ${size(extra)} more ${highest.names[most]!.label}.` : ".");
  return { highest, median, above, categories, text };
}

/** Like are_apart there: whether one had ended before the other began. */
function areApart(a: Summary, b: Summary): boolean {
  const same = (key: string) => a.process[key] !== undefined && a.process[key] === b.process[key];
  const most = (same("host") ? 60 : 600) * 1e9;
  if (a.process["env.CUDASIM_GPU"] || b.process["env.CUDASIM_GPU"] || !a.began || !b.began || (same("host") && same("parent_pid"))) return false;
  return b.began > a.began + a.end_ns + most;
}

/** As mt_same_job (analyzer/findings/job.c): return why the ranks cannot be one job; "": they can. */
export function whyNotOneJob(ranks: Summary[]): string {
  const first = ranks[0];
  const differ = (...keys: string[]) => {
    const of = (one?: Summary) => keys.map((key) => one?.process[key]).find((text) => text !== undefined) ?? "";
    return ranks.some((one) => of(one) !== of(first));
  };
  if (differ("world_size", "env.WORLD_SIZE")) return "they differ in WORLD_SIZE";
  if (differ("env.MASTER_ADDR")) return "they differ in MASTER_ADDR";
  const known = ranks.filter((one) => one.rank >= 0).map((one) => one.rank);
  if (new Set(known).size < known.length) return "two have the same rank";
  if (known.length < ranks.length && (differ("host") || differ("parent_pid")))
    return "some have no rank, and their parent processes differ";
  if (ranks.some((one) => ranks.some((other) => areApart(one, other)))) return "one had ended before another began";
  return "";
}
