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
