// SPDX-License-Identifier: Apache-2.0
// test_page.mjs MODULES MEMTAP MAKE_TRACES RENAME_TEXTS BROWSER: the page in a real browser.
// Its numbers are those of memtap report; keys do what they say; nothing goes to a network; names in
// a trace are shown and never run.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { accessible, answered, check, folder, inked, json, main, makeTraces, memtap, renameTexts, settled, show, state, until } from "./pages.mjs";

const traces = readdirSync(folder).filter((one) => one.endsWith(".mtap")).map((one) => join(folder, one));
const training = join(folder, "training.mtap");
const make = (out, ...paths) => execFileSync(memtap, ["view", "-o", out, ...paths]);
const report = (path) => json("report", "--format", "json", path);
const size = (bytes) => {
  const unit = bytes ? Math.floor(Math.log2(bytes) / 10) : 0;
  return unit ? `${(bytes / 1024 ** unit).toFixed(2)} ${"KMGT"[unit - 1]}iB` : `${bytes} B`;
};

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
  await answered(page);
  check(await inked(page, "#timeline") > 0.05, "the timeline is drawn");
  const peak = report(trace).devices[0].peak.allocated;
  const moment = await page.textContent("#moment");
  check(moment.includes("allocated"), `the moment is said: ${moment}`);
  await page.waitForSelector("#details dl"); // of the largest line, before anybody chose one
  await page.waitForSelector(".icicle .box");
  check((await page.getAttribute(".icicle .box", "title")).includes("100.0 %"), "the icicle's first box is all");
  await page.keyboard.press("2");
  await page.waitForSelector("table.sites tbody tr");
  const sum = await page.evaluate(() => [...document.querySelectorAll("#panel-table tbody tr td:first-child")]
    .reduce((all, one) => all + Number(one.title.split(" ")[0]), 0));
  check(sum === peak, `the table's bytes at the peak are the report's: ${sum}, ${peak}`);
  await page.keyboard.press("/");
  await page.keyboard.type("no such line");
  await page.waitForFunction(() => !document.querySelector("table.sites tbody tr"));
  await page.waitForFunction(() => document.getElementById("found").textContent === "no such line: not found");
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
  const phases = await page.textContent("#phases");
  check(phases.includes(trace === training ? "forward" : "start-up"), `the chart's phases have a key: ${phases}`);
  const said = await page.textContent("#moment");
  for (const one of ["module", "type", "line", "operator", "category"]) {
    await page.selectOption("#stack", one);
    await page.waitForSelector(one === "category" ? "#legend button" : "#legend .group");
    if (one !== "category") check(!/#b8bec6/.test(await page.locator("#legend .group .swatch").first().getAttribute("style")), `stacked by ${one}, the largest is not grey`);
    check(await page.textContent("#moment") === said, `stacked by ${one}, the moment says: ${await page.textContent("#moment")}`);
  }
  await page.close();
}

/** What is written on the timeline, with its place. */
const written = (page) => page.evaluate(() => new Promise((resolve) => {
  const { fillText } = CanvasRenderingContext2D.prototype, found = [];
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    if (this.canvas.id === "timeline") found.push({ text, x, y });
    return fillText.apply(this, arguments);
  };
  dispatchEvent(new Event("resize"));
  const look = () => {
    if (window.unanswered() || !found.length) return requestAnimationFrame(look);
    CanvasRenderingContext2D.prototype.fillText = fillText;
    return resolve(found);
  };
  requestAnimationFrame(() => requestAnimationFrame(look));
}));

const given = async (page, ...names) => {
  await settled(page);
  const all = new URLSearchParams((await page.evaluate(() => location.hash)).slice(1));
  return names.map((name) => Number(all.get(name) ?? 0));
};

