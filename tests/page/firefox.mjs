// SPDX-License-Identifier: Apache-2.0
// Firefox by WebDriver BiDi, which it speaks itself: a process, a WebSocket, JSON.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PREFERENCES = { // it asks nobody anything by itself
  "app.update.enabled": false, "browser.shell.checkDefaultBrowser": false, "datareporting.policy.dataSubmissionEnabled": false,
  "toolkit.telemetry.enabled": false, "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false,
  "browser.safebrowsing.downloads.enabled": false, "extensions.update.enabled": false, "browser.startup.page": 0,
  "datareporting.healthreport.uploadEnabled": false, "browser.region.update.enabled": false,
};

export class Firefox {
  requests = [];
  logs = [];
  #waiting = new Map();
  #last = 0;

  static async start(path, WebSocket) {
    const self = new Firefox();
    self.profile = mkdtempSync(join(tmpdir(), "memtap-firefox-"));
    writeFileSync(join(self.profile, "user.js"),
      Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`).join(""));
    self.child = spawn(path, ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", self.profile],
      { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, MOZ_HEADLESS: "1", HOME: self.profile } });
    const url = await new Promise((resolve, reject) => {
      let said = "";
      self.child.stderr.setEncoding("utf8").on("data", (text) => {
        said += text;
        const found = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(said);
        if (found) resolve(found[1]);
      });
      self.child.on("exit", () => reject(new Error(`Firefox has ended: ${said.slice(-400)}`)));
    });
    self.socket = new WebSocket(`${url}/session`);
    await new Promise((resolve, reject) => {
      self.socket.on("open", resolve);
      self.socket.on("error", reject);
    });
    self.socket.on("message", (data) => self.#take(JSON.parse(String(data))));
    await self.call("session.new", { capabilities: {} });
    await self.call("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
    self.context = (await self.call("browsingContext.getTree", {})).contexts[0].context;
    return self;
  }

  #take(message) {
    if (message.method === "log.entryAdded" && message.params.level === "error") this.logs.push(message.params.text);
    if (message.method === "network.beforeRequestSent" && message.params.context) this.requests.push(message.params.request.url);
    const one = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.type === "error") one?.reject(new Error(`${message.error}: ${message.message}`));
    else one?.resolve(message.result);
  }

  call(method, params) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, method, params }));
    });
  }

  /** Opens a page, and waits until it says that it is ready, or why it is not. */
  async show(file, fragment = "") {
    await this.call("browsingContext.navigate", { context: this.context, url: "about:blank", wait: "complete" });
    await this.call("browsingContext.navigate", { context: this.context, url: `file://${file}${fragment}`, wait: "complete" });
    return this.evaluate(`new Promise((resolve) => {
      const look = () => ["ready", "error"].includes(document.documentElement.dataset.state)
        ? resolve(document.documentElement.dataset.state) : setTimeout(look, 50);
      look();
    })`);
  }

  /** An expression's value, by way of JSON. */
  async evaluate(expression) {
    const { result, exceptionDetails } = await this.call("script.evaluate", {
      expression: `Promise.resolve(${expression}).then((value) => JSON.stringify(value))`,
      target: { context: this.context }, awaitPromise: true,
    });
    if (exceptionDetails) throw new Error(exceptionDetails.text);
    return result.value === undefined ? undefined : JSON.parse(result.value);
  }

  async press(key) {
    await this.call("input.performActions", { context: this.context, actions: [{ type: "key", id: "keys",
      actions: [{ type: "keyDown", value: key }, { type: "keyUp", value: key }] }] });
  }

  async end() {
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    await this.call("browser.close", {}).catch(() => this.child.kill());
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}
