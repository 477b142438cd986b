// SPDX-License-Identifier: Apache-2.0
import type { Uses } from "./analyzer";
import { time } from "./format";

/** Return when and by which line a block was last used, and how long before its free. */
export function lastUse(uses: Uses, ended_ns: number | null = null): string {
  const more = uses.is_passed ? "; its address was stored in CUDA's memory, so other uses are possible" : "";
  if (uses.is_never) return `never${more}`;
  return `${time(uses.last_ns)}${uses.line && ` by ${uses.line}`}` +
    (ended_ns === null ? "" : `, ${time(Math.max(ended_ns - uses.last_ns, 0))} before its free`) + more;
}
