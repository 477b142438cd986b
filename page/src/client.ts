// SPDX-License-Identifier: Apache-2.0
// The analyzer in its worker, as the page sees it: every call is a promise.
import type { Analyzer } from "./analyzer";

type Calls = Pick<Analyzer, "open" | "summary" | "difference" | "stackBy" | "search" | "found" | "needed" | "unneeded" | "certainties" | "bands" | "columns" | "strips" | "moment" | "momentNs" | "ticks" | "between" | "temporary" | "same" | "who" | "table" | "events" | "eventRows" | "life" | "served" | "map" | "area" | "held" | "ranges">;
export type Client = {
  [K in keyof Calls]: (...args: Parameters<Calls[K]>) => Promise<ReturnType<Calls[K]>>;
};

export interface Request { id: number; call: keyof Calls; args: unknown[]; }
/** text: the value, as JSON */
export interface Answer { id: number; value?: unknown; text?: string; error?: string; }

export function connect(worker: Worker): Client {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  let last = 0;
  const fail = (why: string) => {
    for (const one of waiting.values()) one.reject(new Error(why));
    waiting.clear();
  };
  worker.onmessage = (event: MessageEvent<Answer>) => {
    const one = waiting.get(event.data.id);
    waiting.delete(event.data.id);
    if (event.data.error === undefined) one?.resolve(event.data.text === undefined ? event.data.value : JSON.parse(event.data.text));
    else one?.reject(new Error(event.data.error));
  };
  worker.onerror = (event) => fail(event.message || "cannot start the analyzer");
  return new Proxy({} as Client, {
    get: (_, call: string) => call === "then" ? undefined : (...args: unknown[]) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        waiting.set(id, { resolve, reject });
        worker.postMessage({ id, call, args } as Request);
      }),
  });
}

/** If calls come faster than answers, make only the latest call after the running one. */
export function latest<A extends unknown[]>(call: (...args: A) => Promise<void>): (...args: A) => void {
  let running = false;
  let next: A | null = null;
  const run = async (args: A) => {
    running = true;
    try {
      await call(...args);
    } finally {
      running = false;
      const again = next;
      next = null;
      if (again) void run(again);
    }
  };
  return (...args: A) => {
    if (running) next = args;
    else void run(args);
  };
}
