// SPDX-License-Identifier: Apache-2.0
// Names that want to be run are shown in every view, and run in none; bad traces and browsers that lack
// something get a sentence, and the report as text.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { answered, check, folder, main, makeTraces, memtap, ready, renameTexts, show, state, text } from "./pages.mjs";

const at = (name) => join(folder, `${name}.mtap`);
const TEXTS = [ // the shell's printf writes them, so that they need not be valid UTF-8
  "<img src=x onerror=alert(1)></script><script>alert(2)</script>", "</pre></style></title><svg onload=alert(3)>",
  "\\\" onmouseover=\\\"alert(4)' onclick='alert(5)", "<!--]]>&lt;b&gt;&#60;", "javascript:alert(6){{7*7}}${alert(7)}`",
  "\\327\\251\\327\\234\\327\\225\\327\\235 \\331\\205", "\\033[31m\\007\\342\\200\\256gpj.exe\\377\\376\\300\\200", "__proto__", "=cmd()",
];

/** What must not be in a page whatever it is given. */
async function isTame(page, what) {
  const wrong = await page.evaluate(() => {
    const found = [...document.querySelectorAll("body img, body svg, body iframe, body object, body b b, body style, body link")].map((one) => one.outerHTML);
    for (const one of document.querySelectorAll("*"))
      for (const attribute of one.attributes)
        if (/^on/i.test(attribute.name) || (attribute.name === "href" && /^javascript:/i.test(attribute.value))) found.push(one.outerHTML);
    // what turns or hides text, on the page and in its title; a newline between paragraphs is none
    const shown = `${document.title}${document.body.innerText}`.match(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
    if (shown) found.push(`a control character: ${shown[0].charCodeAt(0).toString(16)}`);
    return found;
  });
  check(!wrong.length, `${what}: ${wrong[0]}`);
}

/** All of a run's views, each with everything that it can show. */
async function views(page, what) {
  const tabs = await page.evaluate(() => [...document.querySelectorAll("#tabs [role=tab]:not([hidden])")].map((one) => one.id));
  for (const tab of tabs) {
    await page.click(`#${tab}`);
    await page.waitForTimeout(60);
    const choices = await page.evaluate(() => [...document.querySelectorAll("#panel-who:not([hidden]) select option")].map((one) => one.value));
    for (const by of choices) {
      await page.selectOption("#panel-who select", by);
      await page.waitForTimeout(40);
      await isTame(page, `${what}, who by ${by}`);
    }
    await isTame(page, `${what}, ${tab}`);
  }
  await page.click("#tab-table");
  await page.waitForSelector("table.sites tbody tr");
  await page.click("table.sites tbody tr");
  await page.waitForSelector("#details dl");
  await page.hover("#timeline", { position: { x: 600, y: 150 } });
  await page.click("#numbers summary");
  await page.waitForTimeout(60);
  await isTame(page, `${what}, a block's details`);
}

/** A line's number stands behind its file's name, whichever way that is written. */
async function numbersBehind(page, what) {
  const wrong = await page.evaluate(() => [...document.querySelectorAll("#panel-table td:nth-child(4) > span, #headline p, #details dd")].flatMap((one) => {
    const boxes = [], range = document.createRange(), walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
      for (let i = 0; i < node.data.length; i++) {
        range.setStart(node, i);
        range.setEnd(node, i + 1);
        boxes.push(range.getBoundingClientRect());
      }
    const at = /[\u0590-\u08ff]:\d/.exec(one.textContent)?.index ?? NaN, [name, colon] = [boxes[at], boxes[at + 1]];
    return name && Math.abs(name.top - colon.top) < 5 && name.left > colon.left ? [one.textContent] : [];
  }));
  check(!wrong.length, `${what}: a number moved before its name: ${wrong[0]}`);
}

async function names() {
  const paths = [];
  for (const [i, one] of TEXTS.entries()) {
    const path = join(folder, `hostile${i}.mtap`), out = join(folder, "page.html");
    execFileSync("sh", ["-c", 'exec "$0" "$1" "$2" "$(printf "$3")"', renameTexts, at(i % 3 === 1 ? "held" : "training"), path, one]);
    paths.push(path);
    execFileSync(memtap, ["view", "-o", out, path]);
    const page = await show(out, "#tab=table&life=0&at=%3Cscript%3E&search=%3Cb%3E%22");
    check(await state(page) === "ready", `${one}: shown: ${await text(page, "#message")}`);
    await page.keyboard.press("Escape");
    await page.waitForSelector("table.sites tbody tr");
    await numbersBehind(page, one);
    await views(page, one);
    await page.close();
    execFileSync(memtap, ["diff", "--html", out, i % 2 ? path : at("training"), i % 2 ? at("keeping") : path]);
    const two = await show(out, "#view=difference&search=%3Cimg%20src=x%20onerror=alert(9)%3E");
    check(await state(two) === "ready", `${one}: compared: ${await text(two, "#message")}`);
    await two.evaluate(() => document.querySelectorAll("details").forEach((each) => (each.open = true)));
    await two.hover("#two-timelines", { position: { x: 400, y: 150 } });
    await isTame(two, `${one}: difference`);
    await two.close();
  }
  const out = join(folder, "ranks.html");
  execFileSync(memtap, ["report", "--html", out, ...paths]);
  const page = await show(out);
  check(await page.evaluate(() => document.querySelectorAll(".ranks tbody tr").length) === TEXTS.length, "ranks are shown");
  await isTame(page, "ranks");
  await page.close();
}

/** Names of the traces themselves. */
async function files() {
  const hostile = join(folder, "hostile files");
  mkdirSync(hostile);
  const named = ["<img src=x onerror=alert(1)>", "\"><svg onload=alert(2)>", "\u202egpj", "a\u001b[31mb", "' onclick='alert(3)"]
    .map((name) => join(hostile, `${name}.mtap`));
  const raw = Buffer.concat([Buffer.from(`${hostile}/`), Buffer.from([0xff, 0xc0]), Buffer.from(".mtap")]);
  for (const path of [...named, raw]) copyFileSync(at("training"), path);
  for (const command of [["view", "-o"], ["report", "--html"]]) {
    const out = join(folder, "files.html");
    execFileSync(memtap, [...command, out, hostile]);
    const page = await show(out);
    check(await page.evaluate(() => document.querySelectorAll(".ranks tbody tr").length) === named.length + 1, "each file is a rank");
    await isTame(page, "names of files");
    await page.click(".ranks tbody tr");
    await page.waitForFunction(() => !document.getElementById("views").hidden);
    check(await ready(page) === "ready", "and can be opened");
    await isTame(page, "a named file");
    await page.close();
  }
}

/** Remembers what is written on canvases. */
function watchTexts() {
  const { fillText } = CanvasRenderingContext2D.prototype;
  window.texts = [];
  CanvasRenderingContext2D.prototype.fillText = function (...what) {
    window.texts.push(what[0]);
    return fillText.apply(this, what);
  };
}

async function badTraces() {
  const good = readFileSync(at("training")), out = join(folder, "bad.html");
  const bad = {
    damaged: Buffer.from(good), newer: Buffer.from(good), cut: good.subarray(0, Math.floor(good.length / 2)),
    empty: Buffer.alloc(0), begun: good.subarray(0, 12), noise: Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 251)),
  };
  bad.damaged[Math.floor(good.length / 2)] ^= 0x55;
  bad.newer[8] = 99; // FORMAT.md: the version follows the magic
  const page = await show(execFileSync(memtap, ["view", "--no-browser", at("training")],
    { encoding: "utf8", env: { ...process.env, TMPDIR: folder } }).trim());
  for (const [name, bytes] of Object.entries(bad)) {
    const path = join(folder, `bad-${name}.mtap`);
    writeFileSync(path, bytes);
    await page.evaluate(() => (document.documentElement.dataset.state = "loading"));
    await page.setInputFiles("#file", path);
    const is = await ready(page), said = `${await text(page, "#message")} ${await text(page, "#headline")}`;
    check(is === "error" || /truncated|damaged|sound|sum/i.test(said), `${name}: it is said what is wrong: ${is}: ${said}`);
    check(!/undefined|object Object|RuntimeError|analyzer stopped/.test(said), `${name}: in plain words: ${said}`);
    const { status, stderr } = spawnSync(memtap, ["view", "-o", out, path], { encoding: "utf8" });
    check(status === 2 ? stderr.split("\n").length === 2 : status === 0, `${name}: the command says one line: ${stderr}`);
    await isTame(page, name);
  }
  await page.close();
  copyFileSync(at("killed"), at("growing")); // what its program has written, without the tail
  for (const name of ["growing", "c-program", "unknown", "killed", "hostile", "idle", "item"]) {
    execFileSync(memtap, ["view", "-o", out, at(name)]);
    const one = await show(out, "", { before: watchTexts });
    check(await state(one) === "ready", `${name} is shown`);
    if (name === "item") check((await one.evaluate(() => window.texts)).includes("1"), "one event has its number on the axis");
    if (name === "idle") check(/^0 allocations of GPU memory/.test(await text(one, "#message")), "without events it says so");
    if (name === "c-program")
      for (const range of ["#from=1&to=1.0000001", "#time=1&from=5&to=5", "#from=1e99&to=2e99", "#from=-5&to=NaN"]) {
        await one.evaluate((hash) => (location.hash = hash), range);
        for (let i = 0; i < 20; i++) await one.keyboard.press("w");
        await one.waitForFunction(() => /allocated at /.test(document.getElementById("moment").textContent));
        check(await state(one) === "ready", `beyond one event, ${range}`);
      }
    await one.close();
  }
}

