# SPDX-License-Identifier: Apache-2.0
"""--skew loads experts as it says, --boxes finds boxes by scores that were not computed, and --seed makes up other
values, each time the same."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, PYTHON, check, equal

EXPERTS, TOKENS, PICKS = 64, 4096, 2
PROGRAM = f"""
import json, torch
torch.manual_seed(1)
scores = torch.empty({TOKENS}, {EXPERTS}, device="cuda")  # too large to be computed
chosen = scores.topk({PICKS}).indices.cpu()
boxes = (torch.rand(500, 200, device="cuda") > 0.5).nonzero()
agree = []
for n in 1000, 1_000_000:  # computed of zeros, and not computed
    rows = torch.rand(1_000_000, device="cuda").square()[:n]
    for keep in rows > 0.5, (rows > 0.5) & (rows < 2), torch.isin(rows, rows[:3]):
        agree.append([len(rows[keep]), len(keep.nonzero()), int(keep.sum()), int(keep.cpu().sum()), int((~keep).logical_not().sum()),
                      len(rows.masked_select(keep)), n - len(rows[~keep]), n - int((~keep).sum())])
print(json.dumps([torch.bincount(chosen.flatten(), minlength={EXPERTS}).tolist(), bool((chosen[:, 0] != chosen[:, 1]).all()),
                  boxes.tolist(), torch.rand(3, device="cuda").tolist(), agree]))
"""


def run(*options):
    done = harness.must_run([MEMTAP, "simulate", *options, "--", PYTHON, "-c", PROGRAM])
    return json.loads(done.stdout), done.stderr


def check_loads(what, loads, wanted):
    share = TOKENS * PICKS / sum(wanted)
    check(all(abs(load - each * share) <= 4 for load, each in zip(loads, wanted)), f"{what}: {loads}")
    equal(f"{what}: choices", sum(loads), TOKENS * PICKS)


def main():
    if harness.ON_GPU:
        harness.skip("a real card computes all values")
    harness.need_torch()
    with harness.folder() as work:
        file = Path(work) / "loads"
        file.write_text(" ".join(str(i % 8) for i in range(EXPERTS)))
        (loads, distinct, boxes, numbers, agree), _ = run("--skew", "zipf:1", "--boxes", "5", "--seed", "7")
        check_loads("zipf", loads, [1 / (i + 1) for i in range(EXPERTS)])
        check(distinct, "a token goes to no expert twice")
        equal("boxes", boxes, [[0, 0], [100, 0], [200, 0], [300, 0], [400, 0]])
        equal("counts of one mask", agree, [[5] * 8] * 6)
        (loads, distinct, boxes, others, _), _ = run("--skew", file)
        check_loads("a file", loads, [i % 8 for i in range(EXPERTS)])
        equal("boxes without --boxes", boxes, [])
        check(numbers != others, "a seed makes other numbers")
        file.write_text("1 2 3")
        (loads, _, _, _, _), told = run("--skew", file, "--seed", "7")
        check_loads("loads of other experts", loads, [1] * EXPERTS)
        check("--skew has the loads of 3 experts, but the program has 64; choosing evenly" in told, told)
    harness.finish()


main()
