# SPDX-License-Identifier: Apache-2.0
"""test-docs.py ROOT: every file and folder that the documents name, and every place that they link to, is there; and
HACKING.md, README.md, the manual and the pages of docs/ stay short enough to be read: rows of results are evaluation/results/*.csv, which a
document names."""
import csv
import datetime
import pathlib
import re
import sys

MOST_BYTES = 11_000  # of HACKING.md; why and how fast stand in docs/
MOST_LINES = {"README.md": 129, "man/*": 149, "docs/evaluation/*.md": 60, "docs/*.md": 120, "docs/guides/*.md": 120}
ALL_LINES = 1499  # of docs/ without docs/evaluation/
TABLES = 1 / 3  # the part of a page of docs/evaluation/ that may be in tables
WRITTEN = ["memtap", "torch", "date"]  # the last columns of results, by evaluation/results.py
LEAST = 100  # names; fewer: they are not found any more
FOLDERS = "analyzer|attach|compare|cupti|docs|evaluation|examples|exchange|man|packaging|page|planner|preload|simulator|tests|tools|trace-format"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)(?:::?\w+)?(?: [^`]*)?`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def count(path):
    return len(path.read_text().splitlines())


def faults_of_pages():
    """Report pages that grew into diaries."""
    for pattern, most in MOST_LINES.items():
        for path in sorted(root.glob(pattern)):
            if count(path) > most:
                yield f"{path.relative_to(root)} has {count(path)} lines, more than {most}"
    for path in sorted(root.glob("docs/evaluation/*.md")):
        tables = sum(line.startswith("|") for line in path.read_text().splitlines())
        if path.name != "README.md" and tables > TABLES * count(path):
            yield f"docs/evaluation/{path.name}: {tables} of {count(path)} lines are tables; rows go into evaluation/results/*.csv"
    lines = sum(count(path) for path in root.glob("docs/**/*.md") if path.parent.name != "evaluation")
    if lines > ALL_LINES:
        yield f"docs/ without docs/evaluation/ has {lines} lines, more than {ALL_LINES}"


def faults_of_results(path, texts):
    """Say what is wrong with rows that evaluation/results.py writes."""
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    if not any(f"evaluation/results/{path.name}" in text for text in texts):
        yield f"no document names evaluation/results/{path.name}"
    if head[-len(WRITTEN):] != WRITTEN:
        yield f"evaluation/results/{path.name}: its last columns are {head[-len(WRITTEN):]}, not {WRITTEN}"
    for number, row in enumerate(rows, 2):
        try:
            datetime.date.fromisoformat(row[-1])
        except ValueError:
            yield f"evaluation/results/{path.name}:{number}: {row[-1]} is no date"
        if len(row) != len(head):
            yield f"evaluation/results/{path.name}:{number}: it has {len(row)} cells, its columns are {len(head)}"


root = pathlib.Path(sys.argv[1]).resolve()
faults, seen, texts = [], 0, []
for document in sorted({*root.glob("*.md"), *root.glob(".github/**/*.md"),
                        *(path for folder in FOLDERS.split("|") for path in root.glob(f"{folder}/**/*.md"))}):
    text = document.read_text()
    texts.append(text)
    named = [(name, {root / name, document.parent / name}) for name in PATH.findall(text)
             if "NAME" not in name]
    named += [(name, {document.parent / name}) for name in LINK.findall(text)]
    seen += len(named)
    faults += [f"{document.relative_to(root)}: there is no {name}" for name, places in named
               if not any(place.exists() for place in places)]
size = len((root / "HACKING.md").read_bytes())
if size > MOST_BYTES:
    faults.append(f"HACKING.md has {size} bytes, more than {MOST_BYTES}")
faults += faults_of_pages()
for table in sorted(root.glob("evaluation/results/*.csv")):
    faults += faults_of_results(table, texts)
print(seen, "names;", *faults, sep="\n")
sys.exit(bool(faults) or seen < LEAST)
