# SPDX-License-Identifier: Apache-2.0
"""test-docs.py ROOT: every file and folder that the documents name, and every place that they link to, is there; and
HACKING.md stays short enough to be read."""
import pathlib
import re
import sys

MOST_BYTES = 10_000  # of HACKING.md; why and how fast stand in docs/
LEAST = 100  # names; fewer: they are not found any more
FOLDERS = "analyzer|campaigns|cupti|docs|examples|exchange|man|nightly|preload|settings|simulator|tests|tools|trace-format"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]*)(?:::?\w+)?(?: [^`]*)?`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
MADE = {"docs/gpu-results.md"}  # by a command, where there is a GPU

root = pathlib.Path(sys.argv[1]).resolve()
faults, seen = [], 0
for document in sorted({*root.glob("*.md"), *root.glob(".github/**/*.md"),
                        *(path for folder in FOLDERS.split("|") for path in root.glob(f"{folder}/**/*.md"))}):
    text = document.read_text()
    named = [(name, {root / name, document.parent / name}) for name in PATH.findall(text)
             if name not in MADE and "NAME" not in name]
    named += [(name, {document.parent / name}) for name in LINK.findall(text)]
    seen += len(named)
    faults += [f"{document.relative_to(root)}: there is no {name}" for name, places in named
               if not any(place.exists() for place in places)]
size = len((root / "HACKING.md").read_bytes())
if size > MOST_BYTES:
    faults.append(f"HACKING.md has {size} bytes, more than {MOST_BYTES}")
print(seen, "names;", *faults, sep="\n")
sys.exit(bool(faults) or seen < LEAST)
