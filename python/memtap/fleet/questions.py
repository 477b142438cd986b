# SPDX-License-Identifier: Apache-2.0
"""The statements of questions.sql, and how an engine answers them."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
import re
from collections.abc import Iterator
from typing import Any, Protocol


def job_name(text: str) -> str:
    """Return a job's name without characters that are special in SQL or in a path."""
    return re.sub(r"[^A-Za-z0-9._+@-]", "_", text)


@dataclasses.dataclass(frozen=True)
class Asked:
    """Settings of the questions. stages, tensor_parallel: how the ranks are divided, 0: unknown (ranks of a
    stage are consecutive, and so are those within it that share tensors). A rank is an outlier if it is further from
    its group's median than `mads` times the group's spread (the median distance from the median, times 1.4826), than
    least_share of the group's peak, and than least_bytes."""

    job: str = ""
    stages: int = 0
    tensor_parallel: int = 0
    mads: float = 6.0
    least_share: float = 0.02
    least_bytes: int = 1 << 20

    def as_sql(self) -> str:
        """Return the statement that creates the table of these settings."""
        return (
            f"SELECT '{job_name(self.job)}' AS job, CAST({self.stages} AS BIGINT) AS stages, CAST({self.tensor_parallel} AS BIGINT) AS "
            f"tensor_parallel, CAST({self.mads} AS DOUBLE) AS mads, CAST({self.least_share} AS DOUBLE) AS least_share, "
            f"CAST({self.least_bytes} AS BIGINT) AS least_bytes"
        )


@dataclasses.dataclass(frozen=True)
class Statement:
    """kind: "table" or "question"."""

    kind: str
    name: str
    sql: str


class Engine(Protocol):
    """Runs statements: DuckDB (duck.py) or Spark (memtap.spark)."""

    def table(self, name: str, sql: str) -> None:
        """Create a temporary table."""

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of an answer."""


@functools.cache
def statements() -> tuple[Statement, ...]:
    text = pathlib.Path(__file__).with_name("questions.sql").read_text(encoding="utf-8")
    return tuple(_split(text))


def _median(words: str) -> str:
    """Return the statement for "of VALUE in TABLE by KEYS": no engine has a median that counts a row several times. upto: the
    position after this value's ranks, in the order of values."""
    of, value, within, table, by, *keys = words.split(maxsplit=5)
    if (of, within, by) != ("of", "in", "by"):
        raise ValueError(words)
    names = keys[0]
    return f"""SELECT {names}, max(total) AS n,
  CAST(floor((sum(CASE WHEN 2 * (upto - ranks) < total AND total <= 2 * upto THEN value ELSE 0 END)
    + sum(CASE WHEN 2 * (upto - ranks) <= total AND total < 2 * upto THEN value ELSE 0 END)) / 2) AS BIGINT) AS median
FROM (SELECT {names}, value, ranks, CAST(sum(ranks) OVER (PARTITION BY {names}) AS BIGINT) AS total,
    sum(ranks) OVER (PARTITION BY {names} ORDER BY value ROWS UNBOUNDED PRECEDING) AS upto
  FROM (SELECT {names}, {value} AS value, sum(ranks) AS ranks FROM {table} GROUP BY {names}, {value}) v) w
GROUP BY {names}"""


def _split(text: str) -> Iterator[Statement]:
    kind = name = ""
    lines: list[str] = []
    for line in [*text.splitlines(), "-- question: "]:
        head, _, rest = line.removeprefix("-- ").partition(": ") if line.startswith("-- ") else ("", "", "")
        if head in ("table", "question", "median"):
            if name:
                yield Statement(kind, name, "\n".join(lines).strip())
            kind, name, lines = head, rest.strip(), []
        if head == "median":
            name, _, rest = rest.partition(": ")
            kind, lines = "table", [_median(rest)]
        elif not line.startswith("--"):
            lines.append(line)


BEFORE = ("jobs",)  # about all jobs: which one to select


def jobs(engine: Engine) -> list[dict[str, Any]]:
    """Return the jobs, the one with most traces first."""
    return engine.rows(next(one.sql for one in statements() if one.name == "jobs"))


def answers(engine: Engine, asked: Asked) -> dict[str, list[dict[str, Any]]]:
    """Return the answers to all questions about a job, and the name of its newest run."""
    engine.table("asked", asked.as_sql())
    found: dict[str, list[dict[str, Any]]] = {}
    for one in statements():
        if one.kind == "table":
            engine.table(one.name, one.sql)
        elif one.name not in BEFORE:
            found[one.name] = engine.rows(one.sql)
    found["newest"] = engine.rows("SELECT run FROM newest")
    return found
