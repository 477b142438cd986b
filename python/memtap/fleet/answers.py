# SPDX-License-Identifier: Apache-2.0
"""The answers as text of 80 columns, and as JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

from .._library import size_text

WIDTH = 80
MOST_RANKS = 12  # outliers shown
MOST_THINGS = 3  # of each
MOST_ROWS = 10
COMPARED = (
    "role",
    "kind",
    "category",
    "function",
    "file",
    "line",
    "module",
    "bytes",
)  # of an outlier; equal ones have one text
MOST_RUNS = 4  # side by side
MARKS = {"likely": "~", "guess": "?"}  # before a category, as in memtap report
LEGEND = "~ likely, by place or use; ? a guess, by lifetime or size"
JSON_VERSION = 1

DOUBTFUL = ("outliers", "late", "growing", "imbalance", "changes")  # the questions whose rows name a category

Row = dict[str, Any]


@dataclasses.dataclass
class Answers:
    """What was found about one job. skipped: traces that are not compared, with the reason."""

    jobs: list[Row]
    job: str
    found: dict[str, list[Row]]
    skipped: Sequence[tuple[str, str]] = ()

    @property
    def run(self) -> str:
        """The newest run, the subject of most answers."""
        newest = self.found["newest"]
        return str(newest[0]["run"]) if newest else ""

    def of_run(self, question: str) -> list[Row]:
        return [row for row in self.found[question] if row["run"] == self.run]

    def as_json(self) -> str:
        answers = {name: rows for name, rows in self.found.items() if name != "newest"}
        whole = {
            "version": JSON_VERSION,
            "job": self.job,
            "run": self.run,
            "jobs": self.jobs,
            **answers,
            "skipped": [{"trace": trace, "reason": reason} for trace, reason in self.skipped],
        }
        return json.dumps(whole, indent=2, ensure_ascii=True) + "\n"

    def _marks(self) -> set[str]:
        """Return how certain the shown categories are."""
        return {row["certainty"] for question in DOUBTFUL for row in self.of_run(question) if row["certainty"]}

    def as_text(self) -> str:
        lines: list[str] = []
        for part in (_head, _stages, _outliers, _late, _growing, _nearest, _imbalance, _over_time, _nights, _others):
            lines += part(self)
        if not self._marks().isdisjoint(MARKS):
            lines += ["", f" {LEGEND}"]
        return "\n".join(lines) + "\n"


def safe(text: Any) -> str:
    """Return foreign text so that it cannot act on a terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))


def wrapped(text: str, indent: int = 2, more: int = 2) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + more),
        break_on_hyphens=False,
        break_long_words=False,
    )


def count(number: int) -> str:
    return f"{number:,}"


def change(size: int) -> str:
    return ("-" if size < 0 else "+") + size_text(abs(size))


def number(rank_: Optional[int]) -> str:
    """Return a rank's number, "" for a process without one."""
    return "" if rank_ is None or rank_ < 0 else str(rank_)


def rank(row: Row) -> str:
    """Return which process a row is about."""
    if not number(row["rank"]):
        return safe(row["trace"])
    host = f" ({safe(row['host'])})" if row.get("host") else ""
    return f"rank {row['rank']}{host}"


def category(name: str) -> str:
    return safe(name.replace("_", " "))


def marked(row: Row) -> str:
    """Return the category of a row after the mark of its certainty."""
    return f"{MARKS.get(row.get('certainty') or '', '')}{category(row['category'])}"


def place(row: Row) -> str:
    """file.py:7 function."""
    if not row.get("file"):
        return safe(row.get("function") or "unknown line")
    return safe(f"{os.path.basename(row['file'])}:{row['line']} {row['function']}")


def _head(answers: Answers) -> list[str]:
    nights = {row["run"]: row for row in answers.found["nights"]}
    now = nights.get(answers.run)
    if now is None:
        return [f"{safe(answers.job)}: no trace can be compared"]
    of = f"highest peak of {count(now['ranks'])} ranks" if now["ranks"] > 1 else "peak"
    text = f"{safe(answers.job)}, run {safe(answers.run)}: the {of} is {size_text(now['most'])}"
    text += f", of rank {now['most_rank']}" if number(now["most_rank"]) else ""
    text += f"; the median is {size_text(now['median'])}" if now["ranks"] > 1 else ""
    return wrapped(f"{text}.", 0, 0)


