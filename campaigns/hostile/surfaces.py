# SPDX-License-Identifier: Apache-2.0
"""The ways in which memtap reads a trace that somebody else made."""
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "tests/fuzz/commands.txt"
# Those that start Python or need the page, which fuzz-commands has not.
MORE = ["export -f parquet -o {o} {}", "view -o {o} {}", "view -o {o} {} {}", "diff --html {o} {} {}"]
BUDGET = """[limits]
peak = "1 GiB"
growth = "1 MiB"
[category]
every = "1 GiB"
[phase]
every = "1 GiB"
[module]
"*a*a*b" = "1 GiB"
every = "1 GiB"
[site]
"*a*a*b:*" = "1 GiB"
every = "1 GiB"
"""
RULES = """category mine
mine "of a name" file=*a*a*a*b function=*a*a*b
inputs "large" size=1MiB.. phase=forward
"""


def trace_ways():
    """All command lines, {} the trace and {o} a new file."""
    return [line for line in LIST.read_text().splitlines() if not line.startswith("#")] + MORE


def words_of(way, trace, made):
    return [word.replace("{}", trace).replace("{o}", made) for word in way.split()]
