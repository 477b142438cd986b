#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""build.py TOOLS WORK OUT.html DEPFILE: compiles the analyzer to WebAssembly in WORK and bundles the page, with the tools that
fetch.py puts into TOOLS."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
import fetch  # noqa: E402 (next to this file)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent

# What a page cannot have. wasm/stand-ins/ replaces some of it; the rest is never called there.
LEFT_OUT = {
    "analyzer/compact",
    "analyzer/json/job-json.c",
    "analyzer/report/job-text.c",
    "analyzer/report/symbolize.c",
    "analyzer/support/guard.c",
    "analyzer/support/new-file.c",
    "analyzer/support/room.c",
    "analyzer/trace/symbols.c",
    "compare/digest/amount.c",
    "compare/diff/diff-flame.c",
    "compare/diff/diff-markdown.c",
}
TARGET = ["--target=wasm32-wasi", "-O2", "-fno-sanitize=all"]
FLAGS = [
    *TARGET,
    "-std=gnu17",
    "-D_GNU_SOURCE",
    "-D_WASI_EMULATED_SIGNAL",
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-fvisibility=hidden",
    "-ffunction-sections",
]
# Code that runs once a page: small instead of fast.
SMALL = (
    *(f"analyzer/{name}/" for name in "findings holders json loops print remarks report".split()),
    *("compare/", "exchange/import/", "trace-format/settings/"),
)
# The page compresses nothing, and these would take half of zstd's compile time.
NO_COMPRESSORS = [
    f"-DZSTD_EXCLUDE_{name}_BLOCK_COMPRESSOR" for name in "DFAST GREEDY LAZY LAZY2 BTLAZY2 BTOPT BTULTRA".split()
]


def run(command, what, **more):
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{done.stdout[-2000:]}{done.stderr[-4000:]}the page: {what}")


class Zig:
    """zig as the compiler and linker. At its first use it compiles wasi-libc into TOOLS."""

    def __init__(self, tools):
        self.cc = [tools / "zig/zig", "cc"]
        cache = str(tools / "zig-cache")
        self.environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}

    def run(self, arguments, what):
        run([*self.cc, *arguments], what, env=self.environment)


def sources():
    missing = [name for name in (*LEFT_OUT, *SMALL) if not (ROOT / name).exists()]
    if missing:
        sys.exit(f"page/build.py: no such file or folder: {', '.join(missing)}")
    files = [
        *ROOT.glob("trace-format/*.c"),
        ROOT / "trace-format/author/author-bytes.c",
        *ROOT.glob("trace-format/meaning/*.c"),
        *ROOT.glob("analyzer/*/*.c"),
        ROOT / "trace-format/settings/size.c",
        *ROOT.glob("compare/digest/*.c"),
        *ROOT.glob("exchange/import/*.c"),
        *ROOT.glob("compare/diff/*.c"),
        ROOT / "compare/history/read-all.c",
        *HERE.glob("wasm/*.c"),
        *HERE.glob("wasm/stand-ins/*.c"),
    ]
    for path in sorted(files):
        name = path.relative_to(ROOT).as_posix()
        if name not in LEFT_OUT and path.parent.relative_to(ROOT).as_posix() not in LEFT_OUT:
            yield path


def compile_one(zig, tools, work, path):
    out = work / "objects" / (path.relative_to(path.anchor).as_posix().replace("/", "_") + ".o")
    needed = out.with_suffix(".d")
    command = [*FLAGS, f"-I{HERE / 'wasm/stand-ins'}", f"-I{ROOT}", f"-I{tools}"]
    if path.is_relative_to(ROOT) and path.relative_to(ROOT).as_posix().startswith(SMALL):
        command.append("-Os")
    if path.name != "zstd.c":
        command += ["-include", HERE / "wasm/stand-ins/glibc.h", "-Werror=implicit-function-declaration"]
    else:
        command += ["-DZSTD_DISABLE_ASM", "-DZSTD_LEGACY_SUPPORT=0", *NO_COMPRESSORS, "-w"]
    command += ["-MMD", "-MF", needed, "-c", path, "-o", out]
    made = out.with_suffix(".command")  # what made the object: other flags make another
    text = " ".join(map(str, command))
    is_same = needed.exists() and out.exists() and made.exists() and made.read_text() == text
    known = needed.read_text().replace("\\\n", " ").split()[1:] if is_same else None
    if not known or any(
        not os.path.exists(one) or os.path.getmtime(one) > out.stat().st_mtime for one in [*known, tools / "ready"]
    ):
        made.unlink(missing_ok=True)
        zig.run(command, f"{path} does not compile for WebAssembly")
        made.write_text(text)
        known = needed.read_text().replace("\\\n", " ").split()[1:]
    return out, known


def make(tools, work, out, depfile):
    zig = Zig(tools)
    (work / "objects").mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:  # zstd takes the longest
        made = list(pool.map(lambda path: compile_one(zig, tools, work, path), [tools / "zstd.c", *sources()]))
    analyzer = work / "analyzer.wasm"
    zig.run(
        [
            *TARGET,
            "-mexec-model=reactor",
            "-Wl,--gc-sections",
            "-Wl,--strip-all",
            "-Wl,-z,stack-size=1048576",
            "-o",
            analyzer,
            *[one for one, _ in made],
            "-lwasi-emulated-signal",
            "-lwasi-emulated-process-clocks",
            "-lm",
        ],
        "the analyzer cannot be linked",
    )
    run([fetch.node(tools), HERE / "bundle.mjs", tools, analyzer, out], "it cannot be bundled")
    needed = {one for _, known in made for one in known} | {
        str(path) for path in HERE.rglob("src/**/*") if path.is_file()
    }
    needed |= {
        str(HERE / name)
        for name in (
            "bundle.mjs",
            "build.py",
            "fetch.py",
            "package-lock.json",
            "requirements.txt",
            "requirements-source.txt",
        )
    }
    pathlib.Path(depfile).write_text(f"{out}: " + " ".join(sorted(one.replace(" ", "\\ ") for one in needed)) + "\n")


def main():
    tools, work = (pathlib.Path(one).resolve() for one in sys.argv[1:3])
    try:
        fetch.fetch(tools)
    except fetch.Failed as problem:
        sys.exit(f"{problem}; meson configure -Dpage=disabled BUILD leaves the page out")
    make(tools, work, *sys.argv[3:5])


main()
