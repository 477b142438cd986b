// SPDX-License-Identifier: Apache-2.0
// Call sites as a table: searched, sorted, and copied as CSV. Of the chosen moment; or of short-lived blocks,
// which were freed before the next allocation, in the shown range.
import { FROM_CACHE, FROM_CUDA, Row, Trace } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain, save } from "../dom";
import { count, part, plural, size } from "../format";
import { colour } from "../palette";
import { code, source } from "../source";
import { Store } from "../state";

const MOST = 500; // shown rows; a search finds the others

interface Column { title: string; is_number?: boolean; text: (row: Row) => string; key: (row: Row) => number | string; }

export class TableView {
  private rows: Row[] = [];
  private order = 0;
  private is_rising = false;
  private readonly body = make("tbody");
  private readonly head = make("tr");
  private readonly said = make("span", { class: "said", role: "status" });
  private readonly columns: Column[];
  private readonly fetch: () => void;

  constructor(place: HTMLElement, client: Client, private readonly store: Store, private readonly trace: Trace,
              private readonly told: (text: string) => void, private readonly what: "table" | "temporary") {
    const category = (row: Row) => trace.categories[row.category]!.label;
    const from = (row: Row) => (row.from === FROM_CUDA ? "CUDA" : row.from === FROM_CACHE ? "cache" : "");
    this.columns = [
      { title: "bytes", is_number: true, text: (row) => size(row.bytes), key: (row) => -row.bytes },
      { title: "blocks", is_number: true, text: (row) => count(row.blocks), key: (row) => -row.blocks },
      { title: "category", text: (row) => category(row) + (row.guess ? " (guess)" : ""), key: category },
      { title: "line", text: (row) => row.line, key: (row) => row.line },
      { title: "operator", text: (row) => row.operator, key: (row) => row.operator },
      ...(what === "table" ? [] : [{ title: "taken from", text: from, key: from }]),
    ];
    const csv = make("button", { click: () => save("memtap.csv", "text/csv", this.csv()) }, "Save as CSV");
    place.append(make("div", { class: "bar" }, csv, this.said),
      make("div", { class: "wide" }, make("table", { class: "sites" },
        make("caption", { class: "hidden" }, what === "table" ? "Call sites of the chosen moment" : "Call sites of short-lived blocks"),
        make("thead", {}, this.head), this.body)));
    this.fetch = latest(async () => {
      const { slot, at, since, category: one, is_time, from, to } = store.state;
      if (what === "table") this.rows = await client.table(slot, at, since, one);
      else {
        const moment = async (x: number) => (is_time ? (await client.moment(slot, true, x)).moment : Math.floor(x));
        this.rows = await client.temporary(slot, await moment(to), Math.max(await moment(from), 0), one);
      }
      this.draw();
    });
    this.drawHead();
  }

  update() {
    this.fetch();
  }

  private found(): Row[] {
    const search = this.store.state.search.toLowerCase(), key = this.columns[this.order]!.key;
    const rows = search ? this.rows.filter((row) => [...this.columns.map((one) => one.text(row)), this.source(row)].some((one) => one.toLowerCase().includes(search)))
                        : [...this.rows];
    rows.sort((a, b) => {
      const x = key(a), y = key(b), by = x < y ? -1 : x > y ? 1 : b.bytes - a.bytes;
      return this.is_rising ? -by : by;
    });
    return rows;
  }

  private source(row: Row): string {
    return source(this.trace.name, { file: row.file, line: row.number });
  }

  private drawHead() {
    this.head.replaceChildren(...this.columns.map((column, i) =>
      make("th", { scope: "col", "aria-sort": i !== this.order ? "none" : this.is_rising ? "ascending" : "descending",
                   class: column.is_number ? "number" : "" },
        make("button", { click: () => {
          this.is_rising = this.order === i && !this.is_rising;
          this.order = i;
          this.drawHead();
          this.draw();
        } }, column.title + (i !== this.order ? "" : this.is_rising ? " ▴" : " ▾")))));
  }

  draw() {
    const rows = this.found(), whole = this.rows.reduce((sum, row) => sum + row.bytes, 0);
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const is_live = this.what === "table", blocks = rows.reduce((sum, row) => sum + row.blocks, 0);
    this.said.textContent = (is_live ? `${plural(rows.length, "call site")}, ${size(bytes)}`
      : `${plural(blocks, "block")} in the shown range ${blocks === 1 ? "was" : "were"} freed before the next allocation: ${plural(rows.length, "call site")}, ${size(bytes)} in all`) +
      (rows.length < this.rows.length ? ` of ${size(whole)}` : "") +
      (rows.length > MOST ? `; the first ${MOST} are shown, a search finds the others` : "");
    this.told(this.store.state.search ? `${plural(rows.length, "line")} of ${this.rows.length} found: ${size(bytes)}` : "");
    this.body.replaceChildren(...rows.slice(0, MOST).map((row) =>
      make("tr", { tabindex: 0, class: row.life === this.store.state.life ? "chosen" : "",
                   click: () => this.store.set({ life: row.life }),
                   keydown: (event: KeyboardEvent) => {
                     if (event.key === "Enter") this.store.set({ life: row.life });
                   } },
        ...this.columns.map((column, i) => {
          const cell = make("td", { class: column.is_number ? "number" : "" }, plain(column.text(row)));
          if (i === 0)
            cell.title = `${row.bytes} bytes, ${part(row.bytes, whole)}`;
          if (column.title === "line") cell.append(...code(this.source(row)));
          if (i === 2)
            cell.prepend(make("span", { class: "swatch", style: `--colour:${colour(this.trace.categories[row.category]!.name)}` }));
          return cell;
        }))));
  }

  private csv(): string {
    // an apostrophe keeps a spreadsheet from reading the cell as a formula
    const cell = (text: string) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/"/g, '""')}"`;
    const lines = this.found().map((row) => [row.bytes, row.blocks, cell(this.trace.categories[row.category]!.name),
      cell(plain(row.line)), cell(plain(row.operator)), cell(row.guess ?? "")].join(","));
    return ["bytes,blocks,category,line,operator,guess", ...lines, ""].join("\n");
  }
}
