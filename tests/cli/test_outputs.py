# SPDX-License-Identifier: Apache-2.0
"""test_outputs.py MAKE-TRACES MEMTAP: what each command does with the file that it is to write: a device or a
pipe stays one, a link that another user planted is not followed, an older file is replaced whole and keeps
its mode, a missing folder is made, and a command that fails leaves everything as it was. No command replaces its inputs, a trace (but by --force) or what
belongs to one, by whatever name, nor on a full disk (a small one of its own). What shows a trace is no more public than it. What people read has lines of 80 columns."""

import contextlib
import os
import pathlib
import pickle
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish

make_traces, memtap = map(os.path.abspath, sys.argv[1:3])
is_sanitized = sys.argv[3] != "none"
is_root = os.geteuid() == 0
NOBODY = 65534


def commands(has_page):
    """Words of each command, with {} in the place of the output."""
    lists = [
        ["symbolize", "-o", "{}", "training.mtap"],
        ["diff", "--flame", "{}", "training.mtap", "keeping.mtap"],
        ["check", "training.mtap", "--against", "training.mtap", "-f", "json:{}"],
        ["check", "training.mtap", "--against", "training.mtap", "--summary", "{}"],
        ["compact", "-o", "{}", "training.mtap"],
        ["recover", "-o", "{}", "training.mtap"],
        ["import", "-o", "{}", "snapshot.pickle"],
        ["metrics", "-o", "{}", "training.mtap"],
    ]
    lists += [
        ["export", "-f", name, "-o", "{}", "training.mtap"]
        for name in ("csv", "arrow", "pprof", "perfetto", "memory_viz", "speedscope", "folded")
    ]
    if has_page:
        lists += [
            ["view", "-o", "{}", "training.mtap"],
            ["report", "--html", "{}", "training.mtap"],
            ["oom", "--html", "{}", "oom.mtap"],
            ["diff", "--html", "{}", "training.mtap", "keeping.mtap"],
        ]
    return lists