/** The axis counts events as the words do; a drag chooses a range, the wheel scrolls, keys zoom around the chosen moment. */
async function gestures(trace) {
  const out = join(folder, "gestures.html");
  make(out, trace);
  const page = await show(out, "#tab=who");
  await page.waitForSelector(".icicle .box");
  const texts = await written(page), peak = report(trace).devices[0].peak.event;
  const ticks = texts.filter((one) => /^[\d,]+$/.test(one.text)).map((one) => [Number(one.text.replace(/,/g, "")), one.x]);
  const line = texts.find((one) => one.text === "peak").x;
  check(ticks.length > 1 && texts.some((one) => one.text === "event"), `the axis has events: ${JSON.stringify(ticks)}`);
  for (const [event, x] of ticks)
    check(event < peak ? x < line + 6 : x > line - 12, `event ${event} at ${x}, the peak, event ${peak}, at ${line}`);
  check(texts.some((one) => one.text.startsWith("reserved ")), "the line of what is reserved has a label");

  const box = await page.locator("#timeline").boundingBox(), y = box.y + 60, at = (part) => box.x + 80 + (box.width - 100) * part;
  await page.mouse.move(at(0.5), y);
  await page.mouse.wheel(0, -120);
  check(/^Click the chart to zoom/.test(await page.textContent(".hint")), "the wheel says how it zooms");
  await accessible(page, "a hint");
  await settled(page);
  check(!(await page.evaluate(() => location.hash)).includes("from="), "and does not zoom before a click");
  await page.mouse.move(at(0.3), y);
  await page.mouse.down();
  await page.mouse.move(at(0.5), y, { steps: 3 });
  await page.mouse.move(at(0.75), y, { steps: 3 });
  await page.mouse.up();
  await page.waitForFunction(() => !document.getElementById("range").hidden && document.getElementById("range").textContent.includes("freed"));
  const [since, last] = await given(page, "since", "at"), said = await page.textContent("#range");
  check(since > 0 && last > since, `a drag chooses a range: ${since} to ${last}`);
  const left = / ([\d.]+ \S+) of it is still live/.exec(said)?.[1], bytes = (text) => {
    const [, n, unit] = /([\d.]+) (B|KiB|MiB|GiB)/.exec(text);
    return Number(n) * 1024 ** ["B", "KiB", "MiB", "GiB"].indexOf(unit);
  };
  await page.waitForFunction((text) => document.querySelector(".crumb").textContent === `all: ${text}`, left).catch(() => undefined);
  check(await page.textContent(".crumb") === `all: ${left}`, `who lists what the range left: ${said}, ${await page.textContent(".crumb")}`);
  for (const place of ["#legend", "#panel-who .bar"])
    check((await page.textContent(place)).includes("allocated in the range, live at its end"), `${place} says what it counts`);
  const chips = (await page.locator("#legend b").allTextContents()).reduce((sum, one) => sum + bytes(one), 0);
  check(Math.abs(chips / bytes(left) - 1) < 0.01, `the chips count what the range left, as the flame chart does: ${chips}, ${left}`);
  check(/is still live: [\d.]+ \S+ .*\.py:\d+/.test(said), `the range names the lines that grew: ${said}`);
  await page.keyboard.press("z");
  const [from, to] = await given(page, "from", "to");
  check(from <= since && to > last && to - from < 12 + last - since, `z shows the range: ${from} to ${to}`);
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.getElementById("range").hidden);

  await page.keyboard.press("0");
  await page.mouse.click(at(0.7), y);
  const [late] = await given(page, "at");
  await page.keyboard.down("Shift");
  await page.mouse.click(at(0.4), y);
  await page.mouse.click(at(0.9), y);
  await page.keyboard.up("Shift");
  const [first, second] = await given(page, "since", "at");
  check(first === late && second > first, `two cursors are a range in any order: ${first} to ${second}`);
  await page.mouse.click(at(0.2), y);
  check((await given(page, "since"))[0] === 0, "a moment before the range is a new choice");
  const [begin_at] = await given(page, "at");
  for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowRight"]) await page.keyboard.press(`Shift+${key}`);
  const [by_key, to_key] = await given(page, "since", "at");
  check(by_key === begin_at && to_key === begin_at + 2, `keys choose a range: ${by_key} to ${to_key}, from ${begin_at}`);
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.mouse.move(at(0.5), y);
  const before = await given(page, "from", "to");
  await page.mouse.wheel(0, 120);
  await page.waitForFunction(() => scrollY > 0);
  check(String(await given(page, "from", "to")) === String(before), "the wheel scrolls the page");
  check(await page.evaluate(() => document.activeElement.id) === "timeline", "where there is nothing to zoom out of");
  for (const key of ["", "Control"]) {
    await page.evaluate(() => scrollTo(0, 0));
    if (key) {
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.down(key);
    }
    await page.mouse.wheel(0, -120);
    let low, high;
    await until(async () => {
      [low, high] = await given(page, "from", "to");
      return high - low < before[1] - before[0];
    });
    if (key) await page.keyboard.up(key);
    check(high - low < before[1] - before[0], `with ${key || "a click before"} it zooms: ${low} to ${high}`);
    await page.keyboard.press("0");
  }
  await page.keyboard.press("p");
  for (let i = 0; i < 8; i++) await page.keyboard.press("w");
  const [begin, end, chosen] = await given(page, "from", "to", "at");
  check(begin <= chosen && chosen < end && end - begin < before[1] - before[0], `the peak stays in view: ${chosen} in ${begin} to ${end}`);
  await page.close();
}

