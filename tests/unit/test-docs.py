# SPDX-License-Identifier: Apache-2.0
"""test-docs.py ROOT: every file and folder that the documents name, and every place that they link to, is there; and
HACKING.md and the pages of docs/ stay short enough to be read: rows of results are results/*.csv, which a document names."""
import csv
import datetime
import pathlib
import re
import sys

MOST_BYTES = 11_000  # of HACKING.md; why and how fast stand in docs/
MOST_LINES, TABLES = 120, 1 / 3  # of a page of docs/, and the part of them that may be in tables
SCHEMAS = {"fleet-dataset.md"}  # nothing but tables
WRITTEN = ["memtap", "torch", "date"]  # the last columns of results, by campaigns/results.py
LEAST = 100  # names; fewer: they are not found any more
FOLDERS = "analyzer|campaigns|cupti|docs|examples|exchange|man|nightly|preload|results|settings|simulator|tests|tools|trace-format"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)(?:::?\w+)?(?: [^`]*)?`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def faults_of_page(path):
    """Say how a page of docs/ became a diary."""
    lines = path.read_text().splitlines()
    tables = sum(line.startswith("|") for line in lines)
    if len(lines) > MOST_LINES:
        yield f"docs/{path.name} has {len(lines)} lines, more than {MOST_LINES}; what nobody has to read goes"
    if path.name not in SCHEMAS and tables > TABLES * len(lines):
        yield f"docs/{path.name}: {tables} of {len(lines)} lines are tables; rows of results go into results/*.csv"


def faults_of_results(path, texts):
    """Say what is wrong with rows that campaigns/results.py writes."""
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    if not any(f"results/{path.name}" in text for text in texts):
        yield f"no document names results/{path.name}"
    if head[-len(WRITTEN):] != WRITTEN:
        yield f"results/{path.name}: its last columns are {head[-len(WRITTEN):]}, not {WRITTEN}"
    for number, row in enumerate(rows, 2):
        try:
            datetime.date.fromisoformat(row[-1])
        except ValueError:
            yield f"results/{path.name}:{number}: {row[-1]} is no date"
        if len(row) != len(head):
            yield f"results/{path.name}:{number}: it has {len(row)} cells, its columns are {len(head)}"


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
for page in sorted(root.glob("docs/*.md")):
    faults += faults_of_page(page)
for table in sorted(root.glob("results/*.csv")):
    faults += faults_of_results(table, texts)
print(seen, "names;", *faults, sep="\n")
sys.exit(bool(faults) or seen < LEAST)
