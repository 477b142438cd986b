// SPDX-License-Identifier: Apache-2.0
// Numbers and times as the command prints them.
import type { Uses } from "./analyzer";

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Return a number with so many decimals, as printf does: ties round to even. */
export function fixed(value: number, digits: number): string {
  const isMiddle = Math.abs(value * 2 ** (digits + 1)) % 2 === 1, before = Math.trunc(value * 10 ** digits);
  return (isMiddle && before % 2 === 0 ? before / 10 ** digits : value).toFixed(digits);
}

/** "64.06 MiB"; whole bytes below 1 KiB. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let unit = 0, value = bytes / 1024;
  for (; value >= 1023.995 && unit < UNITS.length - 1; unit++)
    value /= 1024;
  return `${fixed(value, 2)} ${UNITS[unit]}`;
}

/** Return the suffix of a category that is not certain: " (likely)". */
export function doubt(certainty: string): string {
  return certainty === "certain" ? "" : ` (${certainty})`;
}

/** "+1.20 GiB", "-512 B", "=". */
export function change(bytes: number): string {
  return bytes ? `${bytes > 0 ? "+" : "-"}${size(Math.abs(bytes))}` : "=";
}

/** "+3.1 %"; "" where there was nothing before. */
export function percent(old: number, by: number): string {
  return old && by ? `${by > 0 ? "+" : "-"}${fixed((100 * Math.abs(by)) / old, 100 * Math.abs(by) < 1000 * old ? 1 : 0)} %` : "";
}

/** "1.234 s", "12.3 ms", "45 µs". */
export function time(ns: number): string {
  const s = ns / 1e9;
  if (s >= 1) return `${fixed(s, 3)} s`;
  if (s >= 1e-3) return `${fixed(s * 1e3, 1)} ms`;
  return `${fixed(s * 1e6, 0)} µs`;
}

export function count(n: number): string {
  return n.toLocaleString("en-US");
}

/** "39.9 %"; "" if the total is 0. */
export function part(bytes: number, whole: number): string {
  return whole ? `${fixed((100 * bytes) / whole, 1)} %` : "";
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** Round numbers between 0 and a limit, for an axis of bytes. */
export function ticks(limit: number, n: number): number[] {
  if (!(limit > 0)) return [0];
  const rough = limit / n, power = 2 ** Math.floor(Math.log2(rough));
  const step = [1, 2].map((k) => k * power).find((one) => one >= rough) ?? 2 * power;
  const out: number[] = [];
  for (let at = 0; at <= limit; at += step) out.push(at);
  return out;
}

/** Round numbers of a range of moments or ns; its only number, if it has one. */
export function marks(from: number, to: number, n: number): number[] {
  const rough = (to - from) / n;
  if (!(rough > 0)) return from === to ? [from] : [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((one) => one >= rough)!;
  const out: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) out.push(at);
  return out;
}

/** Return when and by which line a block was last used, and how long before its free. */
export function lastUse(uses: Uses, ended_ns: number | null = null): string {
  const more = uses.is_passed ? "; its address was stored in CUDA's memory, so other uses are possible" : "";
  if (uses.is_never) return `never${more}`;
  return `${time(uses.last_ns)}${uses.line && ` by ${uses.line}`}` +
    (ended_ns === null ? "" : `, ${time(Math.max(ended_ns - uses.last_ns, 0))} before its free`) + more;
}
