#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_types.py WORK: the TypeScript compiler finds no fault in page/src; 77 (skipped) where it is not there."""
import os
import pathlib
import sys

compiler = pathlib.Path(sys.argv[1]) / "node_modules/typescript/bin/tsc"
if not compiler.exists():
    print("skipped: the page was not built")
    sys.exit(77)
page = pathlib.Path(__file__).resolve().parents[2] / "page"
os.execvp("node", ["node", str(compiler), "-p", str(page)])