/** Each block is drawn and described; its line's other blocks, its editor, callers and callees, short-lived blocks. */
async function blocks(trace) {
  const out = join(folder, "blocks.html");
  make(out, trace);
  const page = await show(out, "#tab=blocks"); // a link of earlier pages
  check(await page.inputValue("#stack") === "block", "blocks are a way to stack");
  const box = await page.locator("#timeline").boundingBox();
  let told = "", moves = 0;
  await until(async () => {
    moves = (moves % 11) + 1;
    await page.mouse.move(box.x + 80 + ((box.width - 100) * moves) / 12, box.y + box.height - 60);
    await answered(page);
    told = await page.textContent("#tip");
    return /lives|not freed/.test(told);
  });
  check(/lives|not freed/.test(told) && /main  \S+\.py:\d+/.test(told), `a block's tip has its nearest frames and life: ${told}`);
  check(await page.evaluate(() => document.querySelector("#tip .swatch") !== null), "and its colour");
  await page.mouse.move(5, 5);
  await page.waitForFunction(() => document.getElementById("tip").hidden);
  await page.selectOption("#details select", "VS Code");
  await page.waitForSelector('#details a[href^="vscode://file/home/user/"]');
  await page.keyboard.press("2");
  await page.waitForSelector('#panel-table a[href^="vscode://file/home/user/"]');
  await page.selectOption("#details select", "no editor");
  await page.waitForFunction(() => document.querySelector("#panel-table tbody tr") && !document.querySelector("#panel-table a"));
  await page.keyboard.press("1");
  await page.waitForSelector(".icicle .box");
  const folded = await page.locator(".icicle .box").count();
  check(!(await page.textContent(".icicle")).includes("_call_impl"), "frames of libraries are folded");
  await page.locator(".icicle .box").nth(2).click();
  await page.click('button:text-is("Sandwich")');
  await page.waitForFunction(() => [...document.querySelectorAll(".icicle .box")].some((one) => Number(one.dataset.depth) < 0));
  await page.click('#panel-who label:has-text("library frames") input');
  await page.waitForFunction((n) => document.querySelectorAll(".icicle .box").length > n, folded);
  await page.keyboard.press("/");
  await page.keyboard.type("train.py:5");
  await page.waitForFunction(() => /^train.py:5: [\d.]+ \S+ in \d+ lines?$/.test(document.getElementById("found").textContent));
  await page.waitForSelector(".icicle .box.dim"); // what the search does not find
  await page.keyboard.press("Escape");
  await page.keyboard.press("4");
  await page.waitForFunction(() => /freed before the next allocation/.test(document.getElementById("panel-temporary").textContent));
  await page.close();
}

/** How much of a canvas is painted in full colour. */
const solid = (page, selector) => page.evaluate((one) => {
  const canvas = document.querySelector(one), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 0; i < data.length; i += 4)
    n += data[i + 3] > 140 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 70;
  return n / (data.length / 4);
}, selector);

/** What a search does not find is pale in each chart, and the legend; it counts in each view. */
async function searches(trace) {
  const out = join(folder, "searches.html");
  make(out, trace);
  const page = await show(out, "#tab=map");
  for (const [selector, stack] of [["#timeline", "category"], ["#timeline", "line"], ["#timeline", "block"], ["#map", "category"]]) {
    await page.selectOption("#stack", stack);
    const between = async (low, high, what) => {
      let is = NaN;
      await until(async () => (await answered(page), is = await solid(page, selector)) >= low && is <= high);
      check(is >= low && is <= high, `${selector} by ${stack}, ${what}: ${is}, wanted ${low} to ${high}`);
      return is;
    };
    const all = await between(0.04, 1, "all");
    await page.fill("#search", "no such line");
    const none = await between(0, all * 0.7, "nothing is found");
    await page.waitForFunction(() => document.getElementById("found").textContent === "no such line: not found");
    await page.fill("#search", "TRAIN.PY:5");
    await between(none + 0.05 * all, 0.95 * all, "some is found");
    const sites = report(trace).devices[0].call_sites.filter((one) => one.line.line === 5), sum = sites.reduce((all, one) => all + one.bytes, 0);
    check(await page.textContent("#found") === `TRAIN.PY:5: ${size(sum)} in 1 line`, `its bytes and lines are said: ${sum}, ${await page.textContent("#found")}`);
    if (stack === "category") {
      check(await page.locator("#legend .dim").count() > 0, "the legend's other categories are pale");
      await accessible(page, "a search");
    }
    await page.keyboard.press("Escape");
    await between(0.99 * all, 1.01 * all, "all again");
  }
  await page.close();
}

/** A box at which more than 60 % of all bytes end is opened into modules. */
async function opens(trace) {
  const out = join(folder, "opens.html");
  make(out, trace);
  const page = await show(out, "#tab=who");
  await page.waitForSelector(".icicle .box");
  const boxes = await page.evaluate(() => [...document.querySelectorAll(".icicle .box")].map((one) => [one.title.split("\n"), Number(one.dataset.depth)]));
  const wide = boxes.findIndex(([[name]]) => name === "main"), parts = boxes.filter(([[, place]]) => place === "module");
  check(/77\.8 %/.test(boxes[wide][0][2]) && parts.some(([[name], depth]) => name === "layers" && depth === boxes[wide][1] + 1) &&
    parts.some(([[name]]) => name === "fc"), `main is opened: ${boxes.map(([title]) => title[0])}`);
  await page.close();
}

