# SPDX-License-Identifier: Apache-2.0
"""test_readers.py PACKAGE MEMTAP MAKE_TRACES MAKE_TRACE GUIDE: polars, pyarrow, pandas and DuckDB read the package's tables, and the
guide's example runs. Skipped (77) where MEMTAP_TEST_PYTHON has none of them."""
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

package, command, make_traces, make_trace, guide = map(os.path.abspath, sys.argv[1:])
python = os.environ.get("MEMTAP_TEST_PYTHON", "")
MANY = 300_000

READERS = {
    "polars": """
import polars
peak = polars.DataFrame(trace.blocks())
assert peak["size"].sum() == allocated and peak["category"].dtype == polars.Categorical
assert trace.events().to_polars().height == many
assert polars.DataFrame(trace.events()).group_by("kind").len().sort("kind")["len"].sum() == many
whole = trace.blocks(None).to_polars()
event = trace.report().data["peak"]["event"]
live = whole.filter((polars.col("event") <= event) & (polars.col("end_event").is_null() | (polars.col("end_event") > event)))
assert live["size"].sum() == allocated
""",
    "pyarrow": """
import pyarrow, threading
for table in (trace.events(), trace.blocks(), trace.blocks(None), trace.stacks(), trace.categories(), trace.phases(), trace.ranks()):
    table.to_arrow().validate(full=True)
    assert pyarrow.schema(table).equals(table.to_arrow().schema)
assert pyarrow.schema(trace.blocks()).field("size").metadata == {b"unit": b"bytes", b"meaning": b"size, as the allocator counts it"}
reader = pyarrow.RecordBatchReader.from_stream(trace.events())
first = reader.read_next_batch()
del trace
rest = []
thread = threading.Thread(target=lambda: rest.extend(map(len, reader)))
thread.start(); thread.join()
assert len(first) + sum(rest) == many
del reader
assert first.column("event")[0].as_py() == 1
held = pyarrow.RecordBatchReader.from_stream(memtap.open("many.mtap").events())
held.read_next_batch(); held.close()
""",
    "pandas": """
frame = trace.blocks().to_pandas()
assert frame["size"].sum() == allocated
assert frame.groupby("category", observed=True)["size"].sum().sum() == allocated
""",
    "duckdb": """
import duckdb
blocks = trace.blocks()
assert duckdb.sql("select sum(size) from blocks").fetchall() == [(allocated,)]
events = trace.events()
assert duckdb.sql("select count(*) from events where kind = 'alloc' and size > 0").fetchall()[0][0] > 1000
""",
}
BEGIN = f"""
import memtap
trace, many = memtap.open("many.mtap"), {MANY}
allocated = trace.report().allocated
"""


def run(text):
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=False,
                          env={**os.environ, "MEMTAP": command, "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
    return done.stdout


def has(name):
    return bool(python) and subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


there = [name for name in READERS if has(name) and (name != "pandas" or has("pyarrow"))]
if not there:
    print("MEMTAP_TEST_PYTHON has no polars, pyarrow, pandas or duckdb")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces, "."], check=True)
    subprocess.run([make_trace, "many.mtap", str(MANY)], check=True)
    for name in there:
        run(BEGIN + READERS[name])
    if "polars" in there:
        chapter = pathlib.Path(guide).read_text(encoding="utf-8")
        example = "\n".join(line for line in chapter.splitlines() if line.startswith("    "))
        os.rename("many.mtap", "train.mtap")
        os.rename("rank0.mtap", "monday.mtap")
        os.rename("rank1.mtap", "tuesday.mtap")
        print(run(textwrap.dedent(example)))
    os.chdir("/")
print(f"read by {', '.join(there)}")
