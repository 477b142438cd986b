// SPDX-License-Identifier: Apache-2.0
// The analyzer (page.c), with types. One trace is open at a time.
import type { DiffReport, Difference } from "./diff-report";
import { marks } from "./format";
import { Json, Objects } from "./objects";
import { Summary, summary } from "./summary";
import { Files, Wasi } from "./wasi";

export const WHO = ["python", "native", "callers", "module", "operator", "line"] as const;
export type Who = (typeof WHO)[number];

/** The timeline's ways to stack; the index is mt_group_kind's value. "block" draws each block in its category's colour. */
export const STACKS = ["category", "module", "type", "line", "operator", "block"] as const;
export type Stack = (typeof STACKS)[number];

export interface Category { name: string; label: string; }
export interface Device {
  slot: number; device: number; moments: number;
  begin_ns: number; end_ns: number; peak: number; reserved: number;
  memory: number; // of the card; 0: unknown
  held: boolean; uses: boolean; // whether holders of its blocks are known, and the trace's uses of any
  idle: boolean; // whether any block is not needed at some moment
}
export interface Span {
  moment: number; time_ns: number; phase: string; iteration: number; most: number;
  evaluates: boolean;
  where: string; // in words: "the forward pass of iteration 3"
}
/** is_stacked: PyTorch's allocator failed, so the request would be on the stack; line: of the request, "": unknown. */
export interface Oom {
  slot: number; moment: number; time_ns: number; requested: number; went_on: boolean; is_stacked: boolean; line: string;
}
export interface Node {
  name: string; place: string; bytes: number; blocks: number; category: number; certainty: string; children: Node[];
  found: number; // bytes that the search found
  only?: number; life?: number; // of holders: bytes to which no other listed path leads; the largest block
}
/** Holders, by path; live: bytes of all blocks at that time. */
export interface Held { bytes: number; live: number; blocks: number; time_ns: number; children: Node[]; }
export interface Row {
  bytes: number; blocks: number; category: number; line: string; operator: string;
  certainty: string; guess: string | null; life: number;
  file: string; number: number; // of the line
  from: number; // FROM_CACHE ...; of short-lived blocks
  held?: string; uses?: Uses | null; // of all its blocks; absent where the trace has neither
}
/** The last launch of a kernel, copy or fill that used it; is_passed: CUDA's memory has its address, so others may have. */
export interface Uses { is_never: boolean; is_passed: boolean; last_ns: number; line: string; }
/** An event of the list (event-list.h); life and category: -1 where it has no block. */
export interface EventRow {
  kind: number; event: number; time_ns: number; moment: number; bytes: number; allocated: number;
  life: number; category: number; found: boolean; line: string;
}
/** Where PyTorch's allocator got a block from; 0: unknown. */
export const FROM_CACHE = 1, FROM_CUDA = 2;
/** made: bytes that CUDA handed out for it; room: bytes that were free at its address, 0: unknown. */
export interface Served { from: number; made: number; room: number; }
/** is_own: of the program, and not of a library. */
export interface Frame { function: string; file: string; line: number; is_own: boolean; }
export interface Life {
  bytes: number; address: string; born: number; born_ns: number; born_event: number;
  ended: number | null; ended_ns: number | null; category: number; rule: string; certainty: string;
  line: string; phase: string; dtype: string; bits: number; name: string | null; operator: string | null; module: string;
  stack: Frame[]; forward_stack: Frame[];
  /** what held it at the reported moment, and how many paths lead to it */
  holder: { verb: string; path: string; n: number } | null;
  uses: Uses | null;
}
/** What happened from one moment to another; left: bytes allocated in between that are still there, by group. */
export interface Between { allocated: number; allocations: number; freed: number; frees: number; left: number[]; }
/** A place on the axis of events. */
export interface Tick { event: number; moment: number; }
/** A trace's facts, fetched once. Bytes and ns. */
export interface Trace {
  name: string; fault: string; notes: string; headline: string[]; text: string; report: { [key: string]: Json }; categories: Category[];
  devices: Device[]; spans: { [slot: number]: Span[] }; ooms: Oom[];
  /** -1: unknown */
  rank: number;
}
/** The shown range of one device, in moments or ns. */
export interface Range { slot: number; is_time: boolean; from: number; to: number; columns: number; }
/** Per column: bytes by group, the column's highest moment, reserved, least allocated. */
export interface Bands { fields: number; numbers: Float64Array; }
/** Seven numbers a strip: columns from, to, bytes below, life, bytes, category, whether the search found it.
 *  rest: bytes of too thin blocks, by column and category, first those found; below: bytes of all strips, by column.
 *  idle: four numbers for each piece whose block is idle: columns from, to, bytes below, bytes. */
