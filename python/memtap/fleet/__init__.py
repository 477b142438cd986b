# SPDX-License-Identifier: Apache-2.0
"""Many ranks at once: which differ from the others of their role, grow, or are closest to running out of memory.

    answers = memtap.fleet.ask("runs/")           # a folder of traces, or a dataset (memtap export --format parquet)
    print(answers.as_text())
    answers.found["outliers"]                     # rows of each question of questions.sql

Needs pyarrow and duckdb. memtap.spark runs the same queries on many machines."""

from __future__ import annotations

from ..command import Problem
from . import dataset, folder
from .answers import Answers
from .questions import Asked, Engine, answers, jobs

__all__ = ["Answers", "Asked", "ask", "ask_engine"]


def ask(path: str, asked: Asked = Asked()) -> Answers:
    """Answer all questions about a folder of traces or a dataset with DuckDB. Raise Problem if it has no comparable trace."""
    from .duck import Duck

    if dataset.is_dataset(path):
        tables, skipped = dataset.read(path), dataset.left_out(path)
    else:
        tables, skipped = folder.read(folder.find(path))
    engine = Duck(folder.cores())
    for name in list(tables):
        engine.give(name, tables.pop(name))
    return ask_engine(engine, asked, path, skipped)


def ask_engine(engine: Engine, asked: Asked, path: str, skipped: list[tuple[str, str]]) -> Answers:
    """The same with an engine that has the tables runs, sites and growth."""
    from dataclasses import replace

    known = jobs(engine)
    if not known:
        reason = f"; {skipped[0][0]}: {skipped[0][1]}" if skipped else ""
        raise Problem(f"{path}: no trace can be compared{reason}")
    names = [row["job"] for row in known]
    if asked.job and asked.job not in names:
        raise Problem(f"{path}: no job '{asked.job}'; the jobs are {', '.join(names[:8])}")
    chosen = asked.job or names[0]
    return Answers(known, chosen, answers(engine, replace(asked, job=chosen)), skipped)
