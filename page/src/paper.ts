// SPDX-License-Identifier: Apache-2.0
// The surface for a picture: a canvas (PNG), or elements of SVG, in which text stays text.

export interface Paper {
  rect(x: number, y: number, width: number, height: number, radius: number, colour: string): void;
  /** y: the baseline */
  text(text: string, x: number, y: number, font: string, colour: string): void;
  image(canvas: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
  clip(x: number, y: number, width: number, height: number): void;
  unclip(): void;
  blob(): Promise<Blob>;
}

export class PngPaper implements Paper {
  private readonly canvas = document.createElement("canvas");
  private readonly context: CanvasRenderingContext2D;

  constructor(width: number, height: number) {
    const scale = Math.min(2, 16000 / Math.max(width, height)); // browsers have a limit
    this.canvas.width = Math.ceil(width * scale);
    this.canvas.height = Math.ceil(height * scale);
    this.context = this.canvas.getContext("2d")!;
    this.context.scale(scale, scale);
  }

  rect(x: number, y: number, width: number, height: number, radius: number, colour: string) {
    this.context.fillStyle = colour;
    this.context.beginPath();
    this.context.roundRect(x, y, width, height, radius);
    this.context.fill();
  }

  text(text: string, x: number, y: number, font: string, colour: string) {
    this.context.font = font;
    this.context.fillStyle = colour;
    this.context.fillText(text, x, y);
  }

  image(canvas: HTMLCanvasElement, x: number, y: number, width: number, height: number) {
    this.context.drawImage(canvas, x, y, width, height);
  }

  clip(x: number, y: number, width: number, height: number) {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
  }

  unclip() {
    this.context.restore();
  }

  blob() {
    return new Promise<Blob>((resolve, reject) =>
      this.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large.")))));
  }
}

const SVG = "http://www.w3.org/2000/svg";

/** Charts are embedded as pictures. */
export class SvgPaper implements Paper {
  private readonly root = document.createElementNS(SVG, "svg");
  private readonly places: Element[] = [this.root];
  private clips = 0;

  constructor(width: number, height: number) {
    this.root.setAttribute("viewBox", `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`);
    this.root.setAttribute("width", String(Math.ceil(width)));
    this.root.setAttribute("height", String(Math.ceil(height)));
  }

  private put(name: string, attributes: { [name: string]: string | number }, to = this.places.at(-1)!): Element {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes))
      element.setAttribute(key, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
    to.append(element);
    return element;
  }

  rect(x: number, y: number, width: number, height: number, radius: number, colour: string) {
    this.put("rect", { x, y, width, height, ...(radius ? { rx: radius } : {}), fill: colour });
  }

  text(text: string, x: number, y: number, font: string, colour: string) {
    this.put("text", { x, y, fill: colour, style: `font:${font}`, "xml:space": "preserve" }).textContent = text;
  }

  image(canvas: HTMLCanvasElement, x: number, y: number, width: number, height: number) {
    this.put("image", { x, y, width, height, href: canvas.toDataURL("image/png") });
  }

  clip(x: number, y: number, width: number, height: number) {
    const id = `clip${++this.clips}`;
    this.put("rect", { x, y, width, height }, this.put("clipPath", { id }, this.root));
    this.places.push(this.put("g", { "clip-path": `url(#${id})` }));
  }

  unclip() {
    this.places.pop();
  }

  async blob() {
    return new Blob([new XMLSerializer().serializeToString(this.root)], { type: "image/svg+xml" });
  }
}
