// SPDX-License-Identifier: Apache-2.0
// Translates wheel, drag, two fingers and click on a canvas into changes of its x axis. The wheel alone scrolls the page until
// the canvas has been clicked, and where there is nothing to zoom out of.
import { make } from "./dom";

export interface Meant {
  /** Zoom by a factor (below 1: in) around a place, in pixels of the canvas. Return whether that changed the range. */
  zoom(factor: number, pixel: number): boolean;
  /** Move the shown range; positive pixels show earlier moments. */
  pan(pixels: number): void;
  click(event: PointerEvent): void;
  /** Choose from a place to another, which may be to the left; is_done: the button is up. Absent: a drag moves the range. */
  select?(from: number, to: number, is_done: boolean): void;
}

const LEAST = 4; // pixels; a shorter move is a click

const MOST_TURN = 40; // a wheel's notch may be 120, a touch pad's step 1

export function wheelFactor(event: WheelEvent): number {
  return Math.exp(Math.min(Math.max(event.deltaY, -MOST_TURN), MOST_TURN) * 0.01);
}

const SHOWN_MS = 2500, STILL_MS = 300;
let hints = 3; // so often

/** Say, where the wheel has just scrolled the page, how it zooms. */
function hint(canvas: HTMLCanvasElement) {
  document.querySelector(".hint")?.remove();
  const box = canvas.getBoundingClientRect();
  const place = make("p", { class: "hint", role: "status", style: `left:${box.left + scrollX + box.width / 2}px;top:${box.top + scrollY + 8}px` },
    "Click the chart to zoom with the wheel, or hold Ctrl");
  document.body.append(place);
  setTimeout(() => place.remove(), SHOWN_MS);
}

export function gestures(canvas: HTMLCanvasElement, meant: Meant) {
  const down = new Map<number, number>(); // places of pointers
  let moved = 0, first = 0, is_selecting = false, zoomed = -STILL_MS; // when the wheel last did
  canvas.addEventListener("wheel", (event) => {
    const is_sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY), is_meant = event.ctrlKey || event.metaKey;
    if (!is_sideways && !is_meant && document.activeElement !== canvas) {
      if (hints-- > 0) hint(canvas);
      return;
    }
    if (is_sideways) meant.pan(-event.deltaX);
    else if (meant.zoom(wheelFactor(event), event.offsetX)) zoomed = event.timeStamp;
    else if (!is_meant && event.timeStamp - zoomed > STILL_MS) return; // the page scrolls
    event.preventDefault();
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    try {
      canvas.setPointerCapture(event.pointerId);
    } catch {
      // the pointer is gone already
    }
    if (!down.size) {
      moved = 0;
      first = event.offsetX;
    } else
      moved = Infinity; // a second finger: no click
    down.set(event.pointerId, event.offsetX);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (before === undefined) return;
    if (event.pointerType === "mouse" && !event.buttons) {
      down.delete(event.pointerId);
      return;
    }
    moved = Math.max(moved, Math.abs(event.offsetX - first));
    if (moved < LEAST) return;
    down.set(event.pointerId, event.offsetX);
    const other = [...down].find(([id]) => id !== event.pointerId);
    if (!other && meant.select && event.pointerType !== "touch") {
      is_selecting = true;
      meant.select(first, event.offsetX, false);
      return;
    }
    if (!other) {
      meant.pan(event.offsetX - before);
      return;
    }
    const was = Math.abs(before - other[1]), is = Math.abs(event.offsetX - other[1]);
    meant.pan((event.offsetX - before) / 2);
    if (was > 8 && is > 8) meant.zoom(was / is, (event.offsetX + other[1]) / 2);
  });
  const up = (event: PointerEvent) => {
    const was_down = down.delete(event.pointerId);
    if (was_down && is_selecting) meant.select!(first, event.offsetX, true);
    is_selecting = false;
    if (was_down && !down.size && moved < LEAST && event.type === "pointerup") meant.click(event);
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
}
