// SPDX-License-Identifier: Apache-2.0
// ask_analyzer.mjs MODULES ANALYZER.wasm ASKED...: what the page's analyzer says, one JSON a line: of a trace's peak (TRACE), of
// two runs ("OLD NOW"), of the ranks of a job (a folder); how the page writes sizes ("sizes:1152,1664").
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const source = join(dirname(fileURLToPath(import.meta.url)), "../../page/src");
const [modules, wasm, ...asked] = process.argv.slice(2);
const { buildSync } = createRequire(join(modules, "package.json"))("esbuild");
const folder = mkdtempSync(join(tmpdir(), "memtap-ask-"));
try {
  const file = join(folder, "analyzer.mjs");
  const both = ["analyzer", "imbalance", "format"].map((name) => `export * from "./${name}";`).join("");
  buildSync({ stdin: { contents: both, resolveDir: source, loader: "ts" }, bundle: true, format: "esm", outfile: file, logLevel: "warning" });
  const { Analyzer, imbalance, size, standsFor } = await import(pathToFileURL(file).href);
  const module = new WebAssembly.Module(readFileSync(wasm));
  const read = (name) => readFileSync(name);
  const of_trace = (name) => {
    const analyzer = new Analyzer(module);
    const parts = [name, `${name}.tail`, `${name}.0`].filter((part) => existsSync(part));
    const trace = analyzer.open(name, Object.fromEntries(parts.map((part) => [part, read(part)])));
    const devices = trace.devices.map((device) => ({
      device: device.device, reserved: device.reserved,
      event: analyzer.moment(device.slot, false, device.peak).event,
      time_ns: analyzer.momentNs(device.slot, device.peak),
      rows: analyzer.table(device.slot, device.peak, 0, -1),
      modules: analyzer.who(device.slot, "module", device.peak, 0, -1, false),
    }));
    const [main] = trace.devices;
    return { categories: trace.categories.map((one) => one.name), report: trace.report, text: trace.text, headline: trace.headline, notes: trace.notes, devices, ooms: trace.ooms,
      spans: main ? trace.spans[main.slot] : [],
      end: main ? analyzer.table(main.slot, main.moments - 1, 0, -1).reduce((sum, row) => sum + row.bytes, 0) : 0 };
  };
  const of_two = (old, now) => new Analyzer(module).difference([old], [now], { [old]: read(old), [now]: read(now) });
  const of_job = (folder) => {
    const names = readdirSync(folder).sort().map((name) => join(folder, name));
    const ranks = names.map((name) => new Analyzer(module).summary(name, { [name]: read(name) }, 8));
    const { highest, ...found } = imbalance(ranks);
    return { ...found, highest: highest.rank, ranks: ranks.map((one) => ({ rank: one.rank, allocated: one.allocated, alike: standsFor(one) })) };
  };
  const of_sizes = (values) => ({ texts: values.split(",").map((one) => size(Number(one))) });
  const answer = (name) => name.startsWith("sizes:") ? of_sizes(name.slice(6)) : name.includes(" ") ? of_two(...name.split(" "))
    : name.endsWith(".mtap") ? of_trace(name) : of_job(name);
  for (const name of asked)
    console.log(JSON.stringify({ name, ...answer(name) }));
} finally {
  rmSync(folder, { recursive: true });
}
