// SPDX-License-Identifier: Apache-2.0
// ask_analyzer.mjs MODULES ANALYZER.wasm TRACE...: what the page's analyzer says of each trace's peak, one JSON a line.
import { readFileSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const source = join(dirname(fileURLToPath(import.meta.url)), "../../page/src/analyzer.ts");
const [modules, wasm, ...traces] = process.argv.slice(2);
const { buildSync } = createRequire(join(modules, "package.json"))("esbuild");
const folder = mkdtempSync(join(tmpdir(), "memtap-ask-"));
try {
  const file = join(folder, "analyzer.mjs");
  buildSync({ entryPoints: [source], bundle: true, format: "esm", outfile: file, logLevel: "warning" });
  const { Analyzer } = await import(pathToFileURL(file).href);
  const module = new WebAssembly.Module(readFileSync(wasm));
  for (const name of traces) {
    const analyzer = new Analyzer(module);
    const trace = analyzer.open(name, { [name]: readFileSync(name) });
    const devices = trace.devices.map((device) => ({
      device: device.device,
      rows: analyzer.table(device.slot, device.peak, 0, -1),
      modules: analyzer.who(device.slot, "module", device.peak, 0, -1),
    }));
    console.log(JSON.stringify({ name, categories: trace.categories.map((one) => one.name), report: trace.report, devices }));
  }
} finally {
  rmSync(folder, { recursive: true });
}