def _table(rows: Sequence[Sequence[str]], last: int = 0) -> Iterator[str]:
    """Align columns to the right, the last one to the left."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        line = "  ".join(text.rjust(width) for text, width in zip(row, widths)) + "  " + row[-1]
        yield "  " + (line if len(line) <= WIDTH - 2 else line[: WIDTH - 3] + "…")


def _stages(answers: Answers) -> list[str]:
    rows = answers.of_run("stages")
    if not rows:
        return []
    table = [["ranks", "median", "highest", "by rank", "least free", "role: parameters of"]]
    for row in rows[: 4 * MOST_ROWS]:
        left = "?" if row["headroom"] is None else size_text(row["headroom"]) if row["headroom"] >= 0 else "none"
        table.append(
            [
                count(row["ranks"]),
                size_text(row["median"]),
                size_text(row["most"]),
                number(row["most_rank"]),
                left,
                safe(row["role"]),
            ]
        )
    return ["", *_table(table), *_left_out(len(rows) - 4 * MOST_ROWS)]


def _left_out(number: int, what: str = "more") -> list[str]:
    return [f"  ... {count(number)} {what}; --format json has all"] if number > 0 else []


def _outliers(answers: Answers) -> list[str]:
    of_rank: dict[tuple[str, int], list[Row]] = {}
    for row in answers.of_run("outliers"):
        of_rank.setdefault((row["trace"], row["device"]), []).append(row)
    lines = ["", "Outliers, each compared with the ranks of its role"]
    if not of_rank:
        few = all(row["ranks"] < 3 for row in answers.of_run("stages"))
        return [*lines, "  no role has three ranks to compare" if few else "  none"]
    alike = _alike(list(of_rank.values()), lambda rows: [[row[key] for key in COMPARED] for row in rows])
    for several in alike[:MOST_RANKS]:
        lines += _outlier(several[0], _and_more(len(several)))
    return [*lines, *_left_out(sum(map(len, alike[MOST_RANKS:])), "ranks")]


def _alike(items: list[Any], key: Callable[[Any], Any]) -> list[list[Any]]:
    """Group the items with equal keys, in the order of their first ones."""
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(json.dumps(key(item)), []).append(item)
    return list(found.values())


def _and_more(ranks: int) -> str:
    return f" and {count(ranks - 1)} like it" if ranks > 1 else ""


def _outlier(rows: list[Row], more: str) -> Iterator[str]:
    first = rows[0]
    peak = next((row for row in rows if row["kind"] == "peak"), None)
    if peak:
        said = f"peak {size_text(peak['bytes'])}; the median of {count(peak['ranks'])} is {size_text(peak['median'])}"
    else:
        said = f"its peak is not an outlier among {count(first['ranks'])} ranks"
    yield from wrapped(f"{rank(first)}{more}, {safe(first['role'])}: {said}", 2, 4)
    if peak:  # what explains it
        rows = [row for row in rows if (row["above"] > 0) == (peak["above"] > 0)]
    things = [row for row in rows if row["kind"] == "line"] or [
        row for row in rows if row["kind"] in ("category", "module")
    ]
    for row in things[:MOST_THINGS]:
        at = place(row) if row["kind"] == "line" else safe(row["module"])
        yield from wrapped(
            f"{change(row['above'])} {marked(row)} at {at}: {size_text(row['bytes'])}, "
            f"the others have {size_text(row['median'])}",
            4,
            4,
        )
    module = next((row for row in rows if row["kind"] == "module"), None)
    if module and things[:1] != [module]:
        yield from wrapped(f"largest in the module {safe(module['module'])}, {change(module['above'])}", 4, 4)


def _late(answers: Answers) -> list[str]:
    rows = answers.of_run("late")
    lines = ["", "Allocated later than in other ranks"] if rows else []
    for row in rows[:MOST_ROWS]:
        later, each = row["event"] - row["median"], row["iteration_events"]
        about = f", {later / each:.1f} iterations" if each else ""
        lines += wrapped(
            f"{rank(row)}: {marked(row)} ({size_text(row['bytes'])}) at {place(row)}: {count(later)} events "
            f"later{about} than the median of {count(row['ranks'])}",
            2,
            4,
        )
    return [*lines, *_left_out(len(rows) - MOST_ROWS)]


def _growing(answers: Answers) -> list[str]:
    rows = answers.of_run("growing")
    lines = ["", "Growing from iteration to iteration"]
    for row in rows[:MOST_ROWS]:
        by = f": {marked(row)} at {place(row)}" if row["category"] else ""
        also = f" (and {count(row['ranks'] - 1)} other ranks)" if row["category"] and row["ranks"] > 1 else ""
        lines += wrapped(f"{rank(row)}, {change(row['growth'])} per iteration{by}{also}", 2, 4)
    return [*lines, *([] if rows else ["  no rank"]), *_left_out(len(rows) - MOST_ROWS, "ranks")]


def _nearest(answers: Answers) -> list[str]:
    rows = answers.of_run("nearest")
    if not rows:
        return ["", "Closest to running out of memory", "  unknown: no trace has the size of its device's memory"]
    table = []
    for row in rows[:4]:
        left = size_text(row["headroom"]) if row["headroom"] >= 0 else "nothing"
        table.append([f"{left} free", f"of {size_text(row['memory'])}", f"{rank(row)}, {safe(row['role'])}"])
    return ["", "Closest to running out of memory: free memory of the device", *_table(table)]


def _imbalance(answers: Answers) -> list[str]:
    rows = answers.of_run("imbalance")
    if not rows:
        return []
    table = [["above", "highest", "the median", "category, rank and role"]]
    table += [
        [
            change(row["above"]),
            size_text(row["most"]),
            size_text(row["median"]),
            f"{marked(row)}, rank {row['most_rank']}, {safe(row['role'])}",
        ]
        for row in rows[:6]
    ]
    return ["", "Imbalance within a role", *_table(table)]


def _over_time(answers: Answers) -> list[str]:
    """Show each role's imbalance in the newest runs, the largest one now first."""
    runs = [row["run"] for row in answers.found["nights"]][-MOST_RUNS:]
    roles: dict[str, dict[str, int]] = {}
    for row in answers.found["over_time"]:
        roles.setdefault(row["role"], {})[row["run"]] = row["above"]
    now = [role for role, above in roles.items() if above.get(answers.run, 0) > 0]
    if len(runs) < 2 or not now:
        return []
    now.sort(key=lambda role: (-roles[role][answers.run], role))
    table = [[*(safe(run)[-11:] for run in runs), "role"]]
    table += [
        [*(size_text(roles[role][run]) if run in roles[role] else "" for run in runs), safe(role)] for role in now[:6]
    ]
    return [
        "",
        "Imbalance by run: the highest peak of a role above its median",
        *_table(table),
        *_left_out(len(now) - 6),
    ]


