// SPDX-License-Identifier: Apache-2.0
// The whole run, small, with the shown part marked; drag to go elsewhere, turn the wheel to zoom.
import type { Device, Trace } from "../analyzer";
import { LEFT, RIGHT, bounded, ink, zoom } from "../chart";
import { Client, latest } from "../client";
import { wheelFactor } from "../gestures";
import { sumAt } from "../stack";
import { Store, whole } from "../state";

const COLUMNS = 600;

export class Minimap {
  private readonly fetch: () => void;
  private totals = new Float64Array();

  constructor(private readonly canvas: HTMLCanvasElement, client: Client, private readonly store: Store,
              private readonly device: () => Device, trace: Trace) {
    this.fetch = latest(async () => {
      const { slot, is_time } = store.state;
      const bands = await client.bands({ slot, is_time, ...whole(device(), is_time), columns: COLUMNS });
      this.totals = Float64Array.from({ length: COLUMNS }, (_, i) => sumAt(bands, i * bands.fields, trace.categories.length));
      this.draw();
    });
    const at = (event: MouseEvent) => {
      const box = canvas.getBoundingClientRect(), all = whole(device(), store.state.is_time);
      return all.from + ((event.offsetX - LEFT) / (box.width - LEFT - RIGHT)) * (all.to - all.from);
    };
    const go = (event: PointerEvent) => {
      const x = at(event);
      const half = (store.state.to - store.state.from) / 2;
      store.set(bounded(device(), store.state.is_time, x - half, x + half));
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    canvas.addEventListener("pointermove", (event) => event.buttons && go(event));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      zoom(store, device(), wheelFactor(event), at(event));
    }, { passive: false });
  }

  update() {
    this.fetch();
  }

  draw() {
    const box = this.canvas.getBoundingClientRect(), ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = box.width - LEFT - RIGHT;
    if (width < 10) return;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    const context = this.canvas.getContext("2d")!, most = this.totals.reduce((a, b) => Math.max(a, b), 1);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = ink("mark");
    context.globalAlpha = 0.75;
    context.beginPath();
    context.moveTo(LEFT, box.height);
    this.totals.forEach((bytes, i) => {
      const y = box.height * (1 - bytes / most);
      context.lineTo(LEFT + (i / COLUMNS) * width, y);
      context.lineTo(LEFT + ((i + 1) / COLUMNS) * width, y);
    });
    context.lineTo(LEFT + width, box.height);
    context.fill();
    context.globalAlpha = 1;
    const { from, to, is_time } = this.store.state, all = whole(this.device(), is_time);
    const at = (x: number) => LEFT + ((x - all.from) / (all.to - all.from)) * width;
    context.strokeStyle = ink("accent");
    context.strokeRect(at(from) + 0.5, 0.5, Math.max(at(to) - at(from) - 1, 2), box.height - 1);
  }
}
