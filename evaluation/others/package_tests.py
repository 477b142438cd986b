# SPDX-License-Identifier: Apache-2.0
"""A package's own tests, which lie in it, or (uvloop) in its source archive:

    python3 evaluation/others/package_tests.py --package greenlet --python VENV/bin/python
    python3 evaluation/others/package_tests.py --package uvloop --tests uvloop/tests --python VENV/bin/python

The Python has the package, pytest, and what its tests need: hypothesis (numpy), objgraph and psutil (greenlet), trustme
(trio), aiohttp (uvloop)."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "others"))
import others

OPTIONS = {"trio": ["-p", "trio._tests.pytest_plugin"]}  # which its tests take for granted


class Package(others.PytestSuite):
    name = "a package"

    def add_arguments(self, parser):
        super().add_arguments(parser)
        parser.add_argument("--package", required=True)
        parser.add_argument("--tests", type=Path, help="their folder, if it is not in the package")

    def prepare(self, args):
        self.name = self.package = args.package
        self.options = OPTIONS.get(args.package, [])
        versions = super().prepare(args)
        self.folder = (args.tests or self.folder).resolve()
        return versions


others.main(Package())
