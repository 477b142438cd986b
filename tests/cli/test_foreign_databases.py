# SPDX-License-Identifier: Apache-2.0
"""test_foreign_databases.py MAKE-TRACES MEMTAP: databases that a stranger made. Views that never end and values without
measure are not read: each command ends by itself, with one line and exit code 2."""

import contextlib
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile

make_traces, memtap = map(os.path.abspath, sys.argv[1:3])
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
COLUMNS = (
    "start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER, pc INTEGER, bytes INTEGER, "
    "memKind INTEGER, memoryOperationType INTEGER, name TEXT, correlationId INTEGER, streamId INTEGER"
)
faults = []


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def refuses(what, *words):
    done = subprocess.run([memtap, *words], capture_output=True, text=True, preexec_fn=limit, check=False)
    if done.returncode != 2 or done.stderr.count("\n") != 1 or not done.stderr.startswith("memtap: "):
        faults.append(f"{what}: {done.returncode}: {done.stdout[-300:]} {done.stderr[-600:]}")


def database(path, *statements):
    with contextlib.closing(sqlite3.connect(path)) as made, made:
        for statement in statements:
            made.execute(statement)


def main():
    subprocess.run([make_traces], check=True, stdout=subprocess.DEVNULL)
    names = [column.split()[0] for column in COLUMNS.split(", ")]
    values = ", ".join("i" for _ in names)
    database(
        "view.sqlite",
        f"CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS({', '.join(names)}) AS {ENDLESS} SELECT {values} FROM n",
    )
    refuses("import of a view", "import", "-o", "made.mtap", "view.sqlite")
    refuses("join of a view", "export", "-f", "perfetto", "--with", "view.sqlite", "-o", "made", "training.mtap")
    # What is computed when it is read: 300 rows of 60 MB each, to be sorted, in a file of 16 KB.
    rows = (
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS(bytes) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
    )
    database(
        "zeroblob.sqlite",
        f"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS({COLUMNS.replace('start INTEGER, ', '')}, start AS (bytes))",
        f"{rows} LIMIT 300) SELECT i FROM n",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'AS (bytes)', 'AS (zeroblob(60000000))')",
    )
    refuses("import of computed values", "import", "-o", "made.mtap", "zeroblob.sqlite")
    refuses(
        "join of computed values",
        "export",
        "-f",
        "perfetto",
        "--with",
        "zeroblob.sqlite",
        "-o",
        "made",
        "training.mtap",
    )
    if os.path.exists("made.mtap") or os.path.exists("made"):
        faults.append("something was made")

    subprocess.run([memtap, "history", "add", "--db", "h.db", "training.mtap"], check=True, stdout=subprocess.DEVNULL)
    with contextlib.closing(sqlite3.connect("h.db")) as history:
        tables = [row[0] for row in history.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: [row[1] for row in history.execute(f"PRAGMA table_info({name})")] for name in tables}
    for table in ("run", "site"):
        if table not in columns:
            faults.append(f"there is no table {table} of {tables}")
            continue
        with open("h.db", "rb") as whole, open("bad.db", "wb") as bad:
            bad.write(whole.read())
        every = columns[table]
        database(
            "bad.db",
            "PRAGMA foreign_keys = OFF",
            "DROP VIEW IF EXISTS named_site",
            f"ALTER TABLE {table} RENAME TO hidden",
            f"CREATE VIEW {table}({', '.join(every)}) AS {ENDLESS} SELECT {', '.join('i' for _ in every)} FROM n",
        )
        refuses(f"history list with a view {table}", "history", "show", "--db", "bad.db", "1")
    print("done", *faults, sep="\n")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
sys.exit(bool(faults))
