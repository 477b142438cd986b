// SPDX-License-Identifier: Apache-2.0
// Several runs in one page: one by one, side by side (ranks of a job), or two compared.
import { byId, make, plain } from "./dom";
import { Run } from "./runs";
import { address, keep, link } from "./state";
import { Workers } from "./workers";
import { DifferenceView } from "./views/difference";
import { RanksView } from "./views/ranks";

const MODES = ["ranks", "difference", "run"] as const;
type Mode = (typeof MODES)[number];
const LABELS: { [mode in Mode]: string } = { ranks: "Ranks", difference: "Difference", run: "One run" };

/** Opens a run's own views; fragment: the state to show, "": the last state. */
export type OpenRun = (run: Run, fragment: string) => Promise<void>;

export class Several {
  private runs: Run[] = [];
  private mode: Mode = "run";
  private chosen = 0; // the run in the mode "run"
  private is_wanted = false; // the user chose the mode, by a link or a tab
  private readonly ranks: RanksView;
  private readonly difference: DifferenceView;

  constructor(private readonly place: HTMLElement, workers: Workers, private readonly openRun: OpenRun,
              private readonly failed: (why: string) => void) {
    this.ranks = new RanksView(byId("panel-ranks"), workers, (run) => this.openOne(run, ""), (old, now) => {
      keep(`view=difference&old=${this.runs.indexOf(old)}&new=${this.runs.indexOf(now)}`, true);
      this.show("difference").catch((error: Error) => failed(error.message));
    });
    this.difference = new DifferenceView(byId("panel-difference"), workers, (run, fragment) => this.openOne(run, fragment));
    window.addEventListener("hashchange", () => {
      if (this.runs.length > 1) this.show(this.asked()).catch((error: Error) => this.failed(error.message));
    });
  }

  /** Return the link's mode if the runs allow it, else the mode that suits the runs. */
  private asked(): Mode {
    const given = new URLSearchParams(address());
    const run = Number(given.get("run") ?? NaN);
    if (this.runs[run]) {
      this.chosen = run;
      return "run";
    }
    const view = given.get("view");
    this.is_wanted = view === "ranks" || view === "difference";
    if (view === "ranks" || view === "difference") return view;
    return this.runs.some((one) => one.side) ? "difference" : "ranks";
  }

  /** Add runs and show them: the carried runs as the link says. */
  async add(more: Run[], are_carried: boolean) {
    if (!more.length) return;
    const before = this.runs, { mode, chosen } = this, shown = address();
    this.runs = [...before, ...more];
    this.chosen = before.length;
    try {
      const fragment = are_carried ? address() : "";
      await this.show(this.runs.length === 1 || (!are_carried && more.length === 1) ? "run"
        : are_carried ? this.asked() : "ranks", fragment);
    } catch (error) {
      this.runs = before;
      this.chosen = before[chosen] ? chosen : 0;
      if (before.length) { // what was shown stays
        await this.show(mode, shown);
        await new Promise(requestAnimationFrame);
      } else this.draw();
      throw error;
    }
  }

  private async openOne(run: Run, fragment: string) {
    this.chosen = this.runs.indexOf(run);
    keep(`run=${this.chosen}${fragment && `&${fragment}`}`, true);
    await this.show("run", fragment);
  }

  private async show(mode: Mode, fragment = "") {
    const is_new = mode !== this.mode;
    this.mode = mode;
    link.outer = this.runs.length < 2 ? "" : mode === "run" ? `run=${this.chosen}` : `view=${mode}`;
    if (is_new && mode !== "difference") this.difference.leave();
    if (is_new && mode !== "ranks") this.ranks.leave();
    this.draw();
    document.documentElement.dataset["state"] = "loading";
    if (mode === "run") await this.openRun(this.runs[this.chosen]!, fragment);
    else await (mode === "ranks" ? this.ranks : this.difference).show(this.runs);
    if (mode === "ranks" && this.mode === mode && !this.is_wanted && this.ranks.areTwoRuns()) {
      keep("view=difference");
      await this.show("difference");
      return;
    }
    this.draw();
    requestAnimationFrame(() => (document.documentElement.dataset["state"] = "ready"));
  }

  private go(mode: Mode) {
    this.is_wanted = true;
    keep(mode === "run" ? `run=${this.chosen}` : `view=${mode}`, true);
    this.show(mode).catch((error: Error) => this.failed(error.message));
  }

  private draw() {
    for (const mode of ["ranks", "difference"] as const) byId(`panel-${mode}`).hidden = mode !== this.mode;
    if (this.mode !== "run") byId("views").hidden = true;
    byId("drop").hidden = this.runs.length > 0;
    const more = make("button", { title: "or drop it on the page; it stays on this machine", click: () => byId("file").click() }, "Add a trace");
    if (this.runs.length < 2) {
      this.place.replaceChildren(...(this.runs.length ? [make("div", { class: "modes" }, more)] : []));
      return;
    }
    const tabs = MODES.map((mode, i) => make("button", {
      role: "tab", id: `mode-${mode}`, "aria-selected": String(mode === this.mode), tabindex: mode === this.mode ? 0 : -1,
      "aria-controls": mode === "run" ? "views" : `panel-${mode}`, click: () => this.go(mode),
      keydown: (event: KeyboardEvent) => {
        const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!by) return;
        event.stopPropagation();
        const next = MODES[(i + by + MODES.length) % MODES.length]!;
        this.go(next);
        byId(`mode-${next}`).focus();
      },
    }, LABELS[mode]));
    const choice = make("select", { id: "run", "aria-label": "run", change: (event: Event) =>
      this.openOne(this.runs[Number((event.target as HTMLSelectElement).value)]!, "")
        .catch((error: Error) => this.failed(error.message)) },
      ...this.runs.map((run, i) => make("option", { value: i, selected: i === this.chosen }, plain(run.label))));
    this.place.replaceChildren(make("div", { class: "modes" },
      make("div", { role: "tablist", "aria-label": "runs" }, ...tabs), ...(this.mode === "run" ? [choice] : []), more));
  }
}
