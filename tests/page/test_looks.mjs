// SPDX-License-Identifier: Apache-2.0
// Pictures of views, paper, two fingers, dark and light, keys alone; axe-core finds nothing.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible, answered, check, folder, main, memtap, renameTexts, settled, show, text } from "./pages.mjs";

const at = (name) => join(folder, `${name}.mtap`);
const run = join(folder, "run.html"), uses = join(folder, "uses.html"), held = join(folder, "held.html"), two = join(folder, "two.html"), ranks = join(folder, "ranks.html");
execFileSync(memtap, ["view", "-o", run, at("training")]);
execFileSync(memtap, ["view", "-o", held, at("held")]);
execFileSync(memtap, ["view", "-o", uses, at("uses")]);
execFileSync(memtap, ["diff", "--html", two, at("training"), at("keeping")]);
execFileSync(memtap, ["view", "-o", ranks, at("rank0"), at("rank1")]);

async function saved(page, kind) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click(`button:text-is("${kind}"):visible`)]);
  return readFileSync(await download.path());
}

async function pictures() {
  const hostile = join(folder, "hostile.mtap"), named = join(folder, "named.html");
  execFileSync(renameTexts, [at("training"), hostile, "</text><script>alert(1)</script>"]);
  execFileSync(memtap, ["view", "-o", named, hostile]);
  for (const [file, fragment, words] of [[run, "#tab=who", ["train.py", "all"]], [run, "#tab=table", ["train.py:", "parameters"]],
    [two, "", ["inputs", "+128.00 KiB"]], [ranks, "", ["whole", "processes"]], [named, "#tab=table", ["<script>alert(1)"]]]) {
    const page = await show(file, fragment);
    await page.waitForSelector({ "#tab=who": ".icicle .box", "#tab=table": "table.sites tbody tr" }[fragment] ?? "canvas");
    const png = await saved(page, "PNG");
    check(png.subarray(1, 4).toString() === "PNG" && png.length > 5000, `${file}${fragment}: a PNG`);
    const svg = (await saved(page, "SVG")).toString();
    check(!(await page.evaluate(() => document.documentElement.classList.contains("still"))), "the page is as it was");
    const found = await page.evaluate((source) => {
      const root = new DOMParser().parseFromString(source, "image/svg+xml").documentElement;
      return { name: root.nodeName, texts: [...root.querySelectorAll("text")].map((one) => one.textContent).join("\n"),
               scripts: root.querySelectorAll("script, foreignObject, a").length, images: root.querySelectorAll("image").length,
               height: Number(root.getAttribute("height")) };
    }, svg);
    check(found.name === "svg" && !found.scripts, `${file}: an SVG that runs nothing`);
    for (const word of words) check(found.texts.includes(word), `${file}${fragment}: "${word}" is text in the SVG`);
    check(found.images > 0 && found.height > 200, `${file}${fragment}: charts are in it`);
    check(!/\bPNG\b|\bSwap\b/.test(found.texts), "buttons are not");
    await page.close();
  }
}

/** A picture has all columns, whatever the width of the window. */
async function columns() {
  for (const width of [1440, 1024, 390])
    for (const [file, fragment, heads] of [[run, "#tab=map", ["address", "largest free piece", "requested by"]], [run, "#tab=table", ["blocks", "line", "operator"]]]) {
      const page = await show(file, fragment, { viewport: { width, height: 800 } });
      await page.waitForSelector({ "#tab=map": "table.segments tbody td", "#tab=table": "#panel-table tbody tr" }[fragment]);
      const cells = await page.evaluate(() => [...document.querySelectorAll("section:not([hidden]) tbody td:first-child")].map((one) => one.textContent));
      const svg = (await saved(page, "SVG")).toString();
      const { texts, outside } = await page.evaluate((source) => {
        const root = new DOMParser().parseFromString(source, "image/svg+xml").documentElement, all = [...root.querySelectorAll("text")];
        return { texts: all.map((one) => one.textContent.trim()), outside: all.filter((one) => Number(one.getAttribute("x")) > Number(root.getAttribute("width"))).length };
      }, svg);
      for (const word of [...heads, ...cells]) check(texts.includes(word), `${width} wide, ${fragment}: the picture has "${word}": ${texts}`);
      check(cells.length > 0 && !outside, `${width} wide, ${fragment}: all texts are inside`);
      await page.close();
    }
}

/** The page's colours, and how bright what is written on a chart's axis is. */
const paper = (page, selector) => page.evaluate((one) => {
  const canvas = document.querySelector(one), { data } = canvas.getContext("2d").getImageData(0, 0, 60, canvas.height);
  let sum = 0, n = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200) {
      sum += data[i];
      n++;
    }
  return { background: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
           axis: n ? sum / n : NaN };
}, selector);

