// SPDX-License-Identifier: Apache-2.0
// bundle.mjs MODULES ANALYZER.wasm OUT.html: the page in one file, without a trace. MODULES is the
// folder that npm installed into.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const [modules, analyzer, out] = process.argv.slice(2);
const { build } = createRequire(join(modules, "package.json"))("esbuild");

async function bundle(file, define = {}) {
  const result = await build({
    entryPoints: [join(here, "src", file)], bundle: true, write: false, minify: true, define,
    format: "iife", target: "es2022", legalComments: "none", logLevel: "warning",
  });
  return result.outputFiles[0].text.trim();
}

const packed = (bytes) => gzipSync(bytes, { level: 9 }).toString("base64");
const worker = await bundle("worker.ts");
const parts = {
  "/*STYLE*/": readFileSync(join(here, "src", "style.css"), "utf8"),
  "/*ANALYZER*/": packed(readFileSync(analyzer)),
  "/*MAIN*/": packed(await bundle("main.ts", { WORKER: JSON.stringify(worker) })),
  "/*START*/": await bundle("start.ts"),
};
let page = readFileSync(join(here, "src", "page.html"), "utf8");
for (const [mark, text] of Object.entries(parts)) {
  if (!page.includes(mark)) throw new Error(`page.html has no ${mark}`);
  page = page.split(mark).join(text);
}
writeFileSync(out, page);
