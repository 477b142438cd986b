// SPDX-License-Identifier: Apache-2.0
import type { Span } from "./analyzer";

const COLOURS: { [label: string]: string } = {
  forward: "#56b4e955", backward: "#e69f0055", "optimizer step": "#009e7355", evaluation: "#cc79a766", "start-up": "#80808033",
};

export function phaseColour(phase: string): string {
  return COLOURS[phase] ?? "#80808022";
}

/** Return the phase that a span is drawn as. */
export function drawnPhase(span: Span): string {
  return span.evaluates ? "evaluation" : span.phase;
}
