# SPDX-License-Identifier: Apache-2.0
"""The command memtap, from Python."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, Optional, Union

MARK = "memtap: "


class Problem(Exception):
    """An error, in one line for the user: where, what, and what to do."""


def beside() -> list[pathlib.Path]:
    """Return where the command is, if it was installed with this package or with this Python."""
    import sysconfig

    site = pathlib.Path(__file__).resolve().parent.parent
    # site-packages of an environment or of a user (lib/pythonX.Y/site-packages), or the folder of pip --target
    tops = [site.parents[2], site] if len(site.parents) > 2 else [site]
    folders: list[Any] = [
        *(top / "bin" for top in tops),
        sysconfig.get_path("scripts"),
        pathlib.Path(sys.executable).parent,
    ]
    return [pathlib.Path(folder, "memtap") for folder in folders]


def find_command() -> str:
    """Return the path of the command memtap: $MEMTAP, that of this Python's environment, or the first in PATH."""
    named = os.environ.get("MEMTAP")
    candidates: list[Any] = [named] if named else [*beside(), "memtap"]
    for candidate in candidates:
        found: Optional[str] = shutil.which(str(candidate))
        if found:
            return found
    raise Problem(
        f"$MEMTAP is {named}, which is not a command"
        if named
        else "no command memtap next to this Python or in PATH; install it, or set MEMTAP to its path"
    )


def limits(
    memory: Union[int, str, None] = None, output: Union[int, str, None] = None, events: Optional[int] = None
) -> None:
    """Limit each reading of traces from now on, in this process and its children: bytes of memory and of
    output (or a text: "2 GiB"), and events. A small hostile file can expand to any number of them. None: by the size of the
    traces, which is more than recordings need."""
    for name, most in (("MEMORY", memory), ("OUTPUT", output), ("EVENTS", events)):
        if most is None:
            os.environ.pop(f"MEMTAP_MOST_{name}", None)
        else:
            os.environ[f"MEMTAP_MOST_{name}"] = str(most)


def last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith(MARK)] or text.splitlines()
    return lines[-1][len(MARK) :] if lines and lines[-1].startswith(MARK) else lines[-1] if lines else ""


def run(*arguments: Any, good: Sequence[int] = (0,), most: Optional[int] = None) -> str:
    """Return what the command prints. Raise Problem if it ends with a code other than `good`, or prints more than `most` bytes."""
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            [find_command(), *map(os.fspath, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process:
            assert process.stdout
            output = process.stdout.read(-1 if most is None else most + 1)
            if most is not None and len(output) > most:
                process.kill()
                raise Problem(
                    f"the output of memtap {arguments[0]} exceeds {most >> 20} MiB; request less, or run it in a shell"
                )
        errors.seek(0)
        said = errors.read().decode("utf-8", "replace")
    if process.returncode not in good:
        raise Problem(last_line(said) or f"memtap {arguments[0]} ended with exit code {process.returncode}")
    return output.decode("utf-8", "replace")
