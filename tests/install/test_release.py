# SPDX-License-Identifier: Apache-2.0
"""test_release.py SOURCE TEST...: what tools/release makes. The same commit in two folders gives the same wheel and the same Debian
package, in which lintian, where it is there, finds nothing; the wheel passes its check, installs, records and explains a program, and
passes each TEST: a script and its arguments after the command, with commas between them, `command` and `library` for the wheel's own.
The check and the hashes find what is damaged. Skipped (77) where this is not Debian 12, whose libraries the wheel carries. Minutes, so
it is for `meson test --setup all`."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from installed import check_works, run

source, tests = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
if 'VERSION_CODENAME=bookworm' not in pathlib.Path("/etc/os-release").read_text():
    print("this is not Debian 12")
    sys.exit(77)


def must_fail(what, *command, **more):
    """A command that must name a fault in one line."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)
    assert done.returncode == 1 and what in done.stderr and len(done.stderr.splitlines()) == 1, (what, done)


def make(folder):
    """The committed files in a folder of that name, and what tools/release makes there."""
    folder.mkdir()
    archive = subprocess.run(["git", "-C", source, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
    run(folder / "tools/release", cwd=folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return sorted((folder / "dist").iterdir())


def rewrite(wheel, out, change):
    """A wheel with other bytes in its files: change(name, data) returns them, or None for no such file."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)


def check_tests(venv):
    """zig's linker and C++ library are not GCC's: what other tests say of GCC's build holds of the wheel."""
    memtap, library = venv / "bin/memtap", venv / "lib/memtap/libmemtap.so"
    own = {"command": str(memtap), "library": str(library)}
    environment = {**os.environ, "MEMTAP": str(memtap), "MEMTAP_TEST_SHIM": str(library), "LD_LIBRARY_PATH": os.environ["MEMTAP_TEST_BUILD"]}
    for test in tests:
        done = subprocess.run([sys.executable, *(own.get(word, word) for word in test.split(","))], env=environment, check=False)
        assert done.returncode == 0, test
    assert tests


def check_faults(tree, wheel, folder):
    check = [sys.executable, tree / "packaging/check_wheel.py"]
    bad = folder / wheel.name
    for what, change in (
        ("lacks data/share/memtap/memtap.html", lambda name, data: None if name.endswith("/memtap.html") else data),
        ("is not what RECORD says", lambda name, data: data + b"\n" if name.endswith("/METADATA") else data),
        ("differ", lambda name, data: data.replace(b"2_28", b"2_17") if name.endswith("/WHEEL") else data),
        ("there is no memtap-", lambda name, data: None if name.endswith(".cdx.json") else data),
        ("is not position independent", lambda name, data: data[:16] + b"\2" + data[17:] if name.endswith("/memtap") else data),
        ("needs lib", lambda name, data: data.replace(b"libm.so.6\0", b"libx.so.6\0") if name.endswith("/memtap") else data),
    ):
        rewrite(wheel, bad, change)
        done = subprocess.run([*check, bad], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and what in done.stderr, (what, done)
    older = folder / wheel.name.replace("2_28", "2_17")
    rewrite(wheel, older, lambda name, data: data.replace(b"2_28", b"2_17") if name.endswith("/WHEEL") else data)
    done = subprocess.run([*check, older], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "needs GLIBC_2.28" in done.stderr, done


def check_downloads(tree):
    work = tree / ".cache/release"
    zig = next(work.glob("python/lib/python*/site-packages/ziglang/zig"))
    command = [sys.executable, tree / "packaging/sysroot.py", work, zig]
    # What lies there is asked for its hash each time.
    package = next((work / "downloads").glob("libzstd-dev_*"))
    package.write_bytes(package.read_bytes() + b"\n")
    run(*command)
    table = work / "table.csv"
    table.write_text((tree / "packaging/libraries.csv").read_text().replace(",5d079cf5", ",5d079cf6"))
    must_fail("is not the file that packaging/libraries.csv means", *command, table)
    table.write_text((tree / "packaging/libraries.csv").read_text().replace("1.5.4+dfsg2-5", "1.5.3-0"))
    must_fail("apt-get cannot fetch libzstd-dev=1.5.3-0", *command, table)
    must_fail("apt-get, which fetches the libraries, is missing", *command, table, env={"PATH": "/nonexistent"})


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    first, second = make(work / "one"), make(work / "other")
    assert [path.name for path in first] == [path.name for path in second] and len(first) == 2, (first, second)
    for one, other in zip(first, second):
        assert one.read_bytes() == other.read_bytes(), one.name
    wheel = next(path for path in first if path.suffix == ".whl")
    if shutil.which("lintian"):
        said = run("lintian", "--allow-root", *(path for path in first if path.suffix == ".deb"))
        assert not said, said
    run(sys.executable, "-m", "venv", work / "venv")
    run(work / "venv/bin/python", "-m", "pip", "install", "--no-index", wheel)
    check_works(work / "venv/bin/memtap", work / "venv/bin/python", work)
    check_tests(work / "venv")
    check_faults(work / "one", wheel, work)
    check_downloads(work / "one")
    assert wheel.stat().st_size < 5 << 20, wheel.stat().st_size
    print(f"{wheel.name}: {wheel.stat().st_size:,} bytes")
