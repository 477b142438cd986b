# SPDX-License-Identifier: Apache-2.0
"""python/memtap/pytest_plugin.py under a real pytest, with PyTorch on the simulated device: outcomes, what
failures say, settings, a baseline, and xdist where it is there."""
import shutil
import sys
import tomllib
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
from harness import GPU, MEMTAP, PYTHON, ROOT, check, equal, finish, folder, need_torch, run  # noqa: E402

# Without the plugins of others, which pytest imports at each start. `spellings` has them.
ALONE = {"PYTHONPATH": str(ROOT / "python"), "MEMTAP": MEMTAP, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
INI = "[pytest]\nmarkers = gpu\nmemtap_markers = gpu\nmemtap_peak = 40 MiB\n"
WANTED = {
    "test_unmarked": "passed", "test_within": "passed", "test_over": "failed",
    "test_sizes[small::one]": "passed", "test_sizes[large[two]]": "failed", "test_method": "passed",
    "test_nearest_marker": "failed", "test_own_reason": "failed", "test_skipped": "skipped",
    "test_skips_itself": "skipped", "test_expected": "skipped", "test_killed": "failed",
    "test_wrong_marker": "failed", "test_by_marker": "failed", "test_no_name": "failed",
    "test_no_table": "failed", "test_many_categories": "failed",
}


def pytest(work, *options, ini=INI):
    """The outcomes by name, the texts of failures, and all that was printed."""
    (work / "pytest.ini").write_text(ini)
    shutil.copy(HERE / "plugin_tests.py", work / "test_memory.py")
    done = run([PYTHON, "-m", "pytest", "-p", "memtap.pytest_plugin", "--memtap", "--memtap-simulate", GPU,
                "--junitxml", "out.xml", *options], cwd=work, env=ALONE)
    outcomes, texts = {}, {}
    for case in xml.parse(work / "out.xml").iter("testcase"):
        kinds = {child.tag: child for child in case}
        name = case.get("name")
        bad = kinds.get("failure", kinds.get("error"))
        outcomes[name] = "failed" if bad is not None else "skipped" if "skipped" in kinds else "passed"
        texts[name] = "" if bad is None else (bad.get("message") or "") + (bad.text or "")
    return outcomes, texts, done.stdout + done.stderr


def all_tests(work):
    outcomes, texts, out = pytest(work)
    print(out)
    equal("the outcomes", outcomes, WANTED)
    for name, words in {"test_over": ["peak: 32.00 MiB, 16.00 MiB (100.0 %) over the limit of 16.00 MiB",
                                      "test_memory.py:13 take"],
                        "test_sizes[large[two]]": ["peak: 128.00 MiB"],
                        "test_own_reason": ["assert 8388608 == 7"],
                        "test_killed": ["SIGABRT"],
                        "test_wrong_marker": ["the marker has peek; did you mean peak?"],
                        "test_no_name": ["the marker has '2 GiB' without a name; write peak='2 GiB'"],
                        "test_no_table": ["""write category={"...": "1 GiB"}"""],
                        "test_by_marker": ["over the limit of 40.00 MiB"]}.items():
        for word in words:
            check(word in texts.get(name, ""), f"{name} says {word!r}: {texts.get(name)}")
    check("said before" in out, "what a failed test printed is shown")
    check("Peak of device 0: 8.00 MiB" in out and "memtap report " in out, "its report is shown")
    summary = out.split("test_many_categories ____")[1].split("memtap report ")[0]
    for words in ("  gradients ", "  parameters ", "largest call sites", "test_memory.py:"):
        check(words in summary.split("GPU memory (")[1], f"the report of many categories has {words!r}")
    check(list(work.glob("memtap-traces/test_memory.py-test_within-*/*.mtap")), "its trace is kept")
    check("::test_within: growth: unknown: the run has no iterations" in out, "a limit that says nothing is told")
    check(not list(work.glob("memtap-traces/*unmarked*")), "unmarked tests are not recorded")


def said(done):
    """Its output as one line: memtap's lines break by the length of a process's number."""
    return " ".join((done.stdout + done.stderr).split())


def against(work):
    """A test that takes more than the last time fails, also without a limit."""
    test = "import test_memory\ndef test_it():\n    test_memory.take({})\n"
    shutil.copy(HERE / "plugin_tests.py", work / "test_memory.py")
    options = ["-p", "memtap.pytest_plugin", "--memtap", "--memtap-simulate", GPU, "--memtap-against"]
    (work / "pytest.ini").write_text("[pytest]\nmemtap_paths = test_*.py\n")
    for mib, old, new, ends, word in [(16, "none", "before", 0, "no trace in none"),
                                      (16, "before", "now", 0, "1 passed"),
                                      (24, "before", "now", 1, "peak: 24.00 MiB"),
                                      (24, "now", "now", 4, "are the same folder")]:
        (work / "test_grows.py").write_text(test.format(mib))
        done = run([PYTHON, "-m", "pytest", *options, old, "--memtap-dir", new, "test_grows.py"], cwd=work, env=ALONE)
        equal(f"exit code with {mib} MiB", done.returncode, ends)
        check(word in said(done), f"{mib} MiB: {done.stdout}{done.stderr}")


def missing(work):
    """Tests whose ids differ in a sign or after 150 characters have folders of their own; one that is gone fails."""
    ids = ["a b", "a/b", "a-b", "x" * 200 + "1", "x" * 200 + "2"]
    text = ("import pytest, test_memory\n"
            "@pytest.mark.parametrize('mib', [pytest.param(8 + i, id=name) for i, name in enumerate({})])\n"
            "def test_it(mib):\n    test_memory.take(mib)\n")
    shutil.copy(HERE / "plugin_tests.py", work / "test_memory.py")
    (work / "pytest.ini").write_text("[pytest]\nmemtap_paths = test_ids.py\n")
    options = ["-p", "memtap.pytest_plugin", "--memtap", "--memtap-simulate", GPU]
    gone = f"test_ids.py::test_it[{ids[1]}]"
    for names, more, ends, word in [
            (ids, ["--memtap-dir", "before", "test_ids.py"], 0, "5 passed"),
            (ids[2:] + ids[:1], ["--memtap-against", "before", "test_ids.py"], 1, f"test {gone} is missing: it is in before"),
            (ids[2:] + ids[:1], ["--memtap-against", "before", "test_ids.py", "--memtap-allow-missing", f"test:{gone}",
                                 "-k", "not xxx"], 0, f"test {gone} is missing (allowed)"),
            (ids, ["--memtap-against", "before", "test_ids.py", "-k", "x1"], 0, "1 passed")]:
        sizes = [(8 + ids.index(name), name) for name in names]
        (work / "test_ids.py").write_text(text.replace("8 + i, id=name", "mib, id=name")
                                          .replace("i, name in enumerate({})", f"mib, name in {sizes!r}"))
        done = run([PYTHON, "-m", "pytest", *options, *more], cwd=work, env=ALONE)
        equal(f"exit code of {word}", done.returncode, ends)
        check(word in said(done), f"{word!r}: {done.stdout}{done.stderr}")
    equal("a folder for each test", len(list(work.glob("before/*/*.mtap"))), len(ids))


def spellings(work):
    """The settings are found whatever way a path is given, from a folder below, next to another project; a
    value that is an operand too stays one; a plugin that is named twice is one."""
    project, other, package = work / "project", work / "other", work / "package"
    for path in project / "tests", other, package / "memtap-0.1.0.dist-info":
        path.mkdir(parents=True)
    (project / "pytest.ini").write_text("[pytest]\nmemtap_peak = 2 MiB\n")
    (project / "tests" / "test_it.py").write_text(
        "import plugin_tests, pytest\n@pytest.mark.memtap\ndef test_tests():\n    plugin_tests.take(8)\n")
    shutil.copy(HERE / "plugin_tests.py", project / "tests")
    (other / "pyproject.toml").write_text("")
    (other / "memtap").write_text(f'#!/bin/sh\nexec {MEMTAP} "$@"\n')
    (other / "memtap").chmod(0o755)
    shutil.copytree(ROOT / "python" / "memtap", package / "memtap")
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    (package / "memtap-0.1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: memtap\nVersion: 0.1.0\n")
    (package / "memtap-0.1.0.dist-info" / "entry_points.txt").write_text(
        "[pytest11]\n" + "".join(f"{name} = {value}\n" for name, value in points["pytest11"].items()))
    command = str(other / "memtap")
    for where, *options in [(project / "tests", "--memtap-command", command),
                            (project / "tests", f"--memtap-command={command}"),
                            (project / "tests", "--memtap-command", "../../other/memtap", "--memtap-dir", "../kept"),
                            (project, "--memtap-command", command, "-k", "tests", "--memtap-dir", "tests", "tests"),
                            (project, "-p", "memtap.pytest_plugin", "--memtap-command", command)]:
        done = run([PYTHON, "-m", "pytest", "--memtap", "--memtap-simulate", GPU, *options], cwd=where,
                   env={"PYTHONPATH": str(package)})
        check("peak: 8.00 MiB, 6.00 MiB (300.0 %) over the limit of 2.00 MiB" in said(done) and "1 failed" in done.stdout,
              f"{options}: {done.stdout}{done.stderr}")
        shutil.rmtree(project / "memtap-traces", ignore_errors=True)
    test = project / "tests" / "test_it.py"
    test.write_text(test.read_text().replace("mark.memtap", "mark.memtp"))
    done = run([PYTHON, "-m", "pytest", "--memtap", f"--memtap-command={command}"], cwd=project,
               env={"PYTHONPATH": str(package)})
    check("unknown marker 'memtp'; did you mean 'memtap'?" in done.stdout + done.stderr and done.returncode == 4,
          f"a misspelt marker: {done.returncode} {done.stdout}{done.stderr}")


def main():
    need_torch("pytest")
    with folder() as first, folder() as second, folder() as third, folder() as fourth, folder() as fifth:
        missing(Path(fifth))
        spellings(Path(fourth))
        all_tests(Path(first))
        against(Path(second))
        if run([PYTHON, "-c", "import xdist"]).returncode == 0:
            outcomes, _, out = pytest(Path(third), "-p", "xdist", "-n", "2", "-k", "within or over or skipped or unmarked")
            equal("the outcomes with xdist", outcomes,
                  {name: WANTED[name] for name in ("test_unmarked", "test_within", "test_over",
                                                   "test_skipped")})
    finish()


main()
