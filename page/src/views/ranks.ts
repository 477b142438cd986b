// SPDX-License-Identifier: Apache-2.0
// The ranks of a job side by side. An analyzer reads some traces, each once, and is then discarded.
import type { Bands } from "../analyzer";
import { ink } from "../chart";
import type { Client } from "../client";
import { byId, make, plain, save, write } from "../dom";
import { change, count, doubt, marks, plural, size, time } from "../format";
import { Imbalance, imbalance, whyNotOneJob } from "../imbalance";
import { colour, swatch } from "../palette";
import { PhaseRun, phaseColour, phaseKeys } from "../phases";
import { pictureButtons } from "../picture";
import { onPrint } from "../print";
import type { Run } from "../runs";
import { Column, SortedTable } from "../sorted-table";
import { drawStack, fitted, highest, sumAt } from "../stack";
import type { Summary } from "../summary";
import { keep, link } from "../state";
import { tip } from "../tip";
import { Workers } from "../workers";
import { outOfMemory } from "./verdict";

const CHART = 3; // the charts' column of the table
const STRIP = 5; // CSS pixels, of phases below a chart
const COLUMNS = 200, AT_ONCE = 4, BYTES_AT_ONCE = 24 << 20;
const BYTES_EACH = 2 << 20, START = 64 << 10; // that one analyzer's worker reads; what each trace takes besides

/** What the charts' common axis counts. */
const AXES = { steps: "by iteration", clock: "by wall clock", own: "from each rank's start" } as const;
type Axis = keyof typeof AXES;

/** A rank's summary, or the reason why it cannot be read. */
interface Row { run: Run; summary: Summary | null; why: string; }

export class RanksView {
  private rows: Row[] = [];
  private found: Imbalance | null = null;
  private runs: Run[] = [];
  private over = new AbortController();
  private scale = { axis: "clock" as Axis, from: 0, to: 1, most: 1 }; // ns, or iterations
  private readonly table: SortedTable<Row>;
  private wanted: Axis | null = null; // null: not chosen yet
  private readonly compareButton: HTMLButtonElement;
  private readonly choice = make("select", { "aria-label": "axis of the timelines", hidden: true, change: (event: Event) => {
    this.wanted = (event.target as HTMLSelectElement).value as Axis;
    this.draw();
  } });
  private readonly progress = make("p", { class: "said", role: "status" });
  private readonly csv = make("button", { click: () => save("memtap-ranks.csv", "text/csv", this.table.csv()) }, "Save as CSV");
  private readonly legend = make("div", { class: "bar keys" });