def _nights(answers: Answers) -> list[str]:
    rows = answers.found["nights"]
    if len(rows) < 2:
        return []
    table = [["ranks", "median", "change", "highest", "by rank", "run"]]
    table += [
        [
            count(row["ranks"]),
            size_text(row["median"]),
            "" if row["change"] is None else change(row["change"]),
            size_text(row["most"]),
            number(row["most_rank"]),
            safe(row["run"]),
        ]
        for row in rows[-2 * MOST_ROWS :]
    ]
    lines = ["", "Runs, newest last", *_table(table)]
    return [
        *lines,
        *_since(answers, "changes", "Growth since the previous run, by line (medians of a role)", _changed),
        *_since(answers, "grown", "Ranks that grew since the previous run", _grew),
    ]


def _since(answers: Answers, question: str, title: str, text: Callable[[Row, int], str]) -> list[str]:
    rows = answers.of_run(question)
    lines = ["", title] if rows else []
    alike = _alike(rows, lambda row: [row[key] for key in row if key not in ("rank", "host", "trace", "device")])
    for several in alike[:MOST_ROWS]:
        lines += wrapped(text(several[0], len(several)), 2, 4)
    return [*lines, *_left_out(sum(map(len, alike[MOST_ROWS:])))]


def _changed(row: Row, _: int) -> str:
    return f"{change(row['change'])} {marked(row)} at {place(row)}: now {size_text(row['bytes'])}, {safe(row['role'])}"


def _grew(row: Row, ranks: int) -> str:
    usual: Optional[int] = row["usual"]
    return (
        f"{rank(row)}{_and_more(ranks)}: {change(row['change'])}, now {size_text(row['peak'])}"
        f"{'' if usual is None else f'; its role {change(usual)}'}"
    )


def _others(answers: Answers) -> list[str]:
    lines: list[str] = []
    others = [row for row in answers.jobs if row["job"] != answers.job]
    if others:
        lines += ["", "Other jobs (--job NAME)"]
        lines += [
            f"  {safe(row['job'])}: {count(row['traces'])} traces in {count(row['runs'])} run{'s' if row['runs'] != 1 else ''}"
            for row in others[:MOST_ROWS]
        ]
        lines += _left_out(len(others) - MOST_ROWS)
    if answers.found.get("older"):
        older = answers.found["older"]
        lines += ["", f"Not compared: {count(len(older))} traces whose rank has a newer one in the same folder"]
    if answers.skipped:
        lines += ["", f"Not compared: {count(len(answers.skipped))} traces"]
        for trace, reason in answers.skipped[:MOST_ROWS]:
            lines += wrapped(f"{safe(trace)}: {safe(reason)}", 2, 4)
        lines += _left_out(len(answers.skipped) - MOST_ROWS)
    return lines
