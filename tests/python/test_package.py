# SPDX-License-Identifier: Apache-2.0
"""test_package.py PACKAGE MEMTAP MAKE_TRACES MAKE_TRACE: the package's tables against the command's own answers, by plain Python;
its objects; what it says of bad input. PACKAGE: the folder that has memtap/."""
import collections
import ctypes
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

package, command, make_traces, make_trace = map(os.path.abspath, sys.argv[1:])
os.environ["MEMTAP"] = command
sys.path.insert(0, package)
sys.dont_write_bytecode = True
import memtap  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import arrow  # noqa: E402

MANY = 300_000  # events: several batches


def ask(*arguments):
    return json.loads(subprocess.run([command, *arguments], check=True, capture_output=True, text=True).stdout)


def problem(function, *arguments, **more):
    """What it says is wrong: one line."""
    try:
        function(*arguments, **more)
    except (memtap.Problem, OSError) as wrong:
        text = wrong.strerror if isinstance(wrong, OSError) else str(wrong)
        assert text and "\n" not in text, text
        return text
    raise AssertionError(f"{function} {arguments}: no problem")


def check_imports():
    """import memtap alone takes little, and nothing that is large."""
    seen = subprocess.run([sys.executable, "-X", "importtime", "-c", "import memtap"], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": package}).stderr
    for module in ("ctypes", "json", "subprocess", "memtap.trace"):
        assert not any(line.endswith(f" {module}") for line in seen.splitlines()), module
    for name in memtap.__all__:
        assert getattr(memtap, name).__doc__, f"memtap.{name} says what it is"


def check_events():
    trace = memtap.open("training.mtap")
    events = arrow.rows(trace.events())
    assert [row["event"] for row in events] == list(range(1, len(events) + 1))
    assert dict(collections.Counter(row["kind"] for row in events)) == {
        kind: n for kind, n in ask("info", "-f", "json", "training.mtap")["records"].items() if n}
    for row in events:
        assert (row["size"] is not None) >= (row["kind"] in ("alloc", "free", "cuda_malloc", "oom")), row
        assert (row["allocated"] is not None) == (row["kind"] in ("alloc", "free", "oom")), row
    stacks = {row["stack"]: row for row in arrow.rows(trace.stacks())}
    assert all(row["stack"] is None or row["stack"] in stacks for row in events)
    for row in stacks.values():
        assert row["depth"] == (stacks[row["parent"]]["depth"] + 1 if row["parent"] else 1)


def check_blocks(name, moment):
    """The same blocks as memtap blocks has, with the same categories; and their ends, by the table of all."""
    trace = memtap.open(name)
    said = ask("blocks", "-f", "json", "--at", moment, name)
    blocks = arrow.rows(trace.blocks(moment))
    wanted = {(device["device"], block["address"]): block for device in said["devices"] for block in device["blocks"]}
    assert len(wanted) == len(blocks), name
    for row in blocks:
        block = wanted[row["device"], row["address"]]
        for key in ("size", "category", "rule", "certainty", "time_ns", "stack", "forward_stack", "operator", "dtype", "name"):
            assert row[key] == block[key], (name, key, row, block)
        assert (row["module"] or "") == (block["module"] or ""), row
    whole = {(row["device"], row["event"]): row for row in arrow.rows(trace.blocks(None))}
    for row in blocks:
        other = whole[row["device"], row["event"]]
        assert (row["end_event"], row["end_ns"], row["iteration"]) == (other["end_event"], other["end_ns"], other["iteration"])
    bytes_of = collections.Counter()
    for row in blocks:
        bytes_of[row["device"], row["category"]] += row["size"]
    for row in arrow.rows(trace.categories(moment)):
        assert row["bytes"] == bytes_of[row["device"], row["category"]], row


def check_small_tables():
    for name in ("training.mtap", "unknown.mtap", "c-program.mtap", "killed.mtap"):
        report = memtap.open(name).report()
        ranks = arrow.rows(memtap.open(name).ranks())
        assert [row["ended"] for row in ranks] == [report.ended] * len(ranks) and ranks[0]["path"] == name
        peaks = [row["peak"] for row in ranks if row["peak"] is not None]
        assert max(peaks, default=0) == report.allocated, (name, peaks, report)
        phases = arrow.rows(memtap.open(name).phases())
        assert max((row["most"] for row in phases), default=0) == report.allocated, name
    job = memtap.open(["rank0.mtap", "rank1.mtap"])
    assert [row["rank"] for row in arrow.rows(job.ranks())] == [0, 1]
    peaks = {row["rank"]: row["peak"] for row in arrow.rows(job.ranks())}
    for rank, peak in peaks.items():
        samples = [row for row in arrow.rows(job.samples()) if row["rank"] == rank]
        assert max(row["allocated"] for row in samples) == peak
        assert sum(row["bytes"] for row in samples if row["sample"] == 0) == samples[0]["allocated"]
    assert {row["rank"] for row in arrow.rows(job.events())} == {0, 1}
    assert sorted(job.report().ranks) == [0, 1]


def check_ownership():
    """Streams outlive the table and the trace, end early, and go to other threads."""
    trace = memtap.open("many.mtap")
    reader = arrow.Reader(trace.events())
    trace.close()
    del trace
    gc.collect()
    first = reader.take()
    counted = []
    thread = threading.Thread(target=lambda: counted.extend(map(len, reader.batches())))
    thread.start()
    thread.join()
    assert first.length + sum(counted) == MANY and len(counted) > 2
    # A column that a consumer keeps outlives its batch, and the stream.
    kept = arrow.Array()
    column = first.children[1]
    ctypes.memmove(ctypes.addressof(kept), ctypes.addressof(column.contents), ctypes.sizeof(arrow.Array))
    ctypes.memset(ctypes.addressof(column.contents) + arrow.Array.release.offset, 0, ctypes.sizeof(ctypes.c_void_p))
    first.release(ctypes.byref(first))
    reader.close()
    assert ctypes.c_int64.from_address(kept.buffers[1]).value == 1
    kept.release(ctypes.byref(kept))
    table = memtap.open("many.mtap").events()
    for _ in range(50):
        table.__arrow_c_stream__()  # nobody takes it out of its capsule
        table.__arrow_c_schema__()
    early = arrow.Reader(table)
    assert early.take().release
    early.close()
    assert "is closed" in problem(closed().events)


def closed():
    with memtap.open("training.mtap") as trace:
        return trace


def check_objects():
    trace = memtap.open("training.mtap")
    report = trace.report()
    said = ask("report", "-f", "json", "training.mtap")
    assert (report.allocated, report.reserved) == (said["peak"]["allocated"], said["peak"]["reserved"])
    assert report.categories == said["peak"]["categories"] and report.iteration == said["peak"]["iteration"]
    assert report.call_sites[0].bytes == said["devices"][0]["call_sites"][0]["bytes"]
    assert str(report) == report.text and "Peak of device 0" in report.text
    same = memtap.diff("training.mtap", trace)
    assert same.same and same.change == 0 and not same.sites
    grown = memtap.diff("rank0.mtap", "training.mtap")
    assert not grown.same and grown.verdict and grown.text
    held = memtap.check(trace, budget={"peak": report.allocated, "category": {"activations": "1 TiB"}})
    assert held and held.holds and not held.broken and len(held.limits) == 2
    broken = memtap.check(trace, budget={"peak": "1 MiB"})
    assert not broken and broken.broken[0].limit == "peak" and broken.broken[0].most == 1 << 20 and "peak" in broken.text
    assert memtap.check("training.mtap", against="training.mtap").holds
    for shown in (trace, report, grown, broken, trace.blocks()):
        assert repr(shown).startswith("<memtap.") and "<table>" in shown._repr_html_()
    blocks = trace.blocks()
    lines = repr(blocks).splitlines()
    assert len(blocks) == len(arrow.rows(blocks)) and f": {len(blocks):,} rows of " in lines[0]
    first = arrow.rows(blocks)[0]
    shown = dict(zip(lines[1].split(), lines[2].split()))
    assert shown["rank"] == "-" and shown["address"] == str(first["address"]) and shown["size"] == str(first["size"]), lines
    assert all(len(line) <= 80 for line in lines[:-1]) and lines[-1].startswith("and "), lines
    assert [column.unit for column in trace.blocks().columns if column.name == "size"] == ["bytes"]
    assert all(column.meaning for column in trace.ranks().columns)


def check_hostile():
    """Foreign text is text: valid, and no HTML."""
    trace = memtap.open("hostile.mtap")
    for table in (trace.events(), trace.blocks(), trace.blocks(None), trace.stacks(), trace.ranks(), trace.phases()):
        arrow.rows(table)
    assert "<script" not in trace._repr_html_().lower()


def check_bad_input():
    assert problem(memtap.open, "nothing.mtap").startswith("nothing.mtap: No such file")
    os.mkdir("empty")
    assert "no trace" in problem(memtap.open, "empty") and "no trace" in problem(memtap.open, [])
    pathlib.Path("text.mtap").write_text("not a trace")
    assert "not a memtap trace" in problem(memtap.open, "text.mtap")
    trace = memtap.open("training.mtap")
    assert "unknown moment 'yesterday'; use peak" in problem(trace.blocks, "yesterday")
    assert "never ran out of memory" in problem(trace.blocks, "oom")
    assert "iterations 1 to 3 only" in problem(trace.categories, "step:99")
    assert problem(trace.report, "yesterday") and problem(memtap.diff, "training.mtap", "nothing.mtap")
    assert problem(memtap.check, "training.mtap", budget={"peek": "1 GiB"})
    assert "not installed; pip install" in problem(memtap.trace._need, "no_such_package")
    data = pathlib.Path("many.mtap").read_bytes()
    pathlib.Path("cut.mtap").write_bytes(data[:len(data) // 2])
    whole = memtap.open("cut.mtap", damaged=True)
    n = len(arrow.rows(whole.events()))
    reader, seen = arrow.Reader(memtap.open("cut.mtap").events()), 0
    assert "<memtap.Table events: cut.mtap: " in repr(memtap.open("cut.mtap").events())
    try:
        for batch in reader.batches():
            seen += len(batch)
        raise AssertionError("a cut trace ends with an error")
    except OSError as wrong:
        assert "cut.mtap: " in wrong.strerror and 0 < seen == n < MANY, (wrong, seen, n)
    assert problem(reader.take), "and stays one"
    reader.close()
    assert len(arrow.rows(whole.blocks(None))) > 0
    memtap.limits(events=10)
    for ask_for in (trace.events, trace.report):
        assert "more than 10 events; " in problem(ask_for) and " allows more" in problem(ask_for), problem(ask_for)
    memtap.limits(output=1)
    assert "it expands to more than 1 B; MEMTAP_MOST_OUTPUT=SIZE allows more" in problem(trace.stacks), problem(trace.stacks)
    assert "MEMTAP_MOST_OUTPUT" in problem(memtap.open, "training.mtap")
    memtap.limits(memory="much")
    assert problem(trace.blocks) .startswith("MEMTAP_MOST_MEMORY 'much' is not a size; "), problem(trace.blocks)
    assert problem(trace.report) == problem(trace.blocks)
    memtap.limits()
    assert arrow.rows(trace.blocks()) and trace.report().allocated
    beside = {**os.environ, "MEMTAP": "/nonexistent/memtap", "PYTHONPATH": package}
    done = subprocess.run([sys.executable, "-c", "import memtap\ntry: memtap.open('training.mtap')\nexcept memtap.Problem as p: print(p)"],
                          capture_output=True, text=True, check=True, env=beside)
    assert done.stdout == "$MEMTAP is /nonexistent/memtap, which is not a command\n", done


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces, "."], check=True)
    subprocess.run([make_trace, "many.mtap", str(MANY)], check=True)
    check_imports()
    check_events()
    for trace_name in ("training.mtap", "c-program.mtap", "many.mtap", "layers.mtap", "mixed.mtap", "killed.mtap"):
        for at in ("peak", "end", "event:40"):
            check_blocks(trace_name, at)
    check_small_tables()
    check_ownership()
    check_objects()
    check_hostile()
    check_bad_input()
    os.chdir("/")
