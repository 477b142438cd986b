// SPDX-License-Identifier: Apache-2.0
// memory_viz.mjs MODULES BROWSER VIZ SNAPSHOT PAGE: PyTorch's memory_viz and the page of memtap view, for one run
// that both have recorded (memory_viz_run.py). VIZ: a folder with memory_viz's scripts and, by npm, the d3 packages
// that they import. For each: the time until the first picture, pictures a second while one zooms, the tab's memory.
import { once } from "node:events";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [modules, browser, viz, snapshot, page_file] = process.argv.slice(2);
const require = createRequire(resolve(modules, "package.json"));
const { chromium } = require("playwright-core");
const { buildSync } = require("esbuild");
const PATIENCE_MS = 180000, MOVING_MS = 3000, RUNS = 3;
const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];

const INDEX = `<!doctype html><body><script type="module">
import { add_remote_files } from "./MemoryViz.js";
add_remote_files([{ name: "snapshot.pickle", url: "./snapshot" }]);
</script>`;

/** d3's packages as one module each, as the network would give them. */
function d3(url) {
  const name = new URL(url).pathname.split("/")[2].replace(/@.*/, "");
  const built = buildSync({ stdin: { contents: `export * from "${name}"`, resolveDir: resolve(viz) }, bundle: true, format: "esm", write: false });
  return built.outputFiles[0].text;
}

/** memory_viz's page, its scripts and the snapshot, on the loopback address. */
const server = createServer((request, answer) => {
  const name = request.url.slice(1), path = join(viz, name);
  if (!name) answer.setHeader("content-type", "text/html").end(INDEX);
  else if (name === "snapshot") createReadStream(snapshot).pipe(answer);
  else if (/^[\w-]+\.js$/.test(name) && existsSync(path)) answer.setHeader("content-type", "text/javascript").end(readFileSync(path));
  else answer.writeHead(404).end();
}).listen(0, "127.0.0.1");
await once(server, "listening");

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
    await page.route("https://cdn.jsdelivr.net/**", (route) => route.fulfill({ contentType: "text/javascript", body: d3(route.request().url()) }));
    const begin = performance.now();
    try {
      await page.goto(url, { waitUntil: "commit", timeout: PATIENCE_MS });
      await page.waitForFunction(is_drawn, null, { polling: 50, timeout: PATIENCE_MS });
    } catch (error) {
      return { failed: crashed || /crash/i.test(error.message) ? "the tab crashed" : error.message.split("\n")[0] };
    }
    const first = performance.now() - begin;
    return { first, frames: await frames(page, selector), memory: await memory(run) };
  } finally {
    await run.close();
  }
}

const ways = [
  ["memory_viz", `http://127.0.0.1:${server.address().port}/`, () => document.querySelectorAll("svg polygon, svg path").length > 20, "svg"],
  ["memtap view", `file://${resolve(page_file)}`, () => document.documentElement?.dataset.state === "ready", "#timeline"],
];
for (const [name, url, is_drawn, selector] of ways) {
  const all = [];
  for (let i = 0; i < RUNS && !all.some((one) => one.failed); i++) all.push(await measure(url, is_drawn, selector));
  const of = (key) => median(all.map((one) => one[key])).toFixed(0);
  const failed = all.find((one) => one.failed);
  console.log(`${name}: ${failed ? failed.failed : `first picture ${of("first")} ms, ${of("frames")} frames a second, ${of("memory")} MiB`}`);
}
server.close();
