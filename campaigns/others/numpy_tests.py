# SPDX-License-Identifier: Apache-2.0
"""numpy's own tests:

    python3 campaigns/others/numpy_tests.py --python VENV/bin/python     # with numpy, pytest, hypothesis"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "others"))
import others


class Numpy(others.PytestSuite):
    name = package = "numpy"


others.main(Numpy())
