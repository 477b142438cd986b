// SPDX-License-Identifier: Apache-2.0
import type { Span } from "./analyzer";
import { make, plain } from "./dom";

const COLOURS: { [label: string]: string } = {
  forward: "#56b4e955", backward: "#e69f0055", "optimizer step": "#009e7355", evaluation: "#cc79a766", "start-up": "#80808033",
};

export function phaseColour(phase: string): string {
  return COLOURS[phase] ?? "#80808022";
}

/** Draw a phase, with an edge on each side where it is wide enough: the colours are pale behind its name. edge, text: inks, which
 *  are slow to find for thousands of phases. */
export function drawPhase(context: CanvasRenderingContext2D, phase: string, left: number, top: number, right: number, edge: string, text: string) {
  if (!phase) return;
  context.fillStyle = phaseColour(phase);
  context.fillRect(left, top, Math.max(1, right - left), 12);
  context.fillStyle = edge;
  context.fillRect(left, top + 12, Math.max(1, right - left), 1);
  if (right - left > 3) context.fillRect(left, top, 1, 12);
  if (right - left <= context.measureText(phase).width + 6) return;
  context.fillStyle = text;
  context.fillText(phase, left + 3, top + 6);
}

/** Return the key of phases: most are too narrow for their names. */
export function phaseKeys(phases: Iterable<string>): HTMLElement[] {
  return [...phases].map((one) => make("span", { class: "key" }, make("span", { class: "swatch", style: `--colour:${phaseColour(one)}` }), plain(one)));
}

/** A phase of the columns from .. to - 1. */
export interface PhaseRun { phase: string; from: number; to: number; }

/** Return the phases in the middle of columns; at: where a span begins; edges: of the columns. */
export function phaseRuns(spans: Span[], at: (span: Span) => number, edges: number[]): PhaseRun[] {
  const runs: PhaseRun[] = [];
  for (let i = 0, next = 0; i + 1 < edges.length; i++) {
    while (next < spans.length && at(spans[next]!) <= (edges[i]! + edges[i + 1]!) / 2) next++;
    const phase = next ? drawnPhase(spans[next - 1]!) : "", last = runs[runs.length - 1];
    if (last?.phase === phase) last.to = i + 1;
    else runs.push({ phase, from: i, to: i + 1 });
  }
  return runs.filter((one) => one.phase);
}

/** Return the phase that a span is drawn as; "": none, as in iterations of a program without modules. */
export function drawnPhase(span: Span): string {
  return span.evaluates ? "evaluation" : span.iteration && span.phase === "start-up" ? "" : span.phase;
}
