# SPDX-License-Identifier: Apache-2.0
"""test_history.py MAKE-TRACES MEMTAP: a history that is killed in the middle of writing, written by
several at a time, locked, of a newer version, another program's, on a disk that is full or cannot be
written to."""
import concurrent.futures
import contextlib
import ctypes
import os
import pathlib
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

SEED = int(os.environ.get("MEMTAP_TEST_SEED", time.time()))
make_traces, memtap = map(os.path.abspath, sys.argv[1:])
NIGHTS = 60
PRCTL, PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = ctypes.CDLL(None).prctl, 24, 1


def history(verb, *arguments, db="h.db", **more):
    return subprocess.run([memtap, "history", verb, "--db", db, *arguments], capture_output=True,
                          text=True, check=False, **more)


def add(*traces, **more):
    return history("add", "--wait", "600", "--commit", "c", "--branch", "b", *traces, **more)


def refused(done, *words):
    """One clear line, exit code 2."""
    assert done.returncode == 2, done
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("memtap"), done
    assert all(word in done.stderr for word in words), (words, done.stderr)


def check(db="h.db"):
    """Whatever happened, each run is whole. How many there are."""
    with contextlib.closing(sqlite3.connect(db)) as base:
        assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not base.execute("PRAGMA foreign_key_check").fetchall()
        if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return 0
        sizes = base.execute("""SELECT run.id, allocated,
            (SELECT sum(size) FROM category WHERE category.device = device.id),
            (SELECT sum(size) FROM site WHERE site.device = device.id) FROM run
            LEFT JOIN trace ON trace.run = run.id LEFT JOIN device ON device.trace = trace.id""")
        runs = sizes.fetchall()
    assert all(peak and peak == categories == sites for _, peak, categories, sites in runs), runs
    return len(runs)


def killed():
    """Killed 50 times in the middle of add: where it does not come to its end, nothing is added,
    and where it is asked again, all is."""
    begin = time.monotonic()
    assert add("nights/51.mtap").returncode == 0
    took, chance = time.monotonic() - begin, random.Random(SEED)
    added, ended = 1, []
    for night in range(1, 51):
        trace = f"nights/{night:02}.mtap"
        with subprocess.Popen([memtap, "history", "add", "--db", "h.db", "--commit", "c",
                               "--branch", "b", "--keep", "kept", trace],
                              stdout=subprocess.DEVNULL) as process:
            time.sleep(took * 0.9 * chance.random())
            process.kill()
        ended.append(process.returncode)
        took *= 1 if process.returncode else 0.8  # the first one may have been slow
        before, added = added, check()
        assert added - before in (0, 1)
    print(f"{added - 1} of 50 were faster than their end")
    assert ended.count(-signal.SIGKILL) >= 10, f"too few were killed: {ended}"
    assert add("--keep", "kept", *[f"nights/{night:02}.mtap" for night in range(1, 51)]).returncode == 0
    assert check() == 51


def killed_at_birth():
    """The same with a new file each time."""
    chance = random.Random(SEED + 1)
    for i in range(20):
        wait = 0.03 * chance.random()
        while not os.path.exists("new.db"):
            with subprocess.Popen([memtap, "history", "add", "--db", "new.db", "--commit", "c",
                                   "--branch", "b", "nights/01.mtap"],
                                  stdout=subprocess.DEVNULL) as process:
                time.sleep(wait)
                process.kill()
            wait = 1.5 * wait + 0.001  # nothing may have begun
        check("new.db")
        assert add("nights/01.mtap", db="new.db").returncode == 0, i
        assert check("new.db") == 1
        for path in pathlib.Path().glob("new.db*"):
            path.unlink()


def together():
    """Four at a time on a file that none of them has made, each trace by two of them."""
    def some(begin):
        return add(*[f"nights/{1 + (begin + i) % 40:02}.mtap" for i in range(20)], db="many.db")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in pool.map(some, (0, 10, 20, 30)):
            assert done.returncode == 0, done
    assert check("many.db") == 40


