# SPDX-License-Identifier: Apache-2.0
"""test_fleet.py MAKE-TRACES MAKE-RANKS MAKE-BOMBS MEMTAP: memtap fleet names the odd ranks of a small job, the same over a folder and over its
dataset, lists what it cannot compare (small traces that stand for much as well), and says what to install. Skipped (77) where MEMTAP_TEST_PYTHON has no pyarrow or duckdb. With
MEMTAP_TEST_SPARK=1, Spark (pyspark there) gives the same answers."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile

make_traces, make_ranks, make_bombs, memtap = map(os.path.abspath, sys.argv[1:])
python = os.environ.get("MEMTAP_TEST_PYTHON", sys.executable)
source = pathlib.Path(__file__).resolve().parents[2] / "python"
RANKS, BIG, NIGHTS = 12, 7, 2


def run(*command, code=0, python_of=python, **more):
    # The command takes PATH's python3, in a build folder.
    environment = dict(os.environ, PATH=f"{pathlib.Path(python_of).parent}:{os.environ['PATH']}", **more)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
    return done


def make_job(recordings, top, odd_ranks=(BIG,)):
    lines = []
    for night in range(NIGHTS):
        folder = top / f"night-{night}"
        folder.mkdir(parents=True)
        for rank in range(RANKS):
            odd = "mixed" if night and rank in odd_ranks else "training"
            infos = [f"rank={rank}", f"world_size={RANKS}", f"host=node{rank}", "command=python train.py",
                     f"start_realtime_ns={10 ** 18 + night * 10 ** 14 + rank}"]
            lines.append("\t".join([str(recordings / f"{odd}.mtap"), str(folder / f"{rank}.mtap"), *infos]))
    subprocess.run([make_ranks], input="\n".join(lines) + "\n", text=True, check=True)


def spoil(recordings, top):
    """Traces that cannot be compared, and another job's."""
    newest = top / f"night-{NIGHTS - 1}"
    whole = (recordings / "training.mtap").read_bytes()
    (newest / "cut.mtap").write_bytes(whole[:len(whole) // 2])
    (newest / "empty.mtap").write_bytes(b"")
    (newest / "text.mtap").write_text("no trace\n")
    (newest / "newer.mtap").write_bytes(whole[:8] + b"\xff\x7f" + whole[10:])
    shutil.copy(recordings / "idle.mtap", newest)
    shutil.copy(recordings / "rank0.mtap", newest)
    return {f"{newest.name}/{name}.mtap" for name in ("cut", "empty", "text", "newer", "idle")}


def check_answers(found, left_out):
    assert found["job"] == f"train.py-x{RANKS}" and found["run"] == f"night-{NIGHTS - 1}", (found["job"], found["run"])
    assert {row["trace"] for row in found["skipped"]} == left_out, found["skipped"]
    assert all(row["reason"] for row in found["skipped"])
    assert len(found["jobs"]) == 2
    mine = [row for row in found["outliers"] if row["run"] == found["run"]]
    assert mine[0]["rank"] == BIG and {row["rank"] for row in mine if row["kind"] == "peak"} == {BIG}, mine
    peak = next(row for row in mine if row["kind"] == "peak")
    line = next(row for row in mine if row["kind"] == "line")
    assert peak["bytes"] - peak["median"] == peak["above"] > 0 and peak["ranks"] == RANKS and peak["mad"] == 0
    assert line["rank"] == BIG and line["file"] and line["bytes"] - line["median"] == line["above"]
    assert not [row for row in found["outliers"] if row["run"] == "night-0"]
    assert not found["growing"] and not found["older"]
    assert [row["ranks"] for row in found["nights"]] == [RANKS] * NIGHTS
    over_time = {row["run"]: row for row in found["over_time"] if row["role"] == peak["role"]}
    assert (over_time["night-0"]["above"], over_time["night-0"]["change"]) == (0, None), over_time
    assert over_time["night-1"]["above"] == over_time["night-1"]["change"] == peak["above"], over_time
    assert found["grown"][0]["rank"] == BIG and found["grown"][0]["usual"] == 0
    highest = max(found["stages"], key=lambda row: row["most"])
    assert highest["most_rank"] == BIG and highest["most"] == peak["bytes"]


def check_text(top):
    text = run(memtap, "fleet", top).stdout
    assert all(len(line) <= 80 for line in text.splitlines()), text
    assert "Imbalance by run" in text, text
    # A mark before a category, and what it means, as in memtap report.
    legend = next(line for line in run(memtap, "report", top / "night-1" / f"{BIG}.mtap").stdout.splitlines() if "~ likely" in line)
    assert re.search(r"[+-][\d.]+ \w+ [~?][a-z]", text) and text.splitlines()[-1] == legend, text
    assert f"rank {BIG} (node{BIG})" in text and "Other jobs" in text and "night-1/cut.mtap" in text, text


def check_alike(recordings, work):
    make_job(recordings, work / "two-odd", (3, BIG))
    text = run(memtap, "fleet", work / "two-odd").stdout
    for title in "Outliers, each", "Ranks that grew":
        of_ranks = text.partition(title)[2].partition("\n\n")[0]
        assert "rank 3 (node3) and 1 like it" in of_ranks and f"rank {BIG}" not in of_ranks, text


def check_one_process(recordings, work):
    (work / "one").mkdir()
    shutil.copy(recordings / "training.mtap", work / "one")
    text = run(memtap, "fleet", work / "one").stdout
    assert re.match(r"train\.py, run one: the peak is [\d.]+ \w+\.\n", text) and "-1" not in text, text


def check_dataset(work, top, left_out):
    out = work / "dataset"
    done = run(memtap, "export", "--format", "parquet", "-o", out, top)
    assert all(name in done.stderr for name in left_out), done.stderr
    folder = run(memtap, "fleet", "--format", "json", top).stdout
    dataset = run(memtap, "fleet", "--format", "json", out).stdout
    assert folder == dataset
    elsewhere = (out / "_memtap.json").replace(work / "elsewhere.json")
    before = elsewhere.read_bytes()
    (out / "_memtap.json").symlink_to(elsewhere)
    again = run(memtap, "export", "--format", "parquet", "-o", out, top / "night-0" / "0.mtap")
    assert "1 traces" in again.stderr
    assert elsewhere.read_bytes() == before and not (out / "_memtap.json").is_symlink()
    assert not [path for path in out.rglob(".*")]
    script = f"""
import json, pyarrow.parquet as pq, pyarrow.dataset as ds, duckdb
mark = json.load(open({str(out / '_memtap.json')!r}))
for table, columns in mark["tables"].items():
    if table == "growth":  # nothing grows
        continue
    found = ds.dataset({str(out)!r} + "/" + table, partitioning="hive", format="parquet")
    assert set(found.schema.names) == set(columns), (table, found.schema.names, columns)
    assert all(file.metadata.metadata[b"memtap.dataset.version"] == mark["version"].encode()
               for file in [pq.ParquetFile(next(iter(found.files)))])
documented = open({str(source.parent / 'man' / 'memtap-dataset.5')!r}).read()
for table in ("runs", "sites", "growth", "samples"):
    assert all(f"\\n{{name}} " in documented or f"\\\\fB{{name}}\\\\fR" in documented for name in mark["tables"][table]), table
bytes, peak = duckdb.connect().execute("SELECT sum(size), max(r.peak) FROM '{out}/blocks/*/*/*/*.parquet' b JOIN '{out}/runs/*/*/*/*.parquet' r "
                                  "USING (trace) WHERE trace = 'night-1/{BIG}.mtap'").fetchone()
assert bytes == peak, (bytes, peak)
"""
    run(python, "-c", script)
    return folder


def check_report(top, found):
    """The two commands' medians of a night's ranks are one number."""
    report = json.loads(run(memtap, "report", "--format", "json", *sorted((top / "night-1").glob("[0-9]*.mtap"))).stdout)
    night, peaks = found["nights"][1], sorted(one["report"]["peak"]["allocated"] for one in report["ranks"])
    assert night["most"] - night["median"] == report["imbalance"]["above"] > 0, (night, report["imbalance"])
    assert night["most"] == peaks[-1] and night["ranks"] == len(peaks) == RANKS, (night, peaks)


READ = """
import ctypes, os, sys
from memtap.fleet import extract
libc, path = ctypes.CDLL(None), sys.argv[1]
watched = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(watched, path.encode(), 0x30)  # IN_OPEN, IN_CLOSE_NOWRITE: equal ones in turn are one
tables = extract.read(path, "x.mtap", "run")
opened = len(os.read(watched, 1 << 16)) // 16 / 2  # an event has 16 bytes
assert opened == 2, opened  # its beginning, then all of it
assert extract.job_of({"world_size": 8, "command": "python -W error /srv/1/train --x"}) == "train-x8"
files = {file for file in tables["sites"]["file"].to_pylist() if file}
assert "models/net.py" in files and not any("site-packages" in file for file in files), files  # as memtap diff
"""


def check_moved(work, answers):
    """A job whose folder is another one every night has grown nowhere."""
    moved = work / "moved"
    shutil.copytree(work / "dataset", moved)
    run(python, "-c", f"""
import pathlib, pyarrow as pa, pyarrow.parquet as pq
files = [path for path in pathlib.Path({str(moved)!r}).glob("sites/**/*.parquet") if "night-{NIGHTS - 1}" in str(path)]
assert files
for path in files:
    table = pq.ParquetFile(path).read()
    named = pa.array([file and "/srv/night-1/" + file.rpartition("/")[2] for file in table["file"].to_pylist()], table.schema.field("file").type)
    pq.write_table(table.set_column(table.schema.get_field_index("file"), table.schema.field("file"), named), path)
""")
    found = json.loads(run(memtap, "fleet", "--format", "json", moved).stdout)
    assert any(row["file"].startswith("/srv/") for row in found["outliers"] if row["kind"] == "line"), found["outliers"]
    assert found["changes"] == json.loads(answers)["changes"] == [], found["changes"]


def check_bombs(work, top):
    """A trace that would take much more than one of its size is listed, with what it is; the others are compared."""
    folder = work / "hostile"
    shutil.copytree(top / "night-0", folder)
    subprocess.run([make_bombs, "names", "pairs", "turns"], cwd=folder, check=True)
    found = json.loads(run(memtap, "fleet", "--format", "json", folder).stdout)
    reasons = {row["trace"]: row["reason"] for row in found["skipped"]}
    assert set(reasons) == {"names.mtap", "pairs.mtap", "turns.mtap"} and len(found["nights"]) == 1, found
    assert all("MEMTAP_MOST_" in reason and "allows more" in reason for reason in reasons.values()), reasons
    assert found["nights"][0]["ranks"] == RANKS, found["nights"]
    said = run(memtap, "export", "--format", "parquet", "-o", work / "hostile-set", folder).stderr
    assert f"{RANKS} traces" in said and all(name in said for name in reasons), said
    # The largest of these processes; pyarrow and DuckDB take 200 MiB of it.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 512 << 10, resource.getrusage(resource.RUSAGE_CHILDREN)
    said = run(memtap, "--most-events", "1", "fleet", folder, code=2).stderr
    assert said.count("\n") == 1 and "more than 1 events; MEMTAP_MOST_EVENTS=NUMBER allows more" in said, said


def check_bad_input(work, top):
    (work / "nothing").mkdir()
    for arguments in (["fleet", work / "nothing"], ["fleet", work / "absent"], ["fleet", "--job", "other", top],
                      ["fleet"], ["fleet", "--stages", "0", top], ["export", "-f", "parquet", top],
                      ["export", "-f", "parquet", "-o", top, top]):
        said = run(memtap, *arguments, code=2).stderr
        assert said.startswith("memtap") and said.count("\n") == 1, said
    bare = work / "bare"
    bare.mkdir()
    (bare / "python3").write_text(f"#!/bin/sh\nexec {sys.executable} -S -E \"$@\"\n")
    (bare / "python3").chmod(0o755)
    said = run(memtap, "fleet", top, code=2, python_of=bare / "python3").stderr
    assert "pip install memtap" in said and said.count("\n") == 1, said
    (bare / "python3").write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    for arguments, names in ((["fleet", top], "pip install pyarrow duckdb"),
                             (["export", "-f", "parquet", "-o", work / "x", top], "pip install pyarrow")):
        said = run(memtap, *arguments, code=2, python_of=bare / "python3").stderr
        assert names in said and said.count("\n") == 1, said


SPARK = """
import sys
from pyspark.sql import SparkSession
import memtap.spark
spark = (SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false").config("spark.executor.memory", "768m")
         .config("spark.driver.host", "127.0.0.1").config("spark.sql.shuffle.partitions", "2").getOrCreate())
print(memtap.spark.ask(spark, sys.argv[1]).as_json(), end="")
spark.dataSource.register(memtap.spark.TraceSource)
rows = spark.read.format("memtap").option("table", "runs").load(sys.argv[1]).count()
assert rows == int(sys.argv[2]), rows
"""


def check_spark(work, top, answers):
    for path in (top, work / "dataset"):
        done = run(python, "-c", SPARK, path, RANKS * NIGHTS + 1, PYTHONPATH=str(source), MEMTAP=memtap, PYSPARK_PYTHON=python) \
            if path == top else run(python, "-c", SPARK.split("spark.dataSource")[0], path, PYTHONPATH=str(source), MEMTAP=memtap,
                                    PYSPARK_PYTHON=python)
        assert json.loads(done.stdout) == json.loads(answers)


def main():
    if subprocess.run([python, "-c", "import pyarrow, duckdb"], capture_output=True, check=False).returncode:
        print(f"{python} has no pyarrow and duckdb")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "recordings").mkdir()
        subprocess.run([make_traces, "."], cwd=work / "recordings", check=True)
        top = work / "runs"
        make_job(work / "recordings", top)
        left_out = spoil(work / "recordings", top)
        found = json.loads(run(memtap, "fleet", "--format", "json", top).stdout)
        check_answers(found, left_out)
        check_report(top, found)
        check_text(top)
        check_one_process(work / "recordings", work)
        check_alike(work / "recordings", work)
        run(python, "-c", READ, top / "night-1" / f"{BIG}.mtap", PYTHONPATH=str(source), MEMTAP=memtap)
        answers = check_dataset(work, top, left_out)
        check_moved(work, answers)
        check_bombs(work, top)
        check_bad_input(work, top)
        if os.environ.get("MEMTAP_TEST_SPARK"):
            check_spark(work, top, answers)


main()
