# SPDX-License-Identifier: Apache-2.0
"""test_equal_answers.py MAKE_TRACES MAKE_RANKS TO-FIT MEMTAP PACKAGE PAGE_TOOLS ANALYZER: one question has one answer. Reports, lists,
exports and the page group blocks by one query (analyzer/query), so that what is asked here of a dozen traces is only what writes its
own rows: the tables as CSV and from the reader library, pprof, and the page's analyzer. Then the questions of questions.py, of
renderers. ANALYZER "": without the page."""

import collections
import csv
import functools
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
for folder in (here.parent / "support", here.parent / "python", here.parents[1] / "page"):
    sys.path.insert(0, str(folder))
sys.dont_write_bytecode = True
import wire  # noqa: E402

make_traces, make_ranks, to_fit, command, package, page_tools = map(os.path.abspath, sys.argv[1:7])
analyzer = os.path.abspath(sys.argv[7]) if sys.argv[7] else None
os.environ["MEMTAP"] = command
sys.path.insert(0, package)
import answers  # noqa: E402
import arrow  # noqa: E402
import gaps  # noqa: E402
import memtap  # noqa: E402
import questions  # noqa: E402

TRACES = "training keeping c-program copies native blamed layers mixed phases oom oom-library fragmented balance idle".split()
MOMENTS = "peak", "end", "event:8"  # of the first trace; of each other one of them in turn
# Bytes in the middle between two texts (40.125 KiB is 40.12), and at the border of two units.
SIZES = [1024, 1151, 1152, 1408, 1664, 1920, 41088, 41600, 1048570, 1048571, 1048575, 1048576, 1179648, 1703936]
page_sizes = f"sizes:{','.join(map(str, SIZES))}"
faults = []