def ranks_together():
    """Two ranks of a job, each of which adds itself, are one run."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in pool.map(lambda trace: add(trace, db="ranks.db"), ("rank0.mtap", "rank1.mtap")):
            assert done.returncode == 0, done
    listed = history("list", db="ranks.db").stdout
    assert listed.count("ddp.py") == 1, listed


def locked():
    with contextlib.closing(sqlite3.connect("h.db", isolation_level=None)) as base:
        base.execute("BEGIN IMMEDIATE")
        refused(add("--wait", "0", "nights/60.mtap"), "h.db: locked by another process")
        assert history("list").returncode == 0
    assert add("nights/60.mtap").returncode == 0


def foreign():
    pathlib.Path("text.db").write_text("This is not a database, but long enough to be looked at." * 20)
    for verb in ("list", "trend", "show"):
        refused(history(verb, db="text.db"), "text.db: not a history")
    refused(add("nights/01.mtap", db="text.db"), "text.db: not a history")
    with contextlib.closing(sqlite3.connect("other.db")) as base:
        base.execute("CREATE TABLE run (id)")
    before = pathlib.Path("other.db").read_bytes()
    refused(add("nights/01.mtap", db="other.db"), "not a memtap history")
    refused(history("list", db="other.db"), "not a memtap history")
    assert pathlib.Path("other.db").read_bytes() == before
    pathlib.Path("empty.db").touch()
    refused(history("list", db="empty.db"), "an empty file")
    refused(add("nights/01.mtap", db="."), ".: ")
    refused(history("list", db="."), ".: ")


def newer():
    shutil.copy("new.db", "newer.db")
    with contextlib.closing(sqlite3.connect("newer.db")) as base:
        base.execute("PRAGMA user_version = 1000")
    before = pathlib.Path("newer.db").read_bytes()
    refused(history("list", db="newer.db"), "newer memtap (version 1000")
    refused(add("nights/02.mtap", db="newer.db"), "newer memtap (version 1000")
    assert pathlib.Path("newer.db").read_bytes() == before


def damaged():
    content = bytearray(pathlib.Path("new.db").read_bytes())
    content[4096:] = b"x" * (len(content) - 4096)
    pathlib.Path("damaged.db").write_bytes(content)
    refused(history("list", db="damaged.db"), "damaged")
    refused(add("nights/02.mtap", db="damaged.db"), "damaged")


def limited():
    """As on a disk that is full: files may not grow over some size."""
    seen = set()
    for size in (0, 1000, 4096, 20000, 33000, 40000, 60000, 70000, 100000, 1000000):
        for path in pathlib.Path().glob("small.db*"):
            path.unlink()
        done = add("nights/01.mtap", db="small.db", preexec_fn=lambda most=size: resource.setrlimit(
            resource.RLIMIT_FSIZE, (most, most)))
        seen.add(done.returncode)
        if done.returncode:
            refused(done, "small.db: ", "nothing was changed")
        if os.path.exists("small.db"):
            assert check("small.db") == (not done.returncode)
        assert add("nights/01.mtap", db="small.db").returncode == 0
    assert seen == {0, 2}


def full():
    """A real disk that is full, where this process may mount one."""
    script = """mount -t tmpfs -o size=128k none disk && cp {0} disk/h.db
        dd if=/dev/zero of=disk/rest 2>/dev/null
        {1} history add --db disk/h.db --commit c --branch b nights/02.mtap; code=$?
        {1} history list --db disk/h.db; cp disk/h.db after.db; exit $code"""
    pathlib.Path("disk").mkdir()
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "disk"],
                      capture_output=True, check=False).returncode:
        print("no disk of our own: left out")
        return
    done = subprocess.run(["unshare", "-m", "sh", "-c", script.format("new.db", memtap)],
                          capture_output=True, text=True, check=False)
    refused(done, "nothing was changed")
    assert done.stdout.count("nightly.py") == 1, done
    assert check("after.db") == 1


def give_up_override():
    """Root's right to write where nobody may, in a child and what it executes."""
    if PRCTL(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0):
        raise PermissionError


def read_only():
    """Reading needs no right to write; adding says that it does."""
    pathlib.Path("still").mkdir()
    shutil.copy("new.db", "still/h.db")
    os.chmod("still/h.db", 0o444)
    os.chmod("still", 0o555)
    other = {"preexec_fn": give_up_override} if os.getuid() == 0 else {}
    try:
        subprocess.run(["true"], check=True, **other)
    except subprocess.SubprocessError:
        print("root keeps its right to write: left out")
        os.chmod("still", 0o755)
        return
    done = history("list", db="still/h.db", **other)
    assert done.returncode == 0 and "nightly.py" in done.stdout, done
    refused(add("nights/02.mtap", db="still/h.db", **other), "still/h.db: ", "nothing was changed")
    refused(add("nights/02.mtap", db="still/more.db", **other), "still/more.db: ")
    os.chmod("still", 0o755)


