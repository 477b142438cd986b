// SPDX-License-Identifier: Apache-2.0
// Call sites as a table: searched, sorted, and copied as CSV. Of the chosen moment; or of short-lived blocks,
// which were freed before the next allocation, in the shown range.
import { FROM_CACHE, FROM_CUDA, Row, Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make, save } from "../dom";
import { lineLink } from "../editor";
import { count, doubt, lastUse, part, plural, size } from "../format";
import { swatch } from "../palette";
import { Column, SortedTable } from "../sorted-table";
import { code, source } from "../source";
import { Store, counted } from "../state";

export class TableView {
  private rows: Row[] = [];
  private whole = 0; // bytes of all rows
  private readonly said = make("span", { class: "said", role: "status" });
  private readonly table: SortedTable<Row>;
  private readonly fetch: () => void;

  constructor(place: HTMLElement, client: Client, private readonly store: Store, private readonly trace: Trace,
              private readonly what: "table" | "temporary") {
    this.table = new SortedTable(what === "table" ? "Call sites at the selected moment" : "Call sites of short-lived blocks",
      this.columns(), (row) => store.set({ life: row.life }), (row) => (row.life === store.state.life ? "chosen" : ""));
    const csv = make("button", { click: () => save("memtap.csv", "text/csv", this.table.csv()) }, "Save as CSV");
    place.append(make("div", { class: "bar" }, csv, this.said), make("div", { class: "wide" }, this.table.element));
    this.fetch = latest(async () => {
      const { slot, at, since, category: one, is_time, from, to, search } = store.state;
      const moment = async (x: number) => (is_time ? (await client.moment(slot, true, x)).moment : Math.floor(x));
      const [last, first] = what === "table" ? [at, since] : [await moment(to), Math.max(await moment(from), 0)];
      const all = await client[what](slot, last, first, one);
      this.rows = search ? await client[what](slot, last, first, one, true) : all;
      this.whole = sum(all);
      this.draw();
    });
  }

  private columns(): Column<Row>[] {
    const of = (row: Row) => this.trace.categories[row.category]!;
    const category = (row: Row) => of(row).label + doubt(row.certainty);
    const from = (row: Row) => (row.from === FROM_CUDA ? "CUDA" : row.from === FROM_CACHE ? "cache" : "");
    return [
      { title: "bytes", is_number: true, key: (row) => -row.bytes, text: (row) => size(row.bytes), raw: (row) => row.bytes,
        hint: (row) => `${row.bytes} bytes, ${part(row.bytes, this.whole)}` },
      { title: "blocks", is_number: true, key: (row) => -row.blocks, text: (row) => count(row.blocks), raw: (row) => row.blocks },
      { title: "category", key: category, text: category, cell: (row) =>
        [swatch(of(row).name), category(row)] },
      { title: "line", key: (row) => row.line, text: (row) => row.line, cell: (row) =>
        [lineLink({ file: row.file, line: row.number }, row.line), ...code(this.source(row))] },
      { title: "operator", key: (row) => row.operator, text: (row) => row.operator },
      ...(this.what === "table" ? this.fates() : [{ title: "served from", text: from, key: from }]),
    ];
  }

  /** What keeps a row's blocks alive and when they were last used, where the trace has that. */
  private fates(): Column<Row>[] {
    const held = (row: Row) => row.held ?? "", used = ({ uses }: Row) => (uses ? lastUse(uses) : "");
    return [
      ...(this.trace.devices.some((one) => one.held) ? [{ title: "held by", key: held, text: (row: Row) => held(row).replace(/^held by /, "") }] : []),
      ...(this.trace.devices.some((one) => one.uses) ? [{ title: "last used", text: used,
        key: ({ uses }: Row) => (!uses ? Infinity : uses.is_never ? -1 : uses.last_ns) }] : []),
    ];
  }

  update() {
    this.fetch();
  }

  private source(row: Row): string {
    return source(this.trace.name, { file: row.file, line: row.number });
  }

  draw() {
    const { rows } = this, bytes = sum(rows), blocks = rows.reduce((all, row) => all + row.blocks, 0);
    this.said.textContent = (this.what === "table" ? `${plural(rows.length, "call site")}, ${size(bytes)}`
      : `${plural(blocks, "block")} in the visible range ${blocks === 1 ? "was" : "were"} freed before the next allocation: ${plural(rows.length, "call site")}, ${size(bytes)} in total`) +
      (bytes < this.whole ? ` of ${size(this.whole)}` : "") + (this.what === "table" ? `, ${counted(this.store.state)}` : "");
    this.table.set(rows, this.columns());
  }
}

function sum(rows: Row[]): number {
  return rows.reduce((all, row) => all + row.bytes, 0);
}
