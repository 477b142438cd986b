// SPDX-License-Identifier: Apache-2.0
// A picture of the page: its boxes, texts and charts, without its buttons.
import { byId, make, save } from "./dom";
import { fill, hatch } from "./palette";
import { Paper, PngPaper, SvgPaper } from "./paper";

const LEFT_OUT = "select, input, #texts, .hidden, noscript, script, style";
const MARGIN = 16, TALLEST = 6000, LEAST = 700; // CSS pixels; a table's least width

/** Return the colour in a form that any viewer knows; "": invisible. */
function colourOf(css: string, known: Map<string, string>): string {
  let colour = known.get(css);
  if (colour === undefined) {
    const context = make("canvas", { width: 1, height: 1 }).getContext("2d")!;
    context.fillStyle = css;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data;
    colour = a ? `rgba(${r},${g},${b},${Math.round((a! / 255) * 100) / 100})` : "";
    known.set(css, colour);
  }
  return colour;
}

/** A piece of a category's area, patterned as in charts. */
function tile(look: string, { width, height }: DOMRect): HTMLCanvasElement {
  const canvas = make("canvas", { width: Math.ceil(width), height: Math.ceil(height) }), context = canvas.getContext("2d")!;
  for (const style of look === "idle" ? [fill(look), hatch()] : [fill(look)]) {
    context.fillStyle = style;
    context.fillRect(0, 0, width, height);
  }
  return canvas;
}

class Painter {
  private readonly colours = new Map<string, string>();

  constructor(private readonly paper: Paper, private readonly left: number, private readonly top: number) {}

  paint(element: Element) {
    const style = getComputedStyle(element);
    if (element.matches(LEFT_OUT) || style.display === "none" || style.visibility === "hidden") return;
    const box = element.getBoundingClientRect(), x = box.left - this.left, y = box.top - this.top;
    if (!box.width || !box.height) return;
    if (element instanceof HTMLElement && element.dataset["look"]) {
      this.paper.image(tile(element.dataset["look"], box), x, y, box.width, box.height);
      return;
    }
    const ground = colourOf(style.backgroundColor, this.colours);
    if (ground) this.paper.rect(x, y, box.width, box.height, parseFloat(style.borderTopLeftRadius) || 0, ground);
    this.borders(style, x, y, box);
    if (element instanceof HTMLCanvasElement) {
      if (element.width && element.height) this.paper.image(element, x, y, box.width, box.height);
      return;
    }
    const is_clipped = style.overflowX !== "visible" && element.childNodes.length > 0;
    if (is_clipped) this.paper.clip(x, y, box.width, box.height);
    for (const child of element.childNodes)
      if (child instanceof Element) this.paint(child);
      else if (child instanceof Text) this.text(child, style);
    if (is_clipped) this.paper.unclip();
  }

  private borders(style: CSSStyleDeclaration, x: number, y: number, box: DOMRect) {
    if (style.borderTopStyle !== "none" && style.borderTopLeftRadius !== "0px") return; // a button's frame
    const line = (width: string, look: string, css: string, at: (size: number) => [number, number, number, number]) => {
      const size = parseFloat(width), colour = look === "none" || !size ? "" : colourOf(css, this.colours);
      if (colour) this.paper.rect(...at(size), 0, colour);
    };
    line(style.borderBottomWidth, style.borderBottomStyle, style.borderBottomColor, (size) => [x, y + box.height - size, box.width, size]);
    line(style.borderLeftWidth, style.borderLeftStyle, style.borderLeftColor, (size) => [x, y, size, box.height]);
  }

  /** Draw text word by word, each word at the browser's place. */
  private text(node: Text, style: CSSStyleDeclaration) {
    const range = document.createRange(), colour = colourOf(style.color, this.colours);
    const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    let line = "", at: DOMRect | null = null;
    const end = () => {
      if (line && at && colour) this.paper.text(line, at.left - this.left, at.bottom - this.top - at.height * 0.24, font, colour);
      line = "";
      at = null;
    };
    const put = (word: string, index: number) => {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const boxes = range.getClientRects(), box = boxes[0];
      if (boxes.length > 1 && word.length > 1) { // broken between two lines
        for (let i = 0; i < word.length; i++) put(word[i]!, index + i);
        return;
      }
      if (!box || !box.width) return;
      if (at && Math.abs(box.top - at.top) > 2) end();
      if (!at || box.left < at.left) at = box; // in a text from right to left the last word is the leftmost
      line += word.replace(/\s+$/, " ");
    };
    for (const word of node.data.matchAll(/\S+\s*|\s+/g)) put(word[0], word.index);
    end();
  }
}

function paint(kind: "png" | "svg"): Paper {
  const parts = [document.querySelector("header")!, byId("main")];
  const boxes = parts.map((one) => one.getBoundingClientRect());
  const left = Math.min(...boxes.map((one) => one.left)), top = boxes[0]!.top;
  const wide = [...document.querySelectorAll(".wide > *, pre")].map((one) => one.getBoundingClientRect().right + MARGIN);
  const width = Math.max(...boxes.map((one) => one.right), ...wide) - left;
  const height = Math.min(boxes[1]!.bottom - top + MARGIN, TALLEST);
  const paper: Paper = kind === "png" ? new PngPaper(width, height) : new SvgPaper(width, height);
  paper.rect(0, 0, width, height, 0, getComputedStyle(document.documentElement).getPropertyValue("--paper"));
  const painter = new Painter(paper, left, top);
  for (const part of parts) painter.paint(part);
  return paper;
}

/** Save the page as "png" or "svg". */
export async function savePicture(kind: "png" | "svg") {
  const root = document.documentElement;
  root.classList.add("still"); // hides buttons and empty boxes, and clips nothing: style.css
  root.classList.toggle("spread", [...document.querySelectorAll(".wide")].some((one) =>
    one.clientWidth > 0 && (one.clientWidth < LEAST || one.scrollWidth > one.clientWidth)));
  let paper: Paper;
  try {
    paper = paint(kind);
  } finally {
    root.classList.remove("still", "spread");
  }
  save(`memtap.${kind}`, kind === "png" ? "image/png" : "image/svg+xml", await paper.blob());
}

export function pictureButtons(): HTMLElement[] {
  const button = (kind: "png" | "svg", title: string) =>
    make("button", { title, click: () => void savePicture(kind) }, kind.toUpperCase());
  return [button("png", "save the view as a picture"),
    button("svg", "save the view with selectable text, for a document")];
}
