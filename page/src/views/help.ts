// SPDX-License-Identifier: Apache-2.0
import { make } from "../dom";

const KEYS: [keys: string[], what: string][] = [
  [["W", "S"], "zoom around the chosen moment; the wheel does with Ctrl, or over the small chart"],
  [["A", "D"], "earlier and later; or drag in the small chart"],
  [["Z"], "zoom to the chosen range"],
  [["←", "→"], "the moment before and after"],
  [["PgUp", "PgDn"], "100 moments"],
  [["Shift"], "with these four: a range from the chosen moment"],
  [["0"], "the whole run"],
  [["P"], "the peak"],
  [["T"], "events or time along the axis"],
  [["Space"], "in the address map: play, or stop"],
  [["1", "2", "3", "4", "5"], "who, table, address map, short-lived, report"],
  [["/"], "search"],
  [["Esc"], "all categories, no range, no choice"],
];

export function help(place: HTMLElement) {
  place.append(make("h2", {}, "Keys"),
    make("dl", {}, ...KEYS.flatMap(([keys, what]) =>
      [make("dt", {}, ...keys.flatMap((key) => [make("kbd", {}, key), " "])), make("dd", {}, what)])),
    make("p", {}, "Click on the chart to choose a moment. Drag over a range to see what was allocated and freed in it: the lists then " +
      "show what was allocated there and is left at its end. A click with Shift makes a range from the moment chosen before. Click on a category to see it alone."),
    make("p", {}, "The link in the address bar shows what you see."),
    make("form", { method: "dialog" }, make("button", {}, "Close")));
}
