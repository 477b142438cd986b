# SPDX-License-Identifier: Apache-2.0
"""CPython's offsets for a walk of its objects are those of its headers, for each Python found that has them (pythons.py) and that
memtap knows the objects of: 3.8 to 3.15."""
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import pythons

here = pathlib.Path(__file__).resolve().parent
ASK = "import sysconfig; print(sysconfig.get_path('include'))"


def test(python, compiler, work):
    """0, 1, or None: it has no headers."""
    include = pathlib.Path(subprocess.run([python, "-c", ASK], check=True, text=True, stdout=subprocess.PIPE).stdout.strip())
    if not (include / "internal").is_dir():
        return None
    program = pathlib.Path(work) / "layouts"
    done = subprocess.run([*compiler, "-std=gnu17", "-w", f"-I{here.parents[1]}", f"-I{include}", f"-I{include / 'internal'}",
                           "-o", program, here / "holder-layouts.c"])
    return done.returncode or subprocess.run([program]).returncode


def main():
    compiler = sys.argv[1:] or sysconfig.get_config_var("CC").split()
    with tempfile.TemporaryDirectory() as work:
        results = {minor: test(python, compiler, work) for minor, python in pythons.found()}
    tested = [f"3.{minor}" for minor, result in results.items() if result is not None]
    print("compared:", ", ".join(tested) or "none has headers")
    sys.exit(1 if any(results.values()) else 0 if tested else 77)


main()
