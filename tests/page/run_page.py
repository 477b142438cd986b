#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_page.py SCRIPT TOOLS MEMTAP MAKE_TRACES RENAME_TEXTS BROWSER [ARGUMENT...]: the script in page/fetch.py's node, with what it
fetched for the tests; 77 (skipped) where there is no browser."""
import os
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "page"))
import fetch  # noqa: E402 (page/fetch.py)

script, tools, memtap, make_traces, rename_texts, browser, *more = sys.argv[1:]
if not browser:
    print("skipped: there is no browser for it")
    sys.exit(77)
node, packages = fetch.for_tests(tools)
os.environ["PYTHON"] = sys.executable
os.execv(node, [node, script, packages, *map(os.path.abspath, (memtap, make_traces, rename_texts)), browser, *more])
