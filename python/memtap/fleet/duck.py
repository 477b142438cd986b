# SPDX-License-Identifier: Apache-2.0
"""DuckDB, in this process, over tables of Arrow or a dataset's files."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MEMORY = "3GB"


class Duck:
    """An engine for the questions."""

    def __init__(self, threads: int) -> None:
        duckdb = import_module("duckdb")
        self.connection = duckdb.connect()
        self.connection.execute(f"SET threads = {threads}")
        self.connection.execute(f"SET memory_limit = '{MEMORY}'")
        self.connection.execute("SET preserve_insertion_order = false")

    def give(self, name: str, table: Any) -> None:
        """Register an Arrow table under a name."""
        self.connection.register(f"given_{name}", table)
        self.connection.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM given_{name}")
        self.connection.unregister(f"given_{name}")

    def table(self, name: str, sql: str) -> None:
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {sql}")

    def rows(self, sql: str) -> list[dict[str, Any]]:
        answer = self.connection.execute(sql)
        names = [column[0] for column in answer.description or ()]
        return [dict(zip(names, row)) for row in answer.fetchall()]
