// SPDX-License-Identifier: Apache-2.0
// The addresses of blocks at the chosen moment: each segment is a bar, as long as it is large, with its
// blocks and the free pieces between them. The user can play it.
import type { Device, Map as MemoryMap, Trace } from "../analyzer";
import { MAP_BLOCK, MAP_SEGMENT } from "../analyzer";
import { Client, latest } from "../client";
import { make, plain } from "../dom";
import { nearest } from "../editor";
import { count, part, plural, size } from "../format";
import { colour, fill, hatch } from "../palette";
import { PALE } from "../stack";
import { Store } from "../state";
import { Line, hovers, tip } from "../tip";
import { go, ink } from "../chart";

const MOST_ROWS = 19;
const ROW = 17, GAP = 5, APART = 3; // CSS pixels; narrow segments have smaller gaps
const LISTED = 20;                  // segments in the table
const FRAME_MS = 80, FRAMES = 500;  // for a play of the shown range

interface Segment {
  address: number; size: number; used: number; hole: number; first: number; blocks: number;
  is_expandable: boolean; area: number;
}
/** A part of a segment in a row: from and to are bytes from the segment's begin. */
interface Piece { segment: Segment; row: number; x: number; from: number; to: number; }

function segmentsOf(map: MemoryMap): Segment[] {
  const out: Segment[] = [], { segments } = map;
  for (let i = 0; i < segments.length; i += MAP_SEGMENT)
    out.push({ address: segments[i]!, size: segments[i + 1]!, used: segments[i + 2]!, hole: segments[i + 3]!,
      first: segments[i + 4]!, blocks: segments[i + 5]!, is_expandable: segments[i + 6] !== 0, area: segments[i + 7]! });
  return out;
}

/** Place segments in rows; undefined: they need more rows. */
function lay(segments: Segment[], width: number, rows: number, bytesPerPixel: number, apart: number): Piece[] | undefined {
  const out: Piece[] = [];
  let row = 0, x = 0;
  for (const segment of segments) {
    let from = 0;
    do {
      const room = (width - x) * bytesPerPixel, to = Math.min(segment.size, from + Math.max(room, 0));
      if (room > 0) out.push({ segment, row, x, from, to });
      x += Math.max((to - from) / bytesPerPixel, 0.5) + (to === segment.size ? apart : 0);
      from = to;
      if (x >= width) {
        x = 0;
        if (++row > rows) return undefined;
      }
    } while (from < segment.size);
  }
  return row < rows || !x ? out : undefined;
}

export class AddressMap {
  private readonly canvas = make("canvas", { id: "map", tabindex: 0, role: "img",
    "aria-label": "segments and their blocks; the table below lists them" });
  private readonly said = make("span", { class: "said", role: "status" });
  private readonly body = make("tbody");
  private readonly fetch: () => void;
  private readonly play = make("button", { title: "play forward (space)", click: () => this.turn() }, "Play");
  private timer = 0;
  private readonly purposes = new Map<number, string>(); // by area
  private map: MemoryMap | null = null;
  private segments: Segment[] = [];
  private pieces: Piece[] = [];
  private scale = 1; // bytes per pixel
  private rows = 1;
  private byFree = false;
  private over = 0; // the place under the pointer; counts up so that a late answer is dropped

  constructor(place: HTMLElement, client: Client, private readonly store: Store, private readonly trace: Trace,
              private readonly device: () => Device, over: AbortSignal) {
    const step = (label: string, title: string, by: number) =>
      make("button", { title, click: () => go(store, device(), by) }, label);
    place.append(
      make("div", { class: "bar" }, step("◀", "previous moment (←)", -1), this.play, step("▶", "next moment (→)", 1),
        make("label", {}, "order ", make("select", { change: (event: Event) => {
          this.byFree = (event.target as HTMLSelectElement).value === "free";
          this.draw();
        } }, make("option", { value: "address" }, "by address"), make("option", { value: "free" }, "most free bytes first"))),
        this.said),
      this.canvas,
      make("div", { class: "wide" }, make("table", { class: "segments" },
        make("caption", {}, "segments with the most free bytes, and the blocks that keep them reserved"),
        make("thead", {}, make("tr", {}, ...["address", "size", "used", "free", "largest free piece", "blocks", "largest block", "requested by"]
          .map((text, i) => make("th", { scope: "col", class: i && i < 6 ? "number" : "" }, text)))), this.body)));
    this.fetch = latest(async () => {
      const { slot, at } = store.state;
      this.map = await client.map(slot, at);
      this.segments = segmentsOf(this.map);
      this.draw();
      if (this.timer) return; // the next picture comes at once
      for (const { area } of this.held())
        if (!this.purposes.has(area)) this.purposes.set(area, await client.area(area));
      this.list();
    });
    hovers(this.canvas, (event) => void this.hover(event, client), () => this.over++);
    this.canvas.addEventListener("click", (event) => {
      const block = this.block(this.find(event.offsetX, event.offsetY));
      if (block >= 0) store.set({ life: this.map!.blocks[block * MAP_BLOCK + 2]! });
    });
    over.addEventListener("abort", () => this.stop());
  }

