# SPDX-License-Identifier: Apache-2.0
"""sysroot.py FOLDER ZIG [TABLE]: fetches the static libraries that a released wheel contains, and writes FOLDER/cross.ini, with
which meson compiles for the oldest glibc that the wheel supports.

The libraries are Debian 12's, in the versions of libraries.csv: apt-get downloads them (no root, nothing is installed), and the
table's hashes verify them. They are compiled for a newer glibc, but zig links them to the older one's symbols and supplies what the
older one lacks. A failure is reported in one line, with exit code 1."""

import csv
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
GLIBC = "2.28"
CPU = "x86_64"  # libraries.csv is for this CPU; another one needs a table of its own
DEBIAN_CPU = {"x86_64": "amd64", "aarch64": "arm64"}[CPU]

# Stubs of the host's libraries to link against: exceptions that pass through a hook must be unwound by the host's unwinder and caught
# by the C++ library that PyTorch uses, not by zig's copies. For each library: its name, and its symbols by version.
OF_THE_HOST = {
    "host-unwinder": ("libgcc_s.so.1", {"GCC_3.0": ["_Unwind_Resume"], "GCC_3.3.1": ["__gcc_personality_v0"]}),
    "host-cxx": (
        "libstdc++.so.6",
        {
            "CXXABI_1.3": ["__cxa_begin_catch", "__cxa_end_catch", "__gxx_personality_v0"],
            "GLIBCXX_3.4": ["_ZSt7nothrow", "_ZSt9terminatev", "_ZdlPv", "_ZnwmRKSt9nothrow_t"],
        },
    ),
}

CROSS = """[constants]
zig = '{zig}'
target = ['-target', '{cpu}-linux-gnu.{glibc}']
libraries = '{libraries}'
flags = ['-ffile-prefix-map={source}=.', '-Wno-unknown-warning-option', '-Wno-unused-command-line-argument']
link = ['-L' + libraries, '-Wl,--build-id=sha1', '-s']

[binaries]
c = [zig, 'cc'] + target
cpp = [zig, 'c++'] + target
ar = [zig, 'ar']
strip = ['true']
pkg-config = 'pkg-config'

[built-in options]
b_pie = true
c_args = flags
cpp_args = flags
c_link_args = link + ['-L{host}', '-lhost-unwinder']
cpp_link_args = link

[properties]
needs_exe_wrapper = {foreign}
pkg_config_libdir = libraries / 'pkgconfig'

[host_machine]
system = 'linux'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = 'little'
"""


def fail(why):
    sys.exit(f"tools/release: {why}")


def rows(table=HERE / "libraries.csv"):
    with open(table, newline="") as file:
        return list(csv.DictReader(file))


def is_right(path, row):
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == row["sha256"]


def fetch(folder, row):
    """Return the package's file, which an earlier run of apt-get may have left there."""
    name = f"{row['package']}={row['version']}"
    version = row["version"].replace(":", "%3a")  # as apt-get writes it
    path = folder / f"{row['package']}_{version}_{DEBIAN_CPU}.deb"
    if is_right(path, row):
        return path
    path.unlink(missing_ok=True)
    command = [
        "apt-get",
        "download",
        "-o",
        "APT::Sandbox::User=root",
        f"{row['package']}:{DEBIAN_CPU}={row['version']}",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and not os.geteuid():  # the package lists may be old
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode or not path.exists():
        why = "there is no network" if "resolve" in done.stderr or "connect" in done.stderr else "its sources lack it"
        fail(
            f"apt-get cannot fetch {name} ({why}); on Debian 12 run `apt-get update`, and compare packaging/libraries.csv"
        )
    if not is_right(path, row):
        path.unlink()
        fail(f"{name} is not the file that packaging/libraries.csv means (its SHA-256 differs); run this again")
    return path


def run(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


def main(folder, zig, *table):
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        fail("apt-get, which fetches the libraries, is missing; run this on Debian 12, or in its container image")
    folder = pathlib.Path(folder).resolve()
    downloads, root, host = folder / "downloads", folder / "root", folder / "host"
    for path in (downloads, host):
        path.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(root, ignore_errors=True)  # dpkg-deb keeps the files' dates, so nothing is recompiled
    for row in rows(*table):
        run(["dpkg-deb", "-x", fetch(downloads, row), root])
    libraries = root / f"usr/lib/{CPU}-linux-gnu"
    for description in libraries.glob("pkgconfig/*.pc"):
        lines = description.read_text().replace("=/usr", f"={root}/usr").splitlines()
        lines = [f"libdir={libraries}" if line.startswith("libdir=") else line for line in lines]
        description.write_text("\n".join(lines) + "\n")

    for name, (soname, versions) in OF_THE_HOST.items():
        code, exports = host / f"{name}.c", host / f"{name}.map"
        symbols = [one for names in versions.values() for one in names]
        code.write_text("".join(f"void {one}(void) {{}}\n" for one in symbols))
        exports.write_text(
            "".join(f"{version} {{ global: {'; '.join(names)}; }};\n" for version, names in versions.items())
        )
        run(
            [zig, "cc", "-target", f"{CPU}-linux-gnu.{GLIBC}", "-shared", "-nostdlib", f"-Wl,-soname,{soname}"]
            + [f"-Wl,--version-script={exports}", code, "-o", host / f"lib{name}.so"]
        )
    cross = CROSS.format(
        zig=zig,
        cpu=CPU,
        glibc=GLIBC,
        libraries=libraries,
        source=HERE.parent,
        host=host,
        foreign=str(CPU != platform.machine()).lower(),
    )
    file = folder / "cross.ini"
    if not file.exists() or file.read_text() != cross:
        shutil.rmtree(folder / "build", ignore_errors=True)  # meson reads cross.ini only at setup
        file.write_text(cross)


if __name__ == "__main__":
    main(*sys.argv[1:])
