# SPDX-License-Identifier: Apache-2.0
"""table.py DOCUMENT EXECUTED COVERAGE: adds the executions of EXECUTED ("harness,executions,seconds" a line, which are
then forgotten) to the document's table of harnesses, and writes what coverage.py told into its table of folders."""

import collections
import sys

document, executed, coverage = sys.argv[1:4]
START = "| harness | executions |"


def number(text):
    return int(text.replace(",", ""))


def rows_of(lines, head):
    """The lines of the table after its head and its line of dashes: from, to."""
    begin = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    end = begin
    while end < len(lines) and lines[end].startswith("|"):
        end += 1
    return begin, end


def main():
    with open(document, encoding="utf-8") as file:
        lines = file.read().split("\n")
    runs = collections.defaultdict(lambda: [0, 0])
    with open(executed, encoding="utf-8") as file:
        for line in file:
            name, executions, seconds = line.strip().split(",")
            runs[name][0] += int(executions)
            runs[name][1] += int(seconds)
    begin, end = rows_of(lines, START)
    rows = {}
    for line in lines[begin:end]:
        name, before, speed, found = (cell.strip() for cell in line.strip("|").split("|"))
        rows[name.strip("`")] = [number(before), speed, found]
    for name, (executions, seconds) in runs.items():
        row = rows.setdefault(name, [0, "", ""])
        row[0] += executions
        row[1] = f"{round(executions / max(1, seconds)):,}"
    made = [
        f"| `{name}` | {row[0]:,} | {row[1]} | {row[2]} |".replace("|  |", "| |")
        for name, row in sorted(rows.items(), key=lambda item: -item[1][0])
    ]
    lines[begin:end] = made
    begin, end = rows_of(lines, "| folder | lines |")
    with open(coverage, encoding="utf-8") as file:
        folders = [line.split() for line in file if "%" in line]
    if folders:
        lines[begin:end] = [f"| {words[0]} | {words[1]} % | {words[5]} % |" for words in folders]
    with open(document, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    with open(executed, "w", encoding="utf-8"):
        pass
    print(sum(row[0] for row in rows.values()), "executions in all")


main()