export interface Strips { numbers: Float64Array; rest: Float64Array; below: Float64Array; idle: Float64Array; }
export const STRIP = 7, IDLE = 4;
/** Segments and blocks in the order of addresses; areas.h has the fields. */
export interface Map { segments: Float64Array; blocks: Float64Array; }
export const MAP_SEGMENT = 8, MAP_BLOCK = 6;
/** Six numbers a range that the program named: moments from and to, ns from and to, depth, name. */
export interface Ranges { numbers: Float64Array; names: { [id: number]: string }; }
export const RANGE = 6;
export interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  allocate(bytes: number): number;
  release(at: number): void;
  may_import(path: number): number;
  import(path: number, trace: number): number;
  import_fault(): number;
  import_notes(): number;
  open(path: number): number;
  live(isRunning: number): void;
  fault(): number;
  rank(): number;
  report(): number;
  headline(): number;
  limits(): number;
  report_text(): number;
  categories(): number;
  devices(): number;
  spans(slot: number): number;
  ooms(): number;
  bands(slot: number, time: number, from: number, to: number, columns: number): number;
  needed(isOn: number): void;
  bands_unneeded(slot: number, time: number, from: number, to: number, columns: number): number;
  search(text: number, places: number): number;
  bands_found(slot: number, time: number, from: number, to: number, columns: number): number;
  certainties(slot: number, at: number): number;
  strips(slot: number, time: number, from: number, to: number, columns: number, least: number,
         category: number): number;
  strip_numbers(): number;
  strips_idle(): number;
  strips_n_idle(): number;
  strips_rest(): number;
  strips_below_rest(): number;
  moment_at(slot: number, time: number, x: number): number;
  moment_ns(slot: number, moment: number): number;
  moment_event(slot: number, moment: number): number;
  moment_of_event(slot: number, event: number): number;
  between(slot: number, since: number, at: number): number;
  temporary(slot: number, at: number, since: number, category: number, isFound: number): number;
  same(slot: number, life: number, at: number, since: number): number;
  who(slot: number, by: number, at: number, since: number, category: number, isFolded: number): number;
  table(slot: number, at: number, since: number, category: number, isFound: number): number;
  events(slot: number): number;
  event_row(moment: number): number;
  event_rows(first: number, n: number): number;
  life(number: number): number;
  served(number: number): number;
  stack_by(kind: number): number;
  map(slot: number, at: number): number;
  map_segments(): number;
  map_n_segments(): number;
  map_blocks(): number;
  map_n_blocks(): number;
  area(number: number): number;
  held(slot: number, category: number): number;
  difference_add(path: number): number;
  difference_fault(): number;
  difference(nOld: number): number;
  difference_text(): number;
  ranges(slot: number): number;
  numbers(): number;
  string(id: number): number;
}

const IMPORTED = ".imported"; // the name of a trace that the analyzer writes

export class Analyzer {
  private exports!: Exports;
  private readonly objects = new Objects();
  private nCategories = 0;

  constructor(private readonly module: WebAssembly.Module) {}

  private text(at: number) {
    const bytes = new Uint8Array(this.exports.memory.buffer);
    return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
  }

  private doubles(at: number, n: number) {
    return new Float64Array(this.exports.memory.buffer, at, n).slice();
  }

  private take<T>(handle: number) {
    return this.objects.take(handle) as unknown as T;
  }

  /** Load files, of which those with these names are to be read: other tools' become traces. Return what these lack. */
  private loadTraces(names: string[], files: Files): string {
    let notes = "", given = files;
    for (const name of names) {
      const wasi = this.load(given);
      if (!this.withText(name, (path) => this.exports.may_import(path))) continue;
      const rc = this.withText(name, (path) => this.withText(IMPORTED, (trace) => this.exports.import(path, trace)));
      if (rc) throw new Error(`${name}: ${this.text(this.exports.import_fault()) || "not enough memory to read it"}`);
      notes += this.text(this.exports.import_notes());
      given = { ...given, [name]: wasi.contents(IMPORTED).slice() };
    }
    if (given !== files) this.load(given);
    return notes;
  }

  /** Start a fresh instance, without any state of earlier traces. */
  private load(files: Files): Wasi {
    const wasi = new Wasi(files);
    const instance = new WebAssembly.Instance(this.module, {
      wasi_snapshot_preview1: wasi.imports(),
      memtap: this.objects.imports(),
    });
    this.exports = instance.exports as unknown as Exports;
    wasi.memory = this.objects.memory = this.exports.memory;
    this.exports._initialize();
    return wasi;
  }