async function prints() {
  for (const [file, selector] of [[run, "#timeline"], [two, "#two-timelines"], [ranks, "canvas.spark"]]) {
    const page = await show(file, "", { colorScheme: "dark" });
    await answered(page);
    const before = await paper(page, selector);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await answered(page);
    const on = await paper(page, selector);
    check(on.background === "rgb(255, 255, 255)" && on.background !== before.background, `${file}: paper is white`);
    check(selector === "canvas.spark" || (on.axis < 100 && before.axis > 150), `${file}: what is drawn is dark: ${on.axis}, ${before.axis}`);
    check(await page.evaluate(() => [...document.querySelectorAll("button:not(.box, .category, th button)")].every((one) => !one.offsetParent)),
      `${file}: no buttons on paper`);
    await page.emulateMedia({ media: "screen", colorScheme: "dark" });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    check((await paper(page, selector)).background === before.background, `${file}: and the page is as it was`);
    const pdf = await page.pdf({ format: "A4" });
    check(pdf.subarray(0, 4).toString() === "%PDF" && pdf.length > 10000, `${file}: a PDF`);
    await page.close();
  }
}

/** The width that the link says. */
const range = async (page) => {
  await settled(page);
  const given = new URLSearchParams((await page.evaluate(() => location.hash)).slice(1));
  return Number(given.get("to") ?? NaN) - Number(given.get("from") ?? 0);
};

async function fingers() {
  for (const [file, selector, word] of [[run, "#timeline", "allocated"], [two, "#two-timelines", "old"], [run, "#map", "segment"]]) {
    const page = await show(file, "#tab=map", { hasTouch: true });
    await page.locator(selector).scrollIntoViewIfNeeded();
    await settled(page); // it lies still
    await page.locator(selector).tap({ position: { x: 200, y: 10 } });
    await page.waitForFunction((wanted) => !document.getElementById("tip").hidden && document.getElementById("tip").textContent.includes(wanted), word)
      .catch(() => check(false, `${selector}: a tap tells what is there`));
    if (selector === "#map") {
      await page.close();
      continue;
    }
    const box = await page.locator(selector).boundingBox(), client = await page.context().newCDPSession(page);
    const y = box.y + box.height / 3, middle = box.x + box.width / 2;
    const touch = (type, ...xs) => client.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((x, id) => ({ x, y, id })) });
    const pinch = async (from, to) => {
      await touch("touchStart", middle - from, middle + from);
      for (let i = 1; i <= 10; i++) {
        const by = from + ((to - from) * i) / 10;
        await touch("touchMove", middle - by, middle + by);
      }
      await touch("touchEnd");
    };
    await pinch(40, 120);
    const near = await range(page);
    await pinch(40, 80);
    const nearer = await range(page);
    check(nearer > near * 0.3 && nearer < near * 0.8, `${selector}: two fingers zoom in, from ${near} to ${nearer}`);
    await pinch(120, 60);
    const out = await range(page);
    check(out > nearer * 1.2, `${selector}: and out, from ${nearer} to ${out}`);
    check(!(await page.evaluate(() => location.hash)).includes("life="), `${selector}: which is no click`);
    await page.close();
  }
}

const VIEWS = { who: "tab=who", table: "tab=table", map: "tab=map", temporary: "tab=temporary", report: "tab=report", events: "tab=events",
  blocks: "tab=who&stack=block", lines: "tab=table&stack=line&since=3" };
const WIDTHS = [320, 390, 768, 1024, 1440];
const LISTS = ["table", "lines", "holders", "temporary", "difference", "ranks"];

/** Remembers where the timeline's texts are since it was cleared; overlaps() says which lie on each other. */
function watchLabels() {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
  let texts = [];
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    if (this.canvas.id === "timeline") texts = [];
    return clearRect.apply(this, box);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...more) {
    const wide = this.measureText(text).width, left = this.textAlign === "right" ? x - wide : this.textAlign === "center" ? x - wide / 2 : x;
    if (this.canvas.id === "timeline") texts.push({ text, left, right: left + wide, y });
    return fillText.apply(this, [text, x, y, ...more]);
  };
  window.overlaps = () => texts.flatMap((a, i) => texts.slice(i + 1)
    .filter((b) => Math.abs(a.y - b.y) < 10 && a.left < b.right && b.left < a.right).map((b) => `"${b.text}" on "${a.text}"`));
}

