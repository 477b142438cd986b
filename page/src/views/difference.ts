// SPDX-License-Identifier: Apache-2.0
// Two runs compared: the verdict, the numbers, both over time, and the call sites that made the difference.
import type { Device, Trace } from "../analyzer";
import type { DiffDevice, DiffShare, DiffSite, Difference } from "../diff-report";
import { byId, make, plain, save, write } from "../dom";
import { plural } from "../format";
import { phaseKeys } from "../phases";
import { pictureButtons } from "../picture";
import { Run, Side } from "../runs";
import { SortedTable } from "../sorted-table";
import { address, keep, link } from "../state";
import type { Files } from "../wasi";
import { Workers } from "../workers";
import { DifferenceChart, RunSide } from "./difference-chart";
import { labelOf, lineOf, shareColumns, siteColumns, totals } from "./difference-tables";

const LINES = 6; // shown doubts; the user can open the others

/** One side of a comparison: a run by its number, or all runs of a side. */
type Choice = number | Side;

export class DifferenceView {
  private runs: Run[] = [];
  private old: Choice = 0;
  private now: Choice = 1;
  private range: [number, number] | null = null;
  private search = "";
  private over = new AbortController();
  private drawn = new AbortController(); // one of the devices
  private shown = ""; // the comparison that is shown, so that it is not computed again
  private report: Difference["report"] | null = null;

  constructor(private readonly place: HTMLElement, private readonly workers: Workers,
              private readonly openRun: (run: Run, fragment: string) => Promise<void>) {}

  leave() {
    this.over.abort();
    this.drawn.abort();
    this.shown = "";
  }

  private of(choice: Choice): Run[] {
    return typeof choice === "number" ? [this.runs[choice]!] : this.runs.filter((run) => run.side === choice);
  }

  /** Read the comparison from the link. */
  private read() {
    const given = new URLSearchParams(address());
    const has_sides = (["old", "new"] as const).every((side) => this.runs.some((run) => run.side === side));
    const choice = (text: string | null, otherwise: Choice): Choice => {
      if (has_sides && (text === "old" || text === "new")) return text;
      return text !== null && this.runs[Number(text)] ? Number(text) : otherwise;
    };
    this.old = choice(given.get("old"), has_sides ? "old" : 0);
    this.now = choice(given.get("new"), has_sides ? "new" : 1);
    const from = Number(given.get("from") ?? NaN), to = Number(given.get("to") ?? NaN);
    this.range = from < to ? [from, to] : null;
    this.search = (given.get("search") ?? "").slice(0, 200);
  }

  private write() {
    const out = new URLSearchParams({ view: "difference", old: String(this.old), new: String(this.now) });
    if (this.range) {
      out.set("from", this.range[0].toFixed(4));
      out.set("to", this.range[1].toFixed(4));
    }
    if (this.search) out.set("search", this.search);
    link.outer = `view=difference&old=${this.old}&new=${this.now}`;
    keep(out.toString());
  }

  async show(runs: Run[]) {
    this.runs = runs;
    this.read();
    const wanted = JSON.stringify([this.old, this.now, this.range, this.search, runs.length]);
    if (wanted === this.shown) return;
    this.leave();
    const over = this.over = new AbortController();
    write(byId("message"), "Comparing the runs ...");
    byId("message").hidden = false;
    write(byId("title"), "Difference");
    byId("headline").replaceChildren();
    this.place.replaceChildren();
    let difference: Difference;
    try {
      difference = await this.compare();
    } catch (error) { // another pair may be comparable
      byId("message").hidden = true;
      this.place.replaceChildren(this.choices(), make("p", { class: "doubts", role: "status" }, plain((error as Error).message)));
      return;
    }
    if (over.signal.aborted) return;
    this.shown = wanted;
    byId("message").hidden = true;
    this.report = difference.report;
    window.memtap = { ...window.memtap, difference: () => this.report };
    await this.draw(difference);
  }

  private async compare(): Promise<Difference> {
    const files: Files = {};
    const take = async (run: Run): Promise<string> => {
      // several files may have one name; labels are unique
      for (const [name, bytes] of Object.entries(await run.files())) files[run.label + name.slice(run.file.length)] = bytes;
      return run.label;
    };
    const old: string[] = [], now: string[] = [];
    for (const run of this.of(this.old)) old.push(await take(run));
    for (const run of this.of(this.now)) now.push(await take(run));
    return this.workers.once((client) => client.difference(old, now, files));
  }

  private title(): string {
    const name = (choice: Choice) => {
      const list = this.of(choice);
      return list.length === 1 ? list[0]!.label : plural(list.length, "run");
    };
    return `${name(this.old)} → ${name(this.now)}`;
  }

