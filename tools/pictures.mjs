// SPDX-License-Identifier: Apache-2.0
// pictures.mjs MODULES PAGE PNG BROWSER: a picture of the page, for tools/pictures.
import { createRequire } from "node:module";
const [modules, page_, out, browser] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/package.json`)("playwright-core");
const run = await chromium.launch({ executablePath: browser, args: ["--no-sandbox"] });
const page = await run.newPage({ viewport: { width: 1200, height: 860 } });
await page.goto(`file://${page_}`);
await page.waitForFunction(() => ["ready", "error"].includes(document.documentElement.dataset.state));
await page.waitForTimeout(500);
await page.screenshot({ path: out });
await run.close();
