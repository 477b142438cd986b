# SPDX-License-Identifier: Apache-2.0
"""Reads what `llvm-cov export -summary-only` prints, and tells the lines and branches of each folder
that were reached."""
import collections
import json
import os
import sys

FOLDERS = "trace-format", "analyzer", "compare", "planner", "exchange", "page"


def folder_of(name):
    folder = os.path.relpath(os.path.dirname(name), os.getcwd())
    return folder if folder.startswith(FOLDERS) else None


def main():
    counts = collections.defaultdict(collections.Counter)
    for file in json.load(sys.stdin)["data"][0]["files"]:
        folder = folder_of(file["filename"])
        for kind in "lines", "branches":
            for what in "count", "covered":
                counts[folder][kind, what] += file["summary"][kind][what]
    counts.pop(None, None)
    print(f"{'':24}{'lines':>14}{'branches':>16}")
    for folder in sorted(counts):
        parts = (f"{100 * counts[folder][kind, 'covered'] / max(1, counts[folder][kind, 'count']):.1f} % of "
                 f"{counts[folder][kind, 'count']}" for kind in ("lines", "branches"))
        print(f"{folder:22}" + "".join(f"{part:>16}" for part in parts))


main()
