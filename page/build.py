#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py prepare WORK: fetches what the page is made of (npm's packages, zstd's C source) into WORK.
build.py make WORK OUT.html DEPFILE: compiles the analyzer to WebAssembly and bundles the page.

Exit code 1 with one line where a tool or the network is missing."""
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
ZSTANDARD = "zstandard==0.25.0"  # whose source package has zstd in one file

# What a page cannot have; wasm/missing.c stands in for some. The rest are not asked for there.
LEFT_OUT = {
    "analyzer/compact", "analyzer/json/job-json.c", "analyzer/report/job-report.c",
    "analyzer/report/job-text.c", "analyzer/report/symbolize.c", "analyzer/support/room.c",
    "analyzer/support/unnamed-file.c",
    "analyzer/trace/symbols.c", "trace-format/encoder.c",
    "nightly/digest/amount.c", "nightly/digest/checksum.c", "nightly/diff/diff-flame.c", "nightly/diff/diff-markdown.c",
}
FLAGS = ["--target=wasm32-wasi", "--sysroot=/usr", "-isystem", "/usr/include/wasm32-wasi", "-O2", "-std=gnu17",
         "-D_GNU_SOURCE", "-D_WASI_EMULATED_SIGNAL", "-D_WASI_EMULATED_PROCESS_CLOCKS", "-fvisibility=hidden",
         "-ffunction-sections", "-Wno-unknown-warning-option"]


def fail(why):
    sys.exit(f"{why}; memtap is built without its page")


def clang():
    for name in ("clang", "clang-19", "clang-16", "clang-15", "clang-14"):
        if shutil.which(name):
            return name
    return None


def run(command, what, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-4000:])
        fail(what)


def prepare(work):
    if not clang() or not any(shutil.which(name) for name in ("wasm-ld", "wasm-ld-14", "wasm-ld-19")):
        fail("clang or lld is missing")
    if not pathlib.Path("/usr/include/wasm32-wasi").is_dir():
        fail("wasi-libc is missing")
    probe = subprocess.run([clang(), "--target=wasm32-wasi", "--sysroot=/usr", "-x", "c", "-", "-o", os.devnull],
                           input="int main(void) { return 0; }", capture_output=True, text=True, check=False)
    if probe.returncode:
        fail("clang cannot link for WebAssembly (libclang-rt-*-dev-wasm32 is missing)")
    if not shutil.which("node") or not shutil.which("npm"):
        fail("node or npm is missing")
    work.mkdir(parents=True, exist_ok=True)
    stamp = work / "stamp"
    wanted = (HERE / "package-lock.json").read_text() + ZSTANDARD
    if stamp.exists() and stamp.read_text() == wanted:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, work / name)
    run(["npm", "ci", "--no-audit", "--no-fund"], "npm cannot fetch the page's packages", cwd=work)
    run([sys.executable, "-m", "pip", "download", "--quiet", "--no-binary", ":all:", "--no-deps", "--dest", str(work),
         ZSTANDARD], "pip cannot fetch zstd's source")
    archive = next(work.glob("zstandard-*.tar.gz"))
    with tarfile.open(archive) as tar:
        for name in ("zstd.c", "zstd.h", "zstd_errors.h"):
            member = next(one for one in tar.getmembers() if one.name.endswith(f"/zstd/{name}"))
            text = tar.extractfile(member).read()
            # a page has one thread
            (work / name).write_bytes(text.replace(b"#define ZSTD_MULTITHREAD\n", b"\n"))
    stamp.write_text(wanted)


def sources():
    files = [*ROOT.glob("trace-format/*.c"), ROOT / "trace-format/author/author-bytes.c",
             *ROOT.glob("analyzer/*/*.c"), *ROOT.glob("nightly/digest/*.c"), *ROOT.glob("nightly/diff/*.c"),
             ROOT / "nightly/history/read-all.c", *HERE.glob("wasm/*.c")]
    for path in sorted(files):
        name = path.relative_to(ROOT).as_posix()
        if name not in LEFT_OUT and path.parent.relative_to(ROOT).as_posix() not in LEFT_OUT:
            yield path


def compile_one(work, path):
    out = work / "objects" / (path.as_posix().replace("/", "_") + ".wasm")
    needed = out.with_suffix(".d")
    command = [clang(), *FLAGS, f"-I{HERE / 'wasm/stand-ins'}", f"-I{ROOT}", f"-I{work}"]
    if path.name != "zstd.c":
        command += ["-include", str(HERE / "wasm/stand-ins/glibc.h"), "-Werror=implicit-function-declaration"]
    else:
        command += ["-DZSTD_DISABLE_ASM", "-DZSTD_LEGACY_SUPPORT=0", "-w"]
    command += ["-MMD", "-MF", str(needed), "-c", str(path), "-o", str(out)]
    known = needed.read_text().replace("\\\n", " ").split()[1:] if needed.exists() and out.exists() else None
    if not known or any(not os.path.exists(one) or os.path.getmtime(one) > out.stat().st_mtime for one in known):
        run(command, f"{path} does not compile for WebAssembly")
        known = needed.read_text().replace("\\\n", " ").split()[1:]
    return out, known


def make(work, out, depfile):
    prepare(work)  # the list of packages may have changed
    (work / "objects").mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda path: compile_one(work, path), [*sources(), work / "zstd.c"]))
    analyzer = work / "analyzer.wasm"
    run([clang(), "--target=wasm32-wasi", "--sysroot=/usr", "-mexec-model=reactor", "-O2", "-Wl,--gc-sections",
         "-Wl,--strip-all", "-Wl,-z,stack-size=1048576", "-o", str(analyzer), *[str(one) for one, _ in made],
         "-lwasi-emulated-signal", "-lwasi-emulated-process-clocks", "-lm"], "the page's analyzer cannot be linked")
    run(["node", str(HERE / "bundle.mjs"), str(work), str(analyzer), str(out)], "the page cannot be bundled")
    needed = {one for _, known in made for one in known} | {str(path) for path in HERE.rglob("src/**/*") if path.is_file()}
    needed |= {str(HERE / name) for name in ("bundle.mjs", "build.py", "package-lock.json")}
    pathlib.Path(depfile).write_text(f"{out}: " + " ".join(sorted(one.replace(" ", "\\ ") for one in needed)) + "\n")


def main():
    if sys.argv[1] == "prepare":
        prepare(pathlib.Path(sys.argv[2]).resolve())
    else:
        make(pathlib.Path(sys.argv[2]).resolve(), sys.argv[3], sys.argv[4])


main()