  constructor(private readonly place: HTMLElement, private readonly workers: Workers,
              private readonly openRun: (run: Run) => Promise<void>, compare: (old: Run, now: Run) => void) {
    this.table = new SortedTable("Ranks of the job; click a row to open the rank", this.columns(), (row) => void openRun(row.run),
      (row) => this.look(row), () => this.charts());
    this.compareButton = make("button", { hidden: true, title: "what the highest rank has beyond the median rank",
      click: () => {
        const pair = this.oddPair();
        if (pair) compare(...pair);
      } });
    place.append(make("div", { class: "bar" }, this.csv, ...pictureButtons(), this.choice, this.compareButton, this.progress), this.legend, make("div", { class: "wide ranks" }, this.table.element));
    onPrint(() => this.charts());
    window.addEventListener("resize", () => this.charts());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.charts());
  }

  leave() {
    this.over.abort();
  }

  async show(runs: Run[]) {
    link.outer = "view=ranks";
    keep("view=ranks");
    const known = new Map(this.rows.map((row) => [row.run, row]));
    this.runs = runs;
    this.rows = runs.flatMap((run) => known.get(run) ?? []);
    const over = this.over = new AbortController();
    write(byId("title"), plural(runs.length, "process", "processes"));
    byId("headline").replaceChildren();
    byId("message").hidden = true;
    window.memtap = { ...window.memtap, ranks: () => ({ imbalance: this.found,
      ranks: this.rows.map(({ run, summary }) => ({ label: run.label, ...summary, bands: undefined, names: undefined })) }) };
    await this.readAll(runs.filter((run) => !known.has(run)), over.signal);
    if (!over.signal.aborted) this.tell();
  }

  /** Return whether the read runs are two that are not of one job: compared, they say more. */
  areTwoRuns(): boolean {
    const read = this.rows.flatMap((row) => row.summary ?? []);
    return this.runs.length === 2 && read.length === 2 && whyNotOneJob(read) !== "";
  }

  /** Read several small traces at once if there are processors. */
  private async readAll(runs: Run[], over: AbortSignal) {
    const waiting = [...runs];
    const processors = Math.max(1, Math.min(AT_ONCE, Math.floor((navigator.hardwareConcurrency || 2) / 2)));
    let bytes = 0, next = 0;
    const one = async (client: Client, run: Run) => {
      bytes += run.bytes;
      this.rows.push(await this.read(client, run));
      bytes -= run.bytes;
      const begin = performance.now(), is_last = this.rows.length === this.runs.length;
      if (over.aborted || (!is_last && begin < next)) return;
      this.draw();
      next = performance.now() + Math.max(250, 9 * (performance.now() - begin)); // most of the time is for reading
    };
    const take = () => (!over.aborted && waiting.length && (!bytes || bytes + waiting[0]!.bytes <= BYTES_AT_ONCE) ? waiting.shift() : undefined);
    const work = async () => {
      for (let first = take(); first; first = take()) // none: the other readers continue
        await this.workers.once(async (client) => {
          for (let used = 0, run: Run | undefined = first; run; run = used < BYTES_EACH ? take() : undefined) {
            used += run.bytes + START;
            await one(client, run);
          }
        });
    };
    this.draw();
    while (waiting.length && !over.aborted) await Promise.all(Array.from({ length: processors }, work));
  }

  private async read(client: Client, run: Run): Promise<Row> {
    try {
      return { run, summary: await client.summary(run.file, await run.files(), COLUMNS), why: "" };
    } catch (error) {
      return { run, summary: null, why: (error as Error).message };
    }
  }

  private draw() {
    const order = (row: Row) => (row.summary && row.summary.rank >= 0 ? row.summary.rank : 1e9 + this.runs.indexOf(row.run));
    this.rows.sort((a, b) => order(a) - order(b));
    const read = this.rows.flatMap((row) => row.summary ?? []);
    const is_whole = this.rows.length === this.runs.length;
    this.progress.textContent = is_whole ? "A click on a row opens that rank." : `Reading ${count(this.rows.length + 1)} of ${plural(this.runs.length, "trace")} ...`;
    this.found = is_whole && read.length > 1 && !whyNotOneJob(read) ? imbalance(read) : null;
    const drawn = read.filter((one) => one.bands);
    const ends = (axis: Axis): [number, number] => axis === "steps"
      ? [Math.min(...drawn.map((one) => one.steps?.first ?? Infinity)), Math.max(...drawn.map((one) => one.steps ? one.steps.first + one.steps.n : 0))]
      : [Math.min(...drawn.map((one) => (axis === "clock" ? one.began + one.begin_ns : 0))),
         Math.max(...drawn.map((one) => (axis === "clock" ? one.began + one.end_ns : one.end_ns - one.begin_ns)))];
    // clocks of hosts may be far apart, and runs may follow each other
    const [first, last] = ends("clock"), is_one_clock = last - first <= 4 * ends("own")[1];
    const axes = [...(drawn.length && drawn.every((one) => one.steps) ? ["steps" as const] : []),
      ...(drawn.every((one) => one.began > 0) ? ["clock" as const] : []), "own" as const];
    const axis = this.wanted && axes.includes(this.wanted) ? this.wanted : axes.find((one) => one !== "clock" || is_one_clock)!;
    const [from, to] = ends(axis);
    this.scale = { axis, from, to, most: Math.max(1, ...drawn.map((one) => highest(one.bands!, one.names.length))) };
    this.choice.replaceChildren(...axes.map((one) => make("option", { value: one, selected: one === axis }, AXES[one])));
    this.choice.hidden = !drawn.length || axes.length < 2;
    const used = (read[0]?.names ?? []).filter((_, c) => read.some((one) => one.categories[c]));
    this.legend.replaceChildren(...used.map((one) => make("span", { class: "key" }, swatch(one.name), one.label)),
      ...phaseKeys(new Set(drawn.flatMap((one) => this.course(one).phases.map(({ phase }) => phase)))));
    const pair = this.oddPair(), name = (run: Run) => this.rows.find((row) => row.run === run)!.summary!.rank;
    this.compareButton.hidden = !pair;
    if (pair)
      this.compareButton.textContent = name(pair[1]) < 0 ? "Compare the highest with the median"
        : `Compare rank ${name(pair[1])} with rank ${name(pair[0])}`;
    this.table.set(this.rows);
  }

  /** A rank in the middle, and the highest. */
  private oddPair(): [Run, Run] | null {
    const { found } = this;
    const odd = found?.above ? this.rows.find((row) => row.summary === found.highest) : null;
    const middle = odd && this.rows.filter((row) => row.summary && row !== odd).sort((a, b) =>
      Math.abs(a.summary!.allocated - found!.median) - Math.abs(b.summary!.allocated - found!.median))[0];
    return odd && middle ? [middle.run, odd.run] : null;
  }

  /** Report the findings about the whole job, in the words of memtap report. */
  private tell() {
    const read = this.rows.flatMap((row) => row.summary ?? []);
    const lines: string[] = [];
    const command = read[0]?.process["command"];
    const why = whyNotOneJob(read);
    write(byId("title"), plain(`${plural(this.runs.length, "process", "processes")}${why ? "" : " of one job"}` +
      (command ? `: ${command}` : "")));
    document.title = `${plural(this.runs.length, "rank")} – memtap`;
    if (why) lines.push(`Separate runs: ${why}; compare them with memtap diff.`);
    else if (this.found) lines.push(this.found.text);
    const bad = this.rows.filter((row) => !row.summary).length;
    if (bad) lines.push(`${plural(bad, "trace")} cannot be read.`);
    for (const [text, names] of groups(this.rows)) lines.push(`${names} ended: ${text}.`);
    byId("headline").replaceChildren(...(why ? [] : this.failed()), ...lines.map((line) => make("p", {}, plain(line))));
  }

  /** Say why the job failed, with a link to the rank that failed first: that which ran out of memory, if one did. */
  private failed(): HTMLElement[] {
    const rows = this.rows.filter((row) => row.summary && row.summary.how !== "whole"), full = rows.filter((row) => row.summary!.how === "oom");
    if (!rows.length) return [];
    const died = (full.length ? full : rows).reduce((first, row) => (end(first) <= end(row) ? first : row));
    const { rank, failure, ended } = died.summary!, name = rank < 0 ? died.run.label : `rank ${rank}`;
    const story = full.length ? outOfMemory(died.run.label)?.lines ?? [failure] : [`ended first: ${ended}`];
    return [make("div", { class: "cause" }, ...story.map((line, i) => i ? make("p", {}, plain(line))
      : make("p", {}, plain(`${name.replace(/^r/, "R")}: ${line} `), make("button", { class: "link", click: () => void this.openRun(died.run) }, `open ${plain(name)}`))))];
  }

  private look(row: Row): string {
    const is_odd = this.found !== null && this.found.above > 0 && row.summary === this.found.highest;
    return `${is_odd ? "odd" : ""}${!row.summary || row.summary.how !== "whole" ? " ended" : ""}`.trim();
  }

  private columns(): Column<Row>[] {
    const of = (row: Row) => row.summary;
    const number = (value: (one: Summary) => number) => (row: Row) => (row.summary ? -value(row.summary) : 1);
    return [
      { title: "rank", is_number: true, key: (row) => (of(row) && of(row)!.rank >= 0 ? of(row)!.rank : 1e9),
        text: (row) => (of(row) && of(row)!.rank >= 0 ? String(of(row)!.rank) : row.run.label), hint: (row) => row.run.label },
      { title: "host", key: (row) => of(row)?.process["host"] ?? "", text: (row) => of(row)?.process["host"] ?? "" },
      { title: "device", is_number: true, key: (row) => of(row)?.device ?? 99, text: (row) => String(of(row)?.device ?? "") },
      { title: "over time", text: () => "", cell: (row) => (of(row)?.bands
        ? [make("canvas", { class: "spark", "aria-hidden": "true" })] : [make("span", { class: "none" },
          plain(row.why || "no device memory was allocated"))]) },
      { title: "peak", is_number: true, key: number((one) => one.allocated), text: (row) => (of(row) ? size(of(row)!.allocated) : ""),
        hint: (row) => (of(row) ? `${of(row)!.allocated} bytes, in ${of(row)!.where || "the run"}` : ""),
        cell: (row) => (of(row) ? [size(of(row)!.allocated), ...this.above(of(row)!)] : []) },
      { title: "reserved", is_number: true, key: number((one) => one.reserved), text: (row) => (of(row) ? size(of(row)!.reserved) : "") },
      { title: "at the peak", key: number((one) => Math.max(...one.categories)), text: (row) => (of(row) ? mostly(of(row)!) : ""),
        cell: (row) => (of(row)?.allocated ? [this.parts(of(row)!), mostly(of(row)!)] : []) },
      { title: "growth", is_number: true, key: number((one) => one.growth),
        text: (row) => (of(row)?.growth ? `${change(of(row)!.growth)} per iteration` : "") },
      { title: "ended", key: (row) => (of(row)?.how === "whole" ? 1 : 0), text: (row) => of(row)?.ended ?? "cannot be read",
        hint: (row) => of(row)?.fault ?? row.why },
    ];
  }

  private above(one: Summary): HTMLElement[] {
    const by = this.found ? one.allocated - this.found.median : 0;
    return by ? [make("span", { class: "above", title: "compared with the median rank" }, change(by))] : [];
  }

  private parts(one: Summary): HTMLElement {
    const most = Math.max(...this.rows.map((row) => row.summary?.allocated ?? 0), 1);
    return make("span", { class: "parts", "aria-hidden": "true" }, ...one.categories.map((bytes, c) => [bytes, c] as const)
      .filter(([bytes]) => bytes).map(([bytes, c]) => make("span", {
        style: `width:${(100 * bytes) / most}%;background:${colour(one.names[c]!.name)}`,
        title: `${label(one, c)} ${size(bytes)}` })));
  }

  /** Where a rank's columns are on the axis, and the columns. */
  private course(one: Summary): { begin: number; end: number; bands: Bands; phases: PhaseRun[] } {
    if (this.scale.axis === "steps") return { begin: one.steps!.first, end: one.steps!.first + one.steps!.n, ...one.steps! };
    const at = this.scale.axis === "clock" ? one.began : -one.begin_ns;
    return { begin: at + one.begin_ns, end: at + one.end_ns, bands: one.bands!, phases: one.phases };
  }

  private charts() {
    const rows = this.table.sorted().filter((row) => row.summary?.bands);
    const { axis, from, to, most } = this.scale, ground = ink("paper");
    this.drawAxis();
    const sparks = [...this.place.querySelectorAll<HTMLCanvasElement>("canvas.spark")];
    const boxes = sparks.map((canvas) => canvas.getBoundingClientRect()); // all of them before the first is changed
    sparks.forEach((canvas, i) => {
      const place = fitted(canvas, boxes[i]), one = rows[i]?.summary;
      if (!place || !one?.bands) return;
      const { begin, end, bands, phases } = this.course(one), columns = bands.numbers.length / bands.fields;
      const x = (at: number) => ((at - from) / Math.max(to - from, 1)) * place.width;
      const left = x(begin), right = Math.max(x(end), left + 2), step = (right - left) / columns;
      place.context.clearRect(0, 0, place.width, place.height);
      drawStack(place.context, bands, one.names, { left, top: 1, width: right - left, height: place.height - 2 - STRIP },
        step, most);
      for (const { phase, from, to } of phases)
        for (const style of [ground, phaseColour(phase)]) {
          place.context.fillStyle = style;
          place.context.fillRect(left + from * step, place.height - STRIP, (to - from) * step, STRIP);
        }
      const said = (event: PointerEvent) => {
        const column = Math.floor((event.offsetX - left) / step), at = (event.offsetX / place.width) * (to - from);
        const bytes = column < 0 || column >= columns ? 0 : sumAt(bands, column * bands.fields, one.names.length);
        const where = axis === "steps" ? `iteration ${count(Math.floor(from + at))}`
          : `${time(at)} after ${axis === "clock" ? "the first rank's" : "its"} start in this chart`;
        tip(event, [where, phases.find((phase) => phase.from <= column && column < phase.to)?.phase ?? "", `${size(bytes)} allocated`].filter((line) => line));
      };
      canvas.onpointermove = canvas.onpointerup = said;
      canvas.onpointerleave = (event) => event.pointerType !== "touch" && tip(event, "");
    });
  }

  /** Write the axis of all charts below their column's title. */
  private drawAxis() {
    const head = this.place.querySelectorAll("thead th")[CHART];
    if (!head || !this.place.querySelector("canvas.spark")) return;
    let canvas = head.querySelector("canvas");
    if (!canvas) head.append(canvas = make("canvas", { class: "axis", "aria-hidden": "true" }));
    const place = fitted(canvas);
    if (!place) return;
    const { axis, from, to } = this.scale, { context, width } = place, span = axis === "steps" ? to - 1 - from : to - from;
    const zero = axis === "steps" ? from : 0;
    context.clearRect(0, 0, width, place.height);
    context.fillStyle = ink("quiet");
    for (const at of marks(zero, zero + span, Math.max(2, Math.floor(width / 70))).filter((one) => axis !== "steps" || Number.isInteger(one))) {
      const x = ((at - zero) / Math.max(to - from, 1)) * width, label = axis === "steps" ? `#${count(at)}` : time(at);
      if (x + context.measureText(label).width > width) continue;
      context.fillRect(x, 2, 1, 10);
      context.fillText(label, x + 3, 7);
    }
  }
}

/** Return when a rank ended, ns. */
function end({ summary }: Row): number {
  return summary!.began + summary!.end_ns;
}

function mostly(one: Summary): string {
  const most = one.categories.indexOf(Math.max(...one.categories));
  return one.categories[most] ? `${size(one.categories[most]!)} ${label(one, most)}` : "";
}

function label(one: Summary, category: number): string {
  return one.names[category]!.label + doubt(one.certainties[category]!);
}

/** Group the ranks that did not end normally: one line for each way to end. */
function groups(rows: Row[]): Map<string, string> {
  const by = new Map<string, string[]>();
  for (const { summary } of rows)
    if (summary && summary.how !== "whole")
      by.set(summary.ended, [...(by.get(summary.ended) ?? []), summary.rank >= 0 ? String(summary.rank) : `process ${summary.process["pid"] ?? "?"}`]);
  return new Map([...by].map(([text, names]) => {
    const some = names.length > 8 ? `${names.slice(0, 8).join(", ")} and ${names.length - 8} more` : names.join(", ");
    return [text, /^\d/.test(names[0]!) ? `${names.length > 1 ? "Ranks" : "Rank"} ${some}` : some];
  }));
}