/** Texts that lie on others or beyond the screen, or are cut where nothing shows that; but those that scroll. */
function misplaced() {
  const wrong = [], boxes = [], range = document.createRange(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement, text = node.data.trim();
    if (!text || !parent.checkVisibility() || parent.closest(".hidden, pre, .frames, select, dialog, #tip")) continue;
    const style = getComputedStyle(parent), is_cut = style.overflowX === "hidden" && parent.scrollWidth > parent.clientWidth + 1;
    if (is_cut && style.textOverflow !== "ellipsis") wrong.push(`"${text}" is cut`);
    range.selectNodeContents(node);
    for (const box of [...range.getClientRects()].slice(0, is_cut ? 1 : undefined)) { // an ellipsis is a box of its own
      if (!box.width || parent.closest(".icicle, .event")) continue;
      const shown = is_cut ? Math.min(box.right, parent.getBoundingClientRect().right) : box.right;
      if (box.left < -1 || (shown > innerWidth + 1 && !parent.closest(".wide"))) wrong.push(`"${text}" is beyond the screen`);
      boxes.push({ text, left: box.left + 1, right: shown - 1, top: box.top + 3, bottom: box.bottom - 3 });
    }
  }
  boxes.sort((a, b) => a.top - b.top);
  boxes.forEach((a, i) => {
    for (let k = i + 1; k < boxes.length && boxes[k].top < a.bottom; k++)
      if (boxes[k].left < a.right && a.left < boxes[k].right) wrong.push(`"${boxes[k].text}" on "${a.text}"`);
  });
  return wrong;
}

/** Each view at five widths, at one of them in both schemes, is no wider than the screen, nothing is cut or lies on another, and axe-core finds nothing;
 * MEMTAP_PICTURES=FOLDER keeps pictures to look at. */
async function sizes() {
  const out = join(folder, "oom.html"), pictures = process.env.MEMTAP_PICTURES;
  execFileSync(memtap, ["view", "-o", out, at("oom")]);
  const pages = [...Object.entries(VIEWS).map(([name, fragment]) => [name, run, fragment]), ["oom", out, "tab=who"], ["holders", held, "tab=table"],
    ["held", held, "tab=held"], ["uses", uses, "tab=table"], ["needed", uses, "tab=who&stack=block&is_needed=1"], ["difference", two, ""], ["ranks", ranks, ""]];
  let page = null, file = "";
  for (const [name, path, fragment] of pages) {
    if (path !== file) {
      await page?.close();
      page = await show(path, `#${fragment}`, { before: watchLabels });
      file = path;
    } else await page.evaluate((hash) => (location.hash = hash), fragment);
    for (const width of WIDTHS)
      for (const colorScheme of ["light", "dark"]) {
        if (colorScheme === "dark" && width !== 1440 && !pictures) continue; // boxes are where they are in light
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme });
        await answered(page);
        const [is, wide] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        check(is <= wide, `${name} at ${width}: ${is} wide`);
        for (const pair of await page.evaluate(() => window.overlaps())) check(false, `${name} at ${width}: on the timeline lies ${pair}`);
        for (const one of await page.evaluate(misplaced)) check(false, `${name} at ${width}: ${one}`);
        if (width === (colorScheme === "dark" ? 1440 : 390)) await accessible(page, `${name} at ${width}, ${colorScheme}`);
        if (LISTS.includes(name)) {
          const cut = await page.evaluate(() => [...document.querySelectorAll(".wide th")].filter((one) => one.offsetParent && one.getBoundingClientRect().right > innerWidth)
            .map((one) => one.textContent));
          check(!cut.length, `${name} at ${width} shows its lines without scrolling: ${cut}`);
        }
        if (pictures) await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      }
  }
  await page.close();
}

/** Tab goes through every control of every view and leaves the page, each with a visible focus; arrows go through the views. */
async function keys() {
  const names = () => page.evaluate(() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
    .filter((one) => one.tabIndex >= 0 && one.checkVisibility({ visibilityProperty: true }) && !one.closest("dialog"))
    .map((one, i) => (one.dataset.control = `${i} ${one.tagName} ${one.id || one.title || one.textContent.slice(0, 30)}`)));
  let page;
  for (const [file, views] of [[held, ["who", "table", "map", "temporary", "report", "events", "held"]], [two, [""]], [ranks, [""]]]) {
    page = await show(file, "#tab=who");
    for (const view of views) {
      await answered(page);
      if (view) check(await page.isVisible(`#panel-${view}`), `arrows lead to ${view}`);
      const wanted = await names(), reached = new Set();
      await page.evaluate((first) => document.querySelector(`[data-control="${CSS.escape(first)}"]`).focus({ focusVisible: true }), wanted[0]);
      let is_left = false;
      for (let i = 0; i < 2 * wanted.length; i++, await page.keyboard.press("Tab")) {
        const stop = await page.evaluate(() => {
          const one = document.activeElement, box = one.getBoundingClientRect(), has = (each) => each && getComputedStyle(each).outlineStyle !== "none";
          return one !== document.body && [one.dataset.control ?? one.className, (has(one) || has(one.closest("label"))) && box.bottom > 0 && box.top < innerHeight];
        });
        is_left = !stop || reached.has(stop[0]); // a browser without a frame goes around
        if (is_left) break;
        check(stop[1], `${view}: the focus shows on ${stop[0]}`);
        reached.add(stop[0]);
      }
      check(is_left, `${view}: Tab leaves the page`);
      for (const one of wanted) check(reached.has(one), `${view}: Tab reaches ${one}`);
      check(wanted.length > 8, `${view}: there are controls: ${wanted}`);
      if (!view) continue;
      await page.focus(`#tab-${view}`);
      await page.keyboard.press("ArrowRight");
    }
    if (file === held) check(await page.isVisible("#panel-who"), "and around");
    await page.close();
  }
}

