# SPDX-License-Identifier: Apache-2.0
"""finish.py WHEEL SYSROOT ZIG OUT: turns the wheel that meson-python built into the one that is published: puts the oldest glibc into
its tag, adds the list of what is linked in (a CycloneDX file in .dist-info/sboms, PEP 770) with the licences, and writes it
reproducibly: sorted, with one date ($SOURCE_DATE_EPOCH). Prints its name."""

import base64
import hashlib
import json
import os
import pathlib
import re
import sys
import time
import zipfile

import sysroot

TAG = f"py3-none-manylinux_{sysroot.GLIBC.replace('.', '_')}_{sysroot.CPU}"


def zig_version(zig):
    major, minor, patch = re.search(
        r"_LIBCPP_VERSION (\d\d)(\d\d)(\d\d)$", (zig / "lib/libcxx/include/__config").read_text(), re.M
    ).groups()
    return f"{int(major)}.{int(minor)}.{int(patch)}"


def components(source, zig):
    """Return every library that is linked in: name, version, licence, origin, and the licence's file."""
    doc = source / "root/usr/share/doc"
    for row in sysroot.rows():
        if row["library"]:
            yield {
                "name": row["library"],
                "version": row["upstream"],
                "license": row["license"],
                "purl": f"pkg:deb/debian/{row['package']}@{row['version'].replace(':', '%3A')}"
                f"?arch={sysroot.DEBIAN_CPU}&distro=debian-12",
                "sha256": row["sha256"],
                "text": doc / row["package"] / "copyright",
            }
    llvm = zig_version(zig)
    for name in ("libcxx", "libcxxabi", "libunwind"):
        yield {
            "name": name,
            "version": llvm,
            "license": "Apache-2.0 WITH LLVM-exception",
            "text": zig / "lib" / name / "LICENSE.TXT",
        }
    # In the page: zstd in WebAssembly, and the C library that zstd and the analyzer are compiled with.
    pinned = (sysroot.HERE.parent / "page/requirements-source.txt").read_text()
    version, sha256 = re.search(r"zstandard==(\S+) --hash=sha256:(\w+)", pinned).groups()
    yield {
        "name": "zstandard",
        "version": version,
        "license": "BSD-3-Clause",
        "purl": f"pkg:pypi/zstandard@{version}",
        "sha256": sha256,
        "text": doc / "libzstd-dev/copyright",
    }
    yield {
        "name": "wasi-libc",
        "license": "MIT AND BSD-2-Clause AND CC0-1.0 AND (Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT)",
        "text": zig / "lib/libc/wasi/LICENSE",
    }


def sbom(version, parts, stamp):
    def component(part):
        entry = {"type": "library", "name": part["name"], "bom-ref": part.get("purl", part["name"])}
        if "version" in part:
            entry["version"] = part["version"]
        entry["licenses"] = [{"expression": part["license"]}]
        if "purl" in part:
            entry["purl"] = part["purl"]
            entry["hashes"] = [{"alg": "SHA-256", "content": part["sha256"]}]
        return entry

    listed = [component(part) for part in parts]
    main = f"pkg:pypi/memtap@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(stamp)),
            "component": {
                "type": "application",
                "name": "memtap",
                "version": version,
                "bom-ref": main,
                "purl": main,
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": listed,
        "dependencies": [{"ref": main, "dependsOn": [entry["bom-ref"] for entry in listed]}],
    }


def record(files, name):
    def digest(data):
        return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

    lines = [f"{path},sha256={digest(data)},{len(data)}" for path, (data, _) in files.items()]
    return "\n".join([*lines, f"{name},,"]) + "\n"


def main(wheel, source, zig, out):
    source, zig = pathlib.Path(source), pathlib.Path(zig).resolve().parent
    stamp = max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800)  # zip dates begin in 1980
    with zipfile.ZipFile(wheel) as old:
        files = {
            one.filename: (old.read(one), one.external_attr >> 16 & 0o111) for one in old.infolist() if not one.is_dir()
        }
    info = next(name.split("/")[0] for name in files if name.endswith(".dist-info/WHEEL"))
    version = info.removesuffix(".dist-info").split("-")[1]

    def edit(name, change):
        files[f"{info}/{name}"] = (change(files[f"{info}/{name}"][0].decode()).encode(), 0)

    parts = list(components(source, zig))
    licences = {}
    for part in parts:
        licences.setdefault(f"licenses/{part['name']}.txt", part["text"].read_bytes())
    for name, text in licences.items():
        files[f"{info}/{name}"] = (text, 0)
    edit("WHEEL", lambda text: re.sub(r"^Tag: .*$", f"Tag: {TAG}", text, flags=re.M))
    lines = "".join(f"License-File: {name.split('/')[1]}\n" for name in sorted(licences))
    edit("METADATA", lambda text: re.sub(r"(^License-File: .*\n)", rf"\1{lines}", text, count=1, flags=re.M))
    files[f"{info}/sboms/memtap.cdx.json"] = ((json.dumps(sbom(version, parts, stamp), indent=1) + "\n").encode(), 0)
    files = dict(sorted(files.items(), key=lambda item: (item[0].startswith(info), item[0])))
    del files[f"{info}/RECORD"]
    files[f"{info}/RECORD"] = (record(files, f"{info}/RECORD").encode(), 0)

    path = pathlib.Path(out, f"memtap-{version}-{TAG}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name, (data, is_program) in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(stamp)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            new.writestr(entry, data)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