/** The certainty of a category is next to it, as in reports. */
async function certainty(trace) {
  const out = join(folder, "certainty.html"), of = {};
  make(out, trace);
  const { devices: [device], peak } = report(trace);
  for (const { category, certainty: is, bytes } of device.call_sites) (of[category] ??= { certain: 0, likely: 0, guess: 0 })[is] += bytes;
  const page = await show(out, "#tab=who&by=line");
  await page.waitForSelector(".icicle .box");
  const [legend, boxes] = await page.evaluate(() => [".category", ".icicle .box"]
    .map((one) => [...document.querySelectorAll(one)].map((each) => each.title.split("\n")[0] + each.textContent)));
  let doubts = 0;
  for (const [name, { certain, likely, guess }] of Object.entries(of)) {
    const least = (certain + likely + guess) / 100, label = name.replace("_", " ");
    const mark = guess > least ? " (guess)" : guess + likely > least ? " (likely)" : "";
    doubts += Number(mark !== "");
    for (const texts of [legend, boxes.filter((one) => one.includes(label))].filter((one) => one.length)) // a box may be too small
      check(texts.some((one) => one.includes(`${label}${mark} `) || one.startsWith(`${label}${mark}`)), `${label}${mark}: ${texts.filter((one) => one.includes(label))}`);
  }
  check(boxes.length > 3 && doubts > 0 && peak.allocated > 0, "one is in doubt");
  await page.close();
}

/** A line's blocks can be gone through. */
async function others(trace) {
  const out = join(folder, "others.html");
  make(out, trace);
  const page = await show(out, "#tab=table");
  await page.waitForSelector("#panel-table tbody tr");
  const several = await page.evaluate(() => [...document.querySelectorAll("#panel-table tbody tr")]
    .findIndex((one) => Number(one.children[1].textContent) > 1));
  await page.locator("#panel-table tbody tr").nth(several).click();
  await page.waitForFunction(() => document.querySelector("#details .steps")?.textContent.includes("1 of "));
  await page.click('#details button[title^="a smaller"]');
  await page.waitForFunction(() => document.querySelector("#details .steps")?.textContent.includes("2 of "));
  const open = await page.locator("#details .frames > li:visible").allTextContents(), hidden = page.locator("#details .folded li").first();
  check(open.some((one) => /2 library frames/.test(one)) && /main/.test(open.at(-1)) && !(await hidden.isVisible()),
    `frames of libraries between the newest one and the program's own are folded: ${open}`);
  await page.click("#details .folded summary");
  check(/_wrapped_call_impl/.test(await hidden.textContent()) && await hidden.isVisible(), "and open by a click");
  await page.close();
}

/** What is not needed: at each moment as memtap report says it, hatched, in the key, and left out by a switch. */
async function needed(trace) {
  const out = join(folder, "needed.html"), none = join(folder, "without-uses.html");
  make(out, trace);
  const page = await show(out, "#tab=table"), chip = page.locator("#legend .group b"), peak = report(trace).devices[0];
  await page.waitForSelector("#panel-table tbody tr");
  check(/ hatched: /.test(` ${await page.getAttribute("#legend .group", "title")}`), "the key says what hatching means");
  await page.focus("#timeline");
  let n = 0;
  for (let at = -1; (await given(page, "at"))[0] !== at; n++) {
    [at] = await given(page, "at");
    const event = /event ([\d,]+)/.exec(await page.textContent("#moment"))[1].replace(/,/g, "");
    const { bytes } = json("report", "--format", "json", "--at", `event:${event}`, trace).devices[0].unneeded;
    check(await chip.textContent() === size(bytes), `event ${event}: ${await chip.textContent()} not needed, ${size(bytes)} in the report`);
    await page.keyboard.press("ArrowRight");
  }
  check(n > 5, `${n} moments from the peak on`);
  await page.keyboard.press("p");
  await settled(page);
  const stripes = () => page.evaluate((part) => { // how often the colour changes upwards, right after the peak's line
    const canvas = document.getElementById("timeline"), x = Math.round(canvas.width * part);
    const { data } = canvas.getContext("2d").getImageData(x, 40, 1, canvas.height - 140);
    let changes = 0;
    for (let i = 4; i < data.length; i += 4) changes += Math.abs(data[i] - data[i - 4]) + Math.abs(data[i + 3] - data[i - 1]) > 20;
    return changes;
  }, 0.5);
  for (const stack of ["category", "block"]) {
    await page.selectOption("#stack", stack);
    await settled(page);
    const hatched = await stripes();
    await page.keyboard.press("n");
    await settled(page);
    const plain = await stripes();
    check(hatched > plain + 10, `stacked by ${stack}, what is not needed is hatched: ${hatched} changes of colour, ${plain} without it`);
    check(await page.getAttribute("#needed", "aria-pressed") === "true", "the switch says that it is on");
    const { allocated } = peak.peak, { bytes } = peak.unneeded;
    check((await page.textContent("#moment")).startsWith(`${size(allocated - bytes)} needed of ${size(allocated)} allocated, `), `and the moment: ${await page.textContent("#moment")}`);
    await page.waitForFunction((sum) => [...document.querySelectorAll("#panel-table tbody tr td:first-child")]
      .reduce((all, one) => all + Number(one.title.split(" ")[0]), 0) === sum, allocated - bytes);
    check((await page.textContent("#legend")).startsWith("needed at the selected moment:"), "the chips count what is needed");
    const again = await show(out, await page.evaluate(() => location.hash));
    await again.waitForFunction((text) => document.getElementById("moment").textContent === text, await page.textContent("#moment"));
    await again.close();
    await page.click("#needed");
    await settled(page);
    check(await chip.textContent() === size(bytes), "a click turns it off");
  }
  await page.close();
  make(none, training);
  const other = await show(none, "#is_needed=1");
  check(!await other.isVisible("#needed") && !/needed/.test(await other.textContent("#moment")), "a trace without uses has no such switch");
  await other.keyboard.press("n");
  await settled(other);
  check(!/needed/.test(await other.textContent("#moment")), "nor a key");
  await other.close();
}

