// SPDX-License-Identifier: Apache-2.0
import { byId } from "./dom";

/** Show a text beside the pointer; "": none. */
export function tip(event: PointerEvent, text: string) {
  const place = byId("tip");
  place.hidden = !text;
  place.textContent = text;
  place.style.left = `${Math.min(event.clientX + 14, window.innerWidth - place.offsetWidth - 8)}px`;
  place.style.top = `${Math.min(event.clientY + 14, window.innerHeight - place.offsetHeight - 8)}px`;
}
