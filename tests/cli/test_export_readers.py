# SPDX-License-Identifier: Apache-2.0
"""test_export_readers.py MAKE_TRACES MEMTAP: other tools' readers of what memtap export writes, as far as they are
installed for the Python that MEMTAP_TEST_READERS names, or for this one: pyarrow, polars, duckdb, perfetto's protobuf, Mosaic
(facebookresearch/mosaic); pprof's own tool, of Go; MEMTAP_TEST_SPEEDSCOPE names speedscope's file-format-schema.json, for jsonschema."""
import csv
import importlib.util
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

make_traces, memtap = (os.path.abspath(path) for path in sys.argv[1:3])
other = os.environ.get("MEMTAP_TEST_READERS")
if other and "MEMTAP_TEST_CHILD" not in os.environ:
    sys.exit(subprocess.run([other, *sys.argv], env={**os.environ, "MEMTAP_TEST_CHILD": "1"}, check=False).returncode)
TRACES = ["training", "mixed", "layers", "hostile", "c-program", "native", "unknown"]
TABLES = "blocks", "events", "stacks", "categories", "phases", "ranks", "samples", "growth"


def export(*options):
    return subprocess.run([memtap, "export", *options], capture_output=True, check=True).stdout


def expected(table, traces):
    rows = list(csv.reader(io.StringIO(export("-f", "csv", "--table", table, *traces).decode())))
    return rows[0], [[None if value == "" else value for value in row] for row in rows[1:]]


def same(names, rows, table, traces):
    """CSV's texts are made safe to be shown: those are compared where they are plain."""
    columns, wanted = expected(table, traces)
    assert names == columns, (names, columns)
    assert len(rows) == len(wanted), (len(rows), len(wanted))
    for row, want in zip(rows, wanted):
        for value, other_value in zip(row, want):
            text = None if value is None else str(value)
            assert text == other_value or not text.isascii() or "?" in other_value or "'" in other_value, (row, want)


def see_pyarrow(traces):
    import pyarrow.ipc
    for table in TABLES:
        file = pyarrow.ipc.open_file(io.BytesIO(export("-f", "arrow", "--table", table, *traces))).read_all()
        stream = pyarrow.ipc.open_stream(io.BytesIO(export("-f", "arrow_stream", "--table", table, *traces))).read_all()
        file.validate(full=True)
        assert file.equals(stream)
        same(file.column_names, [list(row.values()) for row in file.to_pylist()], table, traces)
        assert all(field.metadata[b"meaning"] for field in file.schema)


def see_polars(traces):
    import polars
    for table in TABLES:
        frame = polars.read_ipc(io.BytesIO(export("-f", "arrow", "--table", table, *traces)))
        same(frame.columns, frame.rows(), table, traces)


def see_duckdb(traces):
    import duckdb
    import pyarrow.ipc
    blocks = pyarrow.ipc.open_stream(io.BytesIO(export("-f", "arrow_stream", *traces))).read_all()
    told = duckdb.sql("select category, sum(size), count(*) from blocks group by all").fetchall()
    assert sum(row[1] for row in told) == sum(blocks["size"].to_pylist())


def see_perfetto(traces):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(export("-f", "perfetto", *traces))
    known = {packet.track_descriptor.uuid for packet in trace.packet if packet.HasField("track_descriptor")}
    events = [packet.track_event for packet in trace.packet if packet.HasField("track_event")]
    kinds = perfetto_trace_pb2.TrackEvent
    assert {event.track_uuid for event in events} <= known
    wanted = {kinds.TYPE_COUNTER, kinds.TYPE_SLICE_BEGIN, kinds.TYPE_SLICE_END}
    assert "training.mtap" not in traces or wanted <= {event.type for event in events}
    before = trace.ByteSize()
    trace.DiscardUnknownFields()
    assert trace.ByteSize() == before, "fields that Perfetto does not have"
    units = {packet.track_descriptor.counter.unit for packet in trace.packet if packet.track_descriptor.HasField("counter")}
    assert units <= {perfetto_trace_pb2.CounterDescriptor.UNIT_SIZE_BYTES}, units


def see_speedscope(traces):
    import jsonschema
    with open(os.environ["MEMTAP_TEST_SPEEDSCOPE"], encoding="utf-8") as schema:
        jsonschema.validate(json.loads(export("-f", "speedscope", *traces)), json.load(schema))


def see_pprof(traces):
    """What pprof counts at the innermost functions is what is live, with and without stacks; nothing reaches a terminal."""
    pathlib.Path("p.pb.gz").write_bytes(export("-f", "pprof", *traces))
    told = subprocess.run([*PPROF, "-top", "-unit=B", "-nodefraction=0", "p.pb.gz"], capture_output=True, text=True, check=True)
    assert not told.stderr and "\x1b" not in told.stdout and told.stdout.startswith("File: "), told
    flat = [int(line.split()[0].removesuffix("B")) for line in told.stdout.splitlines()
            if line.strip()[:1].isdigit()]
    columns, rows = expected("blocks", ["--at", "peak", *traces])
    wanted = sum(int(row[columns.index("size")]) for row in rows)
    assert sum(flat) == wanted, (sum(flat), wanted, told.stdout)
    tags = subprocess.run([*PPROF, "-tags", "p.pb.gz"], capture_output=True, text=True, check=True).stdout
    assert " category: Total" in tags or not wanted, tags


def see_mosaic(traces):
    """The same peak, at the same allocation."""
    from mosaic.libmosaic.analyzer.memory_abstract import MemoryAbstract
    for trace in traces:
        done = subprocess.run([memtap, "export", "-f", "memory_viz", "-o", "m.pickle", trace], check=False, stderr=subprocess.DEVNULL)
        if done.returncode:
            continue  # it has no memory of PyTorch's
        abstract = MemoryAbstract(memory_snapshot_file="m.pickle")
        abstract.load_memory_snapshot()
        abstract.memory_snapshot.analyze_memory_snapshot(opt="memory_peak")
        report = json.loads(subprocess.run([memtap, "report", "-f", "json", trace], capture_output=True, check=True).stdout)
        found, wanted = abstract.memory_snapshot.dynamic_memory_peak, max(device["peak"]["allocated"] for device in report["devices"])
        assert found == wanted, (trace, found, wanted)


PPROF = [shutil.which("pprof")] if shutil.which("pprof") else ["go", "tool", "pprof"]
READERS = {"pprof": see_pprof, "mosaic": see_mosaic, "pyarrow": see_pyarrow, "polars": see_polars, "duckdb": see_duckdb, "perfetto": see_perfetto, "jsonschema": see_speedscope}
found = [name for name in READERS if (shutil.which(PPROF[0]) if name == "pprof" else importlib.util.find_spec(name)) and
         (name != "duckdb" or importlib.util.find_spec("pyarrow")) and
         (name != "jsonschema" or "MEMTAP_TEST_SPEEDSCOPE" in os.environ)]
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    subprocess.run([make_traces, "."], check=True)
    for reader in found:
        for name in TRACES:
            READERS[reader]([f"{name}.mtap"])
        READERS[reader]([f"{name}.mtap" for name in TRACES])
        print(reader, "reads it")
for reader in READERS.keys() - set(found):
    print(f"not installed, so not asked: {reader}")
    os.chdir("/")
if not found:
    print("none of", *READERS, "is installed")
    sys.exit(77)