/** Other tools' files are opened as memtap import converts them; what cannot be read leaves the shown trace. */
async function imports() {
  execFileSync(process.env.PYTHON, [join(import.meta.dirname, "make_files.py"), folder]);
  const out = join(folder, "imports.html"), trace = join(folder, "imported.mtap");
  execFileSync(memtap, ["view", "-o", out, at("training")]);
  const page = await show(out), message = () => text(page, "#message");
  const drop = async (name, ends) => {
    await page.setInputFiles("#file", join(folder, name));
    await page.waitForFunction((state) => document.documentElement.dataset.state === state, ends);
    await answered(page);
  };
  let title = await text(page, "#title");
  for (const name of ["new.pickle", "old.pickle", "profile.json", "profile.json.gz", "small.sqlite", "large.sqlite"]) {
    const notes = execFileSync(memtap, ["import", "--force", "-o", trace, join(folder, name)], { encoding: "utf8" }).split("\n").slice(1).join("\n").trim();
    const wanted = JSON.parse(execFileSync(memtap, ["report", "--format", "json", trace], { encoding: "utf8" }));
    await drop(name, "ready");
    const shown = await page.evaluate(() => window.memtap.report());
    for (const part of ["peak", "devices", "ended", "iterations"])
      check(isDeepStrictEqual(shown[part], wanted[part]), `${name}: the page's ${part} is memtap's: ${JSON.stringify(shown[part])}, ${JSON.stringify(wanted[part])}`);
    check(wanted.peak.allocated > 0 && await message() === notes, `${name}: it says what is missing: ${await message()}, ${notes}`);
    title = await text(page, "#title");
    for (const [bad, said] of [["cut.pickle", /^cut\.pickle: truncated /], ["nothing.json", /contains neither a memory snapshot/], ["twice.json.gz", /compressed twice/],
      ["cut.json.gz", /^cut\.json\.gz: invalid gzip data/], ["bomb.json.gz", /expands beyond the safety limit/], ["nsys.sqlite", /no such column: deviceId$/], ["cut.sqlite", /damaged or truncated$/],
      ["model.pt", /^model\.pt: an archive \(torch\.save\); give /]]) {
      if (name !== "large.sqlite" && bad !== "cut.pickle") continue; // one after each, all at the end
      await drop(bad, "error");
      check(said.test(await message()) && !(await message()).includes("\n"), `${bad} gets a line: ${await message()}`);
      check(await page.isVisible("#timeline") && await text(page, "#title") === title, `${bad} leaves ${title}`);
    }
  }
  await page.close();
}

