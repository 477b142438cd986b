# SPDX-License-Identifier: Apache-2.0
"""trio's own tests:

    python3 campaigns/others/trio_tests.py --python VENV/bin/python      # with trio, pytest"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "others"))
import others


class Trio(others.PytestSuite):
    name = package = "trio"
    options = ["-p", "trio._tests.pytest_plugin"]  # which its tests take for granted


others.main(Trio())
