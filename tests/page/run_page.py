#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_page.py WORK MEMTAP MAKE_TRACES RENAME_TEXTS BROWSER: test_page.mjs, or 77 (skipped) with the reason."""
import os
import pathlib
import sys

work, memtap, make_traces, rename_texts, browser = sys.argv[1:]
missing = "the page was not built" if not (pathlib.Path(work) / "analyzer.wasm").exists() else \
    "there is no Chromium" if not browser else None
if missing:
    print(f"skipped: {missing}")
    sys.exit(77)
script = pathlib.Path(__file__).with_name("test_page.mjs")
os.execvp("node", ["node", str(script), *map(os.path.abspath, (work, memtap, make_traces, rename_texts)), browser])