/** A finger gets the title that a pointer shows. */
async function titles() {
  const page = await show(run, "#tab=who", { hasTouch: true });
  await page.waitForSelector(".icicle .box");
  await page.locator(".icicle .box").first().tap();
  await page.waitForFunction(() => !document.getElementById("tip").hidden && /100\.0 % of total/.test(document.getElementById("tip").textContent),
    null).catch(() => check(false, "a tap on a box tells its bytes"));
  await page.close();
}

/** Each two of a chart's colours are told apart by people with any sight (Machado and others, 2009, on CIELAB). */
function colours() {
  const source = readFileSync(join(import.meta.dirname, "../../page/src/palette.ts"), "utf8");
  const categories = [...source.matchAll(/^  \w+: \["(#\w{6})"/gm)].map((one) => one[1]), other = categories.at(-1);
  const groups = [.../GROUPS = \[(.*)\]/.exec(source)[1].matchAll(/#\w{6}/g)].map((one) => one[0]);
  const sights = { any: [1, 0, 0, 0, 1, 0, 0, 0, 1], protan: [0.152, 1.053, -0.205, 0.115, 0.786, 0.099, -0.004, -0.048, 1.052],
    deutan: [0.367, 0.861, -0.228, 0.280, 0.673, 0.047, -0.012, 0.043, 0.969], tritan: [1.256, -0.077, -0.179, -0.078, 0.931, 0.148, 0.005, 0.691, 0.304] };
  const lab = (colour, sight) => {
    const linear = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    const [r, g, b] = [0, 3, 6].map((row) => linear.reduce((sum, c, i) => sum + sight[row + i] * c, 0));
    const f = (t) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
    const [x, y, z] = [f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505), f(0.2126 * r + 0.7152 * g + 0.0722 * b), f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)];
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };
  check(categories.length === 14 && groups.length === 10, `the colours are found: ${categories.length}, ${groups.length}`);
  for (const list of [categories, [...groups, other]])
    list.forEach((a, i) => list.slice(i + 1).forEach((b) => {
      for (const [name, sight] of Object.entries(sights)) {
        const one = lab(a, sight), two = lab(b, sight), apart = Math.hypot(...one.map((c, k) => c - two[k]));
        check(apart > 13, `${a} and ${b} are ${apart.toFixed(1)} apart, ${name}`);
      }
    }));
}

/** Edges and lines, which say where a pale colour ends, have the contrast that graphics need (WCAG 1.4.11); axe-core checks texts. */
function contrast() {
  const css = readFileSync(join(import.meta.dirname, "../../page/src/style.css"), "utf8");
  const schemes = [...css.matchAll(/^ *:root \{([^}]*)\}/gm)].map((one) => Object.fromEntries([...one[1].matchAll(/--(\w+): (#\w+)/g)].map((each) => each.slice(1))));
  const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, share, i) => {
    const c = parseInt(colour.length === 4 ? colour[i + 1].repeat(2) : colour.slice(1 + 2 * i, 3 + 2 * i), 16) / 255;
    return sum + share * (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0.05);
  check(schemes.length === 2, `two schemes: ${schemes.length}`);
  for (const scheme of schemes)
    for (const line of ["mark", "accent", "bad", "more", "less"])
      for (const below of ["paper", "card"]) {
        const [low, high] = [light(scheme[line]), light(scheme[below])].sort((a, b) => a - b);
        check(high / low >= 3, `${line} on ${below}: ${(high / low).toFixed(2)}`);
      }
}

async function themes() {
  for (const colorScheme of ["light", "dark"]) {
    const page = await show(two, "", { colorScheme });
    const dark = colorScheme === "dark";
    const { background, ink } = await paper(page, "#two-timelines");
    const bright = (colour) => /\d+/.exec(colour)[0] > 128;
    check(bright(background) === !dark && bright(ink) === dark, `${colorScheme}: ${background}, ${ink}`);
    check((await text(page, "#headline")).includes("peak"), `${colorScheme} is drawn`);
    await page.close();
  }
}

await main([colours, contrast, pictures, columns, prints, fingers, titles, themes, keys, sizes]);