  /** Call with a text's place. */
  private withText(text: string, call: (at: number) => number) {
    const bytes = new TextEncoder().encode(`${text}\0`);
    const at = this.exports.allocate(bytes.length);
    new Uint8Array(this.exports.memory.buffer).set(bytes, at);
    const rc = call(at);
    this.exports.release(at);
    return rc;
  }

  /** Read a trace; throw an Error with a sentence if it cannot be read at all. */
  open(name: string, files: Files, is_running = false): Trace {
    const notes = this.loadTraces([name], files);
    this.exports.live(+is_running);
    const rc = this.withText(name, (path) => this.exports.open(path));
    const fault = this.text(this.exports.fault());
    if (rc) throw new Error(`${name}: ${fault || "not enough memory to read it"}`);
    const categories = this.take<Category[]>(this.exports.categories());
    this.nCategories = categories.length;
    const devices = this.take<Device[]>(this.exports.devices());
    const spans: { [slot: number]: Span[] } = {};
    for (const device of devices) spans[device.slot] = this.take<Span[]>(this.exports.spans(device.slot));
    return {
      name, fault, notes: notes + this.text(this.exports.limits()), categories, devices, spans,
      headline: this.text(this.exports.headline()).split("\n").filter((line) => line),
      text: this.text(this.exports.report_text()),
      report: this.take<{ [key: string]: Json }>(this.exports.report()),
      ooms: this.take<Oom[]>(this.exports.ooms()),
      rank: this.exports.rank(),
    };
  }

  /** Summarize a run, to show next to others of its job. */
  summary(name: string, files: Files, columns: number): Summary {
    return summary(this, this.open(name, files), columns);
  }

  /** Compare runs with others, as memtap diff does; old and now are names of files. */
  difference(old: string[], now: string[], files: Files): Difference {
    this.loadTraces([...old, ...now], files);
    for (const name of [...old, ...now])
      if (this.withText(name, (path) => this.exports.difference_add(path)))
        throw new Error(`${name}: ${this.text(this.exports.difference_fault()) || "not enough memory to read it"}`);
    const report = this.take<DiffReport>(this.exports.difference(old.length));
    return { report, text: this.text(this.exports.difference_text()) };
  }

  bands(range: Range): Bands {
    const fields = this.nCategories + 3;
    const at = this.exports.bands(range.slot, +range.is_time, range.from, range.to, range.columns);
    if (!at) throw new Error("out of memory");
    return { fields, numbers: this.doubles(at, range.columns * fields) };
  }

  /** Return bands of columns between the given moments: one column fewer than moments. */
  columns(slot: number, edges: number[]): Bands {
    const fields = this.nCategories + 3, numbers = new Float64Array(fields * Math.max(edges.length - 1, 0));
    for (let i = 0; i + 1 < edges.length; i++) {
      const at = this.exports.bands(slot, 0, edges[i]!, edges[i + 1]!, 1);
      if (!at) throw new Error("out of memory");
      numbers.set(this.doubles(at, fields), i * fields);
    }
    return { fields, numbers };
  }

  /** Choose the bands' groups from now on; return the groups' names. */
  stackBy(stack: Stack) {
    return this.take<string[]>(this.exports.stack_by(stack === "block" ? 0 : STACKS.indexOf(stack)));
  }

  /** Find a text, and frames at lines ("LINE FILE"), in all blocks from now on; "": all are found. Return how many are. */
  search(text: string, places: string[]): number {
    const all = places.map((one) => `${one}\n`).join("");
    const n = this.withText(text, (at) => this.withText(all, (more) => this.exports.search(at, more)));
    if (n < 0) throw new Error("out of memory");
    return n;
  }

  /** Return the found blocks' bytes, by column and group. */
  found(range: Range): Float64Array {
    const at = this.exports.bands_found(range.slot, +range.is_time, range.from, range.to, range.columns);
    if (!at) throw new Error("out of memory");
    return this.doubles(at, range.columns * this.nCategories);
  }

  /** Let charts and lists have only what is needed at their moment from now on, or all. */
  needed(is_on: boolean) {
    this.exports.needed(+is_on);
  }

  /** Return the bytes of live blocks that are not needed, by column and group. */
  unneeded(range: Range): Float64Array {
    const at = this.exports.bands_unneeded(range.slot, +range.is_time, range.from, range.to, range.columns);
    if (!at) throw new Error("out of memory");
    return this.doubles(at, range.columns * this.nCategories);
  }

