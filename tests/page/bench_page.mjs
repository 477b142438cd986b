// SPDX-License-Identifier: Apache-2.0
// bench_page.mjs MODULES MEMTAP MAKE_TRACE - BROWSER [EVENTS...]: what a page costs its reader: the time until
// the first picture, frames a second while one zooms and pans, a click's answer, and memory of the tab.
// Medians of RUNS.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve as absolute } from "node:path";

const [modules, memtap, makeTrace, , browser, ...sizes] = process.argv.slice(2);
const { chromium } = createRequire(absolute(modules, "package.json"))("playwright-core");
const RUNS = 5, MOVING_MS = 3000, CLICKS = 9;
const folder = mkdtempSync(join(tmpdir(), "memtap-bench-"));
const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

/** Counts the timeline's pictures, while the wheel turns and pulls 60 times a second. */
const frames = (page) => page.evaluate((moving) => new Promise((resolve) => {
  const canvas = document.getElementById("timeline"), { clearRect } = CanvasRenderingContext2D.prototype;
  let drawn = 0, turn = 0;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    if (this.canvas === canvas) drawn++;
    return clearRect.apply(this, box);
  };
  const box = canvas.getBoundingClientRect(), begin = performance.now();
  const step = (now) => {
    if (now - begin > moving) {
      CanvasRenderingContext2D.prototype.clearRect = clearRect;
      resolve((1000 * drawn) / (now - begin));
      return;
    }
    const pan = Math.floor(turn++ / 30) % 2; // zoom in, pull, zoom out, pull
    canvas.dispatchEvent(new WheelEvent("wheel", { clientX: box.x + box.width / 2, clientY: box.y + 50, cancelable: true,
      ctrlKey: !pan, deltaX: pan ? 20 : 0, deltaY: pan ? 0 : Math.floor(turn / 60) % 2 ? 30 : -30 }));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}), MOVING_MS);

/** From a click on the blocks to what is known of the block; NaN where no block is. */
async function click(page, part) {
  await page.evaluate(() => {
    const canvas = document.getElementById("timeline");
    window.answer = new Promise((resolve) => canvas.addEventListener("pointerup", () => {
      const begin = performance.now();
      const seen = new MutationObserver(() => {
        seen.disconnect();
        resolve(performance.now() - begin);
      });
      seen.observe(document.getElementById("details"), { childList: true });
      setTimeout(() => resolve(NaN), 1000);
    }, { once: true, capture: true }));
  });
  await page.locator("#timeline").scrollIntoViewIfNeeded();
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.click(box.x + 80 + (box.width - 100) * part, box.y + box.height - 64);
  return page.evaluate(() => window.answer);
}

/** The largest memory that a process of the tab has had, MiB. */
async function memory(run) {
  const session = await run.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const of = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
  return Math.max(...processInfo.filter((one) => one.type === "renderer").map((one) => of(one.id)));
}

async function measure(file) {
  const run = await chromium.launch({ executablePath: browser, args: ["--no-sandbox"] });
  const page = await run.newPage({ viewport: { width: 1400, height: 1000 } });
  const begin = performance.now();
  await page.goto(`file://${file}`, { waitUntil: "commit" });
  await page.waitForFunction(() => ["ready", "error"].includes(document.documentElement?.dataset.state), null,
    { polling: 10, timeout: 120000 });
  const result = { first_ms: performance.now() - begin };
  await page.waitForTimeout(300);
  result.frames = await frames(page);
  await page.selectOption("#stack", "block");
  await page.keyboard.press("0");
  for (let i = 0; i < 16; i++) await page.keyboard.press("w"); // to where blocks are no thinner than a pixel
  await page.waitForTimeout(1500);
  const answers = [];
  for (let i = 0; i < CLICKS; i++) answers.push(await click(page, (i + 0.5) / CLICKS));
  result.click_ms = median(answers.filter((one) => one === one));
  result.memory_mib = await memory(run);
  await run.close();
  return result;
}

try {
  for (const events of sizes.length ? sizes : ["1000000", "10000000"]) {
    const trace = join(folder, "t.mtap"), html = join(folder, "t.html");
    execFileSync(makeTrace, [trace, events]);
    execFileSync(memtap, ["report", "--html", html, trace]);
    const all = [];
    for (let i = 0; i < RUNS; i++) all.push(await measure(html));
    const of = (key) => median(all.map((one) => one[key])).toFixed(0);
    console.log(`${Number(events).toLocaleString("en-US")} events: page of ${(statSync(html).size / 2 ** 20).toFixed(1)} MiB, ` +
      `first picture ${of("first_ms")} ms, ${of("frames")} pictures a second while moving, ` +
      `a click ${of("click_ms")} ms, ${of("memory_mib")} MiB`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
