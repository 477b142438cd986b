# SPDX-License-Identifier: Apache-2.0
"""memtap fleet and memtap export --format parquet, which the command memtap starts."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import _library
from ..command import Problem
from . import Asked, ask, dataset, folder

NEEDED = {"fleet": ("pyarrow", "duckdb"), "parquet": ("pyarrow",)}


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Problem(f"{self.prog}: {message}")


def need(what: str) -> None:
    """Check for every package before doing anything."""
    missing = []
    for package in NEEDED[what]:
        try:
            importlib.import_module(package)
        except ImportError:
            missing.append(package)
    if missing:
        raise Problem(
            f"{'fleet' if what == 'fleet' else 'export --format parquet'}: {' and '.join(missing)} not installed for "
            f"{sys.executable}; {sys.executable} -m pip install {' '.join(missing)}"
        )


def fleet(arguments: Sequence[str]) -> None:
    parser = Parser(prog="fleet", add_help=False)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--job", default="")
    parser.add_argument("--stages", type=int, default=0)
    parser.add_argument("--tensor-parallel", type=int, default=0)
    parser.add_argument("folder")
    given = parser.parse_args(arguments)
    if given.stages < 0 or given.tensor_parallel < 0:
        raise Problem("fleet: --stages and --tensor-parallel must be at least 1")
    need("fleet")
    answers = ask(given.folder, Asked(given.job, given.stages, given.tensor_parallel))
    sys.stdout.write(answers.as_json() if given.format == "json" else answers.as_text())


def parquet(arguments: Sequence[str]) -> None:
    parser = Parser(prog="export", add_help=False)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("traces", nargs="+")
    given = parser.parse_args(arguments)
    need("parquet")
    found = [one for trace in given.traces for one in folder.find(trace)]
    written, skipped = dataset.write(found, given.output)
    for trace, reason in skipped:
        print(f"memtap: {trace}: {reason}; left out", file=sys.stderr)
    if not written:
        raise Problem(f"{given.output}: none of the {len(found)} traces can be exported")
    print(f"memtap: {given.output}: {written} traces; compare them: memtap fleet {given.output}", file=sys.stderr)


def main(arguments: Sequence[str]) -> int:
    try:
        _library.library()
        {"fleet": fleet, "parquet": parquet}[arguments[0]](arguments[1:])
        sys.stdout.flush()
    except Problem as problem:
        print(f"memtap: {''.join(c if c.isprintable() else ' ' for c in str(problem))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