  /** Return how certain each category is at a moment: the lowest certainty of its blocks. */
  certainties(slot: number, at: number) {
    return this.take<string[]>(this.exports.certainties(slot, at));
  }

  strips(range: Range, least: number, category: number): Strips {
    const n = this.exports.strips(range.slot, +range.is_time, range.from, range.to, range.columns,
      least, category);
    if (n < 0) throw new Error("out of memory");
    return {
      numbers: this.doubles(this.exports.strip_numbers(), n * STRIP),
      rest: this.doubles(this.exports.strips_rest(), range.columns * 2 * this.nCategories),
      below: this.doubles(this.exports.strips_below_rest(), range.columns),
      idle: this.doubles(this.exports.strips_idle(), this.exports.strips_n_idle() * IDLE),
    };
  }

  moment(slot: number, is_time: boolean, x: number) {
    const moment = this.exports.moment_at(slot, +is_time, x);
    return {
      moment, time_ns: this.exports.moment_ns(slot, moment), event: this.exports.moment_event(slot, moment),
    };
  }

  momentNs(slot: number, moment: number) {
    return this.exports.moment_ns(slot, moment);
  }

  /** Return round event numbers of a range of moments, and their moments. */
  ticks(slot: number, from: number, to: number, n: number): Tick[] {
    const event = (moment: number) => this.exports.moment_event(slot, moment);
    return marks(event(Math.floor(from)), event(Math.max(Math.ceil(to) - 1, 0)), n)
      .map((one) => ({ event: Math.round(one), moment: this.exports.moment_of_event(slot, one) }));
  }

  between(slot: number, since: number, at: number): Between {
    const place = this.exports.between(slot, since, at);
    if (!place) throw new Error("out of memory");
    const [allocated, allocations, freed, frees, ...left] = this.doubles(place, 4 + this.nCategories) as unknown as [number, number, number, number];
    return { allocated, allocations, freed, frees, left };
  }

  who(slot: number, by: Who, at: number, since: number, category: number, is_folded: boolean) {
    return this.take<Node>(this.exports.who(slot, WHO.indexOf(by), at, since, category, +is_folded));
  }

  /** Blocks that were freed before the next allocation, by line. */
  temporary(slot: number, at: number, since: number, category: number, is_found = false) {
    return this.take<Row[]>(this.exports.temporary(slot, at, since, category, +is_found));
  }

  /** Return the numbers of all blocks in the table's row of a block, the largest first. */
  same(slot: number, life: number, at: number, since: number): number[] {
    const n = this.exports.same(slot, life, at, since);
    if (n < 0) throw new Error("out of memory");
    return [...this.doubles(this.exports.numbers(), n)];
  }

  /** is_found: only what the search found */
  table(slot: number, at: number, since: number, category: number, is_found = false) {
    return this.take<Row[]>(this.exports.table(slot, at, since, category, +is_found));
  }

  /** Return how many rows of events a device has, and that of a moment. */
  events(slot: number, at: number) {
    const n = this.exports.events(slot);
    if (n < 0) throw new Error("out of memory");
    return { n, row: this.exports.event_row(at) };
  }

  /** Return rows of a device's events. */
  eventRows(slot: number, first: number, n: number) {
    this.events(slot, 0);
    return this.take<EventRow[]>(this.exports.event_rows(first, n));
  }

  life(number: number) {
    return this.take<Life>(this.exports.life(number));
  }

  served(number: number): Served {
    const at = this.exports.served(number);
    if (!at) throw new Error("out of memory");
    const [from, made, room] = this.doubles(at, 3) as unknown as [number, number, number];
    return { from, made, room };
  }

  map(slot: number, at: number): Map {
    if (this.exports.map(slot, at)) throw new Error("out of memory");
    return {
      segments: this.doubles(this.exports.map_segments(), this.exports.map_n_segments() * MAP_SEGMENT),
      blocks: this.doubles(this.exports.map_blocks(), this.exports.map_n_blocks() * MAP_BLOCK),
    };
  }

  ranges(slot: number): Ranges {
    const n = this.exports.ranges(slot);
    if (n < 0) throw new Error("out of memory");
    const numbers = this.doubles(this.exports.numbers(), n * RANGE), names: { [id: number]: string } = {};
    for (let i = 5; i < numbers.length; i += RANGE)
      names[numbers[i]!] ??= this.take<string>(this.exports.string(numbers[i]!));
    return { numbers, names };
  }

  area(number: number) {
    return this.take<string>(this.exports.area(number));
  }

  /** null: no holders are known, or there is no memory */
  held(slot: number, category: number) {
    return this.take<Held | null>(this.exports.held(slot, category));
  }
}
