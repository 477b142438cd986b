// SPDX-License-Identifier: Apache-2.0
// The analyzer's files behind WASI's calls: bytes in memory. It may create files, and writes these and stderr. All other
// calls are refused.

export interface Files {
  [name: string]: Uint8Array;
}

const EBADF = 8, ENOENT = 44, EINVAL = 28, ENOTSUP = 58;
const ROOT = 3; // the descriptor of the folder that all files are in
const DIRECTORY = 3, REGULAR = 4, CHARACTER = 2;
const CREATE = 1, TRUNCATE = 8; // path_open's flags

interface Held { path: string; bytes: Uint8Array; size: number; is_new: boolean; }
interface Open { file: Held; at: number; }

function bare(path: string): string {
  return path.replace(/^[./]+/, "");
}

export class Wasi {
  memory!: WebAssembly.Memory;
  private readonly files: Held[]; // a file's inode is its index + 1
  private readonly open = new Map<number, Open>();

  constructor(files: Files) {
    this.files = Object.entries(files).map(([name, bytes]) => ({ path: bare(name), bytes, size: bytes.length, is_new: false }));
  }

  /** Return what a file has. */
  contents(name: string): Uint8Array {
    const file = this.files.find((one) => one.path === bare(name));
    return file ? file.bytes.subarray(0, file.size) : new Uint8Array();
  }

  private view() {
    return new DataView(this.memory.buffer);
  }

  private text(at: number, size: number) {
    return new TextDecoder().decode(new Uint8Array(this.memory.buffer, at, size));
  }

  private putStat(at: number, type: number, inode: number, size: number) {
    const view = this.view();
    for (let i = 0; i < 64; i += 8) view.setBigUint64(at + i, 0n, true);
    view.setBigUint64(at + 8, BigInt(inode), true);
    view.setUint8(at + 16, type);
    view.setBigUint64(at + 24, 1n, true);
    view.setBigUint64(at + 32, BigInt(size), true);
  }

  private read(fd: number, list: number, n: number, from: number | null, done: number) {
    const open = this.open.get(fd);
    if (!open) return EBADF;
    const bytes = open.file.bytes.subarray(0, open.file.size);
    let at = from ?? open.at;
    const begin = at;
    const view = this.view();
    for (let i = 0; i < n; i++) {
      const into = view.getUint32(list + 8 * i, true), size = view.getUint32(list + 8 * i + 4, true);
      const piece = bytes.subarray(Math.min(at, bytes.length), at + size);
      new Uint8Array(this.memory.buffer, into, piece.length).set(piece);
      at += piece.length;
    }
    view.setUint32(done, at - begin, true);
    if (from === null) open.at = at;
    return 0;
  }

  private append(open: Open, piece: Uint8Array) {
    const { file } = open, end = open.at + piece.length;
    if (end > file.bytes.length) {
      const larger = new Uint8Array(Math.max(2 * end, 1 << 16));
      larger.set(file.bytes.subarray(0, file.size));
      file.bytes = larger;
    }
    file.bytes.set(piece, open.at);
    file.size = Math.max(file.size, end);
    open.at = end;
  }

  private find(at: number, size: number) {
    const path = bare(this.text(at, size));
    return this.files.find((one) => one.path === path);
  }

  private inode(file: Held) {
    return this.files.indexOf(file) + 1;
  }

  imports(): WebAssembly.ModuleImports {
    return {
      clock_time_get: (_id: number, _precision: bigint, out: number) => {
        this.view().setBigUint64(out, BigInt(Math.round(performance.now() * 1e6)), true);
        return 0;
      },
      fd_prestat_get: (fd: number, out: number) => {
        if (fd !== ROOT) return EBADF;
        this.view().setUint32(out, 0, true);
        this.view().setUint32(out + 4, 1, true);
        return 0;
      },
      fd_prestat_dir_name: (_fd: number, out: number) => {
        new Uint8Array(this.memory.buffer, out, 1)[0] = 0x2f;
        return 0;
      },
      fd_fdstat_set_flags: () => 0, // the page's files never block
      fd_fdstat_get: (fd: number, out: number) => {
        const view = this.view();
        const type = fd === ROOT ? DIRECTORY : fd < ROOT ? CHARACTER : REGULAR;
        view.setUint8(out, type);
        view.setUint16(out + 2, 0, true);
        view.setBigUint64(out + 8, ~0n & 0xffffffffffffffffn, true);
        view.setBigUint64(out + 16, ~0n & 0xffffffffffffffffn, true);
        return 0;
      },
      fd_filestat_get: (fd: number, out: number) => {
        const open = this.open.get(fd);
        if (!open) return EBADF;
        this.putStat(out, REGULAR, this.inode(open.file), open.file.size);
        return 0;
      },
      path_filestat_get: (_fd: number, _flags: number, path: number, size: number, out: number) => {
        const file = this.find(path, size);
        if (!file) return ENOENT;
        this.putStat(out, REGULAR, this.inode(file), file.size);
        return 0;
      },
      path_open: (_fd: number, _look: number, path: number, size: number, flags: number,
                  _rights: bigint, _inherited: bigint, _fdflags: number, out: number) => {
        let file = this.find(path, size);
        if (flags & CREATE) {
          if (file && !file.is_new) return ENOTSUP; // the user's
          if (!file) this.files.push(file = { path: bare(this.text(path, size)), bytes: new Uint8Array(), size: 0, is_new: true });
          if (flags & TRUNCATE) file.size = 0;
        } else if (!file || flags) return flags ? ENOTSUP : ENOENT;
        let fd = ROOT + 1;
        while (this.open.has(fd)) fd++;
        this.open.set(fd, { file, at: 0 });
        this.view().setUint32(out, fd, true);
        return 0;
      },
      fd_close: (fd: number) => (this.open.delete(fd) ? 0 : EBADF),
      fd_read: (fd: number, list: number, n: number, done: number) => this.read(fd, list, n, null, done),
      fd_pread: (fd: number, list: number, n: number, from: bigint, done: number) =>
        this.read(fd, list, n, Number(from), done),
      fd_seek: (fd: number, offset: bigint, whence: number, out: number) => {
        const open = this.open.get(fd);
        if (!open) return EBADF;
        const base = whence === 0 ? 0 : whence === 1 ? open.at : open.file.size;
        const to = base + Number(offset);
        if (to < 0) return EINVAL;
        open.at = to;
        this.view().setBigUint64(out, BigInt(to), true);
        return 0;
      },
      fd_write: (fd: number, list: number, n: number, done: number) => {
        const view = this.view(), open = this.open.get(fd);
        let size = 0, text = "";
        for (let i = 0; i < n; i++) {
          const at = view.getUint32(list + 8 * i, true), length = view.getUint32(list + 8 * i + 4, true);
          if (open?.file.is_new) this.append(open, new Uint8Array(this.memory.buffer, at, length));
          else text += this.text(at, length);
          size += length;
        }
        if (!open?.file.is_new && fd !== 1 && fd !== 2) return EBADF;
        if (text) console.warn(text.trimEnd());
        view.setUint32(done, size, true);
        return 0;
      },
      proc_exit: (code: number) => {
        throw new Error(`the analyzer exited with code ${code}`);
      },
      random_get: (at: number, size: number) => {
        crypto.getRandomValues(new Uint8Array(this.memory.buffer, at, size));
        return 0;
      },
    };
  }
}
