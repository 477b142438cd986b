# SPDX-License-Identifier: Apache-2.0
"""The line that memory is blamed on is the one that asks for it: of what checkpointing computes again the forward line, not
that of the operator whose backward needs it; of what a tensor subclass does for an operator the operator's line; of a
backward's backward the forward line that both are of; of torch.func's backward its forward line. The copy that memtap compact writes says the same."""
import json
from pathlib import Path

import harness
from harness import MEMTAP, check, equal, must_run

PROGRAM = Path(__file__).with_name("blamed.py")
TEXT = PROGRAM.read_text().splitlines()
AGAIN = ("wide = self.wide(x)", "once = nn.functional.gelu(wide)", "twice = nn.functional.gelu(once)")
CALL = 'return checkpoint(self.block, x, use_reentrant=WAY == "True") if WAY in ("True", "False") else x'
LARGE = 8 << 20


def line_of(text):
    return TEXT.index(next(line for line in TEXT if line.strip() == text)) + 1


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks() as forks:
        for way in ("True", "False", "subclass", "dispatch", "twice", "func"):
            trace = Path(work) / f"{way}.mtap"
            code, output = forks.run(trace, PROGRAM, way)
            if not check(code == 0, f"{way} runs: {output[-2000:]}"):
                continue
            device = json.loads(must_run([MEMTAP, "report", "-f", "json", trace]).stdout)["devices"][0]
            sites = {(s["line"]["line"], s["operator"]) for s in device["call_sites"] if s["bytes"] >= LARGE}
            if way == "True":
                check((line_of(CALL), "CheckpointFunction.backward") not in sites, f"{way}: the call is among {sites}")
            elif way == "twice":
                check((line_of("bent = nn.functional.gelu(net(x))"), "GeluBackwardBackward0") in sites, f"{way}: {sites}")
                check(None not in {line for line, _ in sites}, f"{way}: sites without a line: {sites}")
                must_run([MEMTAP, "compact", "-o", f"{trace}.small", trace])
                tables = [must_run([MEMTAP, "blocks", name]).stdout for name in (f"{trace}.small", trace)]
                equal(f"{way}: blocks of the compact copy", *tables)
            elif way == "func":
                check((line_of("return (x * 2).exp().sum()"), "MulBackward0") in sites, f"{way}: {sites}")
            elif way == "False":
                for text in AGAIN:
                    check((line_of(text), None) in sites, f"{way}: {text} is not among {sites}")
            else:
                for text in ("doubled = x * 2", "return doubled, doubled + 1"):
                    check((line_of(text), None) in sites, f"{way}: {text} is not among {sites}")
                functions = {s["line"]["function"] for s in device["call_sites"]}
                equal(f"{way}: functions inside operators", functions & {"call", "Counted.__torch_function__",
                                                                         "Wrapped.__torch_dispatch__"}, set())
    harness.finish()


main()
