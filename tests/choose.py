# SPDX-License-Identifier: Apache-2.0
"""choose.py [--since COMMIT] [--shard K/N] BUILD [quick | SUITE | TEST]...: prints the names of the tests of a build folder that these
words select, one a line. quick: lint, unit, and the exact output of each command. --since: what a change since COMMIT, committed or
not, can touch, and always quick. --shard: the Kth of N parts that take about as long. A word that selects nothing gets one line and
exit code 2."""

import argparse
import difflib
import fnmatch
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_BY_DEFAULT = {"long"}  # as meson's own setups have it
READERS = {"cli", "fuzz", "install", "nightly", "page", "python", "torch"}
# The suites that a change in a folder can touch, besides quick's; a path that is not here can touch all of them.
TOUCHED = {
    "analyzer": READERS, "exchange": READERS, "compare": READERS, "planner": READERS, "tools/memtap/commands": READERS,
    "evaluation": set(), "changelog.d": set(), "docs": {"cli"}, "man": {"cli", "install"}, "evaluation/results": set(),
    "examples": {"install"}, "packaging": {"install"}, "page": {"page", "cli"}, "python": {"python", "install"},
    "simulator": {"simulator", "torch"}, "tests/bench": {"shim"},
    "CHANGELOG.md": set(), "CONTRIBUTING.md": set(), "HACKING.md": set(), "README.md": {"cli"},
}

# Processor seconds, roughly, of those that take long; each other one, 4. Shards are balanced by them.
SECONDS = {
    "torch advice": 68, "torch fits": 54, "torch out_of_memory": 48, "torch remedies": 39, "accuracy": 32, "torch ranks_alone": 26,
    "torch ended": 24, "torch holders": 21, "torch compiled": 20, "nightly pytest_plugin": 20, "totals of compiled": 18, "torch plan": 18,
    "samples with pytorch": 16, "torch light": 15, "torch ddp_two_ranks": 14, "torch": 13, "torch values": 13, "operators": 12,
    "torch kv_cache": 12, "torch gpt2_xl": 12, "oracle": 11, "torch remarked": 11, "torch profiler": 10, "torch small_values": 10,
}
OTHERS = 4


def tests_of(build):
    """Return {name: (suites, command)} of each test that runs by default."""
    said = subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True, text=True).stdout
    tests = {}
    for test in json.loads(said):
        suites = {suite.rpartition(":")[2] for suite in test["suite"]}
        if test["name"] in tests:
            fail(f"{test['name']}: two tests have this name, so that neither can be run alone; rename one")
        if not suites & NOT_BY_DEFAULT:
            tests[test["name"]] = (suites, test["cmd"])
    return tests


def is_quick(name, suites):
    return bool(suites & {"lint", "unit"}) or name.startswith("cli ")


def selected_by(word, tests):
    if word == "quick":
        return {name for name, (suites, _) in tests.items() if is_quick(name, suites)}
    return {name for name, (suites, _) in tests.items() if word in suites or fnmatch.fnmatchcase(name, word)}


def changed_since(commit):
    """Return the paths that differ from the commit, and those that git does not know yet."""
    said = [subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
            for words in (["diff", "--name-only", commit, "--"], ["ls-files", "--others", "--exclude-standard"])]
    if said[0].returncode:
        fail(f"--since {commit}: git knows no such commit; give one that `git log` shows")
    return "".join(one.stdout for one in said).splitlines()


def touched_by(path, tests):
    """Return the tests that a change of the file can touch, besides quick's."""
    own = {name for name, (_, command) in tests.items() if any(Path(word).resolve() == ROOT / path for word in command)}
    if own:
        return own
    parts = Path(path).parts
    folders = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))  # the nearest first
    suites = next((TOUCHED[known] for known in folders if known in TOUCHED), None)
    if suites is None and parts[0] == "tests" and any(parts[1] in of_test for of_test, _ in tests.values()):
        suites = {parts[1]}
    return {name for name, (of_test, _) in tests.items() if suites is None or suites & of_test}


def shards(names, parts):
    """Share the names out, the longest first, each to the shard that has least to do."""
    shared = [(0, part, []) for part in range(parts)]
    for name in sorted(names, key=lambda name: (-SECONDS.get(name, OTHERS), name)):
        seconds, part, members = min(shared)
        shared[part] = seconds + SECONDS.get(name, OTHERS), part, [*members, name]
    return [sorted(members) for _, _, members in shared]


def part_of(text):
    found = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", text)
    if not found or int(found[1]) > int(found[2]):
        fail(f"--shard {text}: not K/N with K from 1 to N")
    return int(found[1]), int(found[2])


def fail(text):
    print(f"tools/test: {text}", file=sys.stderr)
    sys.exit(2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--since")
    parser.add_argument("--shard", type=part_of, default=(1, 1))
    parser.add_argument("build")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    tests, chosen = tests_of(options.build), set()
    for word in options.words:
        found = selected_by(word, tests)
        if not found:
            known = {"quick", *tests, *(suite for suites, _ in tests.values() for suite in suites)}
            near = difflib.get_close_matches(word, known, 3)
            fail(f"{word}: no suite or test has this name; {'did you mean ' + ', '.join(near) if near else 'HACKING.md has the suites'}")
        chosen |= found
    if options.since:
        chosen |= selected_by("quick", tests)
        for path in changed_since(options.since):
            chosen |= touched_by(path, tests)
    part, parts = options.shard
    print("\n".join(shards(chosen, parts)[part - 1]))


if __name__ == "__main__":
    main()