def prunes_only_copies():
    """A row may name any file: only copies below the history's folder or --copies go, by no link."""
    def prune(path, *more):
        for old in pathlib.Path().glob("rows.db*"):
            old.unlink()
        assert history("add", "--keep", "kept/of-rows", "nights/01.mtap", db="rows.db").returncode == 0
        copy, = pathlib.Path("kept/of-rows").glob("*.mtap")
        with contextlib.closing(sqlite3.connect("rows.db")) as base:
            base.execute("UPDATE trace SET path = ?", (path(copy),))
            base.commit()
        return history("prune", "--older-than", "1h", *more, db="rows.db"), copy
    def stays(make, *more):
        """make: creates a file, given the copy, and returns it and the path in the row."""
        kept = []
        def path(copy):
            file, row = make(copy)
            for one in (file, pathlib.Path(f"{file}.tail"), pathlib.Path(f"{file}.0")):
                if not one.exists():
                    one.write_bytes(b"precious")
                kept.append((one, one.read_bytes()))
            return row
        done, _ = prune(path, *more)
        refused(done, "is not a trace copied")
        assert all(one.read_bytes() == data for one, data in kept), kept
    here = os.path.realpath(".")
    outside = pathlib.Path(tempfile.mkdtemp())
    def foreign(copy):
        return pathlib.Path(f"{here}/notes"), f"{here}/notes"
    def renamed(copy):
        return pathlib.Path(shutil.copy(copy, "mine.mtap")), f"{here}/mine.mtap"
    def changed(copy):
        other = pathlib.Path(shutil.copy("nights/02.mtap", "changed-" + copy.name.rsplit("-")[-1]))
        return other, f"{here}/{other}"
    def elsewhere(copy):
        return pathlib.Path(shutil.copy(copy, outside)), f"{outside}/{copy.name}"
    def linked(copy):
        pathlib.Path("away").symlink_to(outside)
        return outside / copy.name, f"{here}/away/{copy.name}"
    def above(copy):
        return outside / copy.name, f"{here}/../{outside.name}/{copy.name}"
    for make in (foreign, renamed, changed, elsewhere, linked, above):
        stays(make)
    for part in outside.glob("*.*"):
        if not part.name.endswith(".mtap"):
            part.unlink()
    done, _ = prune(lambda copy: f"{outside}/{copy.name}", "--copies", str(outside))
    assert done.returncode == 0 and not list(outside.glob("*")), (done, list(outside.glob("*")))
    done, copy = prune(lambda copy: os.path.realpath(copy))
    assert done.returncode == 0 and not copy.exists(), done
    shutil.rmtree(outside)


def no_git():
    """The commit of the working directory, where there is git; else none is known."""
    def commit(**more):
        for path in pathlib.Path().glob("git.db*"):
            path.unlink()
        done = history("add", os.path.abspath("nights/01.mtap"), db=os.path.abspath("git.db"), **more)
        assert done.returncode == 0 and not done.stderr, done
        with contextlib.closing(sqlite3.connect("git.db")) as base:
            return base.execute("SELECT commit_id, branch FROM run").fetchone()
    bare = {"PATH": "/nonexistent", "HOME": os.environ.get("HOME", "/")}
    assert commit(env=bare) == ("", "")
    assert commit(env=bare | {"GITHUB_SHA": "abc", "GITHUB_REF_NAME": "main"}) == ("abc", "main")
    assert commit(env=bare | {"CI_COMMIT_SHA": "def", "CI_COMMIT_REF_NAME": "x"}) == ("def", "x")
    if not shutil.which("git"):
        return
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("GIT", "CI_", "BUILD", "CIRCLE", "BITBUCKET", "TRAVIS"))}
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", "code"]
    subprocess.run(["git", "init", "-q", "-b", "trunk", "code"], check=True, env=clean)
    assert commit(env=clean, cwd="code") == ("", "trunk")
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "m"], check=True, env=clean)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, env=clean, text=True,
                          capture_output=True).stdout.strip()
    assert commit(env=clean, cwd="code") == (head, "trunk")


def moved():
    """Lines are each run's at its own peak: where that moved to another phase, the trend says so."""
    for night in range(1, 13):
        assert add(f"nights/{night:02}.mtap", db="moved.db").returncode == 0
    words = "The peak moved from the forward to the optimizer step"
    before = history("trend", db="moved.db").stdout
    assert "Step on" in before and words not in before, before
    with contextlib.closing(sqlite3.connect("moved.db")) as base:
        base.execute("DELETE FROM phase")
        base.execute("INSERT INTO phase SELECT id, CASE WHEN id < 7 THEN 'forward' ELSE 'optimizer' END, allocated FROM device")
        base.commit()
    after = history("trend", db="moved.db").stdout
    assert words in after, after


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    print(f"MEMTAP_TEST_SEED={SEED}")
    subprocess.run([make_traces, str(NIGHTS)], check=True)
    for test in (moved, killed, killed_at_birth, together, ranks_together, locked, foreign):
        test()
    assert add("nights/01.mtap", db="new.db").returncode == 0
    for test in (newer, damaged, limited, full, read_only, no_git, prunes_only_copies):
        test()
    os.chdir("/")
