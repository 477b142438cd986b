#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_page.py SCRIPT WORK MEMTAP MAKE_TRACES RENAME_TEXTS BROWSER [ARGUMENT...]: the script in node, or 77 (skipped) with the reason."""
import os
import pathlib
import sys

script, work, memtap, make_traces, rename_texts, browser, *more = sys.argv[1:]
missing = "the page was not built" if not (pathlib.Path(work) / "analyzer.wasm").exists() else \
    "there is no browser for it" if not browser else None
if missing:
    print(f"skipped: {missing}")
    sys.exit(77)
os.execvp("node", ["node", script, *map(os.path.abspath, (work, memtap, make_traces, rename_texts)), browser, *more])
