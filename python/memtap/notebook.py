# SPDX-License-Identifier: Apache-2.0
"""memtap in a notebook: `%load_ext memtap`, then

    %%memtap [OPTION of memtap run]... [--height N]
    records the cell and shows the page of memtap view below it

    %memtap [--height N] [TRACE]...
    shows the page of existing traces; by default, of the newest

A running kernel cannot be recorded. The cell is a separate script: it runs in a new process of the same
Python and does not see other cells. Its trace is kept only with -o FILE; otherwise it is in the page only.
"""

from __future__ import annotations

import argparse
import codecs
import html
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Callable, NoReturn, Optional

from .command import Problem, find_command, last_line

HEIGHT = 760  # of the page, in CSS pixels

# The page runs its own code and saves pictures; it has no origin, so it cannot access the notebook.
FRAME = (
    '<iframe title="memtap" sandbox="allow-scripts allow-downloads" '
    'style="width: 100%; height: {height}px; border: 1px solid #8886" srcdoc="{page}"></iframe>'
)


Say = Callable[[str], Any]  # shows text in the output cell


class Options(argparse.ArgumentParser):
    """Parse the magic's own options; memtap run and memtap view check the others."""

    def __init__(self) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self.add_argument("--height", type=int, default=HEIGHT)

    def error(self, message: str) -> NoReturn:
        raise Problem(message)


def split(options: Options, line: str) -> tuple[argparse.Namespace, list[str]]:
    try:
        known, others = options.parse_known_args(shlex.split(line))
    except ValueError as error:
        raise Problem(f"{line}: {error}") from None
    if known.height < 1:
        raise Problem(f"--height {known.height}: must be at least 1")
    return known, others


def frame_of(command: str, traces: Sequence[Any], height: int, say: Say) -> str:
    """Return the page of the traces as HTML for an output cell; it needs no network and no file."""
    with tempfile.TemporaryDirectory(prefix="memtap-") as folder:
        page = pathlib.Path(folder, "page.html")
        done = subprocess.run(
            [command, "view", "-o", page, *traces],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if not page.exists():  # for a damaged trace it has the first part
            raise Problem(last_line(done.stderr) or f"memtap view ended with exit code {done.returncode}")
        say(done.stderr)
        return FRAME.format(height=height, page=html.escape(page.read_text(encoding="utf-8")))


def run_program(command: Sequence[Any], environment: Mapping[str, str], say: Say) -> int:
    """Run it, passing on its output at once. Return its exit code, or minus its signal."""
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        assert process.stdout
        while True:
            try:
                some = process.stdout.read1()  # type: ignore[attr-defined]
                say(decoder.decode(some, final=not some))
                if not some:
                    return process.wait()
            except KeyboardInterrupt:
                # The whole process group may have received it: then the program is about to end.
                try:
                    process.wait(1)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)


def traces_in(folder: pathlib.Path) -> dict[pathlib.Path, tuple[int, int]]:
    """Return each trace with what changes when it is written."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.glob("*.mtap")}


def check_options(words: Sequence[str]) -> None:
    """Check that these are options of memtap run and not a command: the cell is the command."""
    for before, word in zip(["x=", *words], words):
        if word == "--" or (word[:1] != "-" and (before[:1] != "-" or "=" in before)):
            raise Problem(f"{word}: the cell is the program to run; only options of memtap run may precede it")


def record(line: str, cell: str, say: Say) -> Optional[str]:
    """Run the cell's text under memtap run. Return the page's frame, or None if there is no trace."""
    options = Options()
    options.add_argument("-o", "--output")
    known, others = split(options, line)
    check_options(others)
    command = find_command()
    with tempfile.TemporaryDirectory(prefix="memtap-") as folder:
        script = pathlib.Path(folder, "cell.py")
        script.write_text(cell, encoding="utf-8")
        output = pathlib.Path(known.output or pathlib.Path(folder, "cell.mtap"))
        before = traces_in(output.parent)
        # Python searches modules in a script's folder; a cell's are in the notebook's.
        path = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
        # The last line of memtap run names the trace, which is deleted unless -o was given.
        quiet = [] if known.output else ["--quiet"]
        code = run_program(
            [command, "run", "-o", output, *quiet, *others, "--", sys.executable, script],
            {"PYTHONUNBUFFERED": "1", **os.environ, "PYTHONPATH": path},
            say,
        )
        made = [path for path, version in traces_in(output.parent).items() if before.get(path) != version]
        if code:
            say(
                f"memtap: the cell {f'exited with code {code}' if code > 0 else f'was killed by signal {-code}'}"
                f"{'' if made else ' without a trace'}\n"
            )
        elif not made and not known.output:
            say("memtap: no trace: the cell did not use CUDA\n")
        return frame_of(command, sorted(made), known.height, say) if made else None


def view(line: str, say: Say) -> str:
    known, traces = split(Options(), line)
    return frame_of(find_command(), traces, known.height, say)


def magic(line: str, cell: Optional[str] = None) -> None:
    from IPython import display  # type: ignore[import-not-found,unused-ignore]
    from IPython.core.error import UsageError  # type: ignore[import-not-found,unused-ignore]

    def say(text: str) -> None:
        print(text, end="", flush=True)

    if {"-h", "--help"} & set(line.split()):
        say(__doc__)
        return
    try:
        frame = view(line, say) if cell is None else record(line, cell, say)
    except Problem as problem:
        raise UsageError(f"memtap: {problem}") from None
    if frame:
        show: Any = display.display  # some releases of IPython have no types
        show({"text/html": frame, "text/plain": "The page of memtap view"}, raw=True)


magic.__doc__ = __doc__


def load_ipython_extension(ipython: Any) -> None:
    """Called by `%load_ext memtap`."""
    ipython.register_magic_function(magic, "line_cell", "memtap")