def same(what, one, other):
    """Note what two answers do not share."""
    if one == other:
        return
    if isinstance(one, dict) and isinstance(other, dict):
        differing = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        faults.append(f"{what}: " + "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in differing[:3]))
    else:
        faults.append(f"{what}: {str(one)[:200]} and {str(other)[:200]}")


def run(*arguments):
    return subprocess.run([command, *arguments], check=True, capture_output=True, text=True).stdout


def ask(*arguments):
    return json.loads(run(*arguments, "-f", "json"))


def sums(rows):
    """(key, bytes, blocks) -> key: [bytes, blocks]."""
    result = collections.defaultdict(lambda: [0, 0])
    for key, size, blocks in rows:
        result[key][0] += size
        result[key][1] += blocks
    return dict(result)


def integer(text):
    return int(text) if text != "" else None


def line_of(row):
    return (
        row["function"] or None,
        row["file"] or None,
        integer(row["line"]) if isinstance(row["line"], str) else row["line"],
    )


def check_tables(trace, moment, text):
    """blocks -f csv, export -f csv, Arrow's table of the package."""
    same(f"{trace} {moment}: export -f csv", text, run("export", "-f", "csv", "--at", moment, trace))
    table = arrow.rows(memtap.open(trace).blocks(moment))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(table) or faults.append(f"{trace} {moment}: {len(rows)} and {len(table)} blocks")
    for row, other in zip(rows, table):
        same(
            f"{trace} {moment}: the package's block",
            row,
            {key: "" if value is None else str(value) for key, value in other.items()},
        )


def check_every_table(trace):
    """export -f csv of each table, and the package's."""
    for table in "blocks events stacks categories phases ranks samples growth".split():
        rows = list(csv.DictReader(io.StringIO(run("export", "-f", "csv", "--table", table, trace))))
        asked = memtap.open(trace)
        other = arrow.rows(asked.blocks("all") if table == "blocks" else getattr(asked, table)())
        other = [{key: "" if value is None else str(value) for key, value in row.items()} for row in other]
        assert len(rows) == len(other) or faults.append(f"{trace}: {len(rows)} and {len(other)} {table}")
        for one, another in zip(rows, other):
            same(f"{trace}: the package's {table}", one, another)


def check_profiles(trace, moment, rows):
    """pprof: bytes and blocks by category and module."""
    profile = subprocess.run(
        [command, "export", "-f", "pprof", "--at", moment, trace], check=True, capture_output=True
    ).stdout
    profile = gzip.decompress(profile)
    texts = [text.decode() for text in wire.every(profile, 6)]
    told = []
    for sample in wire.every(profile, 2):
        blocks, size = wire.packed(wire.first(sample, 2))
        labels = {texts[wire.first(each, 1)]: texts[wire.first(each, 2) or 0] for each in wire.every(sample, 3)}
        told.append(((labels["category"], labels["phase"], labels.get("module", "")), size, blocks))
    own = sums(((row["category"], row["phase"], row["module"]), int(row["size"]), 1) for row in rows)
    same(f"{trace} {moment}: pprof", own, sums(told))


def short(row):
    """A line as the page's table has it, before its function."""
    function, file, line = line_of(row)
    if function is None and file is None:
        return "unknown"
    name = (file or "?").rsplit("/", 1)[-1]
    plain = f"{name}:{line} {function}" if line else f"{name} {function}"
    return function if not line and function and "+0x" in function else plain


def check_page(told):
    for answer in told:
        trace, names = answer["name"], answer["categories"]
        text = run("blocks", "-f", "csv", trace)
        rows = list(csv.DictReader(io.StringIO(text)))
        report = ask("report", trace)
        same(f"{trace}: the page's report", report["devices"], answer["report"]["devices"])
        for device in answer["devices"]:
            own = [row for row in rows if row["device"] == str(device["device"])]
            same(
                f"{trace}: the page's table",
                sums(
                    (
                        (
                            row["category"],
                            (f'"{row["name"]}"' + (" " + short(row)) * (short(row) != "unknown"))
                            if row["name"]
                            else short(row),
                        ),
                        int(row["size"]),
                        1,
                    )
                    for row in own
                ),
                sums(((names[row["category"]], row["line"]), row["bytes"], row["blocks"]) for row in device["rows"]),
            )
            same(f"{trace}: the page's total", sum(int(row["size"]) for row in own), device["modules"]["bytes"])


@functools.cache
def ask_page():
    """From each question to the answer of the page's analyzer."""
    if not analyzer:
        raise answers.Absent
    import fetch

    node = str(fetch.node(pathlib.Path(page_tools)))
    traces = {trace for _, _, of, _ in questions.QUESTIONS for trace in of} - {*answers.JOBS, "nights", "nightly"}
    asked = {*TRACES, *(trace for trace in traces if " " not in trace)}
    asked = {f"{name}.mtap" for name in asked} | {*answers.JOBS}
    asked |= {f"{name}.mtap {name}.mtap" for name in questions.TRAINING}
    asked |= {page_sizes, outputs.carried("live"), *make_lacking()}
    asked |= {" ".join(map(outputs.path, pair.split())) for pair in {*traces, "idle layers"} if " " in pair}
    done = subprocess.run(
        [node, here.parent / "page/ask_analyzer.mjs", page_tools, analyzer, *sorted(asked)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return {answer["name"]: answer for answer in map(json.loads, done.stdout.splitlines())}


def make_lacking():
    """Traces that lack a block, their end, or the end block alone."""
    whole = pathlib.Path("training.mtap").read_bytes()
    head, blocks = gaps.blocks_of(whole)
    lacking = {"no block": blocks[:1] + blocks[2:], "no end block": blocks[:-1], "exchanged": [blocks[1], blocks[0], *blocks[2:]]}
    for name, left in lacking.items():
        pathlib.Path(f"{name.replace(' ', '-')}.mtap").write_bytes(head + b"".join(left))
    pathlib.Path("half.mtap").write_bytes(whole[:len(whole) // 2])
    return [f"{name.replace(' ', '-')}.mtap" for name in (*lacking, "half")]


def check_headlines():
    """The page begins with the report's sentences, also of a trace that lacks something."""
    for path in [*make_lacking(), *(f"{name}.mtap" for name in TRACES)]:
        said = subprocess.run([command, "report", path], capture_output=True, text=True, check=False).stdout
        headline = " ".join(" ".join(ask_page()[path]["headline"]).split())
        same(f"{path}: the page's headline", headline, " ".join(said.split())[:len(headline)])
        same(f"{path}: whether it begins with its end", headline.startswith("Ended: "), said.startswith("Ended: "))


def check_ranks():
    """The totals of a job's ranks: report, table, and each rank's own."""
    table = {row["rank"]: row["peak"] for row in arrow.rows(memtap.open(["rank0.mtap", "rank1.mtap"]).ranks())}
    report = ask("report", "rank0.mtap", "rank1.mtap")
    same("the ranks' peaks", table, {rank["rank"]: rank["report"]["peak"]["allocated"] for rank in report["ranks"]})


def refusal(*arguments):
    """What a command says of a wrong word, without the place and the hint to its help."""
    done = subprocess.run([command, *arguments], capture_output=True, text=True)
    assert done.returncode == 2 or faults.append(f"{arguments}: exit code {done.returncode}")
    return done.stderr


def file_of(text):
    """An option's file of this text."""
    path = pathlib.Path("words")
    path.write_text(text)
    return str(path)


def package_says(ask):
    try:
        ask()
    except memtap.Problem as problem:
        return str(problem)
    return "nothing"


def check_sizes():
    """A size has the same text in a command, the package and the page."""
    def command_says(size):
        done = subprocess.run(
            [command, "check", "-f", "json", "--budget", file_of(f"[limits]\npeak = {size}\n"), "keeping.mtap"],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        return re.search(" over the limit of ([^;]*)", json.loads(done.stdout)["limits"][0]["text"])[1]

    said = [command_says(size) for size in SIZES]
    same("the package's sizes", said, [memtap.report.size_text(size) for size in SIZES])
    if analyzer:
        same("the page's sizes", said, ask_page()[page_sizes]["texts"])


def check_words():
    """A category, phase, moment, table, size or time that does not exist gets the same line everywhere; the valid ones are read alike."""
    trace = "training.mtap"
    at = [
        refusal(name, *form, "--at", "pek", trace)
        for name, form in {"blocks": (), "report": (), "stacks": (), "export": ("-f", "csv")}.items()
    ]
    budgets = ["check", trace, "--budget"], ["report", trace, "--rules"]
    lines = {
        "unknown moment 'pek'; did you mean 'peak'?": [*at, package_says(lambda: memtap.open(trace).blocks("pek"))],
        "unknown category 'actvations'; did you mean 'activations'?": [
            *(refusal(name, "--category", "actvations", trace) for name in ("blocks", "report", "stacks")),
            refusal(*budgets[0], file_of("[category]\nactvations = 1\n")),
            refusal(*budgets[1], file_of('actvations "x" size=1\n')),
        ],
        "unknown phase 'forwrd'; did you mean 'forward'?": [
            refusal(*budgets[0], file_of("[phase]\nforwrd = 1\n")),
            refusal(*budgets[1], file_of('other "x" phase=forwrd\n')),
        ],
        "'64X' is not a size; give one such as 64M": [
            *(refusal(name, "--min-size", "64X", trace) for name in ("blocks", "report", "stacks")),
            *(refusal(name, "--memory", "64X", "--", "true") for name in ("run", "simulate", "fit")),
            refusal("plan", "--memory", "64X", trace),
            refusal("run", "--keep", "64X", "--", "true"),
            refusal("--most-memory", "64X", "info", trace),
            refusal(*budgets[0], file_of('[limits]\npeak = "64X"\n')),
            refusal(*budgets[1], file_of('other "x" size=1..64X\n')),
            refusal(*budgets[1], file_of('other "x" size=64X..\n')),
        ],
        "'5x' is not a time; give one such as 90s": [
            refusal("top", "--interval", "5x", trace),
            refusal("metrics", "--follow", "--every", "5x", "-o", "x", trace),
            refusal("fit", "--simulate", "h100", "--timeout", "5x", "--vary", "n=1", "--", "true", "{n}"),
            refusal("run", "--limit-time", "5x", "--", "true"),
        ],
        "unknown table 'block'; did you mean 'blocks'?": [
            refusal("export", "-f", "csv", "--table", "block", trace),
            package_says(lambda: memtap.trace.Table("block", [trace]).columns),
        ],
    }
    for line, told in lines.items():
        for one in told:
            assert line in one or faults.append(f"{line}: but {one}")
    for phase in "outside", "startup", "start-up", "optimizer", "optimizer step":
        run(*budgets[0], file_of(f'[phase]\n"{phase}" = "1 TiB"\nevery = "1 TiB"\n'))
    for category in "optimizer_state", "optimizer state":
        run(*budgets[0], file_of(f'[category]\n"{category}" = "1 TiB"\nevery = "1 TiB"\n'))
        same(
            category,
            run("blocks", "--category", "optimizer_state", trace),
            run("blocks", "--category", category, trace),
        )
    for size in "1M", "1MiB", "1 MiB", "1m", "1MB", "1.0M", "1048576", "1024 KiB":
        same(size, run("blocks", "--min-size", "1048576", trace), run("blocks", "--min-size", size, trace))
        rules = (file_of(f'other "x" size="{size}.."\n') for size in (size, "1048576"))
        same(f"rules: {size}", *(run(*budgets[1], path) for path in rules))
        budget = (file_of(f'[limits]\npeak = "{size}"\n') for size in (size, "1048576"))
        of = [subprocess.run([command, *budgets[0], path], capture_output=True, text=True).stdout for path in budget]
        same(f"budget: {size}", of[0].replace(size, "1048576"), of[1])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces], check=True)
    for number, name in enumerate(TRACES):
        for moment in MOMENTS if not number else [MOMENTS[number % len(MOMENTS)]]:
            trace = f"{name}.mtap"
            text = run("blocks", "-f", "csv", "--at", moment, trace)
            rows = list(csv.DictReader(io.StringIO(text)))
            check_tables(trace, moment, text)
            check_profiles(trace, moment, rows)
    for name in "training", "native", "rank1":
        check_every_table(f"{name}.mtap")
    outputs = answers.Outputs(command, make_ranks, to_fit, ask_page)
    outputs.top("live")  # first: the page is asked of all traces at once
    if analyzer:
        check_page([ask_page()[f"{name}.mtap"] for name in TRACES])
    check_ranks()
    if analyzer:
        check_headlines()
    check_sizes()
    check_words()
    others, asked = answers.ask(questions.QUESTIONS, outputs)
    faults += others
    os.chdir("/")
print("\n".join(faults) or f"{len(TRACES)} traces, {len(questions.QUESTIONS)} questions, {asked} askers: one answer each")
sys.exit(bool(faults))
