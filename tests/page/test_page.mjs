// SPDX-License-Identifier: Apache-2.0
// test_page.mjs MODULES MEMTAP MAKE_TRACES RENAME_TEXTS BROWSER: the page in a real browser.
// Its numbers are those of memtap report; keys do what they say; nothing goes to a network; names in
// a trace are shown and never run; axe-core finds nothing serious.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { accessible, check, folder, inked, json, main, memtap, renameTexts, show, state } from "./pages.mjs";

const traces = readdirSync(folder).filter((one) => one.endsWith(".mtap")).map((one) => join(folder, one));
const training = join(folder, "training.mtap");
const make = (out, ...paths) => execFileSync(memtap, ["view", "-o", out, ...paths]);
const report = (path) => json("report", "--format", "json", path);

async function numbers() {
  for (const trace of traces) {
    const out = join(folder, "numbers.html");
    make(out, trace);
    const page = await show(out);
    check(await state(page) === "ready", `${trace}: ready`);
    const there = await page.evaluate(() => window.memtap.report());
    check(isDeepStrictEqual(there, report(trace)), `${trace}: the page's numbers are those of memtap report`);
    await page.close();
  }
}

async function views(trace) {
  const out = join(folder, "views.html");
  make(out, trace);
  const page = await show(out);
  await page.waitForTimeout(500);
  check(await inked(page, "#timeline") > 0.05, "the timeline is drawn");
  check(await inked(page, "#blocks") > 0.05, "the blocks are drawn");
  const peak = report(trace).devices[0].peak.allocated;
  const moment = await page.textContent("#moment");
  check(moment.includes("allocated"), `the moment is said: ${moment}`);
  await page.keyboard.press("3");
  await page.waitForSelector(".icicle .box");
  check((await page.getAttribute(".icicle .box", "title")).includes("100.0 %"), "the icicle's first box is all");
  await page.keyboard.press("4");
  await page.waitForSelector("table.sites tbody tr");
  const sum = await page.evaluate(() => [...document.querySelectorAll("table.sites tbody tr td:first-child")]
    .reduce((all, one) => all + Number(one.title.split(" ")[0]), 0));
  check(sum === peak, `the table's bytes at the peak are the report's: ${sum}, ${peak}`);
  await page.keyboard.press("/");
  await page.keyboard.type("no such line");
  await page.waitForFunction(() => !document.querySelector("table.sites tbody tr"));
  await page.keyboard.press("Escape");
  await page.waitForSelector("table.sites tbody tr");
  await page.focus("table.sites tbody tr");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#details dl");
  await page.keyboard.press("w");
  await page.waitForFunction(() => location.hash.includes("life="));
  const link = await page.evaluate(() => location.hash);
  const again = await show(out, link);
  await again.waitForSelector("#details dl");
  check(await again.evaluate(() => document.querySelector("[role=tab][aria-selected=true]").id) === "tab-table",
    "a link shows the same view");
  for (const dark of [false, true]) {
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
    for (const key of ["1", "2", "3", "4", "5"]) {
      await page.keyboard.press(key);
      await page.waitForTimeout(200);
      await accessible(page, `view ${key}${dark ? ", dark" : ""}`);
    }
  }
  await again.close();
  await page.close();
}

/** Each sentence of the verdict leads to its view. */
async function verdict(name, label, view) {
  const out = join(folder, "verdict.html");
  make(out, join(folder, `${name}.mtap`));
  const page = await show(out);
  await page.click(`#headline button:has-text("${label}")`);
  check(await page.evaluate(() => document.querySelector("#tabs [aria-selected=true]").id) === `tab-${view}`, `${label} leads to ${view}`);
  await page.close();
}

/** Whatever the timeline stacks, the moment has the same bytes. */
async function stacks(trace) {
  const out = join(folder, "stacks.html");
  make(out, trace);
  const page = await show(out);
  await page.waitForSelector("#legend b");
  const said = await page.textContent("#moment");
  for (const one of ["module", "type", "line", "operator", "category"]) {
    await page.selectOption("#stack", one);
    await page.waitForSelector(one === "category" ? "#legend button" : "#legend .group");
    check(await page.textContent("#moment") === said, `stacked by ${one}, the moment says: ${await page.textContent("#moment")}`);
  }
  await page.close();
}

