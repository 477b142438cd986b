// SPDX-License-Identifier: Apache-2.0
// A run's summary, shown beside others of its job. A rank's trace is read only for this.
import type { Analyzer, Bands, Category, Trace } from "./analyzer";

export interface Summary {
  rank: number; // -1: unknown
  /** The process, from the trace. */
  process: { [key: string]: string };
  /** The device with the highest peak; CUDA's index, null: nothing was allocated. */
  device: number | null;
  allocated: number; // bytes, at the peak
  reserved: number; // most, at any time
  phase: string; // at the peak; "": the trace has no phases
  iteration: number;
  categories: number[]; // bytes at the peak
  names: Category[];
  growth: number; // bytes an iteration
  how: string; // it ended: "whole", "oom" ...
  ended: string; // in words
  ooms: number;
  fault: string; // where the trace becomes invalid; "": nowhere
  /** begin of the recording, ns since 1970; 0: unknown */
  began: number;
  begin_ns: number; // first and last moment, since began
  end_ns: number;
  bands: Bands | null;
}

interface Peak {
  device: number; allocated: number; phase?: string; iteration?: number; categories: { [name: string]: number };
}

export function summary(analyzer: Analyzer, trace: Trace, columns: number): Summary {
  const report = trace.report as unknown as {
    process: { [key: string]: string }; peak: Peak | null;
    devices: { device: number; growth: { per_iteration: number } | null }[];
    ended: { how: string; text: string; out_of_memory: number };
  };
  const { peak, process, ended } = report;
  const main = peak && trace.devices.find((one) => one.device === peak.device);
  const growth = peak && report.devices.find((one) => one.device === peak.device)?.growth;
  return {
    rank: trace.rank, process, names: trace.categories, fault: trace.fault,
    device: peak ? peak.device : null,
    allocated: peak?.allocated ?? 0, reserved: main?.reserved ?? 0,
    phase: peak?.phase ?? "", iteration: peak?.iteration ?? 0,
    categories: trace.categories.map((one) => peak?.categories[one.name] ?? 0),
    growth: growth?.per_iteration ?? 0,
    how: ended.how, ended: ended.text, ooms: ended.out_of_memory,
    began: Number(process["start_realtime_ns"] ?? 0),
    begin_ns: main?.begin_ns ?? 0, end_ns: main?.end_ns ?? 0,
    bands: main ? analyzer.bands({ slot: main.slot, is_time: true, from: main.begin_ns,
                                   to: Math.max(main.end_ns, main.begin_ns + 1), columns }) : null,
  };
}
