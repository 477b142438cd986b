# SPDX-License-Identifier: Apache-2.0
"""test-choose.py BUILD: what `tools/test` runs for some words, of the tests of this build folder."""
import contextlib
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import choose

BUILD = sys.argv[1]
tests = choose.tests_of(BUILD)
choose.tests_of = lambda build: tests  # meson is slow to say it


def chosen(*words, fails=0):
    out, errors, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["choose.py", *words[:-1], BUILD, words[-1]]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            choose.main()
        except SystemExit as end:
            code = end.code
    assert code == fails, (words, code, errors.getvalue())
    return errors.getvalue() if fails else out.getvalue().splitlines()


quick = chosen("quick")
assert {"lint", "cli report"} <= set(quick) and not any("torch" in tests[name][0] for name in quick)
whole = chosen("torch")
parts = [chosen("--shard", f"{part}/3", "torch") for part in (1, 2, 3)]
loads = [sum(choose.SECONDS.get(name, choose.OTHERS) for name in part) for part in parts]
assert sorted(sum(parts, [])) == whole and max(loads) - min(loads) <= max(choose.SECONDS.values()), loads
assert set(choose.SECONDS) <= set(tests)
assert chosen("notes") == ["notes"] and chosen("cli r*") == [name for name in sorted(tests) if name.startswith("cli r")]
assert set(chosen("--since", "HEAD", "quick")) >= set(quick)
assert choose.touched_by("tests/unit/test-choose.py", tests) == {"choose"}
assert "torch holders" in choose.touched_by("tools/memtap/commands/cmd-oom.c", tests) < set(tests)
assert choose.touched_by("page/src/app.ts", tests) < choose.touched_by("trace-format/model.h", tests) == set(tests)
assert all((choose.ROOT / path).exists() for path in choose.TOUCHED)
assert "did you mean notes" in chosen("nots", fails=2)
assert "no such commit" in chosen("--since", "nowhere", "quick", fails=2)
assert "4/3" in chosen("--shard", "4/3", "torch", fails=2)