  private choices(): HTMLElement {
    const again = () => {
      this.write();
      void this.show(this.runs);
    };
    const select = (label: string, value: Choice, set: (choice: Choice) => void) => make("label", {}, `${label} `,
      make("select", { change: (event: Event) => {
        const text = (event.target as HTMLSelectElement).value;
        set(text === "old" || text === "new" ? text : Number(text));
        again();
      } }, ...(["old", "new"] as const).filter((side) => this.runs.filter((run) => run.side === side).length > 1)
        .map((side) => make("option", { value: side, selected: side === value }, `all ${side} runs`)),
        ...this.runs.map((run, i) => make("option", { value: i, selected: i === value || this.of(value)[0] === run && this.of(value).length === 1 },
          plain(run.label)))));
    return make("div", { class: "bar" }, select("old", this.old, (choice) => (this.old = choice)),
      select("new", this.now, (choice) => (this.now = choice)),
      make("button", { title: "swap old and new", click: () => {
        [this.old, this.now] = [this.now, this.old];
        again();
      } }, "⇄ Swap"));
  }

  private async draw({ report, text }: Difference) {
    const device = report.devices[report.main ?? 0];
    write(byId("title"), plain(this.title()));
    document.title = `${plain(this.title())} – memtap`;
    byId("headline").replaceChildren(make("p", {}, plain(report.verdict)));
    const faults = [...report.old, ...report.new].filter((run) => run.fault && !report.doubts.some((one) => one.includes(run.fault!)))
      .map((run) => `${run.path}: ${run.fault}`);
    const items = (lines: string[]) => lines.map((line) => make("li", {}, plain(line)));
    const list = (title: string, lines: string[], look: string) => !lines.length ? []
      : [make("ul", { class: look, "aria-label": title }, ...items(lines.slice(0, LINES))),
         ...(lines.length > LINES ? [make("details", { class: look }, make("summary", {}, `and ${lines.length - LINES} more`),
           make("ul", {}, ...items(lines.slice(LINES))))] : [])];
    this.place.replaceChildren(this.choices(), ...list("doubts", [...report.doubts, ...faults], "doubts"),
      ...list("what else differs", report.other_changes, "others"));
    if (!device) {
      this.place.append(make("p", { class: "none" }, "Neither run has allocated any GPU memory."), this.printed(text));
      return;
    }
    const body = make("div");
    const choice = make("select", { "aria-label": "rank and device", change: (event: Event) =>
      void this.drawDevice(body, report.devices[Number((event.target as HTMLSelectElement).value)]!) },
      ...report.devices.map((one, i) => make("option", { value: i, selected: one === device },
        `${one.rank === null ? "" : `rank ${one.rank}, `}device ${one.device}`)));
    if (report.devices.length > 1) this.place.querySelector(".bar")!.append(choice);
    this.place.append(body, this.printed(text));
    await this.drawDevice(body, device);
  }

  private printed(text: string): HTMLElement {
    return make("details", { class: "printed" }, make("summary", {}, "As memtap diff prints it"),
      make("pre", { tabindex: 0 }, text));
  }

  private async drawDevice(body: HTMLElement, device: DiffDevice) {
    this.drawn.abort();
    this.drawn = new AbortController();
    const over = this.drawn.signal;
    const sides = await this.sides(device, over);
    if (over.aborted) return;
    const canvas = make("canvas", { id: "two-timelines", tabindex: 0, role: "img",
      "aria-label": "old and new run over time, aligned by iteration; the tables below have the numbers" });
    const keys = make("div", { class: "keys phases", role: "group", "aria-label": "phases" });
    const known = sides[1]?.trace.categories ?? sides[0]?.trace.categories ?? [];
    body.replaceChildren(make("div", { class: "columns even" }, make("div", {}, canvas, keys,
      make("div", { class: "bar" },
        make("button", { title: "all iterations (0)", click: () => chart?.show(0, Infinity) }, "Whole run"),
        ...pictureButtons())),
      make("div", { class: "wide" }, totals(device, known))), ...this.sites(device, sides), ...this.shares(device));
    let chart: DifferenceChart | null = null;
    if (!sides[0] || !sides[1]) {
      canvas.replaceWith(make("p", { class: "none" }, "One of the runs has no memory to draw."));
      return;
    }
    await new Promise<void>((drawn) => {
      chart = new DifferenceChart(canvas, [sides[0]!, sides[1]!], over, (one) => {
        this.range = one.to - one.from < one.end ? [one.from, one.to] : null;
        this.write();
      }, drawn);
      keys.append(...phaseKeys(chart.phases));
      if (this.range) chart.show(...this.range);
      else chart.update();
      if (!canvas.clientWidth) drawn(); // it is not visible
    });
  }

