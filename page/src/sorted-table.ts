// SPDX-License-Identifier: Apache-2.0
// A table sorted by clicks on its heads; the user chooses a row by pointer or key.
import { make, plain } from "./dom";
import { count, plural } from "./format";

const MOST = 1000; // shown rows; other orders show the others

export interface Column<Row> {
  title: string;
  is_number?: boolean;
  /** Sorts ascending, the most interesting row first; absent: the rows' given order. */
  key?: (row: Row) => number | string;
  text: (row: Row) => string;
  /** What a CSV has, if more exact than the text. */
  raw?: (row: Row) => number;
  /** The cell's content, if more than the text. */
  cell?: (row: Row) => (Node | string)[];
  hint?: (row: Row) => string;
}

export class SortedTable<Row> {
  readonly element: HTMLTableElement;
  private readonly head = make("tr");
  private readonly body = make("tbody");
  private rows: Row[] = [];
  private order = -1;
  private is_reversed = false;

  constructor(caption: string, private columns: Column<Row>[], private readonly choose: (row: Row) => void,
              private readonly look: (row: Row) => string = () => "", private readonly drawn: () => void = () => undefined) {
    this.element = make("table", { class: "sites" }, make("caption", { class: "hidden" }, caption),
      make("thead", {}, this.head), this.body);
    this.drawHead();
  }

  /** columns: instead of those so far, of which they are the first or which are the first of them */
  set(rows: Row[], columns = this.columns) {
    const isOther = columns.length !== this.columns.length;
    this.rows = rows;
    this.columns = columns;
    if (isOther) this.drawHead();
    this.draw();
  }

  sorted(): Row[] {
    const key = this.columns[this.order]?.key, rows = [...this.rows];
    if (key)
      rows.sort((a, b) => {
        const x = key(a), y = key(b);
        return x < y ? -1 : x > y ? 1 : 0;
      });
    return this.is_reversed ? rows.reverse() : rows;
  }

  private drawHead() {
    const sort = (i: number) => {
      this.is_reversed = this.order === i && !this.is_reversed;
      this.order = i;
      this.drawHead();
      this.draw();
      this.head.querySelectorAll("th")[i]!.querySelector("button")?.focus();
    };
    this.head.replaceChildren(...this.columns.map((column, i) => make("th", {
      scope: "col", class: column.is_number ? "number" : "",
      "aria-sort": i !== this.order ? "none" : this.is_reversed ? "descending" : "ascending",
    }, ...(column.key ? [make("button", { click: () => sort(i) },
      column.title,
      make("span", { class: "arrow", "aria-hidden": "true" }, i !== this.order ? "↕" : this.is_reversed ? "▴" : "▾"))] : [column.title]))));
  }

  private draw() {
    this.body.replaceChildren(...this.sorted().slice(0, MOST).map((row) => make("tr", {
      tabindex: 0, class: this.look(row), click: () => this.choose(row),
      keydown: (event: KeyboardEvent) => {
        if (event.key === "Enter" && event.target === event.currentTarget) this.choose(row);
      },
    }, ...this.columns.map((column) => make("td", {
      class: column.is_number ? "number" : "", "data-head": column.title, title: column.hint?.(row).split("\n").map(plain).join("\n"),
    }, ...(column.cell ? column.cell(row) : [plain(column.text(row))]))))));
    if (this.rows.length > MOST)
      this.body.append(make("tr", { class: "said" }, make("td", { colspan: this.columns.length },
        `Showing the first ${count(MOST)} of ${plural(this.rows.length, "row")} in this order; the CSV has all.`)));
    this.drawn();
  }

  csv(): string {
    // an apostrophe keeps a spreadsheet from reading the cell as a formula
    const cell = (text: string) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;
    const lines = [this.columns.map((one) => cell(one.title)),
      ...this.sorted().map((row) => this.columns.map((one) => one.raw?.(row) ?? cell(plain(one.text(row)))))];
    return lines.map((one) => `${one.join(",")}\n`).join("");
  }
}
