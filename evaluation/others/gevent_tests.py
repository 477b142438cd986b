# SPDX-License-Identifier: Apache-2.0
"""gevent's own tests, each a program:

    python3 evaluation/others/gevent_tests.py --python VENV/bin/python    # with gevent"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "others"))
import others


class Gevent(others.PytestSuite):
    name = package = "gevent"

    def units(self, args):
        return [str(path.relative_to(self.folder)) for path in sorted(self.folder.glob("tests/test__*.py"))]

    def command(self, args, unit, folder):
        return [args.python, self.folder / unit, "-v"]

    def results(self, unit, folder, output):
        return dict(re.findall(r"^(test\w* \([\w.]+\)).* \.\.\. (?:.*\n)*?.*?(ok|FAIL|ERROR|skipped|expected failure)\b", output, re.M))


others.main(Gevent())
