// SPDX-License-Identifier: Apache-2.0
import { make } from "../dom";

const KEYS: [keys: string[], what: string][] = [
  [["W", "S"], "zoom around the selected moment; also the wheel over a clicked chart or the small one, or Ctrl and the wheel"],
  [["A", "D"], "move earlier and later; also drag in the small chart"],
  [["Z"], "zoom to the selected range"],
  [["←", "→"], "previous and next moment"],
  [["PgUp", "PgDn"], "100 moments"],
  [["Shift"], "with these four: select a range from the selected moment"],
  [["0"], "whole run"],
  [["P"], "go to the peak"],
  [["T"], "switch the axis between events and time"],
  [["N"], "only what is needed, where uses were recorded (memtap run --uses)"],
  [["Space"], "address map: play or stop"],
  [["1", "2", "3", "4", "5", "6", "7"], "who, table, address map, short-lived, report, events, held by"],
  [["↑", "↓", "Home", "End"], "events: previous, next, first and last event"],
  [["/"], "search"],
  [["Esc"], "clear selection"],
];

export function help(place: HTMLElement) {
  place.append(make("h2", {}, "Keys"),
    make("dl", {}, ...KEYS.flatMap(([keys, what]) =>
      [make("dt", {}, ...keys.flatMap((key) => [make("kbd", {}, key), " "])), make("dd", {}, what)])),
    make("p", {}, "Click on the chart to select a moment. Drag to select a range and see what was allocated and freed in it: the lists then " +
      "show what was allocated in the range and is still live at its end. Shift-click extends the selection to a range. Click a category to show it alone."),
    make("p", {}, "The address bar has a link to the current view."),
    make("form", { method: "dialog" }, make("button", {}, "Close")));
}
