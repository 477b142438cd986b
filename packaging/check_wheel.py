# SPDX-License-Identifier: Apache-2.0
"""check_wheel.py WHEEL: checks that a wheel of tools/release is what it claims to be: its tag, its files and their hashes, the libraries
and glibc symbols that they need, and the list of what is linked in. Prints one line, or one per fault and exits with 1."""

import base64
import csv
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

MOST_BYTES = 5 << 20
# glibc's own, and what else manylinux allows.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1"}
# It runs within PyTorch: with a C++ library or an unwinder of its own it would crash there.
VALUES, OF_PYTORCH, ITS_SYMBOL = "libcudasim-values.so", "libstdc++.so.6", "sim_values_start"
LOADER = re.compile(r"ld-linux-[\w-]+\.so\.\d")
MUST_HAVE = (
    "scripts/memtap",
    "data/lib/memtap/libmemtap.so",
    "data/lib/memtap/libmemtap-attach.so",
    "data/lib/memtap/libmemtap-cupti.so",
    "data/lib/memtap/libmemtap-under-lock.so",
    "data/lib/memtap/libmemtap-reader.so",
    "data/lib/memtap/simulator/libcuda.so.1",
    "data/share/memtap/memtap.html",
    "data/share/man/man1/memtap.1",
    "data/share/man/man7/libmemtap.7",
    "data/share/bash-completion/completions/memtap.bash",
    "data/share/zsh/site-functions/_memtap",
    "data/share/fish/vendor_completions.d/memtap.fish",
)
LINKED_IN = {
    "zstd",
    "jansson",
    "elfutils",
    "sqlite",
    "zlib",
    "bzip2",
    "xz",
    "libmd",
    "tomlplusplus",
    "libcxx",
    "wasi-libc",
}


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def versions(text):
    return [tuple(map(int, found.split("."))) for found in re.findall(r"\bGLIBC_([\d.]+)", text)]


def program_faults(path, newest, carried):
    """Return what a program or library needs from the system."""
    dynamic = readelf("-d", path)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    exported = set(
        re.findall(r" (?:GLOBAL|WEAK) +(?:DEFAULT|PROTECTED) +\d+ (\S+)$", readelf("--dyn-syms", path), re.M)
    )
    if path.name == VALUES:
        if exported != {ITS_SYMBOL} or OF_PYTORCH not in needed:
            yield f"{VALUES} has a C++ library of its own: it needs {sorted(needed)}, and has {sorted(exported)[:9]}"
        needed -= {OF_PYTORCH}
    if "SYMBOLIC" in dynamic and path.name == "libmemtap.so":
        yield "libmemtap.so is linked with -Bsymbolic, so that it finds itself where it looks for CUDA"
    for name in sorted(needed - SYSTEM - carried):
        if not LOADER.fullmatch(name):
            yield f"{path.name} needs {name}"
    for folder in re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", dynamic):
        if folder.rstrip("/") != "$ORIGIN":
            yield f"{path.name} looks for libraries in {folder}"
    if not re.search(r"Type: +DYN", readelf("-h", path)):
        yield f"{path.name} is not position independent"
    symbols = readelf("-V", path)
    for version in sorted({one for one in versions(symbols) if one > newest}):
        yield f"{path.name} needs GLIBC_{'.'.join(map(str, version))}"
    if " .symtab" in readelf("-S", path) or " .debug_info" in readelf("-S", path):
        yield f"{path.name} is not stripped"


def record_faults(wheel, info):
    rows = {row[0]: row[1] for row in csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode()))}
    if set(rows) != set(wheel.namelist()):
        yield f"RECORD and the files differ: {sorted(set(rows) ^ set(wheel.namelist()))}"
    for name, digest in rows.items():
        if name not in wheel.namelist():
            continue
        found = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
        if digest and digest != f"sha256={found}":
            yield f"{name} is not what RECORD says"


def sbom_faults(wheel, info, version):
    name = f"{info}/sboms/memtap.cdx.json"
    if name not in wheel.namelist():
        yield f"there is no {name}"
        return
    bill = json.loads(wheel.read(name))
    if (bill["bomFormat"], bill["metadata"]["component"]["version"]) != ("CycloneDX", version):
        yield f"{name} is of another version"
    found = {entry["name"] for entry in bill["components"]}
    if LINKED_IN - found:
        yield f"{name} lacks {', '.join(sorted(LINKED_IN - found))}"
    for entry in bill["components"]:
        if not entry["licenses"][0]["expression"] or f"{info}/licenses/{entry['name']}.txt" not in wheel.namelist():
            yield f"{entry['name']} has no licence in the wheel"


def faults(path):
    tag = re.fullmatch(r"memtap-([\w.]+)-py3-none-manylinux_(\d+)_(\d+)_(\w+)\.whl", path.name)
    if not tag:
        yield "its name has no manylinux tag"
        return
    info, newest = f"memtap-{tag[1]}.dist-info", (int(tag[2]), int(tag[3]))
    if path.stat().st_size > MOST_BYTES:
        yield f"it has {path.stat().st_size:,} bytes, more than {MOST_BYTES:,}"
    with zipfile.ZipFile(path) as wheel, tempfile.TemporaryDirectory() as folder:
        about = wheel.read(f"{info}/WHEEL").decode()
        if f"Tag: {path.stem.split('-', 2)[2]}" not in about.splitlines():
            yield "its name and its tag differ"
        files = set(wheel.namelist())
        yield from (f"it lacks {name}" for name in MUST_HAVE if f"memtap-{tag[1]}.data/{name}" not in files)
        yield from record_faults(wheel, info)
        yield from sbom_faults(wheel, info, tag[1])
        wheel.extractall(folder)
        programs = [
            one for one in pathlib.Path(folder).rglob("*") if one.is_file() and one.read_bytes()[:4] == b"\x7fELF"
        ]
        carried = {one.name for one in programs}
        for program in programs:
            yield from program_faults(program, newest, carried)


def main(wheel):
    path = pathlib.Path(wheel)
    found = list(faults(path))
    for fault in found:
        print(f"{path.name}: {fault}", file=sys.stderr)
    if found:
        sys.exit(1)
    with zipfile.ZipFile(path) as files:
        print(f"{path.name}: {path.stat().st_size:,} bytes, {len(files.namelist())} files; nothing but glibc is needed")


if __name__ == "__main__":
    main(*sys.argv[1:])
