// SPDX-License-Identifier: Apache-2.0
// Analyzers, each in a worker of its own; ending the worker frees all its memory.
import { Client, connect } from "./client";
import { byId } from "./dom";
import { bytesOf } from "./runs";

declare const WORKER: string; // worker.ts as a script: bundle.mjs

export class Workers {
  private constructor(private readonly url: string, private readonly module: WebAssembly.Module) {}

  static async load(): Promise<Workers> {
    for (const name of ["WebAssembly", "Worker"])
      if (!(name in window)) throw new Error(`This browser lacks ${name}, which the views need.`);
    const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
    const analyzer = await bytesOf(byId("analyzer").textContent ?? "", true);
    return new Workers(url, await WebAssembly.compile(analyzer as BufferSource));
  }

  start(): { client: Client; end: () => void } {
    const worker = new Worker(this.url);
    worker.postMessage(this.module);
    return { client: connect(worker), end: () => worker.terminate() };
  }

  /** Make a call with a fresh analyzer, which then ends. */
  async once<T>(call: (client: Client) => Promise<T>): Promise<T> {
    const { client, end } = this.start();
    try {
      return await call(client);
    } finally {
      end();
    }
  }
}
