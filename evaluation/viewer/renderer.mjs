// SPDX-License-Identifier: Apache-2.0
// renderer.mjs MODULES BROWSER ROUNDS NAME=PAGE...: the processor time of a page's renderer until its first picture, and 2.5 s
// later, in turns: page by page, round by round, so that a busy machine is the same for all. Medians and least values, s.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [modules, browser, rounds, ...pages] = process.argv.slice(2);
const { chromium } = createRequire(resolve(modules, "package.json"))("playwright-core");
const TICKS = 100; // of the kernel's clock, a second

function seconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

async function measure(file) {
  const run = await chromium.launch({ executablePath: browser, args: ["--no-sandbox"] });
  const page = await run.newPage({ viewport: { width: 1400, height: 1000 } }), session = await run.newBrowserCDPSession();
  const used = async () => (await session.send("SystemInfo.getProcessInfo")).processInfo
    .filter((one) => one.type === "renderer").reduce((sum, one) => sum + seconds(one.id), 0);
  await page.goto(`file://${resolve(file)}`, { waitUntil: "commit" });
  await page.waitForFunction(() => ["ready", "error"].includes(document.documentElement?.dataset.state), null,
    { polling: 20, timeout: 120000 });
  const first = await used();
  await page.waitForTimeout(2500);
  const all = await used();
  await run.close();
  return { first, all };
}

const results = new Map(pages.map((one) => [one, []]));
for (let i = 0; i < Number(rounds); i++)
  for (const one of i % 2 ? [...pages].reverse() : pages) results.get(one).push(await measure(one.slice(one.indexOf("=") + 1)));
for (const [one, list] of results) {
  const sorted = (key) => list.map((result) => result[key]).sort((a, b) => a - b);
  const told = (key) => `${sorted(key)[list.length >> 1].toFixed(2)} (least ${sorted(key)[0].toFixed(2)})`;
  console.log(`${one.split("=")[0]}: until the first picture ${told("first")}, 2.5 s later ${told("all")}`);
}
