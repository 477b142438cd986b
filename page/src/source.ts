// SPDX-License-Identifier: Apache-2.0
// The text of the program's lines, which the command wrote into the page where the files were as they were.
import type { Frame } from "./analyzer";
import { make, plain } from "./dom";

const runs = new Map<string, Map<string, string>>(); // by run, then by file and line

function linesOf(run: string): Map<string, string> {
  const known = runs.get(run);
  if (known) return known;
  const lines = new Map<string, string>(), lists = [...document.querySelectorAll<HTMLElement>("#texts ul[data-run]")];
  let at = lists.findIndex((one) => one.dataset["run"] === run);
  while (at > 0 && !lists[at]!.childElementCount) at--; // the same lines as the run before
  for (const one of lists[at]?.querySelectorAll<HTMLElement>("li") ?? [])
    lines.set(`${one.dataset["file"]}:${one.dataset["line"]}`, one.textContent ?? "");
  runs.set(run, lines);
  return lines;
}

/** Return a line's text; "": the page has none. */
export function source(run: string, { file, line }: Pick<Frame, "file" | "line">): string {
  return plain(linesOf(run).get(`${file}:${line}`) ?? "");
}

/** Return the lines whose text has another, without regard to case: "LINE FILE". */
export function sourcesWith(run: string, text: string): string[] {
  const wanted = text.toLowerCase();
  return [...linesOf(run)].filter(([, line]) => line.toLowerCase().includes(wanted)).map(([place]) => place.replace(/^([^]*):(\d+)$/, "$2 $1"));
}

/** The same as an element; none if the page has no text. */
export function code(text: string): HTMLElement[] {
  return text ? [make("code", {}, text)] : [];
}
