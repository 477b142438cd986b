# SPDX-License-Identifier: Apache-2.0
"""test_wheel.py SOURCE BUILD CUDA_HEADERS PAGE_TOOLS: builds the wheel as pip does in a virtual environment that is not activated (the
first python3 in PATH is another one, here one that fails), installs it into a fresh virtual environment, and records and explains a
program there. Skipped (77) where MEMTAP_TEST_PYTHON has no meson-python."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from installed import check_there, check_works, run

source, build, headers, page_tools = sys.argv[1:]
python = os.environ.get("MEMTAP_TEST_PYTHON", "")

# Of the system, not of packages: the C library, and what GCC's own code needs.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
          "libgcc_s.so.1"}
OF_PYTORCH = {"libcudasim-values.so": {"libstdc++.so.6"}}  # loaded only where PyTorch is, which has loaded that


def needed(path):
    """The libraries that a file says it needs."""
    return set(re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", path)))


PACKAGE = """
import os, sys
import memtap
sys.path.insert(0, sys.argv[1])
import arrow
trace = memtap.open("trace.mtap")
rows = arrow.rows(trace.blocks())
assert sum(row["size"] for row in rows) == trace.report().allocated == 10 << 20, rows
assert len(arrow.rows(trace.events())) > 10 and memtap.find_command().startswith(sys.prefix)
assert memtap._library.library()._name.startswith(sys.prefix), memtap._library.library()
memtap.load_ipython_extension
print(sys.version_info[:2])
"""
READS_ARROW = pathlib.Path(__file__).resolve().parent.parent / "python"


def others():
    """Other Pythons of this machine, the oldest and a newer one: the wheel is for every one."""
    for name in "python3.9", "python3.13":
        for candidate in [shutil.which(name), *map(str, pathlib.Path.home().glob(f".pyenv/versions/{name[6:]}*/bin/{name}"))]:
            if candidate and not subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode:
                yield candidate
                break


def check_package(base, wheel, folder):
    """The package in a fresh environment of a Python, with a trace that its own command records there. (Without a pip of its own,
    which takes longer than the rest: that of this Python serves.)"""
    venv = pathlib.Path(folder, "venv-" + pathlib.Path(base).name).resolve()
    run(base, "-m", "venv", "--without-pip", venv)
    run(python, "-m", "pip", "--python", venv / "bin" / "python", "install", "--no-index", "--no-deps", wheel)
    check_works(venv / "bin" / "memtap", venv / "bin" / "python", folder)
    print(run(venv / "bin" / "python", "-c", PACKAGE, READS_ARROW, cwd=folder, env={"PATH": "/usr/bin:/bin"}).strip())


if not python or subprocess.run([python, "-c", "import mesonpy"], stderr=subprocess.DEVNULL).returncode:
    print("MEMTAP_TEST_PYTHON has no meson-python")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    another = pathlib.Path(folder, "another", "python3")
    another.parent.mkdir()
    another.write_text("#!/bin/sh\necho not the Python that pip builds with >&2\nexit 9\n")
    another.chmod(0o755)
    # A copy beside the build has its objects. With its options the commands are the same, so that nothing is compiled again.
    with tempfile.TemporaryDirectory(prefix="build-wheel-", dir=source) as copy:
        shutil.copytree(build, copy, symlinks=True, dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("tests", "meson-*"))
        settings = [f"build-dir={copy}", "setup-args=-Dbuildtype=debugoptimized", "setup-args=-Db_ndebug=false",
                    "setup-args=-Dwerror=true", f"setup-args=-Dnvidia_include={headers}", f"setup-args=-Dpage_tools={page_tools}"]
        run(python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder,
            *(f"--config-settings={setting}" for setting in settings), source,
            env={**os.environ, "PATH": f"{another.parent}:{os.environ['PATH']}"})
    wheel = next(pathlib.Path(folder).glob("memtap-*-py3-none-*.whl"))

    for other in others():
        check_package(other, wheel, folder)
    run(python, "-m", "venv", "--without-pip", folder + "/venv")
    venv = pathlib.Path(folder, "venv").resolve()
    run(python, "-m", "pip", "--python", venv / "bin" / "python", "install", "--no-index", wheel)
    points = run(venv / "bin" / "python", "-c", "from importlib.metadata import distribution as d; print(d('memtap').entry_points)")
    assert "memtap.pytest_plugin" in points, points
    memtap = venv / "bin" / "memtap"
    check_works(memtap, venv / "bin" / "python", folder)
    print(run(venv / "bin" / "python", "-c", PACKAGE, READS_ARROW, cwd=folder, env={"PATH": "/usr/bin:/bin"}).strip())
    beside = run(venv / "bin" / "python", "-c", "import memtap; print(memtap.find_command())", env={"PATH": "/usr/bin:/bin"}, cwd=folder)
    assert beside.strip() == str(memtap), beside
    check_there(venv / "share", "man/man1/memtap-report.1", "bash-completion/completions/memtap.bash")

    files = [memtap, *(venv / "lib" / "memtap").rglob("*.so*")]
    assert len(files) > 20
    carried = {path.name for path in files}
    for path in files:
        more = needed(path) - SYSTEM - carried - OF_PYTORCH.get(path.name, set())
        assert not more, f"{path.name} needs {more}"
    print(f"{wheel.stat().st_size:,} bytes, {len(files)} programs and libraries")
