# SPDX-License-Identifier: Apache-2.0
"""test_types.py PACKAGE: mypy --strict of the package, and of a program that uses it. Skipped (77) where MEMTAP_TEST_PYTHON has no
mypy."""
import os
import pathlib
import subprocess
import sys
import tempfile

package, python = os.path.abspath(sys.argv[1]), os.environ.get("MEMTAP_TEST_PYTHON", "")
USER = """
import memtap

trace = memtap.open("x.mtap")
allocated: int = trace.report().allocated
names: list[str] = [column.name for column in trace.blocks("end").columns]
blame: int = memtap.diff(["a.mtap"], trace).sites[0].blame
holds: bool = memtap.check(trace, budget={"peak": 5}).holds


@memtap.phase("x")
def work(n: int) -> str:
    return str(n)


text: str = work(5)
memtap.name(5, "x")
"""
WRONG = "import memtap\nmemtap.open(5)\nx: str = memtap.diff('a', 'b').change\nmemtap.no_such_name\n"

if not python or subprocess.run([python, "-c", "import mypy, pytest"], capture_output=True, check=False).returncode:
    print("MEMTAP_TEST_PYTHON has no mypy")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    def mypy(*arguments):
        return subprocess.run([python, "-m", "mypy", "--strict", "--cache-dir", folder, *arguments], capture_output=True, text=True,
                              check=False, env={**os.environ, "MYPYPATH": package})
    done = mypy(os.path.join(package, "memtap"))
    assert done.returncode == 0, done.stdout
    pathlib.Path(folder, "user.py").write_text(USER)
    pathlib.Path(folder, "wrong.py").write_text(WRONG)
    done = mypy(os.path.join(folder, "user.py"))
    assert done.returncode == 0, done.stdout
    done = mypy(os.path.join(folder, "wrong.py"))
    assert all(f"wrong.py:{line}: error" in done.stdout for line in (2, 3, 4)), done.stdout
