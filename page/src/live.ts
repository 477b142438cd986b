// SPDX-License-Identifier: Apache-2.0
// A run that is still being written, as `memtap view --live` serves it: no byte is fetched
// twice.
import type { Run } from "./runs";
import type { Files } from "./wasi";

interface Served { file: number; name: string; size: number; id: string; }
interface State { running: boolean; files: Served[]; }
interface Held { name: string; id: string; bytes: Uint8Array; size: number; }

const TAIL = 1; // the tail's index among the files; needed only after the end of writing
const AT_LEAST_MS = 1000, TIMES = 4; // reading takes a fifth of the time at most

export class LiveRun implements Run {
  label = "live";
  file = "";
  readonly side = "";
  is_running = true;
  private readonly held = new Map<number, Held>();

  get bytes() {
    return [...this.held.values()].reduce((sum, one) => sum + one.size, 0);
  }

  async files(): Promise<Files> {
    const files: Files = {};
    for (const one of this.held.values()) files[one.name] = one.bytes.slice(0, one.size);
    return files;
  }

  private async fetchMore(served: Served): Promise<boolean> {
    let held = this.held.get(served.file);
    if (!held || held.id !== served.id || held.size > served.size) {
      held = { name: served.name, id: served.id, bytes: new Uint8Array(served.size), size: 0 };
      this.held.set(served.file, held);
    }
    const before = held.size;
    while (held.size < served.size) {
      const piece = new Uint8Array(await (await fetch(`file?${served.file}=${held.size}`)).arrayBuffer());
      if (!piece.length) break; // another file has replaced it
      if (held.size + piece.length > held.bytes.length) {
        const larger = new Uint8Array(2 * (held.size + piece.length));
        larger.set(held.bytes.subarray(0, held.size));
        held.bytes = larger;
      }
      held.bytes.set(piece, held.size);
      held.size += piece.length;
    }
    return held.size !== before;
  }

  /** Fetch new bytes; return whether there are any. */
  async update(): Promise<boolean> {
    const state = (await (await fetch("state")).json()) as State;
    let is_new = this.is_running !== state.running;
    this.is_running = state.running;
    for (const one of [...this.held.keys()])
      if (!state.files.some((served) => served.file === one)) this.held.delete(one);
    for (const served of state.files)
      if (served.file !== TAIL || !state.running) is_new = (await this.fetchMore(served)) || is_new;
    this.file = this.label = state.files.find((one) => one.file === 0)?.name ?? this.file;
    return is_new;
  }

  /** Call refresh for new bytes until the recording ends; call say with the state. */
  async follow(refresh: () => Promise<void>, say: (text: string) => void) {
    for (let took = 0; this.is_running; ) {
      await new Promise((resolve) => setTimeout(resolve, Math.max(AT_LEAST_MS, TIMES * took)));
      const begin = performance.now();
      try {
        if (!(await this.update())) continue;
      } catch {
        say("memtap view has ended. This is the last state that it read.");
        return;
      }
      await refresh();
      took = performance.now() - begin;
      say(this.is_running ? `Live, updated ${new Date().toTimeString().split(" ")[0]!.replace(/^0/, "")}` : "The recording has ended.");
    }
  }
}