  update() {
    this.fetch();
  }

  private stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.play.textContent = "Play";
  }

  /** Start playing, in FRAMES steps for the shown range; or stop. */
  turn() {
    if (this.timer) {
      this.stop();
      return;
    }
    this.play.textContent = "Stop";
    this.timer = window.setInterval(() => {
      const { is_time, from, to } = this.store.state, device = this.device();
      const moments = is_time ? (device.moments * (to - from)) / Math.max(device.end_ns - device.begin_ns, 1) : to - from;
      if (this.store.state.tab === "map") go(this.store, device, Math.max(1, Math.round(moments / FRAMES)));
      if (this.store.state.tab !== "map" || this.store.state.at === device.moments - 1) this.stop();
    }, FRAME_MS);
  }

  private find(x: number, y: number): { piece: Piece; byte: number } | null {
    const row = Math.floor(y / (ROW + GAP));
    if (y - row * (ROW + GAP) > ROW) return null;
    for (const piece of this.pieces) {
      const byte = piece.from + (x - piece.x) * this.scale;
      if (piece.row === row && byte >= piece.from && byte < Math.max(piece.to, piece.from + this.scale))
        return { piece, byte: Math.min(byte, piece.to - 1) };
    }
    return null;
  }

  /** Return the number of the block at a place; -1: free. */
  private block(at: { piece: Piece; byte: number } | null): number {
    if (!at || !this.map) return -1;
    const { segment } = at.piece, { blocks } = this.map, address = segment.address + at.byte;
    for (let i = segment.first; i < segment.first + segment.blocks; i++) {
      const begin = blocks[i * MAP_BLOCK]!;
      if (begin <= address && address < begin + blocks[i * MAP_BLOCK + 1]!) return i;
    }
    return -1;
  }

  /** Show what is under the pointer, and the stack of a block once it is known. */
  private async hover(event: PointerEvent, client: Client) {
    const at = this.find(event.offsetX, event.offsetY), over = ++this.over, block = this.block(at);
    tip(event, this.lines(at));
    if (block < 0) return;
    const life = await client.life(this.map!.blocks[block * MAP_BLOCK + 2]!);
    if (over === this.over) tip(event, [...this.lines(at), ...nearest(life)]);
  }

  private lines(at: { piece: Piece; byte: number } | null): Line[] {
    if (!at || !this.map) return [];
    const { segment } = at.piece, block = this.block(at);
    const category = this.trace.categories[this.map.blocks[block * MAP_BLOCK + 3] ?? -1];
    return [category ? { colour: colour(category.name), text: `${size(this.map.blocks[block * MAP_BLOCK + 1]!)} ${category.label}` } : "free",
      `${segment.is_expandable ? "expandable segment" : "segment"} of ${size(segment.size)} at 0x${segment.address.toString(16)}: ` +
      `${size(segment.used)} in ${plural(segment.blocks, "block")}, ${size(segment.size - segment.used)} free (largest piece ${size(segment.hole)})`];
  }

  private place(width: number, rows: number) {
    const order = this.byFree
      ? [...this.segments].sort((a, b) => b.size - b.used - (a.size - a.used)) : this.segments;
    if (order.length && order.length <= rows) {
      this.scale = Math.max(...order.map((one) => one.size)) / width;
      this.pieces = order.map((segment, row) => ({ segment, row, x: 0, from: 0, to: segment.size }));
      return;
    }
    const bytes = order.reduce((sum, one) => sum + one.size, 0);
    this.scale = Math.max(bytes / (width * rows), 1);
    const apart = Math.min(APART, (width * rows * 0.15) / Math.max(order.length, 1));
    let pieces = lay(order, width, rows, this.scale, apart);
    for (let i = 0; !pieces && i < 60; i++) pieces = lay(order, width, rows, (this.scale *= 1.05), apart);
    this.pieces = pieces ?? [];
  }

  draw() {
    // as high as the most segments of any moment so far, so that the page is still while it plays
    this.rows = Math.min(Math.max(this.rows, this.segments.length), MOST_ROWS);
    this.canvas.style.height = `${this.rows * (ROW + GAP)}px`;
    const box = this.canvas.getBoundingClientRect(), ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (!this.map || box.width < 20) return;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    const context = this.canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    this.place(box.width, Math.floor(box.height / (ROW + GAP)));
    const { life, category } = this.store.state, soft = ink("soft"), edge = ink("mark");
    for (const piece of this.pieces) {
      const y = piece.row * (ROW + GAP), width = Math.max((piece.to - piece.from) / this.scale, 0.5);
      context.fillStyle = soft;
      context.fillRect(piece.x, y, width, ROW);
      this.drawBlocks(context, piece, y, category, life);
      if (width < 8) continue;
      context.strokeStyle = edge;
      context.strokeRect(piece.x + 0.5, y + 0.5, width - 1, ROW - 1);
    }
    this.say();
    this.list();
  }

  private drawBlocks(context: CanvasRenderingContext2D, piece: Piece, y: number, category: number, life: number) {
    const { blocks } = this.map!, { segment } = piece;
    let until = -1; // draw blocks thinner than a pixel once
    for (let i = segment.first; i < segment.first + segment.blocks; i++) {
      const begin = blocks[i * MAP_BLOCK]! - segment.address, end = begin + blocks[i * MAP_BLOCK + 1]!;
      if (end <= piece.from || begin >= piece.to) continue;
      const left = piece.x + (Math.max(begin, piece.from) - piece.from) / this.scale;
      const right = piece.x + (Math.min(end, piece.to) - piece.from) / this.scale;
      const isChosen = blocks[i * MAP_BLOCK + 2] === life;
      if (right < until && !isChosen) continue;
      const one = blocks[i * MAP_BLOCK + 3]!;
      context.globalAlpha = (category >= 0 && one !== category) || !blocks[i * MAP_BLOCK + 4] ? PALE : 1;
      context.fillStyle = fill(this.trace.categories[one]!.name);
      context.fillRect(left, y + 1, Math.max(right - left - (right - left > 3 ? 0.7 : 0), 0.7), ROW - 2);
      if (blocks[i * MAP_BLOCK + 5]) {
        context.fillStyle = hatch();
        context.fillRect(left, y + 1, right - left, ROW - 2);
      }
      context.globalAlpha = 1;
      until = Math.max(left + 0.7, right);
      if (!isChosen) continue;
      context.strokeStyle = ink("accent");
      context.lineWidth = 2;
      context.strokeRect(left, y + 1, Math.max(right - left, 2), ROW - 2);
      context.lineWidth = 1;
    }
  }

  private say() {
    const sum = (of: (one: Segment) => number) => this.segments.reduce((all, one) => all + of(one), 0);
    const bytes = sum((one) => one.size), used = sum((one) => one.used);
    const empty = this.segments.filter((one) => !one.blocks);
    this.said.textContent = this.segments.length
      ? `${plural(this.segments.length, "segment")}, ${size(bytes)}: ${size(used)} in blocks, ${size(bytes - used)} free ` +
        `(${part(bytes - used, bytes)}), largest free piece ${size(Math.max(...this.segments.map((one) => one.hole)))}` +
        (empty.length ? `; no block in ${count(empty.length)} of them` : "")
      : "The trace has no segments at this moment: it does not contain the memory that CUDA handed out.";
  }

  private held(): Segment[] {
    return this.segments.filter((one) => one.blocks && one.size > one.used)
      .sort((a, b) => b.size - b.used - (a.size - a.used)).slice(0, LISTED);
  }

  private list() {
    const { blocks } = this.map!;
    this.body.replaceChildren(...this.held().map((one) => {
      let largest = one.first;
      for (let i = one.first; i < one.first + one.blocks; i++)
        if (blocks[i * MAP_BLOCK + 1]! > blocks[largest * MAP_BLOCK + 1]!) largest = i;
      const bytes = (n: number) => make("td", { class: "number", title: `${n} bytes` }, size(n));
      return make("tr", { click: () => this.store.set({ life: blocks[largest * MAP_BLOCK + 2]! }) },
        make("td", {}, make("button", { class: "link", title: "show its largest block" }, `0x${one.address.toString(16)}`)),
        bytes(one.size), bytes(one.used), bytes(one.size - one.used), bytes(one.hole),
        make("td", { class: "number" }, count(one.blocks)),
        make("td", {}, `${size(blocks[largest * MAP_BLOCK + 1]!)} ${this.trace.categories[blocks[largest * MAP_BLOCK + 3]!]!.label}`),
        make("td", {}, plain(this.purposes.get(one.area) ?? "")));
    }));
  }
}