/** Small traces that stand for much are shown, as far as they were read, which the page says. */
async function bombs() {
  execFileSync(join(dirname(makeTraces), "make-bombs"), ["deep", "live", "names"], { cwd: folder });
  const out = join(folder, "bomb.html");
  for (const [name, said] of [["deep", /^$/], ["live", /stopped reading at byte/], ["names", /^0 allocations.*stopped reading at byte/]]) {
    spawnSync(memtap, ["view", "-o", out, at(name)]);
    const page = await show(out);
    check(await state(page) === "ready", `${name} is shown`);
    check(said.test(await text(page, "#message")), `${name} says how far: ${await text(page, "#message")}`);
    await page.close();
  }
}

/** What a browser lacks. */
async function browsers() {
  const out = join(folder, "lacks.html");
  execFileSync(memtap, ["view", "-o", out, at("training")]);
  const isReadable = (page) => page.evaluate(() => {
    const one = document.querySelector("#texts pre");
    return one !== null && one.getBoundingClientRect().height > 100 && /peak/.test(one.textContent);
  });
  for (const name of ["WebAssembly", "DecompressionStream"]) {
    const page = await show(out, "", { before: `delete window.${name}` });
    check(await state(page) === "error", `without ${name} it says so`);
    check((await text(page, "#message")).includes(`This browser lacks ${name}`), `in a sentence: ${await text(page, "#message")}`);
    check(await isReadable(page), "and the report stands there as text");
    await page.close();
  }
  const drawn = await show(out, "", { before: `
    const get = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...more) { return /webgl/.test(kind) ? null : get.call(this, kind, ...more); };` });
  check(await state(drawn) === "ready", "without WebGL it is drawn all the same");
  check(!(await isReadable(drawn)), "and the text does not stand in the way");
  await drawn.close();
  const { stdout } = spawnSync(memtap, ["report", at("training")], { encoding: "utf8" });
  const page = await show(out, "", { javaScriptEnabled: false });
  check(await isReadable(page), "without JavaScript the report is text");
  const there = await text(page, "#texts pre");
  check(there.trim() === stdout.trim(), "which is memtap report's");
  await page.close();
}

await main([names, files, imports, badTraces, bombs, browsers]);
