// SPDX-License-Identifier: Apache-2.0
// The page in Firefox: from disk, with the numbers of the command, no request, no error.
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Firefox } from "./firefox.mjs";
import { browser, check, folder, json, main, memtap, require, until } from "./pages.mjs";

const at = (name) => join(folder, `${name}.mtap`);
const firefox = await Firefox.start(browser, require("ws"));

const inked = (selector) => firefox.evaluate(`(() => {
  const canvas = document.querySelector(${JSON.stringify(selector)});
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
  return n / (data.length / 4);
})()`);

async function numbers() {
  const out = join(folder, "numbers.html");
  for (const name of readdirSync(folder).filter((one) => one.endsWith(".mtap"))) {
    execFileSync(memtap, ["view", "-o", out, join(folder, name)]);
    check(await firefox.show(out) === "ready", `${name}: ready`);
    check(isDeepStrictEqual(await firefox.evaluate("window.memtap.report()"), json("report", "--format", "json", join(folder, name))),
      `${name}: the numbers are those of memtap report`);
  }
}

async function views() {
  const out = join(folder, "views.html");
  execFileSync(memtap, ["view", "-o", out, at("held")]);
  await firefox.show(out);
  check(await until(async () => await inked("#timeline") > 0.05), "the timeline is drawn");
  const tabs = await firefox.evaluate(`[...document.querySelectorAll("#tabs [role=tab]:not([hidden])")].map((one) => one.id.replace("tab-", ""))`);
  for (const [i, tab] of tabs.entries()) {
    await firefox.press(String(i + 1));
    check(await until(() => firefox.evaluate(`!document.getElementById("panel-${tab}").hidden && document.getElementById("panel-${tab}").childElementCount > 0`)),
      `${tab} is shown`);
  }
}

async function several() {
  const out = join(folder, "several.html");
  execFileSync(memtap, ["diff", "--html", out, at("training"), at("keeping")]);
  check(await firefox.show(out) === "ready", "two runs are compared");
  check(await firefox.evaluate("window.memtap.difference().verdict") ===
    json("diff", "--format", "json", at("training"), at("keeping")).verdict, "as memtap diff compares them");
  check(await until(async () => await inked("#two-timelines") > 0.05), "and drawn");
  execFileSync(memtap, ["view", "-o", out, at("rank0"), at("rank1")]);
  check(await firefox.show(out) === "ready" && await until(async () => await inked("canvas.spark") > 0), "ranks are drawn");
}

async function end() {
  check(firefox.requests.length > 0, "requests are seen");
  for (const url of firefox.requests)
    check(/^(file|blob|data|about):/.test(url), `nothing goes to a network: ${url}`);
  check(!firefox.logs.length, `no error: ${firefox.logs[0]}`);
}

await main([numbers, views, several, end], () => firefox.end());
