// SPDX-License-Identifier: Apache-2.0
// The page in a notebook's output cell: a sandboxed frame without an address, as python/memtap/notebook.py makes it.
// After run_page.py's arguments: the Python to make frames with, the package's folder, and files of output cells' HTML.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { check, folder, launch, main, memtap, settled } from "./pages.mjs";

const [python, magics, ...cells] = process.argv.slice(7);
const at = (name) => join(folder, `${name}.mtap`);
const frame = (...traces) => execFileSync(python, ["-c", "import sys, memtap.notebook; print(memtap.notebook.frame_of(sys.argv[1], sys.argv[2:], 700, len))",
  memtap, ...traces], { env: { ...process.env, PYTHONPATH: magics, PYTHONDONTWRITEBYTECODE: "1" }, maxBuffer: 1 << 28, encoding: "utf8" });

/** The frame of an output cell, as soon as its page is drawn. */
async function drawn(html, what) {
  const file = join(folder, "cell.html");
  writeFileSync(file, `<!doctype html><title>a notebook</title><script>window.untouched = true</script>${html}`);
  const page = await launch();
  await page.goto(`file://${file}`);
  const inside = await (await page.waitForSelector("iframe")).contentFrame();
  await inside.waitForFunction(() => ["ready", "error"].includes(document.documentElement.dataset.state));
  check(await inside.evaluate(() => document.documentElement.dataset.state) === "ready",
    `${what} is drawn: ${await inside.evaluate(() => document.body.innerText.slice(0, 300))}`);
  check(await inside.evaluate(() => location.href) === "about:srcdoc", `${what} has no address`);
  check(await inside.evaluate(() => { try { return !window.parent.untouched; } catch { return true; } }), `${what} reaches nothing of the notebook`);
  return { page, inside };
}

const said = (inside, selector) => inside.evaluate((one) => document.querySelector(one)?.textContent ?? "", selector);

async function one() {
  const { page, inside } = await drawn(frame(at("training")), "a trace");
  check((await said(inside, "#headline")).includes("peak"), "its headline is there");
  for (const tab of ["who", "table", "map", "report"]) {
    await inside.click(`#tab-${tab}`);
    await settled(inside);
    check(await inside.evaluate((name) => !document.getElementById(`panel-${name}`).hidden, tab), `the tab ${tab} opens`);
  }
  await inside.click('#tab-who');
  const [download] = await Promise.all([page.waitForEvent("download"), inside.click('button:text-is("SVG"):visible')]);
  check(readFileSync(await download.path(), "utf8").includes("<svg"), "a picture can be saved");
  await page.close();
}

async function several() {
  const { page, inside } = await drawn(frame(at("training"), at("keeping")), "two traces");
  for (const [mode, panel] of [["difference", "panel-difference"], ["run", "views"], ["ranks", "panel-ranks"]]) {
    await inside.click(`#mode-${mode}`);
    await inside.waitForFunction(([name]) => document.documentElement.dataset.state === "ready" && !document.getElementById(name).hidden,
      [panel]);
  }
  await page.close();
}

async function notebook() {
  for (const cell of cells) await (await drawn(readFileSync(cell, "utf8"), cell)).page.close();
}

await main(cells.length ? [notebook] : [one, several]);
