// SPDX-License-Identifier: Apache-2.0
// memory_viz.mjs MODULES BROWSER VIZ SNAPSHOT PAGE: PyTorch's memory_viz beside the page of memtap view, of one run
// that both have recorded (memory_viz_run.py). VIZ: a folder with memory_viz's scripts and, by npm, the d3 packages
// that they import. For each: the time until the first picture, pictures a second while one zooms, the tab's memory.
import { readFileSync, existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, browser, viz, snapshot, page_file] = process.argv.slice(2);
const require = createRequire(resolve(modules, "package.json"));
const { chromium } = require("playwright-core");
const { buildSync } = require("esbuild");
const PATIENCE_MS = 180000, MOVING_MS = 3000, RUNS = 3;
const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

const INDEX = `<!doctype html><body><script type="module">
import { add_local_files } from "./MemoryViz.js";
add_local_files([{ name: "snapshot.pickle", base64: document.getElementById("data").textContent }], "Active Memory Timeline");
</script><script type="text/plain" id="data">`;

/** d3's packages as one module each, as the network would give them. */
function d3(url) {
  const name = new URL(url).pathname.split("/")[2].replace(/@.*/, "");
  const built = buildSync({ stdin: { contents: `export * from "${name}"`, resolveDir: resolve(viz) }, bundle: true, format: "esm", write: false });
  return built.outputFiles[0].text;
}

async function serve(page) {
  await page.route("https://cdn.jsdelivr.net/**", (route) => route.fulfill({ contentType: "text/javascript", body: d3(route.request().url()) }));
  await page.route("https://viz.invalid/**", (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    if (!name) return route.fulfill({ contentType: "text/html", body: `${INDEX}${readFileSync(snapshot).toString("base64")}</script>` });
    const path = join(viz, name);
    return existsSync(path) ? route.fulfill({ contentType: "text/javascript", body: readFileSync(path) }) : route.fulfill({ status: 404 });
  });
}

/** Animation frames a second while the wheel turns over the middle of what is drawn. */
async function frames(page, selector) {
  const box = await page.locator(selector).first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + Math.min(box.height, 500) / 2);
  const counted = page.evaluate((moving) => new Promise((done) => {
    let n = 0;
    const begin = performance.now();
    const step = (now) => (now - begin > moving ? done((1000 * n) / (now - begin)) : (n++, requestAnimationFrame(step)));
    requestAnimationFrame(step);
  }), MOVING_MS);
  const end = Date.now() + MOVING_MS;
  for (let turn = 0; Date.now() < end; turn++) {
    await page.mouse.wheel(0, turn % 40 < 20 ? -60 : 60);
    await new Promise((next) => setTimeout(next, 30));
  }
  return counted;
}

async function memory(run) {
  const session = await run.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  return Math.max(...processInfo.filter((one) => one.type === "renderer").map((one) =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${one.id}/status`, "utf8"))?.[1] ?? 0) / 1024));
}

async function measure(url, is_drawn, selector) {
  const run = await chromium.launch({ executablePath: browser, args: ["--no-sandbox"] });
  try {
    const page = await run.newPage({ viewport: { width: 1400, height: 1000 } });
    page.setDefaultTimeout(PATIENCE_MS);
    let crashed = false;
    page.on("crash", () => (crashed = true));
    await serve(page);
    const begin = performance.now();
    try {
      await page.goto(url, { waitUntil: "commit", timeout: PATIENCE_MS });
      await page.waitForFunction(is_drawn, null, { polling: 50, timeout: PATIENCE_MS });
    } catch (error) {
      return { failed: crashed ? "the tab crashed" : `nothing after ${PATIENCE_MS / 1000} s`, memory: crashed ? 0 : await memory(run).catch(() => 0) };
    }
    const first = performance.now() - begin;
    return { first, frames: await frames(page, selector), memory: await memory(run) };
  } finally {
    await run.close();
  }
}

const ways = [
  ["memory_viz", "https://viz.invalid/", () => document.querySelectorAll("svg polygon, svg path").length > 20, "svg"],
  ["memtap view", `file://${resolve(page_file)}`, () => document.documentElement?.dataset.state === "ready", "#timeline"],
];
for (const [name, url, is_drawn, selector] of ways) {
  const all = [];
  for (let i = 0; i < RUNS && !all.some((one) => one.failed); i++) all.push(await measure(url, is_drawn, selector));
  const of = (key) => median(all.map((one) => one[key])).toFixed(0);
  const failed = all.find((one) => one.failed);
  console.log(`${name}: ${failed ? failed.failed : `first picture ${of("first")} ms, ${of("frames")} frames a second, ${of("memory")} MiB`}`);
}
