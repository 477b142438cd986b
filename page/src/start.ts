// SPDX-License-Identifier: Apache-2.0
// Unpacks main.ts, and runs it.
import { byId } from "./dom";
import { bytesOf } from "./runs";

async function start() {
  if (!("DecompressionStream" in window)) throw new Error("This browser lacks DecompressionStream, which the views need.");
  const program = await bytesOf(byId("program").textContent ?? "", true);
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(program);
  document.body.append(script);
}

function fail(error: Error) {
  document.documentElement.dataset["state"] = "error";
  const has_texts = document.querySelector("#texts pre") !== null;
  byId("message").textContent = error.message + (has_texts ? " The report is below as text." : "");
  document.documentElement.classList.toggle("texts", has_texts);
}

start().catch((error: Error) => (document.readyState === "loading" ? document.addEventListener("DOMContentLoaded", () => fail(error)) : fail(error)));
