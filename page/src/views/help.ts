// SPDX-License-Identifier: Apache-2.0
import { make } from "../dom";

const KEYS: [keys: string[], what: string][] = [
  [["W", "S"], "zoom in and out; the wheel does, too"],
  [["A", "D"], "earlier and later; or drag"],
  [["←", "→"], "the moment before and after"],
  [["PgUp", "PgDn"], "100 moments"],
  [["0"], "the whole run"],
  [["P"], "the peak"],
  [["T"], "events or time along the axis"],
  [["Space"], "in the address map: play, or stop"],
  [["1", "2", "3", "4", "5"], "blocks, address map, who, table, report"],
  [["/"], "search"],
  [["Esc"], "all categories, no choice"],
];

export function help(place: HTMLElement) {
  place.append(make("h2", {}, "Keys"),
    make("dl", {}, ...KEYS.flatMap(([keys, what]) =>
      [make("dt", {}, ...keys.flatMap((key) => [make("kbd", {}, key), " "])), make("dd", {}, what)])),
    make("p", {}, "Click on the chart to choose a moment. With Shift, the lists show only what was made since then " +
      "and is still there at the chosen moment. Click on a category to see it alone."),
    make("p", {}, "The link in the address bar shows what you see."),
    make("form", { method: "dialog" }, make("button", {}, "Close")));
}