/** The inspector, the table and the tree say what holds blocks, in the words of memtap blocks, report and holders. */
async function holders(trace) {
  const out = join(folder, "holders.html"), none = join(folder, "none.html");
  make(out, trace);
  const printed = (command) => execFileSync(memtap, [command, trace], { encoding: "utf8" }), page = await show(out, "#tab=table");
  await page.waitForSelector("#panel-table tbody tr");
  const held = () => page.evaluate(() => [...document.querySelectorAll("#details dt")].find((one) => one.textContent === "held by")?.nextElementSibling.textContent.replace(/, and \d.*/, ""));
  check(await held() && printed("blocks").includes(await held()), `the largest block is held by ${await held()}`);
  const cells = await page.locator("#panel-table td:nth-child(6)").allTextContents(), paths = report(trace).devices[0].call_sites.map((one) => one.held_by?.path ?? "");
  check(paths[0] && cells.length === paths.length && paths.every((path, i) => path ? cells[i].endsWith(path) : !cells[i]), `the table has the report's holders: ${cells}`);
  check((await page.locator("#panel-table th").allTextContents())[5].startsWith("held by"), "in a column of their own");
  await page.keyboard.press("7");
  await page.waitForSelector("#panel-held .box");
  const boxes = await page.evaluate(() => [...document.querySelectorAll("#panel-held .box")].slice(1).map((one) => one.title.split("\n")));
  const rows = printed("holders").split("held by\n")[1].trim().split("\n");
  const wanted = rows.filter((row) => !/not in a list/.test(row)).map((row) => /^ *(\S+ \S+) +(\d+)  *(garbage: )?(.*?)(?: \((.*) also held elsewhere\))?$/.exec(row));
  for (const [, bytes, blocks, garbage, name, elsewhere] of wanted)
    check(boxes.some((lines) => lines[0] === name && lines.includes("garbage") === Boolean(garbage) && lines.at(-2).startsWith(`${bytes}, `) &&
      lines.at(-2).includes(`, ${blocks} block`) && (/, (\S+ \S+) also held/.exec(lines.at(-2))?.[1] === elsewhere)), `the tree has ${bytes}, ${blocks} of ${name}: ${JSON.stringify(boxes)}`);
  check(boxes.length === wanted.length && wanted.length > 2, `and no others: ${boxes.length}, ${wanted.length}`);
  const red = await page.$$eval("#panel-held .box", (all) => all.filter((one) => one.style.cssText.includes("--bad")).map((one) => one.title.split("\n")[1]));
  check(red.length && red.every((one) => one === "garbage"), `red is what nothing holds: ${red}`);
  const fact = (name) => page.evaluate((wanted) => [...document.querySelectorAll("#details dt")].find((one) => one.textContent === wanted).nextElementSibling.textContent, name);
  const explained = execFileSync(memtap, ["explain", trace, await fact("address")], { encoding: "utf8" }), allocated = await fact("allocated");
  check(explained.includes(allocated.replace(/^.*event [\d,]+/, "")), `allocated as memtap explain says: ${allocated}`);
  await page.locator("#panel-held .box", { hasText: "losses" }).click();
  await page.waitForFunction(() => location.hash.includes("life="));
  check((await held()).startsWith("global `losses`"), `a box shows its largest block: ${await held()}`);
  await page.close();
  make(none, training);
  const other = await show(none, "#tab=held");
  check(!(await other.isVisible("#tab-held")) && await other.isVisible("#panel-who"), "without lists of holders there is no such view");
  await other.keyboard.press("7");
  check(!(await other.isVisible("#panel-held")), "nor by its key");
  await other.close();
}

