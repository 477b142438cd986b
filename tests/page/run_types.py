#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_types.py TOOLS: the TypeScript compiler finds no fault in page/src."""
import os
import pathlib
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "page"
sys.dont_write_bytecode = True
sys.path.insert(0, str(PAGE))
import fetch  # noqa: E402 (page/fetch.py)

node, packages = fetch.for_tests(sys.argv[1])
os.execv(node, [node, f"{packages}/node_modules/typescript/bin/tsc", "-p", str(PAGE)])
