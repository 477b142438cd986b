// SPDX-License-Identifier: Apache-2.0
import { byId, make } from "./dom";

/** A line of a tip: a text, or one behind a swatch of that colour. */
export type Line = string | { colour: string; text: string };

export function hide() {
  byId("tip").hidden = true;
}

/** Show lines next to the pointer; none: hide. Scrolling, pressing a key or pointing elsewhere hides them. */
export function tip(event: { clientX: number; clientY: number }, lines: string | Line[]) {
  const place = byId("tip"), list = typeof lines === "string" ? [lines] : lines;
  place.hidden = !list.some((line) => line !== "");
  if (place.hidden) return;
  place.replaceChildren(...list.map((line) => typeof line === "string" ? make("div", {}, line)
    : make("div", {}, make("span", { class: "swatch", style: `--colour:${line.colour}` }), line.text)));
  const left = Math.min(event.clientX + 14, window.innerWidth - place.offsetWidth - 8);
  place.style.left = `${Math.max(left, 4)}px`;
  place.style.top = `${Math.max(Math.min(event.clientY + 14, window.innerHeight - place.offsetHeight - 8), 4)}px`;
}

/** Show what is under the pointer while it moves, or under a finger that taps. */
export function hovers(canvas: HTMLCanvasElement, show: (event: PointerEvent) => void, left: () => void = () => undefined) {
  canvas.addEventListener("pointermove", (event) => event.buttons || show(event));
  canvas.addEventListener("pointerup", (event) => event.pointerType === "touch" && show(event));
  canvas.addEventListener("pointerleave", (event) => {
    left();
    if (event.pointerType !== "touch") hide(); // a lifted finger leaves, too
  });
}

let is_touch = false; // the last pointer

/** Show an element's title, which browsers show to a pointer only. */
function title(target: Element, which: string, place: { clientX: number; clientY: number }) {
  const text = target.closest(which)?.getAttribute("title");
  if (text) tip(place, text.replace(/[\u2068\u2069]/g, "").split("\n"));
}

// on touch, a button is explained by what it does; a click comes after the change that it causes
document.addEventListener("click", (event) => is_touch && title(event.target as Element, "[title]:not(button:not(.box), a, label)", event));
document.addEventListener("focusin", (event) => {
  const target = event.target as Element, { left, bottom } = target.getBoundingClientRect();
  if (target.matches(":focus-visible")) title(target, "[title]", { clientX: left, clientY: bottom });
});
for (const end of ["scroll", "keydown", "blur"]) window.addEventListener(end, hide, { capture: true, passive: true });
document.addEventListener("pointerdown", (event) => {
  is_touch = event.pointerType === "touch";
  if (is_touch) hide();
}, true);
