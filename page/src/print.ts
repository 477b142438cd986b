// SPDX-License-Identifier: Apache-2.0
// Paper is light: charts are drawn anew for it, and as they were afterwards.

/** draw: all that stands on canvases now. It must not wait for anything: the printer does not. */
export function onPrint(draw: () => void, over?: AbortSignal) {
  const root = document.documentElement;
  window.addEventListener("beforeprint", () => {
    root.dataset["theme"] = "light";
    draw();
  }, over && { signal: over });
  window.addEventListener("afterprint", () => {
    delete root.dataset["theme"];
    draw();
  }, over && { signal: over });
}
