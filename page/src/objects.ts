// SPDX-License-Identifier: Apache-2.0
// The analyzer's JSON values as our objects: implements stand-ins/jansson.h.
// The analyzer knows each value by a number; a value inside another has no number.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const SHORT = 24; // bytes

export class Objects {
  memory!: WebAssembly.Memory;
  private values: (Json | undefined)[] = [undefined];
  private free: number[] = [];
  private bytes = new Uint8Array();

  private keep(value: Json): number {
    const at = this.free.pop() ?? this.values.length;
    this.values[at] = value;
    return at;
  }

  /** Return the value of a number and forget the number. 0: no memory. */
  take(at: number): Json {
    if (!at) throw new Error("out of memory");
    const value = this.values[at]!;
    this.values[at] = undefined;
    this.free.push(at);
    return value;
  }

  /** Read a text. Most are short keys, for which a decoder is slower than converting the characters. */
  private text(at: number): string {
    if (this.bytes.buffer !== this.memory.buffer) this.bytes = new Uint8Array(this.memory.buffer);
    const { bytes } = this;
    let text = "", end = at;
    for (let one; (one = bytes[end]!) && one < 128 && end - at < SHORT; end++) text += String.fromCharCode(one);
    return bytes[end] ? new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, end))) : text;
  }

  imports(): WebAssembly.ModuleImports {
    return {
      object: () => this.keep({}),
      array: () => this.keep([]),
      null: () => this.keep(null),
      boolean: (value: number) => this.keep(value !== 0),
      number: (value: number) => this.keep(value),
      string: (at: number) => this.keep(this.text(at)),
      put: (object: number, key: number, value: number) => {
        if (!object || !value) return -1;
        const name = this.text(key), into = this.values[object] as { [key: string]: Json };
        if (name === "__proto__") // an assignment would not make a member
          Object.defineProperty(into, name, { value: this.take(value), enumerable: true, writable: true, configurable: true });
        else into[name] = this.take(value);
        return 0;
      },
      push: (array: number, value: number) => {
        if (!array || !value) return -1;
        (this.values[array] as Json[]).push(this.take(value));
        return 0;
      },
      at: (array: number, index: number, value: number) => {
        if (!array || !value) return -1;
        (this.values[array] as Json[])[index] = this.take(value);
        return 0;
      },
      forget: (value: number) => {
        if (value) this.take(value);
      },
    };
  }
}
