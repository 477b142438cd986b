// SPDX-License-Identifier: Apache-2.0
// pages.mjs, by tests/page/run_page.py: all small traces that stand for much (make-bombs), each as a page in Chromium. It prints how
// long memtap view and the page took, what the page says, and how long each of its views takes. A page that is neither shown nor
// refused within a minute, or whose process ends, is a fault; so is an error that nobody caught.
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { check, folder, launch, main, makeTraces, memtap, state, text } from "../../tests/page/pages.mjs";

const PATIENCE_MS = 60000;

/** Chooses each view; how long each takes, until the browser has drawn. */
async function views(page) {
  const took = [];
  for (const tab of await page.evaluate(() => [...document.querySelectorAll("#tabs [role=tab]")].map((one) => one.id))) {
    const begin = Date.now();
    await page.click(`#${tab}`, { timeout: PATIENCE_MS });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0))));
    took.push(`${tab.replace("tab-", "")} ${Date.now() - begin}`);
  }
  return took.join(", ");
}

async function one(name, out) {
  let begin = Date.now();
  const { status, stderr } = spawnSync(memtap, ["view", "-o", out, join(folder, name)], { encoding: "utf8" });
  const made = Date.now() - begin;
  check(status === 0 || (status === 2 && stderr.split("\n").length === 2), `${name}: view: ${status}: ${stderr}`);
  if (status) return;
  const page = await launch();
  page.on("crash", () => check(false, `${name}: the page's process ended`));
  begin = Date.now();
  await page.goto(`file://${out}`);
  await page.waitForFunction(() => ["ready", "error"].includes(document.documentElement?.dataset.state), null, { timeout: PATIENCE_MS });
  const is = await state(page), shown = Date.now() - begin, said = (await text(page, "#message")).trim();
  console.log(`${name}: ${statSync(out).size >> 10} KiB in ${made} ms; ${is} after ${shown} ms: ${said || "nothing to say"}`);
  if (is === "ready" && await page.isVisible("#tabs")) console.log(`  ${await views(page)}`);
  await page.close();
}

async function bombs() {
  execFileSync(join(dirname(makeTraces), "make-bombs"), { cwd: folder });
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".mtap")).sort())
    if (statSync(join(folder, name)).size) await one(name, join(folder, "bomb.html")).catch((error) => check(false, `${name}: ${error}`));
}

await main([bombs]);
