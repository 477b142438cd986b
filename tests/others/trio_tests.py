# SPDX-License-Identifier: Apache-2.0
"""trio's own tests:

    python3 tests/others/trio_tests.py --python VENV/bin/python      # with trio, pytest"""
import others


class Trio(others.PytestSuite):
    name = package = "trio"
    options = ["-p", "trio._tests.pytest_plugin"]  # which its tests take for granted


others.main(Trio())
