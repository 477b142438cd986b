# SPDX-License-Identifier: Apache-2.0
"""Ten nights of an example repository, from record to alarm, by the commands of the README's chapter
only: a commit a night, of which one makes a mistake. check passes each night but those, and names the
line; diff names it first; trend names the two commits around it."""
import os
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
from harness import MEMTAP, Forks, check, equal, finish, folder, must_run, need_torch, run, skip  # noqa: E402

NIGHTS, MISTAKE = 10, 8  # from 1
LINE = "night.py:30"
EPOCH = 1_790_000_000  # of the first night


def git(work, *words, night=0):
    when = f"{EPOCH + night * 86_400} +0000"
    env = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_GLOBAL": os.devnull,
           "GIT_CONFIG_NOSYSTEM": "1"}
    return must_run(["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words], cwd=work,
                    env=env).stdout.strip()


def commit(work, night):
    """A night's change; that of the mistake turns on what is in the script."""
    text = (HERE / "night.py").read_text()
    if night >= MISTAKE:
        text = text.replace("if args.keep:", "if not args.keep:")
    text += f"# {night}\n"
    (work / "night.py").write_text(text)
    git(work, "add", "night.py")
    git(work, "commit", "-q", "-m", f"night {night}", night=night)
    return git(work, "rev-parse", "HEAD")


def memtap(work, *words):
    """Of a machine where no service says what the commit is."""
    services = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1",
                "BUILD_SOURCEVERSION", "BITBUCKET_COMMIT", "TRAVIS_COMMIT")
    return run([MEMTAP, *words], cwd=work, env=dict.fromkeys(services))


def one_night(work, night, forks):
    """Records, adds to the history and checks, as the README does: the exit code and the lines of check."""
    trace, good = work / "traces" / f"{night}.mtap", work / "good"
    equal(f"the run of night {night}", forks.run(trace, "night.py", cwd=work), (0, ""))
    if night == 1:
        shutil.copy(trace, good)
        (work / "budget.toml").write_text(must_run([MEMTAP, "budget", trace]).stdout)
    added = memtap(work, "history", "add", "--db", "memory.db", trace)
    equal(f"history add in night {night}", (added.returncode, added.stderr), (0, ""))
    done = memtap(work, "check", trace, "--against", "good/")
    if not done.returncode:
        shutil.copy(trace, good)
    equal(f"the budget's answer in night {night}",
          memtap(work, "check", trace, "--budget", "budget.toml").returncode, done.returncode)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def main():
    need_torch()
    if not shutil.which("git"):
        skip("no git")
    with folder() as name, Forks() as forks:
        work = Path(name)
        for part in ("traces", "good"):
            (work / part).mkdir()
        git(work, "init", "-q", "-b", "main")
        commits = {}
        for night in range(1, NIGHTS + 1):
            commits[night] = commit(work, night)
            code, out = one_night(work, night, forks)
            print(f"night {night}: {code}\n{out}")
            equal(f"check in night {night}", code, int(night >= MISTAKE))
            if night >= MISTAKE:
                check("peak: " in out and f"by {LINE} main" in out, f"night {night} names {LINE}")
        diff = memtap(work, "diff", *sorted((work / "good").iterdir()), "--to", f"traces/{MISTAKE}.mtap")
        check(diff.returncode == 0 and LINE in diff.stdout, f"diff names {LINE}: {diff.stdout}")
        trend = memtap(work, "history", "trend", "--db", "memory.db")
        print(trend.stdout, trend.stderr)
        for night in (MISTAKE - 1, MISTAKE):
            check(commits[night][:7] in trend.stdout, f"trend names the commit of night {night}")
    finish()


main()