/** Without a chosen block the inspector has the largest of the chosen moment: also after Esc on a link, and at another moment. */
async function suggests(trace) {
  const out = join(folder, "suggests.html");
  make(out, trace);
  const page = await show(out, "#life=0");
  await page.waitForSelector("#details dl");
  await page.keyboard.press("Escape");
  const largest = () => page.waitForFunction(() => {
    const number = (text) => Number(/event ([\d,]+)/.exec(text)?.[1].replace(/,/g, "") ?? NaN), place = document.getElementById("details");
    return place.textContent.startsWith("Largest block here") && number(place.textContent) <= number(document.getElementById("moment").textContent);
  }).catch(() => check(false, "the inspector has a block of the moment"));
  await largest();
  const before = await page.textContent("#moment");
  await page.evaluate(() => (location.hash = "at=0"));
  await page.waitForFunction((was) => document.getElementById("moment").textContent !== was, before);
  await largest();
  await page.close();
}

/** Where a file is as it was when the program ran, its lines' text is next to their numbers; and a block's source is shown. */
async function sources(trace) {
  const out = join(folder, "sources.html"), text = join(folder, "s.py");
  const file = `${text}${"/home/user/train.py".replaceAll("/", `/${text}`)}${text}`; // as rename-texts names it
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, Array.from({ length: 60 }, (_, i) => `<b>value_${i + 1} = torch.ones(${i + 1})\n`).join(""));
  const [named, here] = [join(folder, "named.mtap"), join(folder, "here.mtap")];
  execFileSync(renameTexts, [trace, named, text]);
  for (const [start, is_there] of [["4000000000000000000", true], ["1000", false]]) {
    execFileSync(process.argv[7], { input: [named, here, `host=${hostname()}`, `start_realtime_ns=${start}`].join("\t") + "\n" });
    make(out, here);
    const page = await show(out, "#tab=table");
    await page.waitForSelector("#panel-table tbody tr");
    const cells = await page.evaluate(() => [...document.querySelectorAll("#panel-table tbody tr")].map((row) =>
      [/py:(\d+)/.exec(row.children[3].textContent)?.[1], row.querySelector("code")?.textContent]));
    const shown = cells.filter(([, code]) => code);
    check(is_there === shown.length > 0, `${shown.length} lines have a text, of a file ${is_there ? "as it was" : "changed since"}`);
    for (const [line, code] of shown) check(code === `<b>value_${line} = torch.ones(${line})`, `line ${line}: ${code}`);
    await page.waitForSelector("#details dt:text-is('served from'), #details .steps");
    check(is_there === await page.evaluate(() => document.querySelector("#details dd code") !== null), "and so has the chosen block's line");
    const number = /of this line/.test(await page.textContent("#details")) ? await page.textContent("#details .steps") : "1 of";
    check(number.includes("1 of"), `the largest line's largest block is its first: ${number}`);
    await page.close();
  }
}

/** The page of a run that ran out begins as memtap oom does. */
async function outOfMemory(trace) {
  const out = join(folder, "oom.html"), html = join(folder, "oom-html.html");
  make(out, trace);
  execFileSync(memtap, ["oom", "--html", html, trace]);
  check(readFileSync(out).equals(readFileSync(html)), "memtap oom --html writes the same page");
  const story = execFileSync(memtap, ["oom", trace], { encoding: "utf8" }), parts = story.split("\n\n");
  const first = parts.slice(0, parts.findIndex((one) => one.startsWith("Out of memory")) + 1).join("\n"); // below a loss
  const page = await show(out, "#tab=report");
  const { allocated, reserved, requested, device } = json("oom", "--format", "json", trace);
  await answered(page);
  const moment = await page.textContent("#moment"), texts = (await written(page)).map((one) => one.text);
  check(moment.startsWith(`${size(allocated)} allocated, ${size(reserved)} reserved`) && moment.includes(`; then ${size(requested)} by `),
    `the moment's numbers are memtap oom's, ${allocated}, ${reserved}: ${moment}`);
  check(texts.some((one) => one.startsWith(`failed: ${size(requested)} by `)), `the request that failed stands on the stack of device ${device}: ${texts}`);
  const lines = await page.evaluate(() => [...document.querySelectorAll("#headline p")].map((one) => one.textContent));
  const words = first.split(/\n(?=(?:Why|Kept|Do|Try|Or): |Out of memory)/).map((line) => line.replace(/\n */g, " "));
  words.forEach((line, i) => check(lines[i]?.startsWith(line), `the page says "${line}": ${lines[i]}`));
  check(words.length > 2, `three lines: ${words}`);
  for (const begins of ["Why it did not fit", "What each change achieves", "Growth:"]) {
    const wanted = story.slice(story.indexOf(`\n${begins}`) + 1).split(/\n\n(?=\S)/)[0].trimEnd();
    check(!story.includes(begins) || await page.evaluate((is) => [...document.querySelectorAll(".cause pre")].some((one) => one.textContent === is), wanted),
      `its "${begins}" opens below them`);
  }
  check((await page.textContent("#panel-report pre")).startsWith(story.slice(0, 300)), "the report begins with the story");
  await page.click("#tab-map");
  await answered(page);
  const map = await page.textContent("#panel-map .said");
  check(!/segments?,/.test(map) || !trace.startsWith(folder) || map.includes(`, ${size(reserved)}: ${size(allocated)} in blocks`), `the map is that of the failed request: ${map}`);
  const listed = spawnSync(memtap, ["holders", "--at", "oom", trace], { encoding: "utf8" }).stdout.match(/^device \d+: (\S+ \S+) at /m);
  check(!listed === !(await page.isVisible("#tab-held")), "what was listed when memory ran out has a view");
  if (listed) {
    await page.click("#tab-held");
    await page.waitForSelector("#panel-held .box");
    const said = await page.textContent("#panel-held .said");
    check(said.includes(` ${listed[1]} live at `), `what keeps memory is of the failed request: ${said}, ${listed}`);
  }
  const where = / on device (\d+)/.exec(first)?.[1], chosen = () => page.evaluate(() => document.getElementById("device")?.selectedOptions[0].textContent);
  if (await page.$("#device")) {
    check(await chosen() === `device ${where}`, `the device that ran out is shown: ${await chosen()}`);
    await page.selectOption("#device", { index: 0 });
    await page.click('#headline button:has-text("the moment before")');
    check(await chosen() === `device ${where}`, "its link shows it again");
  }
  await page.close();
}

