# SPDX-License-Identifier: Apache-2.0
"""What the tests of installations share."""
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parent / "uses_cuda.py"


def run(*command, **more):
    """What a command prints; where it fails, so does the test."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def check_works(memtap, python, folder):
    """It records a program on its own simulated device, and explains it, as text and as a page: folder/trace.mtap."""
    run(memtap, "run", "--simulate", "h100", "-o", "trace.mtap", "--", python, PROGRAM, cwd=folder)
    assert "10.00 MiB allocated" in run(memtap, "report", "trace.mtap", cwd=folder)
    for command in ("view", "-o", "trace.html"), ("report", "--html", "trace.html"):
        run(memtap, *command, "trace.mtap", cwd=folder)
        page = pathlib.Path(folder, "trace.html")
        assert "<title>" in page.read_text() and page.stat().st_size > 200_000, (command, page.stat().st_size)
        page.unlink()


def check_there(prefix, *paths):
    for path in paths:
        assert (pathlib.Path(prefix) / path).stat().st_size, path
