// SPDX-License-Identifier: Apache-2.0
// Several runs in one page: the difference of two is that of memtap diff, ranks are those of memtap
// report, and both can be gone through by links and keys.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { accessible, answered, check, folder, inked, json, main, memtap, ready, show, state, text } from "./pages.mjs";

const at = (name) => join(folder, `${name}.mtap`);

/** A page names runs as the command does, without their folders, and each only once. */
const bare = (report) => JSON.parse(JSON.stringify(report).replaceAll(`${folder}/`, "").replace(/ \(\d\)(?=")/g, ""));

const firstDifference = (a, b, path = "") => {
  if (isDeepStrictEqual(a, b)) return "";
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return `${path}: ${JSON.stringify(a)}, ${JSON.stringify(b)}`;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const inner = firstDifference(a[key], b[key], `${path}.${key}`);
    if (inner) return inner;
  }
  return "";
};

async function differences() {
  const bytes = readFileSync(at("training"));
  writeFileSync(at("cut"), bytes.subarray(0, bytes.length * 0.8));
  const pairs = [["training", "keeping"], ["keeping", "training"], ["training", "training"], ["training", "layers"],
    ["training", "c-program"], ["killed", "training"], ["training", "cut"], ["training", "mixed"], ["rank0", "rank1"],
    ["phases", "unknown"], ["idle", "idle"], ["oom", "oom-backward"]];
  for (const [old, now] of pairs) {
    const out = join(folder, "difference.html"), what = `${old}, ${now}`;
    // of traces that are cut it says so, and shows what there is
    const { status, stderr } = spawnSync(memtap, ["diff", "--html", out, at(old), at(now)], { encoding: "utf8" });
    check(status === 0 || ["cut", "killed", "oom"].some((one) => what.includes(one)), `${what}: ${stderr}`);
    const { stdout } = spawnSync(memtap, ["diff", "--format", "json", at(old), at(now)], { encoding: "utf8" }); // 2, where one is cut
    const page = await show(out);
    check(await state(page) === "ready", `${what}: ready: ${await text(page, "#message")}`);
    const there = bare(await page.evaluate(() => window.memtap.difference())), wanted = bare(JSON.parse(stdout));
    check(isDeepStrictEqual(there, wanted), `${what}: the numbers are those of memtap diff: ${firstDifference(there, wanted)}`);
    check(await text(page, "#headline") === wanted.verdict, `${what}: the verdict stands first`);
    for (const doubt of wanted.doubts)
      check((await text(page, ".doubts")).includes(doubt), `${what}: ${doubt}`);
    if (wanted.devices.length) {
      const peak = await page.evaluate(() => [...document.querySelectorAll("table.totals tbody:first-of-type tr:nth-child(2) td")]
        .slice(0, 3).map((one) => parseInt(one.title)));
      const { allocated } = wanted.devices[wanted.main];
      check(isDeepStrictEqual(peak, [allocated.old, allocated.new, allocated.change]), `${what}: the table has the peaks: ${peak}`);
    }
    await page.close();
  }
}

async function goThrough() {
  const out = join(folder, "difference.html");
  execFileSync(memtap, ["diff", "--html", out, at("training"), at("keeping")]);
  const page = await show(out);
  await answered(page);
  check(await inked(page, "#two-timelines") > 0.05, "both runs are drawn");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, `difference, ${colorScheme}`);
  }
  await page.focus("#two-timelines");
  await page.keyboard.press("w");
  await page.keyboard.press("w");
  await page.waitForFunction(() => location.hash.includes("from="));
  const again = await show(out, await page.evaluate(() => location.hash));
  const hash = await again.evaluate(() => location.hash);
  check(hash.includes("from="), `a link shows the same range: ${hash}`);
  await again.close();
  await page.focus("table.sites tbody tr");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#details dl");
  check((await page.evaluate(() => location.hash)).includes("run=1"), "a call site leads to its blocks in the new run");
  check(/train\.py/.test(await text(page, "#details")), "and they are that line's");
  await page.goBack();
  await page.waitForSelector("#two-timelines");
  await page.click("#mode-ranks");
  await page.waitForFunction(() => document.querySelectorAll(".ranks tbody tr").length === 2);
  await page.close();
}

