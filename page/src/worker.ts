// SPDX-License-Identifier: Apache-2.0
import { Analyzer } from "./analyzer";
import type { Answer, Request } from "./client";

let analyzer: Analyzer | null = null;

self.onmessage = (event: MessageEvent<Request | WebAssembly.Module>) => {
  if (event.data instanceof WebAssembly.Module) {
    analyzer = new Analyzer(event.data);
    return;
  }
  const { id, call, args } = event.data;
  const answer: Answer = { id };
  try {
    if (!analyzer) throw new Error("the analyzer is not loaded");
    answer.value = (analyzer[call] as (...args: unknown[]) => unknown).apply(analyzer, args);
  } catch (error) {
    answer.error = error instanceof WebAssembly.RuntimeError || error instanceof RangeError
      ? `the analyzer stopped: ${error.message}` : (error as Error).message;
  }
  try {
    self.postMessage(answer);
  } catch { // browsers copy by recursion: what is nested deeply, as a stack of 1,000 frames, goes as text
    self.postMessage({ id, text: JSON.stringify(answer.value) } as Answer);
  }
};
