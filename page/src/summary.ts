// SPDX-License-Identifier: Apache-2.0
// A run's summary, shown next to others of its job. A rank's trace is read only for this.
import { type PhaseRun, phaseRuns } from "./phases";
import type { Analyzer, Bands, Category, Device, Span, Trace } from "./analyzer";

export interface Summary {
  rank: number; // -1: unknown
  /** The process, from the trace. */
  process: { [key: string]: string };
  /** The device with the highest peak; CUDA's index, null: nothing was allocated. */
  device: number | null;
  allocated: number; // bytes, at the peak
  reserved: number; // most, at any time
  where: string; // the peak is, in words; "": the trace has no phases
  categories: number[]; // bytes at the peak
  names: Category[];
  certainties: string[]; // of the categories at the peak
  growth: number; // bytes an iteration
  how: string; // how it ended: "whole", "oom" ...
  ended: string; // in words
  failure: string; // the sentence on the request that failed; "": none did
  ooms: number;
  fault: string; // where the trace becomes invalid; "": nowhere
  /** begin of the recording, ns since 1970; 0: unknown */
  began: number;
  begin_ns: number; // first and last shown moment, since began: without a long start-up below the peak
  end_ns: number;
  bands: Bands | null;
  phases: PhaseRun[]; // of its columns
  /** The same by iterations, from the first on; null: there are fewer than two. */
  steps: { first: number; n: number; bands: Bands; phases: PhaseRun[] } | null;
}

interface Peak {
  device: number; allocated: number; categories: { [name: string]: number };
}

/** Return the time at which a rank's chart begins: a little before the first iteration, unless the peak is earlier. */
function shown(device: Device, spans: Span[]): number {
  const first = spans.find((one) => one.iteration > 0);
  if (!first || first.moment > device.peak) return device.begin_ns;
  return Math.max(device.begin_ns, first.time_ns - 0.05 * (device.end_ns - first.time_ns));
}

/** Return bands of all iterations, which are equally wide; within one, events are. */
function steps(analyzer: Analyzer, device: Device, spans: Span[], columns: number): Summary["steps"] {
  const begins: number[] = [];
  let first = 0;
  for (const one of spans)
    if (one.iteration && !begins[one.iteration - (first ||= one.iteration)]) begins[one.iteration - first] = one.moment;
  const n = begins.length;
  if (n < 2 || begins.includes(undefined as never)) return null;
  const all = n <= columns ? n * Math.floor(columns / n) : columns, edges: number[] = [];
  for (let i = 0; i <= all; i++) {
    const at = Math.floor((i * n) / all), from = begins[at] ?? device.moments, to = begins[at + 1] ?? device.moments;
    edges.push(from + (to - from) * ((i * n) / all - at));
  }
  return { first, n, bands: analyzer.columns(device.slot, edges), phases: phaseRuns(spans, (one) => one.moment, edges) };
}

export function summary(analyzer: Analyzer, trace: Trace, columns: number): Summary {
  const report = trace.report as unknown as {
    process: { [key: string]: string }; peak: Peak | null;
    devices: { device: number; growth: { per_iteration: number } | null }[];
    ended: { how: string; text: string; out_of_memory: number };
  };
  const { peak, process, ended } = report;
  const main = peak && trace.devices.find((one) => one.device === peak.device);
  const spans = main ? trace.spans[main.slot] ?? [] : [], begin = main ? shown(main, spans) : 0;
  const end = Math.max(main?.end_ns ?? 0, begin + 1), edges = Array.from({ length: columns + 1 }, (_, i) => begin + ((end - begin) * i) / columns);
  const growth = peak && report.devices.find((one) => one.device === peak.device)?.growth;
  return {
    rank: trace.rank, process, names: trace.categories, fault: trace.fault,
    device: peak ? peak.device : null,
    allocated: peak?.allocated ?? 0, reserved: main?.reserved ?? 0,
    where: main ? spans.filter((one) => one.moment <= main.peak).pop()?.where ?? "" : "",
    categories: trace.categories.map((one) => peak?.categories[one.name] ?? 0),
    certainties: main ? analyzer.certainties(main.slot, main.peak) : [],
    growth: growth?.per_iteration ?? 0,
    how: ended.how, ended: ended.text, failure: trace.headline.find((line) => line.startsWith("Memory ran out")) ?? "", ooms: ended.out_of_memory,
    began: Number(process["start_realtime_ns"] ?? 0),
    begin_ns: begin, end_ns: main?.end_ns ?? 0,
    bands: main ? analyzer.bands({ slot: main.slot, is_time: true, from: begin, to: end, columns }) : null,
    phases: phaseRuns(spans, (one) => one.time_ns, edges),
    steps: main ? steps(analyzer, main, spans, columns) : null,
  };
}