/** The address map has the report's segments; it plays, and stops. */
async function map(trace) {
  const out = join(folder, "map.html");
  make(out, trace);
  const page = await show(out, "#tab=map");
  const peak = report(trace).devices[0].peak.event;
  await page.keyboard.press("p");
  await page.waitForFunction((event) => document.getElementById("moment").textContent.includes(`event ${event}`), peak);
  await page.waitForTimeout(300);
  const { small, large } = report(trace).devices[0].fragmentation;
  const column = (n) => page.evaluate((at) => [...document.querySelectorAll(`table.segments tbody td:nth-child(${at})`)]
    .map((one) => Number(one.title.split(" ")[0])), n);
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  check(sum(await column(4)) === small.free + large.free, "the map's free bytes are the report's");
  check(Math.max(...await column(5)) === Math.max(small.largest_free, large.largest_free), "so is the largest free piece");
  check(await inked(page, "#map") > 0.05, "the map is drawn");
  const at = () => page.evaluate(() => document.getElementById("moment").textContent);
  const before = await at();
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction((text) => document.getElementById("moment").textContent !== text, before);
  await page.keyboard.press("0");
  await page.keyboard.press(" ");
  await page.waitForFunction(() => [...document.querySelectorAll("#panel-map button")].some((one) => one.textContent === "Stop"));
  await page.waitForFunction(() => [...document.querySelectorAll("#panel-map button")].some((one) => one.textContent === "Play"));
  await page.close();
}

/** The ways to a page are one. */
async function commands(trace) {
  const view = join(folder, "view.html"), html = join(folder, "html.html");
  make(view, trace);
  execFileSync(memtap, ["report", "--html", html, trace]);
  check(readFileSync(view).equals(readFileSync(html)), "memtap report --html writes the page of memtap view");
  const refused = (...command) => {
    const { status, stderr } = spawnSync(memtap, command, { encoding: "utf8" });
    check(status === 2 && stderr.split("\n").length === 2, `${command[0]} is refused with one line: ${stderr}`);
    check(readFileSync(view).equals(readFileSync(html)), "the older page is as it was");
  };
  refused("oom", "--html", html, trace);
  refused("report", "--html", html, "--no-labels", trace);
  refused("view", "-o", html, join(folder, "nothing.mtap"));
  refused("view", "-o", join(trace, "folder.html"), trace);
  refused("view");
}

async function badInput(trace) {
  const texts = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\u202egpj.exe", "\u001b[31m", "\"'&<!--"];
  for (const [i, text] of texts.entries()) {
    const hostile = join(folder, `h${i}.mtap`), out = join(folder, "hostile.html");
    execFileSync(renameTexts, [trace, hostile, text]);
    make(out, hostile);
    const page = await show(out, "#tab=table&life=0&at=%3Cscript%3E&from=x&search=%3Cb%3E");
    check(await state(page) === "ready", `names with ${JSON.stringify(text)} are shown`);
    check(await page.evaluate(() => !document.querySelector("main img")), "no name becomes an element");
    await page.close();
  }
  const bytes = readFileSync(trace), cut = join(folder, "cut.mtap"), out = join(folder, "cut.html");
  writeFileSync(cut, bytes.subarray(0, bytes.length * 0.7));
  make(out, cut);
  const page = await show(out);
  check(await state(page) === "ready", "a cut trace is shown");
  check(/cut/.test(await page.textContent("#message") + await page.textContent("#headline")), "that it is cut is said");
  const other = join(folder, "other.txt");
  writeFileSync(other, "this is no trace");
  await page.setInputFiles("#file", other);
  await page.waitForFunction(() => document.documentElement.dataset.state === "error");
  check(/not a memtap trace/.test(await page.textContent("#message")), "a file that is no trace gets a sentence");
  await page.setInputFiles("#file", trace);
  await page.waitForFunction(() => document.documentElement.dataset.state === "ready");
  await page.close();
}

await main([
  numbers,
  () => views(training),
  () => stacks(training),
  () => stacks(join(folder, "phases.mtap")),
  () => map(join(folder, "fragmented.mtap")),
  () => verdict("oom", "the moment before", "who"),
  () => verdict("training", "who holds it", "who"),
  () => verdict("training", "where it is free", "map"),
  () => verdict("phases", "what is left", "table"),
  () => commands(training),
  () => badInput(training),
]);