/** Traces of the same name in two folders, several on a side, and what is refused. */
async function commands() {
  mkdirSync(join(folder, "a"));
  mkdirSync(join(folder, "b"));
  copyFileSync(at("training"), join(folder, "a", "run.mtap"));
  copyFileSync(at("keeping"), join(folder, "b", "run.mtap"));
  const out = join(folder, "names.html"), pair = [join(folder, "a", "run.mtap"), join(folder, "b", "run.mtap")];
  execFileSync(memtap, ["diff", "--html", out, ...pair]);
  const page = await show(out), wanted = bare(json("diff", "--format", "json", ...pair));
  check(isDeepStrictEqual(bare(await page.evaluate(() => window.memtap.difference())), wanted), "two traces of one name are told apart");
  await page.close();
  const many = [at("training"), at("training"), "--to", at("keeping"), at("training")];
  execFileSync(memtap, ["diff", "--html", out, ...many]);
  const sides = await show(out);
  check(isDeepStrictEqual(bare(await sides.evaluate(() => window.memtap.difference())),
    bare(json("diff", "--format", "json", ...many))), "several runs a side are compared as the command does it");
  await sides.close();
  const refused = (...command) => {
    const { status, stderr } = spawnSync(memtap, ["diff", "--html", join(folder, "none.html"), ...command], { encoding: "utf8" });
    check(status === 2 && stderr.split("\n").length === 2, `refused with one line: ${command}: ${stderr}`);
    check(!existsSync(join(folder, "none.html")), "and no page is written");
  };
  refused("--format", "json", at("training"), at("keeping"));
  refused("--no-labels", at("training"), at("keeping"));
  refused(at("training"), join(folder, "nothing.mtap"));
}

const sameImbalance = (a, b) => a.median === b.median && a.above === b.above && isDeepStrictEqual(a.categories, b.categories);

/** A rank that was run for others of its kind counts as often. */
async function kinds() {
  const out = join(folder, "kinds.html"), of = { training: 5, keeping: 2, layers: 1 };
  const paths = Object.keys(of).map((name) => join(folder, `kind-${name}.mtap`));
  const lines = Object.entries(of).map(([name, n], i) =>
    [at(name), paths[i], `rank=${i}`, "world_size=8", `env.CUDASIM_STANDS_FOR=${n}`].join("\t") + "\n");
  execFileSync(process.argv[7], { input: lines.join("") });
  execFileSync(memtap, ["report", "--html", out, ...paths]);
  const page = await show(out), wanted = json("report", "--format", "json", ...paths);
  const found = await page.evaluate(() => window.memtap.ranks().imbalance);
  check(sameImbalance(found, wanted.imbalance), `of eight ranks: ${JSON.stringify(found)}`);
  const alone = wanted.ranks.map(({ report }) => report.peak.allocated).sort((a, b) => a - b);
  check(found.median !== alone[1], "which is not that of the three traces");
  await page.close();
}

async function ranks() {
  const out = join(folder, "ranks.html"), paths = [at("rank1"), at("rank0")];
  execFileSync(memtap, ["report", "--html", out, ...paths]);
  const page = await show(out), wanted = json("report", "--format", "json", ...paths);
  const there = await page.evaluate(() => window.memtap.ranks());
  check(sameImbalance(there.imbalance, wanted.imbalance), "the imbalance is memtap report's");
  check(isDeepStrictEqual(there.ranks.map((one) => one.rank), wanted.ranks.map((one) => one.rank)), "ranks in their order");
  for (const [i, { report }] of wanted.ranks.entries()) {
    const one = there.ranks[i];
    check(one.allocated === report.peak.allocated && one.device === report.peak.device && one.ended === report.ended.text &&
      isDeepStrictEqual(one.categories, Object.values(report.peak.categories)), `rank ${i} is as memtap report has it`);
  }
  await answered(page);
  check(await inked(page, "canvas.spark") > 0, "each has its timeline");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, `ranks, ${colorScheme}`);
  }
  await page.click("button:text-is('Compare rank 1 with rank 0')");
  await page.waitForFunction(() => window.memtap.difference?.());
  await ready(page);
  const apart = bare(await page.evaluate(() => window.memtap.difference()));
  check(isDeepStrictEqual(apart, bare(json("diff", "--format", "json", at("rank0"), at("rank1")))), "the odd rank is compared with the median");
  await page.goBack();
  await page.waitForSelector(".ranks th:first-child button");
  await page.click(".ranks th:first-child button");
  await page.click(".ranks th:first-child button");
  check(/^1/.test(await text(page, ".ranks tbody tr")), "a head sorts");
  await page.focus(".ranks tbody tr");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.startsWith("#run=") && !document.getElementById("views").hidden);
  await ready(page);
  check(isDeepStrictEqual(await page.evaluate(() => window.memtap.report()), json("report", "--format", "json", at("rank1"))),
    "a row opens its rank");
  await page.close();
}

