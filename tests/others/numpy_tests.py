# SPDX-License-Identifier: Apache-2.0
"""numpy's own tests:

    python3 tests/others/numpy_tests.py --python VENV/bin/python     # with numpy, pytest, hypothesis"""
import others


class Numpy(others.PytestSuite):
    name = package = "numpy"


others.main(Numpy())