  /** Return the runs for a device's rank, open while they are shown. */
  private async sides(device: DiffDevice, over: AbortSignal): Promise<(RunSide | null)[]> {
    const open = async (choice: Choice, ranks: (number | null)[], other: (number | null)[]): Promise<RunSide | null> => {
      const runs = this.of(choice), at = ranks.indexOf(device.rank);
      const run = runs[at >= 0 && other.includes(device.rank) ? at : 0]!;
      const { client, end } = this.workers.start();
      over.addEventListener("abort", end);
      const trace = await client.open(run.file, await run.files());
      const one = deviceOf(trace, device.device);
      return one ? { name: run.label, client, trace, device: one } : null;
    };
    const report = this.report!, old = report.old.map((run) => run.rank), now = report.new.map((run) => run.rank);
    return Promise.all([open(this.old, old, now), open(this.now, now, old)]);
  }

  private sites(device: DiffDevice, sides: (RunSide | null)[]): HTMLElement[] {
    const categories = (sides[1] ?? sides[0])?.trace.categories ?? [];
    const go = (site: DiffSite) => void this.follow(site, device, sides);
    const table = new SortedTable<DiffSite>("Call sites that differ", siteColumns(categories), go);
    const said = make("span", { class: "said", role: "status" });
    const fill = () => {
      const wanted = this.search.toLowerCase();
      const rows = device.sites.filter((site) => !wanted ||
        [lineOf(site), site.operator, site.module, site.category, site.stack, site.kind].some((one) => one?.toLowerCase().includes(wanted)));
      table.set(rows);
      said.textContent = device.sites.length ? `${plural(rows.length, "call site")}; click one to show its blocks` : "No call site differs.";
    };
    fill();
    if (!device.sites.length) return [make("p", { class: "said" }, "No call site differs.")];
    return [make("h2", {}, "Call sites, largest contribution first"), make("div", { class: "bar" },
      make("input", { type: "search", placeholder: "search", "aria-label": "search call sites", value: this.search,
        input: (event: Event) => {
          this.search = (event.target as HTMLInputElement).value;
          fill();
          this.write();
        } }),
      make("button", { click: () => save("memtap-difference.csv", "text/csv", table.csv()) }, "Save as CSV"), said),
      make("div", { class: "wide" }, table.element)];
  }

  private shares(device: DiffDevice): HTMLElement[] {
    return ([["Modules", device.module_groups], ["Operators of backward", device.operators]] as const)
      .filter(([, list]) => list.length).map(([title, list]) => {
        const table = new SortedTable<DiffShare>(title, shareColumns, () => undefined);
        table.set(list);
        return make("details", { class: "shares" }, make("summary", {}, `${title} (${list.length})`), table.element);
      });
  }

  /** Show a site's blocks in the run that has more of them. */
  private async follow(site: DiffSite, device: DiffDevice, sides: (RunSide | null)[]) {
    const i = site.bytes.new >= site.bytes.old ? 1 : 0, side = sides[i] ?? sides[1 - i];
    if (!side) return;
    const run = this.runs.find((one) => one.label === side.name)!;
    const at = await comparedMoment(side, device);
    const rows = await side.client.table(side.device.slot, at, 0, -1);
    const category = side.trace.categories.findIndex((one) => one.name === site.category);
    const of_line = i ? site : { ...site, line: site.old_line ?? site.line, ...site.renamed_from };
    const same = rows.filter((row) => row.category === category && row.line.includes(lineOf(of_line)));
    const row = same.find((one) => one.operator.includes(site.operator ?? "")) ?? same[0];
    const out = new URLSearchParams({ slot: String(side.device.slot), at: String(at) });
    if (category >= 0) out.set("category", String(category));
    out.set("tab", "table");
    if (row) {
      out.set("stack", "block");
      out.set("life", String(row.life));
    }
    out.set("search", lineOf(of_line).split(" ")[0]!);
    await this.openRun(run, String(out));
  }
}

function deviceOf(trace: Trace, index: number | null): Device | null {
  return trace.devices.find((one) => one.device === (index ?? -1)) ??
    (trace.devices.length === 1 ? trace.devices[0]! : null);
}

/** Return the compared moment in one of the runs. */
async function comparedMoment(side: RunSide, device: DiffDevice): Promise<number> {
  if (device.compared_in === null) return side.device.peak;
  const label = labelOf(device.compared_in), spans = side.trace.spans[side.device.slot] ?? [];
  const best = spans.map((span, i) => ({ span, next: spans[i + 1]?.moment ?? side.device.moments }))
    .filter((one) => one.span.phase === label).sort((a, b) => b.span.most - a.span.most)[0];
  if (!best) return side.device.peak;
  const bands = await side.client.columns(side.device.slot, [best.span.moment, best.next]);
  return Math.max(0, bands.numbers[bands.fields - 3]!);
}