/** The page of a job that failed begins with the rank that failed first, and why. */
async function failedJob() {
  const out = join(folder, "failed.html"), paths = ["training", "oom-backward", "killed"].map((name) => join(folder, `failed-${name}.mtap`));
  execFileSync(process.argv[7], { input: paths.map((path, i) =>
    [path.replace("failed-", ""), path, `rank=${i}`, "world_size=3"].join("\t") + "\n").join("") });
  spawnSync(memtap, ["view", "-o", out, ...paths]);
  const page = await show(out), story = execFileSync(memtap, ["oom", paths[1]], { encoding: "utf8" }).split("\n\n")[0].replace(/\s+/g, " ").trim();
  const cause = (await text(page, "#headline > :first-child")).replace(" open rank 1", " ");
  check(story.split(/(?=(?:Why|Kept|Do|Try|Or): )/).every((line) => cause.includes(line.trim())) && cause.startsWith("Rank 1: Out of memory"), `${cause}: ${story}`);
  await page.click('#headline button:has-text("open rank 1")');
  await page.waitForFunction(() => location.hash.startsWith("#run=") && !document.getElementById("views").hidden);
  await ready(page);
  check(isDeepStrictEqual(await page.evaluate(() => window.memtap.report()), json("report", "--format", "json", paths[1])), "its link opens that rank");
  await page.close();
}

/** Two traces that are not of one job are compared; a link to their ranks shows these. */
async function twoRuns() {
  const out = join(folder, "two-runs.html"), paths = ["training", "keeping"].map((name) => join(folder, `of-${name}.mtap`));
  execFileSync(process.argv[7], { input: paths.map((path, i) => [path.replace("of-", ""), path, `host=host-${i}`].join("\t") + "\n").join("") });
  execFileSync(memtap, ["view", "-o", out, ...paths]);
  const page = await show(out);
  await page.waitForSelector("#two-timelines");
  check(await page.title() === "of-training.mtap → of-keeping.mtap – memtap", `the page is titled by both: ${await page.title()}`);
  check(await page.getAttribute("#mode-difference", "aria-selected") === "true", "and its tab is Difference");
  await page.click("#mode-ranks");
  await page.waitForFunction(() => document.querySelectorAll(".ranks tbody tr").length === 2);
  await ready(page);
  check(await page.isVisible("#panel-ranks"), "who wants the list gets it");
  await page.close();
}

/** All charts have one axis: iterations without the start-up, or time. */
async function axis(page) {
  const choice = "select[aria-label^='axis of the timelines']", spark = page.locator("canvas.spark").first();
  await answered(page);
  check(await page.inputValue(choice) === "steps" && await inked(page, "canvas.axis") > 0, "the charts' axis counts iterations");
  const box = await spark.boundingBox();
  const said = async (part) => {
    await page.mouse.move(box.x + part * box.width, box.y + box.height / 2);
    return text(page, "#tip");
  };
  check((await said(0.01)).startsWith("iteration 1"), "it begins with the first, not with the start-up");
  check(/^iteration \d/.test(await said(0.99)) && !(await said(0.99)).startsWith("iteration 1"), `and ends with the last: ${await said(0.99)}`);
  const keys = await page.$$eval("#panel-ranks .keys .key", (all) => all.map((one) => one.textContent)), phase = (await said(0.1)).match(/forward|backward|optimizer step/)?.[0];
  check(phase && keys.includes(phase), `a strip has its phases, which the key names: ${phase} of ${keys}`);
  const order = await page.evaluate(() => {
    const { getBoundingClientRect } = Element.prototype, width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
    let done = "";
    const note = (element, what) => (done += element.className === "spark" ? what : "");
    Element.prototype.getBoundingClientRect = function () {
      note(this, "m");
      return getBoundingClientRect.call(this);
    };
    Object.defineProperty(HTMLCanvasElement.prototype, "width", { ...width, set(value) {
      note(this, "w");
      width.set.call(this, value);
    } });
    dispatchEvent(new Event("resize"));
    Element.prototype.getBoundingClientRect = getBoundingClientRect;
    Object.defineProperty(HTMLCanvasElement.prototype, "width", width);
    return done;
  });
  check(/^m+w+$/.test(order), `charts are measured before the first changes, else the page is laid out for each: ${order.slice(0, 9)}`);
  await page.selectOption(choice, "own");
  check(/ after its start/.test(await said(0.5)), "or time");
}

