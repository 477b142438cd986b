// SPDX-License-Identifier: Apache-2.0
// Elements. Text is always set as text: a name in a trace is shown and never run.

type Attributes = { [name: string]: string | number | boolean | ((event: never) => void) | undefined };

export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: (Node | string)[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, name === "title" ? isolated(String(value)) : String(value));
  }
  element.append(...children.flatMap((one) => (typeof one === "string" ? parts(one) : one)));
  return element;
}

/** Set an element's text. */
export function write(place: Element, text: string) {
  place.replaceChildren(...parts(text));
}

export function byId<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** Return the text with unprintable characters, and characters that reverse text, made visible. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

const LETTERS = "[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]"; // written from right to left
const TURNED = new RegExp(`(${LETTERS}+(?: +${LETTERS}+)*)`, "gu");

/** Return a text as nodes. Right-to-left text is isolated, so that the ":12" after it stays after it. */
function parts(text: string): (Node | string)[] {
  if (!/[\u0590-\uffff]/.test(text)) return [text];
  return text.split(TURNED).map((one, i) => {
    if (i % 2 === 0) return one;
    const isolate = document.createElement("bdi");
    isolate.textContent = one;
    return isolate;
  }).filter((one) => one !== "");
}

/** The same for a text that has no nodes: by characters that isolate. */
export function isolated(text: string): string {
  return text.replace(TURNED, "\u2068$1\u2069");
}

export function save(name: string, type: string, content: BlobPart) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
