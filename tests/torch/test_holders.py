# SPDX-License-Identifier: Apache-2.0
"""What keeps each block is found when memory runs out: the root and the path, in each of many hands. The program does not notice:
its waits do not see the child process, which leaves nothing; it runs out of memory 200 times, other threads allocating or
collecting garbage meanwhile."""
import json
import re
from pathlib import Path

import harness
from harness import MEMTAP, check, equal

HERE = Path(__file__).resolve().parent


def lists(trace):
    """Of each list of holders: its `holders` event, and by address (root, steps)."""
    strings, holders, found = {}, {}, []
    for line in harness.must_run([MEMTAP, "dump", "--format", "json", trace]).stdout.splitlines():
        record = json.loads(line)
        if record["record"] == "string":
            strings[record["id"]] = record["text"]
        elif record["record"] == "holder":
            holders.setdefault(record["address"], (record["root"], strings[record["path"]].split("\n"), record["view"]))
        elif record["record"] == "holders":
            found.append((record, holders))
            holders = {}
    return found


def agree(steps, wanted):
    return len(steps) == len(wanted) and all(
        re.fullmatch(re.escape(want).replace("LINE", r"\d+").replace(r"\*", ".*"), step) for step, want in zip(steps, wanted))


def check_roots(work, forks):
    trace = Path(work) / "roots.mtap"
    code, output = forks.run(trace, HERE / "holders.py")
    wanted = [json.loads(line) for line in re.findall(r"^holder (.*)", output, re.M)]
    equal("it ends well", (code, "out of memory" in output, "garbage True" in output), (0, True, True))
    found = lists(trace)
    if not equal("one list, complete", [(end["moment"], end["result"]) for end, _ in found], [(1, 0)]):
        return
    holders = found[0][1]
    check(len(wanted) >= 30, f"{len(wanted)} holders are planted")
    for address, root, steps in wanted:
        have = holders.get(address)
        check(have and have[0] == root and agree(have[1], steps), f"{root} {steps}: found {have}")
    cached = [root for root, steps, _ in holders.values() if steps == ["autocast's cache of weights"]]
    equal("autocast's cache", cached, [24])
    views = [view for _, steps, view in holders.values() if steps[0].startswith("global `views`")]
    equal("a view", views, [400])
    tree = harness.must_run([MEMTAP, "holders", "--min-size", "1", trace]).stdout
    check("global `views` of module __main__ -> [0], by a view of 400 B\n" in tree, tree)


def check_headline(work, forks):
    """The report begins with what only garbage or an exception holds, and with nothing where a local variable does."""
    said = {"cycle": "The total includes 32.00 MiB of garbage: reference cycle of Linear._forward_hooks[0], closure `self`.body -> .weight; gc.collect() frees it.",
            "handler": "32.00 MiB of the total was kept by an exception when holders were requested: RuntimeError that is being handled -> "
                       ".__traceback__ -> local variable `saved` of attempt() at held_headline.py:27[0..7].",
            "after": None}
    for how, words in said.items():
        trace = Path(work) / f"headline-{how}.mtap"
        equal(f"{how} ends well", forks.run(trace, HERE / "held_headline.py", how)[0], 0)
        first = " ".join(harness.must_run([MEMTAP, "report", trace]).stdout.split("\n\n")[0].split())
        check(words in first if words else "garbage" not in first and "exception" not in first, f"{how}: {first}")


def check_host(work, forks):
    trace = Path(work) / "host.mtap"
    code, output = forks.run(trace, HERE / "out_of_memory_often.py", env={"MEMTAP_HOLDERS": "oom"})
    equal("the program is as it is alone", (code, output.strip()), (0, "200 times, children: none, left: none"))
    ends = [end["result"] for end, _ in lists(trace)]
    check(ends and not any(ends), f"searches ended with {ends}")
    trace = Path(work) / "old.mtap"
    equal("an old kernel", (forks.run(trace, HERE / "hostile_holders.py", "old")[0], lists(trace)), (0, []))
    trace = Path(work) / "none.mtap"
    equal("none", (forks.run(trace, HERE / "holders.py", env={"MEMTAP_HOLDERS": "none"})[0], lists(trace)), (0, []))


def check_collecting(work, forks):
    trace = Path(work) / "collecting.mtap"
    code, output = forks.run(trace, HERE / "collect_always.py", env={"MEMTAP_HOLDERS": "oom"})
    kept = [int(address) for address in re.findall(r"^kept (\d+)", output, re.M)]
    found = lists(trace)
    equal("it ends well while another thread collects garbage", (code, len(kept)), (0, 3))
    check(found and not any(end["result"] for end, _ in found), f"searches ended with {[end['result'] for end, _ in found]}")
    wanted = [["global `named` of module __main__"], ["global `inside` of module __main__", "['key']", "[0]", ".kept"],
              ["local variable `local` of run_out() at collect_always.py:LINE", "[0]", ".kept"]]
    for _, holders in found:
        for address, steps in zip(kept, wanted):
            check(address in holders and agree(holders[address][1], steps), f"{steps} while another thread collects: {holders.get(address)}")