/** Traces that cannot be read, or are empty, are listed next to the others; so are 64. */
async function manyAndBad() {
  const out = join(folder, "many.html");
  const paths = Array.from({ length: 64 }, (_, i) => join(folder, `of-${i}.mtap`));
  for (const path of paths) copyFileSync(at("training"), path);
  execFileSync(memtap, ["view", "-o", out, ...paths]);
  const page = await show(out);
  check(await state(page) === "ready", "64 ranks are shown");
  check(await page.evaluate(() => document.querySelectorAll(".ranks tbody tr").length) === 64, "each has a row");
  await axis(page);
  const other = join(folder, "other.mtap");
  writeFileSync(other, "this is no trace");
  await page.setInputFiles("#file", [other, at("cut"), at("killed"), `${at("killed")}.tail`, at("idle")]);
  await page.waitForFunction(() => document.querySelectorAll(".ranks tbody tr").length === 68);
  await ready(page);
  check(/not a memtap trace/.test(await text(page, ".ranks")), "one that cannot be read says why");
  check(/no device memory/.test(await text(page, ".ranks")), "one that has nothing says so");
  check(/1 trace cannot be read/.test(await text(page, "#headline")), "and the first sentences say it");
  await page.close();
  const empty = await show(join(folder, "many.html"), "#view=difference&old=99&new=-1&from=x");
  check(await state(empty) === "ready", "a link that asks for what is not there shows what is");
  await empty.close();
}

/** Traces that are dropped on the page that carries none. */
async function dropped() {
  const page = await show(join(memtap, "../../page/memtap.html"));
  check(await page.isVisible("#drop"), "the empty page asks for a trace");
  const give = async (...paths) => {
    await page.evaluate(() => (document.documentElement.dataset.state = "loading"));
    await page.setInputFiles("#file", paths);
    return ready(page);
  };
  check(await give(at("training")) === "ready" && !(await page.isVisible("#mode-run")), "one trace is shown alone");
  check(await give(at("keeping")) === "ready" && await page.isVisible("#mode-difference"), "with a second one they can be compared");
  await page.click("#mode-difference");
  await page.waitForSelector("#two-timelines");
  check(isDeepStrictEqual(bare(await page.evaluate(() => window.memtap.difference())),
    bare(json("diff", "--format", "json", at("training"), at("keeping")))), "as memtap diff does it");
  const other = join(folder, "no-trace.mtap");
  writeFileSync(other, "this is no trace, either");
  check(await give(other, at("killed"), `${at("killed")}.tail`) === "ready", "several at once stand side by side");
  await page.click("#mode-difference");
  await page.waitForSelector("#two-timelines");
  await page.selectOption("#panel-difference select >> nth=1", { label: "no-trace.mtap" });
  await page.waitForSelector(".doubts[role=status]");
  check(/not a memtap trace/.test(await text(page, ".doubts")), "a pair that cannot be compared says why");
  await page.selectOption("#panel-difference select >> nth=1", { label: "killed.mtap" });
  await page.waitForSelector("#two-timelines");
  check(/ended: killed/.test(await text(page, ".doubts")), "and another pair can be chosen");
  await page.close();
}

await main([dropped, differences, goThrough, commands, ranks, kinds, failedJob, twoRuns, manyAndBad]);
