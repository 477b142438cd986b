// SPDX-License-Identifier: Apache-2.0
// The request that failed, as a block on top of the stack, and where it would be with what would have served it.
import type { Device, Oom, Trace } from "../analyzer";
import { Chart, LEFT, ink } from "../chart";
import type { Client } from "../client";
import { plain } from "../dom";
import { size } from "../format";
import { sumAt } from "../stack";
import { before } from "../state";

const WIDE = 26, TALL = 3; // CSS pixels; a small request is drawn as tall as that
const SHOWN = 2, WORDS = 48, LEAST = 12; // remedies, characters of each

interface Remedy { what: string; bytes: number; }

export interface Failure {
  oom: Oom;
  at: number; // the moment before it
  below: number; // bytes that were allocated
  room: number; // bytes that PyTorch might have reserved; 0: unknown
  remedies: Remedy[];
}

/** A label for a place in the chart. */
export interface Label { text: string; line: number; left: number; }

/** Return the last request of PyTorch's that failed on a device; null: none did. */
export async function failureOf(client: Client, trace: Trace, device: Device): Promise<Failure | null> {
  const oom = trace.ooms.filter((one) => one.slot === device.slot && one.is_stacked).pop();
  if (!oom) return null;
  const at = before(oom, device), bands = await client.bands({ slot: device.slot, is_time: false, from: at, to: at + 1, columns: 1 });
  const story = [...document.querySelectorAll<HTMLElement>("#texts pre[data-oom]")].find((one) => one.dataset["oom"] === trace.name);
  const told = oom === trace.ooms[trace.ooms.length - 1] ? story?.dataset ?? {} : {};
  return { oom, at, below: sumAt(bands, 0, trace.categories.length), room: Number(told["room"] ?? 0),
    remedies: JSON.parse(told["remedies"] ?? "[]") as Remedy[] };
}

/** Return the bytes that the chart needs: a request for far more than there is would hide the rest. */
export function heightOf({ below, oom, room }: Failure): number {
  return Math.max(Math.min(below + oom.requested, 1.3 * Math.max(below, room)), room < 1.5 * below ? room : 0);
}

/** Draw it at a pixel; return its labels. */
export function drawFailure(chart: Chart, failure: Failure, pixel: number, y: (bytes: number) => number): Label[] {
  const { context, width } = chart, { below, oom, room, remedies } = failure;
  const left = Math.max(Math.min(pixel, LEFT + width - WIDE), LEFT), labels: Label[] = [];
  const block = (from: number, colour: string, text: string) => {
    const bottom = y(from), top = Math.max(Math.min(y(from + oom.requested), bottom - TALL), 0);
    context.fillStyle = ink("paper");
    context.globalAlpha = 0.75;
    context.fillRect(left, top, WIDE, bottom - top);
    context.fillStyle = context.strokeStyle = colour;
    context.globalAlpha = 0.3;
    context.fillRect(left, top, WIDE, bottom - top);
    context.globalAlpha = 1;
    context.setLineDash([3, 2]);
    context.lineWidth = 1.5;
    context.strokeRect(left, top, WIDE, bottom - top);
    context.lineWidth = 1;
    context.setLineDash([]);
    labels.push({ text, line: top, left });
  };
  if (room && room <= heightOf(failure)) {
    context.fillStyle = ink("bad");
    context.fillRect(LEFT, Math.round(y(room)), width, 1);
  }
  block(below, ink("bad"), `failed: ${size(oom.requested)}${oom.line && ` by ${plain(oom.line).split(" ")[0]}`}`);
  for (const { what, bytes } of remedies.slice(0, SHOWN)) {
    const rest = Math.max(below - bytes, 0), words = plain(what);
    const text = (n: number) => `at best ${size(rest + oom.requested)}: ${words.length > n ? `${words.slice(0, n - 1)}…` : words}`;
    let n = WORDS;
    while (n >= LEAST && context.measureText(text(n)).width > left - LEFT - 20) n--;
    if (n >= LEAST) block(rest, ink("less"), text(n));
  }
  return labels;
}

/** Return the words for the line of what PyTorch might have reserved. */
export function roomText({ room }: Failure, card: number): string {
  return `PyTorch can reserve ${size(room)}${card ? ` of the card's ${size(card)}` : ""}`;
}
