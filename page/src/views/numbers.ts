// SPDX-License-Identifier: Apache-2.0
// The shown range as a table, for users who cannot see the chart.
import type { Trace } from "../analyzer";
import { Client } from "../client";
import { make, plain } from "../dom";
import { count, size, time } from "../format";
import { State } from "../state";

const ROWS = 40;

export async function showNumbers(place: Element, client: Client, state: State, trace: Trace, groups: string[]) {
  const { slot, is_time, from, to } = state, n = trace.categories.length;
  const bands = await client.bands({ slot, is_time, from, to, columns: ROWS });
  const used = trace.categories.map((_, c) => c)
    .filter((c) => Array.from({ length: ROWS }, (_, i) => bands.numbers[i * bands.fields + c]).some((one) => one));
  const width = (to - from) / ROWS;
  const rows = Array.from({ length: ROWS }, (_, i) => {
    const at = i * bands.fields, x = from + i * width;
    const sum = used.reduce((all, c) => all + bands.numbers[at + c]!, 0);
    return make("tr", {}, make("th", { scope: "row" }, is_time ? time(x) : count(Math.floor(x))),
      ...[sum, bands.numbers[at + n + 1]!, ...used.map((c) => bands.numbers[at + c]!)]
        .map((bytes) => make("td", { class: "number", title: `${bytes} bytes` }, size(bytes))));
  });
  place.replaceChildren(make("table", {},
    make("caption", { class: "hidden" }, "the highest moment of each of 40 parts of the shown range"),
    make("thead", {}, make("tr", {}, ...[is_time ? "from" : "from moment", "allocated", "reserved",
      ...used.map((c) => plain(state.stack === "category" ? trace.categories[c]!.label : groups[c] ?? ""))].map((text) => make("th", { scope: "col" }, text)))),
    make("tbody", {}, ...rows)));
}
