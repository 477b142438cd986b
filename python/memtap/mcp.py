# SPDX-License-Identifier: Apache-2.0
"""python -m memtap.mcp: memtap for assistants that use the Model Context Protocol, over standard input and output.

    pip install "memtap[mcp]"
    claude mcp add memtap -- python -m memtap.mcp       # or as another client registers a server

Each tool returns the JSON that the command of its name prints with --format json: the findings and their evidence (rules,
certainty, lines). Tools change nothing and use no network. The package mcp is the protocol's own SDK."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from typing import Any, Optional

from .command import Problem, run

NAME = "memtap"
GUIDE = (
    "Traces (*.mtap) are recordings of GPU memory. Start with report: the peak by category and line. Then use oom if the "
    "program ran out of memory, plan for settings and changes that need less, diff for two runs, blocks for single blocks. "
    "Sizes are bytes, times nanoseconds. certainty says how sure memtap is of a category."
)
MOST_ROWS = 1000
MOST_ANSWER = 8 << 20  # bytes: parsed, checked and packed again, the JSON uses ten times as much


def read(*arguments: Any, good: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """Return what a command prints as JSON, or its message."""
    found = json.loads(run(*arguments, good=good, most=MOST_ANSWER))
    return found if isinstance(found, dict) else {"rows": found}


def report(trace: str, at: Optional[str] = None) -> dict[str, Any]:
    """Break down the peak of a trace: bytes by category, call site and module, with the rule behind each category and its
    certainty. trace: a file, or a folder with the traces of a job. at: another moment ("end", "oom", "1.5s", "step:3")."""
    return read("report", "--format", "json", *([f"--at={at}"] if at else []), "--", trace)


def oom(trace: str) -> dict[str, Any]:
    """Explain why the program ran out of GPU memory: the request that failed, what was live, and which settings or changes would
    have made it fit; each states whether it was replayed or modelled."""
    return read("oom", "--format", "json", "--", trace)


def plan(trace: str, memory: Optional[str] = None) -> dict[str, Any]:
    """Compute what PyTorch's allocator would reserve with other settings, and after changes to the program, by replaying its requests.
    memory: the card's size, such as "24GiB"."""
    return read("plan", "--format", "json", *([f"--memory={memory}"] if memory else []), "--", trace, good=(0, 1))


def diff(old: str, new: str) -> dict[str, Any]:
    """Explain why the peaks of two runs differ, by category and by line, largest first. old, new: traces."""
    return read("diff", "--format", "json", "--", old, new, good=(0, 1))


def blocks(trace: str, at: str = "peak", top: int = 50) -> dict[str, Any]:
    """List the largest blocks that were live at a moment, each with its category, rule, line, module and age. top: how many, at most 1000."""
    return read(
        "blocks",
        "--format",
        "json",
        f"--at={at}",
        "--sort",
        "bytes",
        "--top",
        str(max(1, min(top, MOST_ROWS))),
        "--",
        trace,
    )


TOOLS = (report, oom, plan, diff, blocks)


def answer(tool: Any, failure: Any) -> Any:
    """Return the tool, with memtap's message as its error."""

    @functools.wraps(tool)
    def ask(*arguments: Any, **named: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = tool(*arguments, **named)
            return found
        except (Problem, ValueError) as problem:
            raise failure(str(problem)) from None

    return ask


def server() -> Any:
    """Return the server of the package mcp, with all tools."""
    sdk = importlib.import_module("mcp.server")
    failures = importlib.import_module("mcp.server.mcpserver.exceptions")
    made = sdk.MCPServer(NAME, instructions=GUIDE, log_level="WARNING")
    for tool in TOOLS:
        made.add_tool(answer(tool, failures.ToolError))
    return made


def main() -> int:
    """Serve until the client disconnects."""
    try:
        serving = server()
    except (ImportError, AttributeError):
        print('memtap: the server needs the package mcp, 2.0 or newer: pip install "memtap[mcp]"', file=sys.stderr)
        return 2
    serving.run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main())
