// SPDX-License-Identifier: Apache-2.0
// What the tests of the page have in common: Chromium, checks, and a watch on what a page must never do.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const [modules, memtap, makeTraces, renameTexts, browser] = process.argv.slice(2);
export const require = createRequire(join(modules, "package.json"));
export const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const folder = mkdtempSync(join(tmpdir(), "memtap-page-"));
execFileSync(makeTraces, { cwd: folder });

const LONG = 300000; // ms: nobody waits so long, but for what never comes
let faults = 0, run = null;
const requests = [], errors = [], dialogs = [];

export function check(holds, what) {
  if (holds) return;
  faults++;
  console.log(`not so: ${what}`);
}

export const json = (...command) => JSON.parse(execFileSync(memtap, command, { maxBuffer: 1 << 28, encoding: "utf8" }));

/** Counts the calls that a page's workers have not answered. */
function countCalls() {
  const { postMessage, terminate } = Worker.prototype, calls = new Map();
  window.unanswered = () => [...calls.values()].reduce((sum, n) => sum + n, 0);
  Worker.prototype.postMessage = function (message, ...more) {
    if (!calls.has(this)) this.addEventListener("message", () => calls.has(this) && calls.set(this, calls.get(this) - 1));
    calls.set(this, (calls.get(this) ?? 0) + ("call" in message));
    return postMessage.call(this, message, ...more);
  };
  Worker.prototype.terminate = function () {
    calls.delete(this);
    return terminate.call(this);
  };
}

/** An empty page that is watched. */
export async function launch(options = {}) {
  const { chromium } = require("playwright-core");
  run ??= await chromium.launch({ executablePath: browser, args: ["--no-sandbox"], timeout: LONG });
  const page = await run.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.setDefaultTimeout(LONG);
  await page.addInitScript(countCalls);
  page.on("request", (one) => { if (!/^(file|blob|data|about):/.test(one.url()) && !(options.server && one.url().startsWith(options.server))) requests.push(one.url()); });
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("dialog", (one) => { dialogs.push(one.message()); void one.dismiss(); });
  return page;
}

/** Opens a page of a file, and waits until it is drawn. */
export async function show(file, fragment = "", options = {}) {
  const url = file.startsWith("http") ? file : `file://${file}`;
  const page = await launch({ ...options, server: url.startsWith("http") ? url : "" }); // it may ask its own server only
  if (options.before) await page.addInitScript(options.before);
  await page.goto(url + fragment);
  if (options.javaScriptEnabled !== false) await ready(page);
  return page;
}

/** Waits until the requested view is drawn; the state, "ready" or "error". */
export async function ready(page) {
  await page.waitForFunction(() => ["ready", "error"].includes(document.documentElement?.dataset.state));
  return page.evaluate(() => document.documentElement.dataset.state);
}

/** Waits until it holds; whether it does. */
export async function until(holds) {
  for (const end = Date.now() + LONG; Date.now() < end; await new Promise((resolve) => setTimeout(resolve, 50)))
    if (await holds()) return true;
  return false;
}

/** Waits until the analyzer has answered all calls, and what they changed is drawn. */
export const answered = (page) => page.evaluate(async () => {
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  for (await drawn(); window.unanswered(); await drawn());
});

/** And until the page's link says so: the page writes it by a timer of 150 ms, which goes off before this one. */
export async function settled(page) {
  await answered(page);
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 200)));
}

export const state = (page) => page.evaluate(() => document.documentElement.dataset.state);
export const text = (page, selector) => page.evaluate((one) => document.querySelector(one)?.textContent ?? "", selector);

/** How much of a canvas is not paper. */
export const inked = (page, selector) => page.evaluate((one) => {
  const canvas = document.querySelector(one);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
  return n / (data.length / 4);
}, selector);

export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const one of violations) check(false, `axe, ${what}: ${one.id}: ${one.nodes[0]?.html}`);
}

/** Runs tests, and ends the process. */
export async function main(tests, last = () => undefined) {
  try {
    for (const test of tests) await test();
    check(!requests.length, `nothing goes to a network: ${requests[0]}`);
    check(!errors.length, `no error: ${errors[0]}`);
    check(!dialogs.length, `no name is run: ${dialogs[0]}`);
  } finally {
    await run?.close();
    await last();
    rmSync(folder, { recursive: true });
  }
  console.log(faults ? `${faults} faults` : "ok");
  process.exit(faults ? 1 : 0);
}
