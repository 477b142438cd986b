// SPDX-License-Identifier: Apache-2.0
// Paper is light: charts are drawn again for printing, and once more afterwards.

/** draw: draws all canvases synchronously, since the printer does not wait. */
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
