# SPDX-License-Identifier: Apache-2.0
"""The Pythons to test with: those named in MEMTAP_TEST_PYTHONS (separated by colons), else python3 and
python3.N on the PATH and pyenv's."""
import glob
import os
import shutil
import subprocess

VERSIONS = range(8, 16)


def found():
    """(minor version, path), one a version."""
    by_version = {}
    named = os.environ.get("MEMTAP_TEST_PYTHONS")
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    candidates = named.split(":") if named else (
        ["python3"] + [f"python3.{n}" for n in VERSIONS] + glob.glob(f"{root}/versions/3*/bin/python3"))
    for candidate in candidates:
        path = shutil.which(candidate)
        ask = "import sys; print(*sys.version_info[:2], sys.executable)"
        answer = path and subprocess.run([path, "-c", ask], text=True, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL).stdout.split()
        if answer and answer[0] == "3" and int(answer[1]) in VERSIONS:
            by_version.setdefault(int(answer[1]), answer[2])
    return sorted(by_version.items())
