# SPDX-License-Identifier: Apache-2.0
"""Every function of PyTorch that memtap hooks is defined by the PyTorch at hand, in the library where
memtap looks for it, and is reached through the dynamic linker: some library has a relocation by its
name, so that a preloaded definition wins. PyTorch itself is not loaded."""
import os
import re
import subprocess
from pathlib import Path

import harness
from harness import PYTHON, ROOT


def hooks():
    """(name, symbol, library) of each row of MT_TORCH_HOOKS."""
    text = (ROOT / "preload" / "hooks" / "hooks.h").read_text()
    table = text[text.index("#define MT_TORCH_HOOKS"):text.index("/*", text.index("MT_TORCH_HOOKS"))]
    return re.findall(r'H\((\w+),\s*"(\w+)",\s*\\?\s*"([\w.]+)"', table)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    if not os.access(PYTHON, os.X_OK):
        harness.skip(f"no Python at {PYTHON}")
    find = "import importlib.util as u; print(getattr(u.find_spec('torch'), 'origin', ''))"
    folder = Path(output(PYTHON, "-c", find).strip()).parent / "lib"
    if not (folder / "libtorch_cuda.so").exists():
        harness.skip(f"{PYTHON} has no PyTorch with CUDA")
    libraries = ["libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libtorch_cuda.so",
                 "libtorch_python.so"]
    defined = {name: set(re.findall(r" [TW] (\w+)", output("nm", "-D", "--defined-only", folder / name)))
               for name in libraries}
    wanted = {symbol for _, symbol, _ in hooks()}
    relocated = set()
    for name in libraries:
        with subprocess.Popen(["readelf", "-rW", folder / name], stdout=subprocess.PIPE, text=True) as p:
            for line in p.stdout:
                words = line.split()
                if len(words) > 4 and words[4].split("@")[0] in wanted:
                    relocated.add(words[4].split("@")[0])
    harness.check(len(wanted) > 5, "the table of hooks is read")
    for name, symbol, library in hooks():
        there, used = symbol in defined[library], symbol in relocated
        print(f"{name:20} {'defined' if there else '-':8} {'relocated' if used else '-'}")
        harness.check(there, f"{library} defines {symbol}")
        harness.check(used, f"a library calls {symbol} through the dynamic linker")
    harness.finish()


main()
