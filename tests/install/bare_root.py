#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bare_root.py SOURCE [--system SUITE] [--release FOLDER] [--keep ROOT] [WAY...]: memtap's ways in on a Debian or an Ubuntu with
nothing but its base system: every way leaves a command that records a program, reports it, and writes its page.

WAY: release (pip install of the wheel that tools/release left in FOLDER), deb (its Debian package), build (tools/build), rootless
(tools/build by a user without root, after the packages), install (meson install), pip (pip install .), pipx, wheel (pip wheel, then a
fresh environment), demo (tools/demo); without one, all. It makes the root by debootstrap in ROOT, or in a temporary folder, and takes
SOURCE's committed files. Skipped (77) where this is not root, or has no debootstrap; a quarter of an hour, so it is for `meson test
--setup all`."""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

# Of Debian 11 to 13 and Ubuntu 22.04 and 24.04; what else debootstrap knows works too.
UBUNTU = ("jammy", "noble")
OF_UBUNTU = ["--components=main,universe"], ["http://archive.ubuntu.com/ubuntu", "gutsy"]
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
# pip of an environment that is not activated: the first python3 in PATH is another one, here one that fails.
MAKE_OTHERS = "mkdir -p /others && printf '#!/bin/sh\\nexit 9\\n' >/others/python3 && chmod +x /others/python3"
# What is made ready, what is timed, the command. Each begins where those before it have left the root.
APT = "apt-get install -qy --no-install-recommends"
WAYS = {
    "release": (
        f"{APT} python3-venv && python3 -m venv /released",
        "/released/bin/python -m pip install -q --no-index /release/memtap-*.whl",
        "/released/bin/memtap",
    ),
    "deb": ("true", f"{APT} python3 /release/memtap_*.deb", "/usr/bin/memtap"),
    "build": ("true", "cd /src && tools/build && tools/build", "/src/build/tools/memtap"),
    "rootless": (
        "cp -r /src /home/user/src && cd /home/user/src && rm -rf build .cache && chown -R user /home/user && chmod a-w /home/user",
        "su user -c 'cd ~/src && tools/build'",
        "/home/user/src/build/tools/memtap",
    ),
    "install": ("true", "meson install -C /src/build", "/usr/local/bin/memtap"),
    "pip": (
        f"{APT} python3-venv && python3 -m venv /pip && rm -rf /src/build && {MAKE_OTHERS}",
        "PATH=/others:$PATH /pip/bin/python -m pip install -q /src",
        "/pip/bin/memtap",
    ),
    "pipx": (f"{APT} pipx", "PIPX_BIN_DIR=/pipx/bin pipx install /src", "/pipx/bin/memtap"),
    "wheel": (
        f"python3 -m venv /fresh && {MAKE_OTHERS}",
        "PATH=/others:$PATH /fresh/bin/python -m pip wheel -q --no-deps -w /wheels /src && /fresh/bin/python -m pip install -q --no-index /wheels/memtap-*.whl",
        "/fresh/bin/memtap",
    ),
    "demo": ("true", "cd /src && tools/demo && test -s build/demo.html", "/src/build/tools/memtap"),
}


def python_of(way, memtap):
    """The command of a Python that has the package memtap."""
    if way in ("build", "demo", "rootless"):
        return "PYTHONPATH=/src/python python3"
    return "python3" if way in ("deb", "install") else f"$(dirname $(readlink -f {memtap}))/python"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Root:
    """A folder as the root of processes in namespaces of their own, so that what is mounted ends with them."""

    def __init__(self, folder):
        self.folder = folder

    def make(self, suite, source, release):
        components, mirror = OF_UBUNTU if suite in UBUNTU else ([], [])
        if not os.path.exists(f"{self.folder}/etc/apt"):
            command = ["debootstrap", "--variant=minbase", *components, suite, self.folder, *mirror]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for path, there in (("/etc/resolv.conf",) * 2, ("/etc/hosts",) * 2, ("/etc/pip.conf",) * 2, (CERTIFICATES, THERE)):
            if os.path.exists(path):
                shutil.copyfile(path, self.folder + there)
        archive = subprocess.run(["git", "-C", source, "archive", "HEAD"], check=True, stdout=subprocess.PIPE).stdout
        os.mkdir(f"{self.folder}/src")
        subprocess.run(["tar", "-x", "-C", f"{self.folder}/src"], input=archive, check=True)
        if release:
            shutil.copytree(release, f"{self.folder}/release")
        done, *_ = self.run("useradd --create-home user && apt-get update")
        assert not done.returncode, done.stdout

    def run(self, script):
        """Run a script within the root; return its exit code, its output, and the seconds that it and the processors took."""
        inside = f"mount -t proc proc {self.folder}/proc && mount --rbind /dev {self.folder}/dev && exec chroot {self.folder} bash -c \"$1\""
        certificates = {name: THERE for name in ("PIP_CERT", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")}
        kept = {name: value for name, value in os.environ.items() if name.lower() in ("http_proxy", "https_proxy", "no_proxy")}
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "bash", "-c", inside, "bash", script],
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8",
                 "DEBIAN_FRONTEND": "noninteractive", **certificates, **kept},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return done, time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def attempt(root, way):
    """Go a way, and return how long it took, in words, and what of it failed."""
    prepare, install, memtap = WAYS[way]
    took = "not tried"
    for script in prepare, install, CHECK.format(memtap=memtap), f"MEMTAP={memtap} {python_of(way, memtap)} -c '{MAGIC}'":
        done, seconds, busy = root.run(script)
        if script is install:
            took = f"{seconds:.0f} s, {busy:.0f} s of processors"
        if done.returncode or "without its page" in done.stdout:
            return took, f"{script}: exit code {done.returncode}\n{done.stdout[-8000:]}"
    return took, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--system", metavar="SUITE", default="bookworm")
    parser.add_argument("--release", metavar="FOLDER")
    parser.add_argument("--keep", metavar="ROOT")
    parser.add_argument("ways", nargs="*", metavar="WAY")
    args = parser.parse_intermixed_args()
    if os.geteuid() or not shutil.which("debootstrap"):
        skip("this is not root" if os.geteuid() else "there is no debootstrap")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        root = Root(os.path.abspath(args.keep or f"{folder}/root"))
        if not os.path.exists(f"{root.folder}/src"):
            root.make(args.system, os.path.abspath(args.source), args.release)
        for way in args.ways or [way for way in WAYS if args.release or way not in ("release", "deb")]:
            took, fault = attempt(root, way)
            print(f"{args.system}: {way}: {took}{', failed' if fault else ''}", flush=True)
            failed += [fault] if fault else []
    sys.exit("\n".join(failed) or 0)


main()