/** The page of a server begins with its memory budget, in the report's words. */
async function server() {
  const trace = join(folder, "server.mtap"), out = join(folder, "server.html");
  execFileSync(process.argv[8], [trace]);
  make(out, trace);
  const page = await show(out), printed = execFileSync(memtap, ["report", trace], { encoding: "utf8" }).split("\n\n");
  const shown = await page.evaluate(() => [...document.querySelectorAll("#headline details[open] pre")].map((one) => one.textContent.trimEnd()));
  check(shown.length === 2 && /memory budget/.test(shown[0]) && shown.every((one) => printed.some((part) => part.trimEnd() === one)),
    `a server's budget and work stand there: ${shown}`);
  await page.waitForSelector("#details dl");
  const used = await page.evaluate(() => [...document.querySelectorAll("#details dt")].find((one) => one.textContent === "last used")?.nextElementSibling.textContent);
  check(/^[\d.]+ .?s by \S+:\d+ \S+, [\d.]+ .?s before its free$/.test(used), `the inspector says when and where the largest block was last used: ${used}`);
  await page.keyboard.press("2");
  await page.waitForSelector("#panel-table tbody tr");
  const cells = await page.locator("#panel-table tr > :nth-child(6)").allTextContents();
  check(cells[0].startsWith("last used") && used.startsWith(`${cells[1]}, `) && cells.slice(2).every((one) => !one), `the table does, too, where it is known of a line's blocks: ${cells}`);
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
  await answered(page);
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

const eventRows = (page) => page.evaluate(() => [...document.querySelectorAll(".event")].map((one) => [...one.children].map((cell) => cell.textContent)));

/** The list has the device's events of memtap dump, in order; keys and clicks go through them, and the chart and the inspector follow. */
async function events(name) {
  const out = join(folder, "events.html"), trace = join(folder, `${name}.mtap`);
  make(out, trace);
  const page = await show(out, "#tab=events");
  await page.waitForSelector(".event");
  await page.focus("#events");
  await page.keyboard.press("Home");
  const device = Number((await page.evaluate(() => document.getElementById("device")?.selectedOptions[0].textContent ?? "device 0")).split(" ")[1]);
  const kinds = { alloc: "allocated", free: "freed", oom: "out of memory", cuda_malloc: "segment", cuda_free: "segment freed" };
  const dumped = execFileSync(memtap, ["dump", "--format", "json", trace], { encoding: "utf8" }).trim().split("\n").map((line) => JSON.parse(line))
    .filter((one) => kinds[one.record] && !one.result && one.device === device);
  const sizes = new Map(), live = [0], wanted = dumped.map((one) => {
    if (one.record === "cuda_malloc") sizes.set(one.address, one.size);
    live.push(live.at(-1) + (one.record === "alloc" ? one.size : one.record === "free" ? -one.size : 0));
    return [`${(one.time_ns / 1e9).toFixed(6)} s`, kinds[one.record], size(one.size ?? sizes.get(one.address)), size(live.at(-1))];
  });
  const shown = [];
  for (let i = 0; i < wanted.length; i++) {
    const [row, said] = await page.waitForFunction((at) => {
      const one = document.querySelector(".event[aria-selected=true]");
      return one?.ariaPosInSet === String(at + 1) && [[...one.children].map((cell) => cell.textContent), document.getElementById("moment").textContent];
    }, i).then((handle) => handle.jsonValue());
    shown.push(row.slice(1, 5));
    check(/^(allocated|freed)$/.test(row[2]) === said.includes(`event ${row[0]}`) || row[2] !== "allocated", `the chart follows: ${row}, ${said}`);
    await page.keyboard.press("ArrowDown");
    await answered(page);
  }
  check(isDeepStrictEqual(shown, wanted), `${name}: the list's events are memtap dump's: ${JSON.stringify(shown)}, ${JSON.stringify(wanted)}`);
  await page.keyboard.press("Home");
  await page.keyboard.press("p");
  const event = report(trace).devices.find((one) => one.device === device).peak.event;
  await page.waitForFunction((at) => document.querySelector(".event[aria-selected=true]")?.firstChild.textContent === at, event.toLocaleString("en-US"));
  await page.locator(".event", { hasText: "allocated" }).first().click();
  await page.waitForFunction(() => !document.getElementById("details").textContent.startsWith("Largest block here"));
  const [first] = (await eventRows(page)).filter((one) => one[2] === "allocated");
  check((await page.textContent("#details")).includes(`event ${first[0]}`), `a click shows its block: ${first}, ${await page.textContent("#details")}`);
  await accessible(page, "events");
  await page.close();
}

/** Of many events only those in sight are there, and the wheel and the bar reach all. */
async function manyEvents() {
  const out = join(folder, "many.html"), trace = join(folder, "many.mtap");
  execFileSync(join(dirname(makeTraces), "../golden/make-trace"), [trace, "800000"]);
  make(out, trace);
  const page = await show(out, "#tab=events"), rows = () => eventRows(page);
  await page.waitForSelector(".event");
  const n = Number((await page.textContent("#panel-events .said")).split(" ")[0].replace(/,/g, ""));
  check(n > 370000 && (await rows()).length < 30, `${n} events, ${(await rows()).length} rows`);
  const number = (row) => Number(row[0].replace(/,/g, "")), at = async () => number((await rows())[0]);
  await page.focus("#events");
  await page.keyboard.press("Home");
  await answered(page);
  const begin = await at();
  await page.locator("#events").hover();
  const first = await page.textContent(".event");
  await page.mouse.wheel(0, 220);
  await page.waitForFunction((was) => document.querySelector(".event").textContent !== was, first);
  await answered(page);
  const next = await at();
  check(next > begin && next < begin + 40, `the wheel moves by rows: ${begin}, ${next}`);
  await page.evaluate(() => (document.getElementById("events").scrollTop = 4e6));
  await until(async () => (await answered(page), (await at()) > n * 0.4));
  check(await at() < n * 1.2, `the bar reaches the middle: ${await at()} of ${n}`);
  await page.keyboard.press("End");
  await page.waitForFunction((last) => document.querySelector(".event[aria-selected=true]")?.ariaPosInSet === last, String(n));
  check((await rows()).length > 10, "and End the last");
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
  const { status, stderr } = spawnSync(memtap, ["view", "-o", out, cut], { encoding: "utf8" });
  check(status === 2 && /^memtap: .*cut\.mtap: the trace is truncated [^\n]*\n$/.test(stderr), `the command says that a trace is cut: ${stderr}`);
  const page = await show(out);
  check(await state(page) === "ready", "a cut trace is shown");
  check(/truncated/.test(await page.textContent("#message") + await page.textContent("#headline")), "that it is cut is said");
  const other = join(folder, "other.txt"), shown = await page.textContent("#title");
  writeFileSync(other, "this is no trace");
  await page.setInputFiles("#file", other);
  await page.waitForFunction(() => document.documentElement.dataset.state === "error");
  check(/not a memtap trace/.test(await page.textContent("#message")), "a file that is no trace gets a sentence");
  await page.setInputFiles("#file", trace);
  await page.waitForFunction(() => document.documentElement.dataset.state === "ready");
  await page.setInputFiles("#file", other);
  await page.waitForFunction(() => document.documentElement.dataset.state === "error");
  const is = [await page.isVisible("#timeline"), await page.isVisible("#drop"), await inked(page, "#timeline") > 0.05, await page.textContent("#title")];
  check(isDeepStrictEqual(is, [true, false, true, shown]), `and the trace that is shown stays: ${is}`);
  await page.close();
}

await main([
  numbers,
  () => views(training),
  () => stacks(training),
  () => gestures(training),
  () => blocks(training),
  () => searches(training),
  () => opens(join(folder, "layers.mtap")),
  () => certainty(training),
  () => others(join(folder, "layers.mtap")),
  () => suggests(training),
  () => holders(join(folder, "held.mtap")),
  () => needed(join(folder, "uses.mtap")),
  () => sources(training),
  ...["oom", "oom-larger", "held-oom"].map((name) => () => outOfMemory(join(folder, `${name}.mtap`))), () => outOfMemory(join(import.meta.dirname, "../golden/version-1.mtap")),
  () => stacks(join(folder, "phases.mtap")),
  () => map(join(folder, "fragmented.mtap")),
  () => events("oom"), () => events("fragmented"), manyEvents,
  () => verdict("oom", "the moment before", "who"),
  () => verdict("training", "who holds it", "who"),
  () => verdict("training", "where it is free", "map"),
  () => verdict("phases", "what is left", "table"),
  () => server(),
  () => commands(training),
  () => badInput(training),
]);
