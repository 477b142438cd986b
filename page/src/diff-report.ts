// SPDX-License-Identifier: Apache-2.0
// The part of memtap diff's JSON (memtap-diff-json(5), schema memtap.diff/1) that the page shows.

export interface Change { old: number; new: number; change: number; spread: number; noise: boolean; }
export interface Moment { phase: string; iteration: number; }
export interface DiffSite {
  category: string; kind: string; function: string; file: string; line: number; old_line: number | null;
  renamed_from: { file: string; function: string } | null; operator: string | null; module: string | null;
  certainty: string; guess: string | null; blame: number; bytes: Change; blocks: Change; allocations: Change; most: Change; stack: string;
  saver: { function: string; file: string; line: number } | null;
  held_by: { text: string } | null; // of what has grown
}
export interface DiffShare { name: string; bytes: Change; }
export interface DiffDevice {
  rank: number | null; device: number; same: boolean; peak_moved: boolean; old_peak: Moment; new_peak: Moment;
  allocated: Change; reserved: Change; cached: Change; unseen: Change; at_end: Change; growth: Change;
  /** a phase's name; null: the peaks are compared */
  compared_in: string | null; compared: Change;
  categories: { [name: string]: Change }; certainty: { [name: string]: string }; phases: { [name: string]: Change };
  sites: DiffSite[]; modules: DiffShare[]; module_groups: DiffShare[]; operators: DiffShare[];
}
export interface DiffRun {
  path: string; program: string | null; host: string | null; torch: string | null; rank: number | null;
  world_size: number | null; events: number; fault: string | null;
}
export interface DiffReport {
  schema: string; verdict: string; same: boolean; doubts: string[]; other_changes: string[];
  old: DiffRun[]; new: DiffRun[]; main: number | null; devices: DiffDevice[];
}
/** text: as the command prints it */
export interface Difference { report: DiffReport; text: string; }
