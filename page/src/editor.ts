// SPDX-License-Identifier: Apache-2.0
// Links from a frame to its line in an editor, once the user has named one. The browser keeps the setting.
import type { Frame, Life } from "./analyzer";
import { make, plain } from "./dom";

const KEY = "memtap-editor";
const EDITORS: { [name: string]: (path: string, line: number) => string } = {
  "no editor": () => "",
  "VS Code": (path, line) => `vscode://file${path}:${line}`,
  "Cursor": (path, line) => `cursor://file${path}:${line}`,
  "PyCharm": (path, line) => `pycharm://open?file=${path}&line=${line}`,
};
let kept = "no editor"; // a page of a file or in a frame may not store

function chosen(): string {
  try {
    kept = localStorage.getItem(KEY) ?? kept;
  } catch {
    // not allowed
  }
  return EDITORS[kept] ? kept : "no editor";
}

/** The choice of an editor. */
export function editorChoice(changed: () => void): HTMLElement {
  return make("label", { title: "a click on a frame opens its line there" }, "open lines in ", make("select", { change: (event: Event) => {
    kept = (event.target as HTMLSelectElement).value;
    try {
      localStorage.setItem(KEY, kept);
    } catch {
      // kept for this page only
    }
    changed();
  } }, ...Object.keys(EDITORS).map((name) => make("option", { value: name, selected: name === chosen() }, name))));
}

/** Return a text as a link to a frame's line; without an editor, or if its path is not absolute, as it is. */
export function lineLink({ file, line }: Pick<Frame, "file" | "line">, text: string): HTMLElement {
  const url = file.startsWith("/") && line ? EDITORS[chosen()]!(encodeURI(file), line) : "";
  return url ? make("a", { href: url }, plain(text)) : make("span", {}, plain(text));
}

/** Return a frame's folder, file and line. */
function placeText({ file, line }: Frame): string {
  const name = file.split("/").slice(-2).join("/");
  return line ? `${name}:${line}` : name;
}

/** The same as such a link. */
export function place(frame: Frame): HTMLElement {
  return lineLink(frame, placeText(frame));
}

const NEAREST = 5;

/** Return the frames nearest to a block's request, of the program's own if it has any, as lines of a tip. */
export function nearest({ line, stack, forward_stack }: Pick<Life, "line" | "stack" | "forward_stack">): string[] {
  const all = forward_stack.length ? forward_stack : stack, own = all.filter((one) => one.is_own);
  const shown = (own.length ? own : all).slice(0, NEAREST);
  return shown.length ? shown.map((one) => plain(`${one.function}  ${placeText(one)}`)) : [plain(line)];
}
