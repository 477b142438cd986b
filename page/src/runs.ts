// SPDX-License-Identifier: Apache-2.0
// The runs that the page carries or was given: one trace each, with its tail and older segments.
import type { Files } from "./wasi";

export type Side = "old" | "new" | "";

export interface Run {
  label: string; // no other run has it
  file: string; // the trace's name among its files
  side: Side; // in the requested comparison
  bytes: number;
  is_running?: boolean; // its process still writes it
  /** Call for each use: nothing is kept. */
  files(): Promise<Files>;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const quick = (Uint8Array as { fromBase64?: (text: string) => Uint8Array<ArrayBuffer> }).fromBase64;
  if (quick) return quick.call(Uint8Array, text);
  const characters = atob(text.trim()), out = new Uint8Array(characters.length);
  for (let i = 0; i < out.length; i++) out[i] = characters.charCodeAt(i);
  return out;
}

const LEAST = 64 << 20, MOST_EXPANSION = 200; // as memtap import: a profile has 10 to 50

/** Return a dropped file's bytes, unpacked if they are gzip's. */
async function contents(file: File): Promise<Uint8Array> {
  const head = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (head[0] !== 0x1f || head[1] !== 0x8b) return new Uint8Array(await file.arrayBuffer());
  const parts: Uint8Array<ArrayBuffer>[] = [], reader = file.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  try {
    for (let size = 0, part; !(part = await reader.read()).done; ) {
      parts.push(part.value as Uint8Array<ArrayBuffer>);
      size += part.value.length;
      if (size > Math.max(LEAST, MOST_EXPANSION * file.size)) throw new Error(`${file.name}: expands beyond the safety limit`);
    }
  } catch (error) {
    if (error instanceof TypeError) throw new Error(`${file.name}: invalid gzip data`);
    throw error;
  } finally {
    void reader.cancel().catch(() => undefined);
  }
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) throw new Error(`${file.name}: compressed twice; gunzip it first`);
  return bytes;
}

export async function bytesOf(text: string, compressed: boolean): Promise<Uint8Array> {
  const raw = fromBase64(text);
  if (!compressed) return raw;
  const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const SUFFIX = /\.(tail|0)$/; // of a trace's other files

function unlike(label: string, runs: Run[]): string {
  let result = label;
  for (let n = 2; runs.some((run) => run.label === result); n++) result = `${label} (${n})`;
  return result;
}

/** Return the runs that the command has written into the page. */
export function carried(): Run[] {
  const groups = new Map<string, HTMLScriptElement[]>();
  for (const script of document.querySelectorAll<HTMLScriptElement>("script[data-trace]")) {
    const group = script.dataset["run"] ?? "0";
    groups.set(group, [...(groups.get(group) ?? []), script]);
  }
  const runs: Run[] = [];
  for (const scripts of groups.values()) {
    const main = scripts[0]!.dataset;
    runs.push({
      label: unlike(main["label"] ?? main["trace"]!, runs),
      file: main["trace"]!,
      side: main["side"] === "old" || main["side"] === "new" ? main["side"] : "",
      bytes: scripts.reduce((sum, one) => sum + Math.floor((one.textContent ?? "").length * 0.75), 0),
      files: async () => {
        const files: Files = {};
        for (const one of scripts) files[one.dataset["trace"]!] = await bytesOf(one.textContent ?? "", false);
        return files;
      },
    });
  }
  return runs;
}

/** Return the runs in dropped or chosen files; labels in `known` are already in use. */
export function given(list: File[], known: Run[]): Run[] {
  const base = (file: File) => file.name.replace(SUFFIX, "");
  const runs: Run[] = [];
  for (const main of list.filter((file) => !SUFFIX.test(file.name) || !list.some((one) => one.name === base(file)))) {
    const all = list.filter((file) => file === main || (SUFFIX.test(file.name) && base(file) === main.name));
    runs.push({
      label: unlike(main.webkitRelativePath || main.name, [...known, ...runs]),
      file: main.name, side: "",
      bytes: all.reduce((sum, one) => sum + one.size, 0),
      files: async () => {
        const files: Files = {};
        for (const one of all) files[one.name] = await contents(one);
        return files;
      },
    });
  }
  return runs;
}
