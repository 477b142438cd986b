# SPDX-License-Identifier: Apache-2.0
"""The ways in which memtap reads a trace that somebody else made."""
from pathlib import Path

LIST = Path(__file__).resolve().parents[2] / "tests/fuzz/commands.txt"
# Those that start Python, node or other programs, or need the page, which fuzz-commands has not. {d}: a folder with the trace as
# two ranks. A command after && reads what the one before it has written.
MORE = [
    "export -f parquet -o {o} {}",
    "view -o {o} {}",
    "view -o {o} {} {}",
    "diff --html {o} {} {}",
    "history add --db {o} {} && history show --db {o} && history list --db {o} && history trend --db {o}",
    "compact -o {o} {} && report {o}",
    "nightly --folder {o} -- sh night.sh {} && nightly --folder {o} -- sh night.sh {}",
    "fleet {d}",
    "node {page} {}",
    *(f"python ask.py mcp {tool} {{}}" for tool in ("report", "oom", "plan", "diff", "blocks")),
    *(f"python ask.py table {table} {{}}" for table in ("blocks", "events", "stacks", "categories", "phases", "ranks", "samples", "growth")),
]
# For ask.py: an assistant's client asks a tool of the MCP server; a program reads a table by the library.
ASK = """import os, sys
what, name, trace = sys.argv[1:]
def table():
    import memtap
    try:
        with memtap.open(trace, damaged=True) as read:
            print(len(getattr(read, name)()))
    except memtap.Problem as problem:
        sys.exit(f"memtap: {problem}")
async def mcp():
    from mcp import Client, StdioServerParameters
    asked = {"old": trace, "new": trace} if name == "diff" else {"trace": trace}
    async with Client(StdioServerParameters(command=sys.executable, args=["-m", "memtap.mcp"], env=dict(os.environ))) as client:
        answer = await client.call_tool(name, asked)
    print("refused:" if answer.is_error else "answered:", str(answer.content)[:200])
if what == "table":
    table()
else:
    __import__("anyio").run(mcp)
"""
NIGHT = 'cp "$1" "$MEMTAP_OUTPUT"\n'
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


def commands_of(way, trace, made, folder, page):
    """The commands of a line, each a list of words."""
    names = {"{}": trace, "{o}": made, "{d}": folder, "{page}": page}
    return [[names.get(word, word) for word in command.split()] for command in way.split(" && ")]
