#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bare_root.py SOURCE [--keep FOLDER] [WAY...]: memtap's ways in on a Debian with nothing but its base system: every way leaves a
command that records a program, reports it, and writes its page.

WAY: build (tools/build), install (meson install), pip (pip install .), pipx, wheel (pip wheel, then a fresh environment), demo
(tools/demo), rootless (tools/build by a user without root, after the packages); without one, all. It makes the root by debootstrap
in FOLDER, or in a temporary folder, and takes SOURCE's committed files. Skipped (77) where this is not root, or has no debootstrap;
a quarter of an hour, so it is for `meson test --setup all`."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

SUITE = os.environ.get("MEMTAP_TEST_SUITE", "bookworm")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
THERE = "/etc/certificates-of-the-host.crt"  # Debian makes the other one anew
CHECK = """
set -e
cd "$(mktemp -d)"
{memtap} run --quiet --simulate h100 -o t.mtap -- python3 /src/tests/install/uses_cuda.py
{memtap} report t.mtap | grep -q '10.00 MiB allocated'
{memtap} view -o view.html t.mtap
{memtap} report --html report.html t.mtap >/dev/null
{memtap} diff --html diff.html t.mtap t.mtap >/dev/null
! {memtap} run --quiet --simulate h100 -o oom.mtap -- python3 /src/tests/install/uses_cuda.py 200 2>/dev/null
{memtap} oom --html oom.html oom.mtap >/dev/null
for page in view.html report.html diff.html oom.html; do
    [ "$(stat -c %s $page)" -gt 200000 ] && grep -q '<title>' $page
done
"""
MAGIC = """
from memtap import notebook
frame = notebook.record("--simulate h100 -o /tmp/n.mtap", open("/src/tests/install/uses_cuda.py").read(), print)
assert frame.startswith("<iframe "), frame
"""
# Each begins where those before it have left the root, but pip needs no more of them than the system's packages.
WAYS = {
    "build": ("cd /src && tools/build && tools/build", "/src/build/tools/memtap"),
    "rootless": (
        "cp -r /src /home/user/src && cd /home/user/src && rm -rf build .cache && chown -R user /home/user && "
        "su user -c 'cd && chmod a-w . && cd src && tools/build'",
        "/home/user/src/build/tools/memtap",
    ),
    "install": ("cd /src && meson install -C build", "/usr/local/bin/memtap"),
    "pip": (
        "apt-get install -qy --no-install-recommends python3-venv && python3 -m venv /pip && rm -rf /src/build && "
        "/pip/bin/python -m pip install -q /src",
        "/pip/bin/memtap",
    ),
    "pipx": ("apt-get install -qy --no-install-recommends pipx && PIPX_BIN_DIR=/pipx/bin pipx install /src", "/pipx/bin/memtap"),
    "wheel": (
        "/pip/bin/python -m pip wheel -q --no-deps -w /wheels /src && python3 -m venv /fresh && "
        "/fresh/bin/python -m pip install -q --no-index /wheels/memtap-*.whl",
        "/fresh/bin/memtap",
    ),
    "demo": ("cd /src && tools/demo && test -s build/demo.html", "/src/build/tools/memtap"),
}


def python_of(way, memtap):
    """The command of a Python that has the package memtap."""
    if way in ("build", "demo", "rootless"):
        return "PYTHONPATH=/src/python python3"
    return "python3" if way == "install" else f"$(dirname $(readlink -f {memtap}))/python"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Root:
    """A folder as the root of processes in namespaces of their own, so that what is mounted ends with them."""

    def __init__(self, folder):
        self.folder = folder

    def make(self, source):
        if not os.path.exists(f"{self.folder}/etc/apt"):
            subprocess.run(["debootstrap", "--variant=minbase", SUITE, self.folder], check=True, stdout=subprocess.DEVNULL)
        for path, there in (("/etc/resolv.conf",) * 2, ("/etc/hosts",) * 2, ("/etc/pip.conf",) * 2, (CERTIFICATES, THERE)):
            if os.path.exists(path):
                shutil.copyfile(path, self.folder + there)
        archive = subprocess.run(["git", "-C", source, "archive", "HEAD"], check=True, stdout=subprocess.PIPE).stdout
        os.mkdir(f"{self.folder}/src")
        subprocess.run(["tar", "-x", "-C", f"{self.folder}/src"], input=archive, check=True)
        self.run("useradd --create-home user")

    def run(self, script):
        inside = f"mount -t proc proc {self.folder}/proc && mount --rbind /dev {self.folder}/dev && exec chroot {self.folder} bash -c \"$1\""
        certificates = {name: THERE for name in ("PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")}
        kept = {name: value for name, value in os.environ.items() if name.lower() in ("http_proxy", "https_proxy", "no_proxy")}
        begin = time.monotonic()
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "bash", "-c", inside, "bash", script],
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                 "DEBIAN_FRONTEND": "noninteractive", **certificates, **kept},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )
        if done.returncode:
            sys.exit(f"{script}: exit code {done.returncode}\n{done.stdout[-8000:]}")
        return done.stdout, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("ways", nargs="*", metavar="WAY")
    args = parser.parse_args()
    if os.geteuid() or not shutil.which("debootstrap"):
        skip("this is not root" if os.geteuid() else "there is no debootstrap")
    with tempfile.TemporaryDirectory() as folder:
        root = Root(os.path.abspath(args.keep or f"{folder}/root"))
        if not os.path.exists(f"{root.folder}/src"):
            root.make(os.path.abspath(args.source))
        for way in args.ways or WAYS:
            install, memtap = WAYS[way]
            said, seconds = root.run(install)
            assert "without its page" not in said, said
            root.run(CHECK.format(memtap=memtap))
            root.run(f"MEMTAP={memtap} {python_of(way, memtap)} -c '{MAGIC}'")
            print(f"{way}: {seconds:.0f} s", flush=True)


main()
