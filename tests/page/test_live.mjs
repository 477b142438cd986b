// SPDX-License-Identifier: Apache-2.0
// memtap view --live: the page has what the program allocates while it runs, and at its end the numbers of
// memtap report; its server answers nobody else, and nobody blocks it.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, truncateSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { check, folder, json, main, memtap, ready, show, text, until } from "./pages.mjs";

// allocates as many MiB as a line of its input says
const PROGRAM = `
import ctypes, sys
runtime = ctypes.CDLL("libcudart.so.12")
runtime.cudaMalloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
for line in sys.stdin:
    for _ in range(int(line)):
        assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), 1 << 20) == 0
    print("done", flush=True)
`;

const trace = join(folder, "growing.mtap");

async function begin(command, args, options) {
  const child = spawn(command, args, options);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, line: async () => (await lines.next()).value };
}

/** The status of an answer. */
const status = (port, path, headers = {}, method = "GET") => new Promise((resolve, reject) => {
  const asked = request({ host: "127.0.0.1", port, path, method, headers }, (answer) => {
    answer.resume();
    answer.on("end", () => resolve(answer.statusCode));
  });
  asked.on("error", reject);
  asked.end();
});

async function refusals(url) {
  const { port, pathname } = new URL(url);
  check(await status(port, `${pathname}state`) === 200, "the state is told");
  check(await status(port, "/") === 404, "without the random word, nothing is there");
  check(await status(port, `${pathname.slice(0, -2)}0/state`) !== 200 || pathname.endsWith("0/"), "nor with another one");
  check(await status(port, `${pathname}../state`) === 404, "nor beside the page");
  check(await status(port, `${pathname}file?9=0`) === 404, "there are three files");
  check(await status(port, `${pathname}state`, { host: "elsewhere.example" }) === 403, "another name is refused");
  check(await status(port, `${pathname}state`, {}, "POST") === 405, "POST is refused");
}

async function follows() {
  const program = await begin(memtap, ["run", "--simulate", "h100", "-o", trace, "--", "python3", "-c", PROGRAM],
    { stdio: ["pipe", "pipe", "inherit"] });
  program.child.stdin.write("10\n");
  await program.line();
  await until(() => { // what was allocated is in the trace within 2 s
    const { stdout } = spawnSync(memtap, ["report", "--format", "json", trace], { encoding: "utf8" });
    return stdout && JSON.parse(stdout).devices?.length;
  });
  const view = await begin(memtap, ["view", "--live", "--no-browser", trace], { stdio: ["ignore", "pipe", "inherit"] });
  const url = await view.line();
  await refusals(url);
  const page = await show(url);
  const allocates = (mib) => page.waitForFunction((bytes) =>
    document.getElementById("moment")?.textContent.startsWith(`${bytes}.00 MiB allocated`), mib);
  await allocates(10);
  check((await text(page, "#live-state")) === "Live", "the page says that the recording goes on");
  await page.hover("#timeline");
  await page.waitForFunction(() => !document.getElementById("tip").hidden);
  program.child.stdin.write("5\n");
  await allocates(15);
  check(await page.isHidden("#tip"), "no tip tells of what was there before");
  await page.waitForFunction(() => /^Live, updated \d?\d:\d\d:\d\d$/.test(document.getElementById("live-state").textContent));
  program.child.stdin.end();
  await page.waitForFunction(() => document.getElementById("live-state").textContent.includes("has ended"));
  await ready(page);
  const there = await page.evaluate(() => window.memtap.report());
  const report = json("report", "--format", "json", trace);
  for (const key of Object.keys(report))
    check(key === "trace" || isDeepStrictEqual(there[key], report[key]),
      `at the end, ${key} is memtap report's: ${JSON.stringify(there[key])}, ${JSON.stringify(report[key])}`);
  await page.close();
  view.child.kill("SIGTERM");
  const [code] = await once(view.child, "exit");
  check(code === 0, `memtap view ends well: ${code}`);
}

/** A socket that is open, and asks for a path or for nothing. */
async function connected(port, path) {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  await once(socket, "connect");
  if (path) socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
  return socket;
}

/** Neither who says nothing nor who reads nothing is in the way of others. */
async function crowds() {
  const large = join(folder, "large.mtap");
  copyFileSync(trace, large);
  truncateSync(large, 64 << 20);
  const view = await begin(memtap, ["view", "--live", "--no-browser", large], { stdio: ["ignore", "pipe", "inherit"] });
  const { port, pathname } = new URL(await view.line());
  const silent = await Promise.all(Array.from({ length: 100 }, () => connected(port)));
  check(await status(port, `${pathname}state`) === 200, "silent connections take no places");
  const slow = await Promise.all(Array.from({ length: 8 }, () => connected(port, `${pathname}file?0=0`)));
  check(await status(port, `${pathname}state`) === 200, "a slow reader blocks nobody");
  const most = /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${view.child.pid}/status`, "utf8"))[1] >> 10;
  check(most < 150, `the memory of answers has a limit: ${most} MiB`);
  let bytes = 0;
  slow[7].on("data", (piece) => { bytes += piece.length; });
  slow[7].resume();
  await once(slow[7], "end");
  check(bytes > 16 << 20, `the slow reader has it all: ${bytes} bytes`);
  for (const socket of [...silent, ...slow]) socket.destroy();
  view.child.kill("SIGTERM");
  await once(view.child, "exit");
}

async function badInput() {
  for (const args of [["--live", "-o", join(folder, "x.html"), trace], ["--live", trace, trace], ["--live", join(folder, "none.mtap")]]) {
    const { status: code, stderr } = spawnSync(memtap, ["view", ...args], { encoding: "utf8" });
    check(code === 2 && stderr.split("\n").length === 2, `view ${args[0]} ${args[1]} is refused with one line: ${stderr}`);
  }
}

await main([follows, crowds, badInput]);