def check_moments(work, forks):
    for moment, number, steps in [("growth", 2, ["global `losses` of module __main__", "[2]"]),
                                  ("requested", 4, ["local variable `inside` of inquire() at holders_when.py:LINE"]),
                                  ("save", 4, ["global `losses` of module __main__", "[0]"])]:
        trace = Path(work) / f"{moment}.mtap"
        code, output = forks.run(trace, HERE / "holders_when.py", moment, trace, MEMTAP,
                                 env={"MEMTAP_HOLDERS": "growth" if moment == "growth" else "none"})
        equal(f"{moment} ends well", code, 0)
        found = lists(Path(work) / "save.mtap.saved.mtap" if moment == "save" else trace)
        if not equal(f"{moment}: one list, complete", [(end["moment"], end["result"]) for end, _ in found], [(number, 0)]):
            continue
        inside = re.findall(r"^inside (\d+)", output, re.M)
        held = [path for address, (_, path, _) in found[0][1].items() if not inside or address == int(inside[0])]
        check(any(agree(path, steps) for path in held), f"{moment}: {held}")


def check_growth(work, forks):
    """The report begins with what holds what grows, after a few turns."""
    said = {"validation": r"When growth was noticed, [0-9.]+ MiB of that was held by local variable `total` of validate\(\) at holders_growth.py:\d+ -> .grad_fn",
            "attributes": r"When growth was noticed, [0-9.]+ MiB of that was held by local variable `nets` of main\(\) at holders_growth.py:\d+ -> \[0..\d\]\[0\].seen\.",
            "closure": r"includes at least [0-9.]+ MiB of garbage: reference cycle of Linear\S*._forward_hooks\[\d\], closure `self`.body",
            "tasks": r"most of it from holders_growth.py:\d+ infer. When growth was noticed, [0-9.]+ MiB of that was held by .*local variable `tasks` of suspended serve\(\)",
            "context": r"includes at least [0-9.]+ MiB of garbage: reference cycle of Tensor.grad_fn.y", "steady": None}
    for how, words in said.items():
        trace = Path(work) / f"growth-{how}.mtap"
        equal(f"{how} ends well", forks.run(trace, HERE / "holders_growth.py", how, env={"MEMTAP_HOLDERS": "growth"})[0], 0)
        first = " ".join(harness.must_run([MEMTAP, "report", trace]).stdout.split("\n\n")[0].split())
        check(re.search(words, first) if words else not lists(trace), f"{how}: {first}")


def check_end(work):
    done = harness.must_run([*harness.recorded(Path(work) / "end%p.mtap", "--holders", "end"), harness.PYTHON, HERE / "holders_end.py"])
    ends = [line.split(",") for line in done.stdout.splitlines()]
    equal("they end as they do alone", [(way, code) for way, _, _, code in ends], [("runs to its end", "0"), ("exits", "3"), ("fails", "1")])
    for way, pid, address, _ in ends:
        held = [(end["moment"], end["result"], holders.get(int(address))) for end, holders in lists(Path(work) / f"end{pid}.mtap")]
        wanted = [(3, 0, (2, ["global `kept` of module __main__", "['key']"], 0))]
        equal(f"a program that {way}", held, [] if way == "fails" else wanted)


def check_hostile(work, forks):
    for what, result, n in [("names", 0, 17), ("deep", 0, 1), ("freed", 0, 24), ("refused", 2, 0)]:
        trace = Path(work) / f"{what}.mtap"
        for _ in range(3):  # on a busy machine a search may reach its limit of time
            trace.unlink(missing_ok=True)
            code, output = forks.run(trace, HERE / "hostile_holders.py", what, env={"MEMTAP_HOLDERS": "oom"})
            equal(f"{what} ends well", (code, "out of memory" in output), (0, True))
            found = lists(trace)
            if [end["result"] for end, _ in found] != [1]:
                break
        if not equal(f"{what}: one list", [end["result"] for end, _ in found], [result]):
            continue
        kept = {int(address) for address in re.findall(r"^kept (\d+)", output, re.M)}
        holders = found[0][1]
        equal(f"{what}: found", len(kept & set(holders)), n)
        check(all(step.isprintable() for _, steps, _ in holders.values() for step in steps), f"{what}: {holders}")
        if what == "deep":
            _, path, view = next(iter(holders.values()))
            equal("deep: a view", view, 400)
            check(len(path) < 70 and any(re.fullmatch(r"\d+ more steps", step) for step in path), f"deep: {path}")


def main():
    harness.need_torch()
    with harness.folder() as work, harness.Forks() as forks:
        check_roots(work, forks)
        check_headline(work, forks)
        check_host(work, forks)
        check_collecting(work, forks)
        check_moments(work, forks)
        check_growth(work, forks)
        check_end(work)
        check_hostile(work, forks)
    harness.finish()


main()
