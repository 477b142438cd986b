# SPDX-License-Identifier: Apache-2.0
"""examples/ci/memory.yml as a runner would do it, night after night, in a repository of its own: its `run`
steps by bash, and what its `uses` steps keep. Installing, and GitHub's command, are stand-ins that look at
what they are asked for. Nights: the first, a good one, one whose training takes more memory, one whose tests
do, and a good one again."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
from harness import MEMTAP, PYTHON, ROOT, check, equal, finish, folder, need_torch, skip  # noqa: E402

WORKFLOW = ROOT / "examples" / "ci" / "memory.yml"
# By the runtime, which begins sooner than PyTorch.
TRAIN = """import ctypes
import sys

assert sys.argv[1:] == ["--steps", "5"], sys.argv
cuda = ctypes.CDLL("libcudart.so.12")
for _ in range(5):
    images = ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(images), ctypes.c_size_t(8 << 20)) == 0
    cuda.cudaFree(images)
"""
TEST = """import ctypes

import pytest


@pytest.mark.memtap(peak="40 MiB")
def test_batch():
    ctypes.CDLL("libcudart.so.12").cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(16 << 20))
"""
LEAK = ("    cuda.cudaFree(images)\n", "")
LARGER = ("16 << 20", "48 << 20")
PIP = """#!/bin/sh -e
# Stands in for pip: everything that it is to install has to be there.
for word; do
    case $word in
    ./*) test -f "$word/pyproject.toml" ;;
    *.txt) test -f "$word" ;;
    esac
done
echo "$*" >> "$RUNNER_TEMP/installed"
"""
GH = """#!/bin/sh -e
# Stands in for gh: the artifacts of the last night that succeeded.
test "$GH_TOKEN" = secret
case "$1 $2" in
"run list") cat "$RUNNER_TEMP/last" ;;
"run download") test -n "$3"; test "$4 $6" = "--name --dir"; cp -r "$RUNNER_TEMP/artifacts/$3/$5" "$7" ;;
*) exit 1 ;;
esac
"""


class Runner:
    """One for all nights: what artifacts there are outlives them."""

    def __init__(self, work, steps):
        self.work, self.steps, self.temp, self.night = work, steps, work / "runner", 0
        bin_ = self.temp / "bin"
        bin_.mkdir(parents=True)
        (self.temp / "last").write_text("")
        for name, text in {"pip": PIP, "gh": GH, "python": f'#!/bin/sh\nexec {PYTHON} "$@"\n',
                           "pytest": f'#!/bin/sh\nexec {PYTHON} -m pytest -p memtap.pytest_plugin "$@"\n',
                           "memtap": f'#!/bin/sh\nexec {MEMTAP} "$@"\n'}.items():
            (bin_ / name).write_text(text)
            (bin_ / name).chmod(0o755)

    def environment(self):
        return {**os.environ, "PATH": f"{self.temp / 'bin'}:{os.environ['PATH']}", "CI": "true",
                "GITHUB_ACTIONS": "true", "GITHUB_WORKFLOW": "GPU memory", "RUNNER_TEMP": str(self.temp),
                "GITHUB_WORKSPACE": str(self.repository), "GITHUB_SHA": f"{self.night:040x}",
                "GITHUB_STEP_SUMMARY": str(self.temp / "summary"), "GITHUB_OUTPUT": str(self.temp / "output"),
                "GITHUB_ENV": str(self.temp / "env"), "MEMTAP": MEMTAP, "PYTHONPATH": str(ROOT / "python"),
                "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def check_out(self, *edits):
        """A fresh checkout, as each job has."""
        self.repository = self.work / f"night-{self.night}"
        (self.repository / "memtap" / "tools").mkdir(parents=True)
        shutil.copy(ROOT / "pyproject.toml", self.repository / "memtap")
        build = self.repository / "memtap" / "tools" / "build"
        build.write_text("#!/bin/sh\n")
        build.chmod(0o755)
        for name, text in {"train.py": TRAIN, "test_memory.py": TEST, "requirements.txt": "torch\n",
                           "pytest.ini": "[pytest]\n"}.items():
            for find, replace in edits:
                text = text.replace(find, replace)
            (self.repository / name).write_text(text)

    def run(self, step):
        environment = self.environment()
        for name, value in step.get("env", {}).items():
            environment[name] = value.replace("${{ github.token }}", "secret")
        script = self.temp / "step.sh"
        script.write_text(step["run"])
        done = subprocess.run(["bash", "-e", script], cwd=self.repository, env=environment, text=True,
                              capture_output=True, check=False)
        print(f"night {self.night}: {step['name']}: {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
        return done.returncode == 0, done.stdout

    def use(self, step):
        """Checking out and installing Python have happened."""
        action = step["uses"].split("@")[0]
        if action == "actions/upload-artifact":
            kept = self.temp / "artifacts" / str(self.night) / step["with"]["name"]
            shutil.copytree(self.repository / step["with"]["path"], kept)
        else:
            check(action in ("actions/checkout", "actions/setup-python"), f"known action: {action}")

    def job(self, *edits):
        """Runs a night: whether it succeeds, the steps that failed, and what they printed."""
        self.night += 1
        self.check_out(*edits)
        for name in "summary", "output", "env":
            (self.temp / name).write_text("")
        good, failed, out = True, [], ""
        for step in self.steps:
            wanted = step.get("if", "success()")
            check(wanted in ("success()", "failure()", "always()"), f"known condition: {wanted}")
            if wanted != "always()" and good != (wanted == "success()"):
                continue
            if "uses" in step:
                self.use(step)
                continue
            succeeded, text = self.run(step)
            out += text
            if not succeeded:
                failed.append(step["name"])
                good &= step.get("continue-on-error", False)
        if good:
            (self.temp / "last").write_text(str(self.night))
        return good, failed, out

    def good_nights(self):
        """The folder of those that the last night kept."""
        return self.temp / "artifacts" / str(self.night) / "memory-good" / "nights" / "good"

    def artifacts(self):
        return sorted(path.name for path in (self.temp / "artifacts" / str(self.night)).iterdir())


def alarm(runner):
    """What the night with the leak leaves: an annotation of the line, a summary, JUnit's file."""
    good, failed, out = runner.job(LEAK)
    equal("the night of the leak", (good, failed), (False, ["Record and compare"]))
    line = next(i for i, text in enumerate(TRAIN.splitlines(), 1) if "cudaMalloc" in text)
    check(f"::error file=train.py,line={line},title=GPU memory%3A peak::" in out, "the line is annotated")
    summary = (runner.temp / "summary").read_text()
    check(summary.startswith("### GPU memory: ") and f"train.py:{line}" in summary, f"summary: {summary}")
    equal("artifacts of a bad night", runner.artifacts(), ["memory-bad"])
    kept = runner.temp / "artifacts" / str(runner.night) / "memory-bad"
    check(list(kept.glob("nights/bad/*/trace.mtap")) and "<failure" in (kept / "check.xml").read_text(), "its trace is kept")
    check("since" in out or "peak +" in out, "what grew")
    good, failed, out = runner.job(LARGER)
    equal("the night of a larger test", (good, failed), (False, ["Tests"]))
    check("peak: 48.00 MiB, 8.00 MiB (20.0 %) over the limit of 40.00 MiB" in out, "the test says why")
    good, failed, out = runner.job()
    equal("a good night again, compared with the second", (good, failed), (True, []))
    check("limits hold" in out, "it is compared")
    good = runner.good_nights()
    for copy in range(8):  # as eight more such nights leave them
        shutil.copytree(sorted(good.iterdir())[-1], good / f"0-copy-{copy}")
    equal("one more good night", runner.job()[:2], (True, []))
    equal("the nights that are kept", len(list(runner.good_nights().iterdir())), 8)


def main():
    try:
        import yaml
    except ImportError:
        skip("this Python has no module yaml")
    if not shutil.which("bash"):
        skip("no bash")
    need_torch("pytest")
    workflow = yaml.safe_load(WORKFLOW.read_text())
    check("schedule" in workflow[True], "it runs at night")  # YAML 1.1 takes `on` for a boolean
    (job,) = workflow["jobs"].values()
    for step in job["steps"]:
        check(("run" in step) != ("uses" in step), f"a step either runs or uses: {json.dumps(step)}")
    with folder() as work:
        runner = Runner(Path(work), job["steps"])
        equal("the first night", runner.job()[:2], (True, ["Fetch the good nights"]))
        equal("its artifacts", runner.artifacts(), ["memory-good"])
        good, failed, out = runner.job()
        equal("the second night", (good, failed), (True, []))
        check("limits hold" in out and "1 passed" in out, "check and pytest say that all is well")
        alarm(runner)
        installed = (runner.temp / "installed").read_text()
        check("./memtap\n" in installed, f"installed: {installed}")
    finish()


main()