def run(words, output):
    done = subprocess.run(
        [memtap, *(word.replace("{}", output) for word in words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stderr


def never_replaces(words):
    return words[0] in ("compact", "recover")


def of_a_part(words, folder):
    """Of a trace that is cut: what was read, one line about the rest, and exit code 2."""
    if words[0] not in ("export", "view", "report", "diff", "metrics"):
        return
    path = os.path.join(folder, "part")
    code, errors = run([word.replace("training.mtap", "cut.mtap") for word in words], path)
    said = errors.count("cut.mtap: the trace is truncated in the block at byte")
    check(code == 2 and said == 1 and os.path.getsize(path), f"{words} of a part", code, errors)


def to_device(words, folder):
    path = os.path.join(folder, "device")
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    code, errors = run(words, path)
    check(code == 0 and stat.S_ISCHR(os.lstat(path).st_mode), f"{words} to a device", code, errors)


def to_pipe(words, folder):
    path = os.path.join(folder, "pipe")
    os.mkfifo(path)
    with open(os.path.join(folder, "read"), "wb") as out:
        cat = subprocess.Popen(["cat", path], stdout=out)
        code, errors = run(words, path)
        try:
            cat.wait(5 if code else 60)
        except subprocess.TimeoutExpired:
            cat.kill()
            cat.wait()
    check(code == 0 and stat.S_ISFIFO(os.lstat(path).st_mode), f"{words} to a pipe", code, errors)
    check(os.path.getsize(out.name) > 0, f"{words} to a pipe wrote")


def to_link(words, folder, is_planted):
    """As /tmp is: everybody may write the folder."""
    shared, target = os.path.join(folder, "shared"), os.path.join(folder, "target")
    os.mkdir(shared)
    os.chmod(shared, 0o1777)
    with open(target, "w", encoding="utf-8") as file:
        file.write("precious")
    path = os.path.join(shared, "link")
    os.symlink(target, path)
    if is_planted:
        os.lchown(path, NOBODY, NOBODY)
    code, errors = run(words, path)
    with open(target, "rb") as file:
        is_same = file.read() == b"precious"
    check(os.path.islink(path), f"{words} through a link, planted {is_planted}: the link")
    if is_planted:
        check(
            code == 2 and is_same and errors.count("\n") == 1 and "another user" in errors,
            f"{words} through a planted link",
            code,
            errors,
        )
    else:
        is_new = never_replaces(words)
        check((code, is_same) == ((2, True) if is_new else (0, False)), f"{words} through an own link", code, errors)
    check(os.listdir(shared) == ["link"], f"{words} through a link leaves more", os.listdir(shared))


def to_old(words, folder):
    path = os.path.join(folder, "old")
    with open(path, "w", encoding="utf-8") as file:
        file.write("precious")
    os.chmod(path, 0o640)
    if is_root:
        os.chown(path, NOBODY, NOBODY)
    code, errors = run(words, path)
    status = os.stat(path)
    with open(path, "rb") as file:
        is_same = file.read() == b"precious"
    if never_replaces(words):
        check(code == 2 and is_same, f"{words} over a file", code, errors)
    else:
        check(code == 0 and not is_same, f"{words} over a file", code, errors)
    check(stat.S_IMODE(status.st_mode) == 0o640, f"{words} over a file: its mode", oct(status.st_mode))
    check(not is_root or status.st_uid == NOBODY, f"{words} over a file: its owner", status.st_uid)


def to_missing_folder(words, folder):
    path = os.path.join(folder, "a", "b", "new")
    code, errors = run(words, path)
    made = os.listdir(os.path.dirname(path)) if code == 0 else None
    check(made == ["new"] and os.path.getsize(path) > 0, f"{words} into a missing folder", code, errors, made)


def in_vain(words, folder):
    """The input is missing: nothing is made, and nothing is replaced."""
    words = [
        word.replace("training.mtap", "none.mtap")
        .replace("oom.mtap", "none.mtap")
        .replace("snapshot.pickle", "none.pickle")
        for word in words
    ]
    path = os.path.join(folder, "kept")
    with open(path, "w", encoding="utf-8") as file:
        file.write("precious")
    code, errors = run(words, path)
    with open(path, "rb") as file:
        check(code == 2 and file.read() == b"precious", f"{words} in vain", code, errors)
    check(os.listdir(folder) == ["kept"], f"{words} in vain leaves more", os.listdir(folder))


def history_through_link(folder):
    os.chmod(folder, 0o1777)
    target, path = os.path.join(folder, "target"), os.path.join(folder, "history.db")
    os.symlink(target, path)
    os.lchown(path, NOBODY, NOBODY)
    code, errors = run(["history", "add", "--db", "{}", "training.mtap"], path)
    check(code == 2 and not os.path.exists(target), "history add through a planted link", code, errors)


def folders_of_others(folder):
    """Another user's folder, where everybody may write, and a link of theirs within one's own."""
    os.chmod(folder, 0o1777)
    for path, link in (("theirs", False), ("mine", True)):
        own = os.path.join(folder, path)
        os.mkdir(own)
        if link:
            os.chmod(own, 0o777)
            os.mkdir(os.path.join(folder, "target"))
            os.symlink(os.path.join(folder, "target"), os.path.join(own, "bad"))
            os.lchown(os.path.join(own, "bad"), NOBODY, NOBODY)
        else:
            os.chown(own, NOBODY, NOBODY)
        code, errors = run(["nightly", "--folder", "{}", "--", "true"], own)
        check(code == 2 and "another user" in errors and errors.count("\n") == 1, f"nightly in {path}", code, errors)
    check(not os.listdir(os.path.join(folder, "target")), "nightly through a planted link")
    code, errors = run(
        ["fit", "--simulate", "h100", "--vary", "b=1:2", "--folder", "{}", "--", "echo", "{b}"], os.path.join(folder, "theirs")
    )
    check(code == 2 and "another user" in errors, "fit in theirs", code, errors)


def make_snapshot():
    entry = {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "time_us": 1, "frames": []}
    block = {"address": 4096, "size": 512, "requested_size": 512, "state": "active_allocated", "frames": []}
    segment = {
        "device": 0,
        "address": 4096,
        "total_size": 2 << 20,
        "stream": 0,
        "segment_type": "small",
        "allocated_size": 512,
        "active_size": 512,
        "requested_size": 512,
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": [
            block,
            {"address": 4608, "size": (2 << 20) - 512, "requested_size": 0, "state": "inactive", "frames": []},
        ],
    }
    with open("snapshot.pickle", "wb") as file:
        pickle.dump({"segments": [segment], "device_traces": [[entry]], "allocator_settings": {}}, file)


def kept(path):
    """What a file is and has, to see whether it is the same later."""
    status = os.lstat(path)
    return status.st_ino, status.st_size, stat.S_IMODE(status.st_mode), pathlib.Path(path).read_bytes()


def inputs_of(words):
    return sorted({word for word in words if word.endswith((".mtap", ".pickle"))})


def refused(words, output, protected, why, *more):
    """One line, exit code 2, and nothing is lost or left."""
    before = {path: kept(path) for path in protected}
    folder = os.path.dirname(os.path.abspath(output))
    names = sorted(os.listdir(folder))
    code, errors = run([words[0], *more, *words[1:]], output)
    # What a command notes about its own input (a trace that was cut) may come first.
    check(code == 2 and errors.splitlines()[-1].startswith("memtap: "), f"{words} {more} onto {output}", code, errors)
    check(any(word in errors.splitlines()[-1] for word in why), f"{words} {more} onto {output}", errors)
    check({path: kept(path) for path in protected} == before, f"{words} {more} onto {output}: lost", errors)
    check(sorted(os.listdir(folder)) == names, f"{words} {more} onto {output}: leaves", os.listdir(folder))


NEW_ONLY = ("File exists", "already exists")


def never_onto_files_of_others(words, folder):
    """Onto its inputs, other traces, what belongs to one, by other names, and by --force."""
    is_new = never_replaces(words)
    copies = {}
    for name in {*inputs_of(words), "layers.mtap"}:
        copies[name] = os.path.join(folder, name)
        pathlib.Path(copies[name]).write_bytes(pathlib.Path(name).read_bytes())
    own = [copies.get(word, word) for word in words]
    own = [word.replace("training.mtap", copies.get("training.mtap", "")) if "/" not in word else word for word in own]
    other, protected = copies["layers.mtap"], list(copies.values())
    for path in inputs_of(own):
        refused(own, path, protected, NEW_ONLY if is_new else ("it is an input",))
        link, hard = os.path.join(folder, "link"), os.path.join(folder, "hard")
        os.symlink(path, link)
        os.link(path, hard)
        refused(own, link, [*protected, hard], NEW_ONLY if is_new else ("it is an input",))
        refused(own, hard, [*protected, hard], NEW_ONLY if is_new else ("it is an input",))
        if not is_new and "--summary" not in words:
            refused(own, hard, [*protected, hard], ("it is an input",), "--force")
        os.remove(link)
        os.remove(hard)
    refused(own, other, protected, NEW_ONLY if is_new else ("it is a trace",))
    refused(own, folder, protected, ("directory", "exists", "folder"))
    refused(own, other + ".tail", protected, ("it belongs to a trace",))
    refused(own, other + ".0", protected, ("it belongs to a trace",))
    if not is_new and "--summary" not in words:
        code, errors = run([own[0], "--force", *own[1:]], other)
        check(code == 0, f"{words} --force onto another trace", code, errors)


def to_limited(words, folder):
    """As on a full disk: the file may not grow."""
    path = os.path.join(folder, "kept")
    pathlib.Path(path).write_text("precious", encoding="utf-8")
    limit = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", memtap, *(word.replace("{}", path) for word in words)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    check(limit.returncode == 2, f"{words} to a file that may not grow", limit.returncode, limit.stderr)
    check(pathlib.Path(path).read_text(encoding="utf-8") == "precious", f"{words} to a file that may not grow: lost")
    check(os.listdir(folder) == ["kept"], f"{words} to a file that may not grow leaves", os.listdir(folder))


def as_private_as_inputs(words, folder):
    """What shows a trace is no more public than the trace."""
    if words[0] in ("check", "metrics"):  # figures
        return
    for mode in (0o600, 0o640):
        own = list(words)
        for name in inputs_of(words):
            path = os.path.join(folder, f"{mode:o}-{name}")
            pathlib.Path(path).write_bytes(pathlib.Path(name).read_bytes())
            os.chmod(path, mode)
            own = [word.replace(name, path) for word in own]
        output = os.path.join(folder, f"out-{mode:o}")
        code, errors = run(own, output)
        made = stat.S_IMODE(os.stat(output).st_mode) if code == 0 else None
        is_private = words[0] in ("symbolize", "compact", "recover")
        check(made == (0o600 if is_private else mode), f"{words} of a trace of mode {mode:o}", code, made, errors)


@contextlib.contextmanager
def small_disk(folder):
    """A disk of our own with room for 256 KiB; None where it cannot be mounted."""
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, check=False).returncode == 0
    try:
        yield disk if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", disk], check=True)


def fill(disk):
    try:
        with open(os.path.join(disk, "fill"), "wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
    except OSError:
        pass


def files_in(folder):
    return {path: kept(path) for path in map(str, pathlib.Path(folder).rglob("*")) if os.path.isfile(path)}


def on_a_full_disk(folder, lists):
    """Exit code 2 and a line that says why; what was there is there, and nothing else is left."""
    with small_disk(folder) as disk:
        if not disk:
            return
        kept_file, new, database = (os.path.join(disk, name) for name in ("kept", "new", "history.db"))
        pathlib.Path(kept_file).write_text("precious", encoding="utf-8")
        check(run(["history", "add", "--db", "{}", "training.mtap"], database)[0] == 0, "history add on a small disk")
        fill(disk)
        before = files_in(disk)
        lists = [words for words in lists if "--summary" not in words]  # it appends: a short file has room
        for words in [*lists, ["history", "add", "--db", database, "keeping.mtap"]]:
            for output in (kept_file, new):
                code, errors = run(words, output)
                is_said = "No space left" in errors or "disk is full" in errors or (never_replaces(words) and output == kept_file)
                check(code == 2 and is_said, f"{words} on a full disk", code, errors)
                found = {path: what for path, what in files_in(disk).items() if not path.endswith(("-wal", "-shm"))}  # SQLite's
                check(found == before, f"{words} on a full disk: files", found.keys())


def parquet(folder):
    """A dataset is a folder: a new one, one that is there already, one of others' files, a full disk, a trace."""
    python = os.environ.get("MEMTAP_TEST_PYTHON", sys.executable)
    if subprocess.run([python, "-c", "import pyarrow"], capture_output=True, check=False).returncode:
        return
    os.environ["PATH"] = f"{os.path.dirname(python)}:{os.environ['PATH']}"
    export = ["export", "-f", "parquet", "-o", "{}", "training.mtap"]
    new, old, file = (os.path.join(folder, name) for name in ("a/b/new", "old", "file"))
    code, errors = run(export, new)
    made = files_in(new)
    check(code == 0 and any(path.endswith(".parquet") for path in made), "parquet into a new folder", code, errors)
    check(run(export, new)[0] == 0 and files_in(new).keys() == made.keys(), "parquet into the same dataset again")
    os.makedirs(os.path.join(old, "runs"))
    for path in (file, os.path.join(old, "runs", "mine.parquet")):
        pathlib.Path(path).write_text("precious", encoding="utf-8")
    for output in (old, file, "training.mtap", "rank0.mtap"):
        before = files_in(folder), kept("training.mtap"), kept("rank0.mtap")
        code, errors = run(export, output)
        is_same = before == (files_in(folder), kept("training.mtap"), kept("rank0.mtap"))
        check(code == 2 and is_same and "is not a memtap dataset" in errors, f"parquet to {output}", code, errors)
    with small_disk(folder) as disk:
        if not disk:
            return
        dataset = os.path.join(disk, "dataset")
        code, errors = run(export, dataset)
        check(code == 0, "parquet on a small disk", code, errors)
        fill(disk)
        before = files_in(disk)
        for output in (dataset, os.path.join(disk, "new")):
            code, errors = run(export, output)
            check(code == 2 and "No space left" in errors and errors.count("\n") == 1, f"parquet to {output} on a full disk", code, errors)
            check(files_in(disk) == before, f"parquet to {output} on a full disk: files", files_in(disk).keys() ^ before.keys())


COLUMNS = 80
PAIRS = [
    ["diff", "training.mtap", "keeping.mtap"],
    ["diff", "keeping.mtap", "layers.mtap"],
    ["diff", "oom.mtap", "fragmented.mtap"],
    ["check", "training.mtap", "--against", "keeping.mtap"],
    ["check", "oom.mtap", "--against", "training.mtap"],
    ["check", "killed.mtap", "--against", "layers.mtap"],
    ["report", "rank0.mtap", "rank1.mtap"],
    ["fleet", "nights"],
]


def keeps_columns(folder):
    """No line into a pipe is longer than 80 columns, but lines to paste, and those with a word of the trace (hostile.mtap's)."""
    env = {**os.environ, "COLUMNS": str(COLUMNS), "LC_ALL": "C.UTF-8"}
    traces = sorted(name for name in os.listdir(folder) if name.endswith(".mtap") and name != "hostile.mtap")
    each = [[*words, trace] for trace in traces for words in (["report"], ["oom"], ["plan"], ["top", "--once"])]
    for words in [*each, *PAIRS]:
        out = subprocess.run([memtap, *words], cwd=folder, env=env, capture_output=True, text=True, check=False).stdout
        for line in out.splitlines():
            is_pasted = "export PYTORCH" in line or line.startswith("  next: memtap ")
            check(len(line) <= COLUMNS or is_pasted, f"{words}: {len(line)} columns", line)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([make_traces], check=True, stdout=subprocess.DEVNULL)
        make_snapshot()
        pathlib.Path("cut.mtap").write_bytes(pathlib.Path("training.mtap").read_bytes()[:-20])
        keeps_columns(folder)
        has_page = run(["view", "-o", "{}", "training.mtap"], os.path.join(folder, "page.html"))[0] == 0
        number = 0
        for words in commands(has_page):
            for case in (
                to_device if is_root else None,
                to_pipe,
                lambda *args: to_link(*args, False),
                (lambda *args: to_link(*args, True)) if is_root else None,
                to_old,
                to_missing_folder,
                of_a_part,
                in_vain,
                never_onto_files_of_others,
                to_limited,
                as_private_as_inputs,
            ):
                if not case:
                    continue
                number += 1
                own = os.path.join(folder, f"case-{number}")
                os.mkdir(own)
                case(words, own)
        folders = [lambda own: on_a_full_disk(own, commands(has_page))]
        if not is_sanitized:  # pyarrow's own allocations do not survive a sanitizer that is loaded after them
            folders.append(parquet)
        for number, case in enumerate(folders):
            own = os.path.join(folder, f"case-folder-{number}")
            os.mkdir(own)
            case(own)
        if is_root:
            own = os.path.join(folder, "case-history")
            os.mkdir(own)
            history_through_link(own)
            own = os.path.join(folder, "case-folders")
            os.mkdir(own)
            folders_of_others(own)
    finish()


main()
