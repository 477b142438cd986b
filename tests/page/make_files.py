# SPDX-License-Identifier: Apache-2.0
"""make_files.py FOLDER: files of other tools, as tests/cli/test_import.py makes them, and some that nothing can read."""
import gzip
import json
import pathlib
import pickle
import sqlite3
import sys
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import test_import  # noqa: E402

folder = pathlib.Path(sys.argv[1])
snapshot, profile = pickle.dumps(test_import.snapshot(), 5), json.dumps(test_import.profile()).encode()
files = {
    "new.pickle": snapshot,
    "old.pickle": pickle.dumps(test_import.older(), 2),
    "profile.json": profile,
    "profile.json.gz": gzip.compress(profile),
    "cut.pickle": snapshot[: len(snapshot) // 2],
    "nothing.json": b"{}",
    "twice.json.gz": gzip.compress(gzip.compress(profile)),
    "cut.json.gz": gzip.compress(profile)[:-20],
    "bomb.json.gz": gzip.compress(b" " * (80 << 20), 9),
}
for name, data in files.items():
    (folder / name).write_bytes(data)
with zipfile.ZipFile(folder / "model.pt", "w") as archive:  # as torch.save writes it
    archive.writestr("model/data.pkl", pickle.dumps({"weight": 1}, 2))
    archive.writestr("model/version", "3\n")
database = sqlite3.connect(folder / "nsys.sqlite")
database.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start)")
database.commit()
for name, page, n in (("small.sqlite", 512, 3000), ("large.sqlite", 65536, 9000)):  # of two levels and more, also with long rows
    database = sqlite3.connect(folder / name)
    database.execute(f"PRAGMA page_size = {page}")
    database.execute('CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (name TEXT, "bytes" INTEGER DEFAULT (1 + 2), start INTEGER PRIMARY KEY, '
                     "deviceId DECIMAL(10, 5), [address] BIGINT, memKind INT, memoryOperationType INT CHECK (memoryOperationType IN (0, 1)))")
    database.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER NOT NULL)")
    database.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000123456789)")
    database.executemany("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, ?, ?, ?, ?, 2, ?)",
                         [("x" * (9000 if i % 500 == 7 else 3), 4096 << i // 2 % 9, 1000 * i, i % 3, 0x7F0000000000 + (i // 2 << 21), i % 2) for i in range(n)])
    database.commit()
(folder / "cut.sqlite").write_bytes((folder / "small.sqlite").read_bytes()[: 20 << 10])
