# SPDX-License-Identifier: Apache-2.0
"""test_fit.py MEMTAP TO-FIT: memtap fit with a small C program: what it finds, what it says of programs that
refuse values, catch errors, hang; and that nothing is left of it when it is interrupted or killed."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish
from gaps import blocks_of

MEMTAP, PROGRAM = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
WORK = tempfile.TemporaryDirectory(prefix="memtap-test-")
HERE = pathlib.Path(WORK.name)
T4, H100 = 15095 - 104 - 1, 81079 - 527  # MiB that a program may take, in pages of 2


def command(*words):
    return [MEMTAP, "fit", *map(str, words)]


def fit(*words, **options):
    environment = {**os.environ, "TMPDIR": WORK.name, "LC_ALL": "C.UTF-8"}
    return subprocess.run(command(*words), capture_output=True, text=True, check=False, cwd=HERE,
                          env=environment, timeout=240, **options)


def found(*words, code=0):
    done = fit("-q", "-f", "json", *words)
    result = json.loads(done.stdout)
    failed = [run for run in result["runs"] if run["ended"] not in ("fits", "out of memory")]
    check(done.returncode == code, f"exit code {done.returncode} of {words}: {done.stderr}", failed)
    check(result["schema"] == "memtap.fit/1", "the schema")
    return result


def running():
    """Processes of the program that are there; another test's run elsewhere."""
    mine = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            place = (path / "cwd").readlink()
        except OSError:
            continue
        if words[0] == PROGRAM.encode() and place == HERE.resolve():
            mine.append(int(path.name))
    return mine


def left():
    return sorted(path.name for path in HERE.iterdir() if path.name.startswith("memtap-"))


def nothing_is_left(what):
    deadline = time.monotonic() + 30  # of processes that are killed; what is left stays for ever
    while (running() or left()) and time.monotonic() < deadline:
        time.sleep(0.02)
    check(not running(), f"{what}: processes are left: {running()}")
    check(not left(), f"{what}: files are left: {left()}")


def test_border():
    result = found("-s", "t4,h100", "--vary", "size=1..100000", PROGRAM, "{size}")
    for card, most in zip(result["cards"], (T4, H100)):
        check(card["fits"] == {"size": most}, f"{card['card']} fits {card['fits']}, not {most}")
        check(card["fails"] == {"size": most + 1}, f"{card['card']} fails {card['fails']}")
        check(card["peak_reserved"] == most << 20, f"the peak: {card['peak_reserved']}")
        check(card["runs"] <= 12 and card["verdict"] == "border" and card["monotonous"], f"{card}")
        for which, ended in (card["fits"], "fits"), (card["fails"], "out of memory"):
            runs = [run for run in result["runs"] if run["card"] == card["card"] and run["values"] == which]
            check([run["ended"] for run in runs] == [ended], f"{which} is proven by one run")
            env = {**os.environ, "PATH": f"{pathlib.Path(MEMTAP).parent}:{os.environ['PATH']}"}
            again = subprocess.run(["sh", "-c", runs[0]["command"]], cwd=HERE, env=env, check=False,
                                   capture_output=True).returncode
            check((again == 0) == (ended == "fits"), f"the same plain: {runs[0]['command']}: {again}")
    for trace in HERE.glob("*.mtap*"):
        trace.unlink()


def test_steps():
    result = found("-s", "t4", "--vary", "size=8..16000+8", PROGRAM, "{size}", "even")
    card = result["cards"][0]
    check(card["fits"] == {"size": T4 // 8 * 8} and card["fails"] == {"size": T4 // 8 * 8 + 8}, f"{card}")


def test_list():
    card = found("-s", "t4", "--vary", "size=20000,5,14000,15000", PROGRAM, "{size}")["cards"][0]
    check(card["fits"] == {"size": 14000} and card["fails"] == {"size": 15000}, f"{card}")
    check([line["verdict"] for line in card["frontier"]] == ["never", "always", "always", "never"], f"{card}")


def test_lines():
    result = found("-s", "t4", "--vary", "size=1..20000", "--vary", "TO_FIT_MORE=0,1000", "--vary", "how=,even",
                   PROGRAM, "{size}", "{how}", code=2)
    lines = result["cards"][0]["frontier"]
    check([line["fits"] for line in lines[::2]] == [{"size": T4, "TO_FIT_MORE": 0, "how": ""},
                                                    {"size": T4 - 1000, "TO_FIT_MORE": 1000, "how": ""}], f"{lines}")
    check([line["verdict"] for line in lines[1::2]] == ["not known"] * 2, f"{lines}")


def layouts(memory, *words, code=0):
    """The rows of one card: memory is a shell's sum of MiB."""
    result = found("-j", 1, "-s", "h100", *words, "sh", "-c", f"exec {PROGRAM} $(({memory}))", code=code)
    return result, {tuple(run["values"].values()): run for run in result["runs"]}, result["cards"][0]


def test_layouts():
    """Layouts with another number of ranks are left out; those that do not fit rule out smaller ones."""
    result, _, card = layouts("640000 / {tp} / {pp}", "--vary", "tp=1..4", "--vary", "pp=1,2,4", "--vary", "dp=1..16",
                              "--world-size", "{tp}*{pp}*{dp}=16")
    check([(run["values"]["tp"], run["values"]["pp"], run["values"]["dp"]) for run in result["runs"] if run["card"]] ==
          [(tp, pp, 16 // tp // pp) for tp in (1, 2, 4) for pp in (1, 2, 4)], f"only 16 ranks: {result['runs']}")
    check(card["fullest"] == {"tp": 2, "pp": 4, "dp": 2} and card["fits"] == card["fullest"], f"{card}")
    result, runs, card = layouts("400000 / {tp} / {dp}", "--vary", "tp=1..4", "--vary", "dp=1..8", "--world-size", "{tp}*{dp}")
    ruled = {tuple(line["ruled_out_by"].values()) if line["ruled_out_by"] else None for line in card["frontier"]}
    check(ruled == {None, (1, 4), (2, 2)} and (1, 1) not in runs and (1, 2) not in runs and (2, 1) not in runs, f"{card}")
    check([line["verdict"] for line in card["frontier"]] == [*2 * ["ruled out"], "never", "always", "ruled out", "never"] +
          2 * ["always"] + ["never"] + 3 * ["always"], f"{card}")
    text = fit("-q", "-s", "h100", "--vary", "tp=1..4", "--vary", "dp=1..8", "--world-size", "{tp}*{dp}", "--picture",
               "layouts.svg", "sh", "-c", f"exec {PROGRAM} $((400000 / {{tp}} / {{dp}}))").stdout
    for line in ("h100  79.18 GiB  1   2   ruled out ", "Nearest to full: h100, tp=1, dp=8 with 49.34 GiB (62.3 %).",
                 "Ruled out without a run: ", f"--world-size 8 -- sh -c 'exec {PROGRAM} $((400000 / 1 / 8))'\n"):
        check(line in text, f"{line!r} is in {text}")
    drawn = xml.etree.ElementTree.parse(HERE / "layouts.svg").getroot()
    titles = [title.text for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    check(titles.count("h100, tp=1, dp=2: ruled out") == 1 and "h100, tp=1, dp=4: does not fit" in titles, f"{titles}")
    (HERE / "layouts.svg").unlink()


def test_rank_of_a_layout():
    """One rank alone of each layout: a quarter of what is sharded fits, a half does not."""
    result = found("-s", "t4", "--vary", "tp=1,2", "--vary", "dp=2", "--world-size", "{tp}*{dp}", "--rank", "{tp}", "sh", "-c",
                   f"[ $RANK = {{tp}} ] || exit 9; exec {PROGRAM} $((49152 / WORLD_SIZE))")
    lines = result["cards"][0]["frontier"]
    check([(line["fits"], line["fails"]) for line in lines] == [(None, {"tp": 1, "dp": 2}), ({"tp": 2, "dp": 2}, None)], f"{lines}")


def test_layouts_that_rise():
    """What takes more with more ranks rules nothing out, nor does what turns out to do so later."""
    _, _, card = layouts("({dp} == 1 ? 70000 : 90000) / {tp}", "--vary", "tp=1,2", "--vary", "dp=1,2", "--world-size", "{tp}*{dp}")
    check([line["verdict"] for line in card["frontier"]] == ["always", "never", "always", "always"], f"{card}")
    _, runs, card = layouts("{of} == 0 ? 20000 / {dp} : {of} == 1 ? 70000 + 20000 * ({dp} - 1) : 20000 * {dp}", "--vary", "of=0,1,2",
                            "--vary", "dp=1,2", "--world-size", "{dp}")
    check(list(runs)[-1] == (1, 1) and runs[1, 1]["ended"] == "fits", f"what was ruled out is run at last: {list(runs)}")
    check([line["ruled_out_by"] for line in card["frontier"]] == 6 * [None], f"{card}")


def test_wide_table():
    """Where the values of variables have no room in the table, they stand above its rows."""
    words = ["-q", "-s", "t4,h100", "--vary", "size=1..3", "--vary", "TO_FIT_MORE=0,1", "--vary", "how=,even"]
    long = f"TO_FIT_LONG={'x' * 40},{'y' * 60}"
    lines = fit(*words, PROGRAM, "{size}", "{how}").stdout.splitlines()
    check(lines[0].split()[:5] == ["card", "memory", "TO_FIT_MORE", "how", "largest"], f"{lines}")
    lines = fit(*words, "--vary", long, PROGRAM, "{size}", "{how}").stdout.splitlines()
    table = lines[:lines.index("")]
    check(table[0].split()[:3] == ["card", "memory", "largest"] and max(map(len, table)) <= 100, f"{table}")
    first = table.index(f"TO_FIT_MORE=0, how=even, TO_FIT_LONG={'x' * 40}")
    check([line.split()[:1] for line in table[first + 1:first + 3]] == [["t4"], ["h100"]], f"{table}")
    check(len(table) == 1 + 8 * 3, f"a heading and two cards for each combination: {table}")


def test_fraction():
    card = found("-s", "t4", "--fraction", "0.5", "--vary", "size=1..20000", PROGRAM, "{size}")["cards"][0]
    check(card["fits"] == {"size": (15095 // 2 - 104) // 2 * 2}, f"{card}")


def test_ends_of_the_range():
    card = found("-s", "t4", "--vary", "size=1..10", PROGRAM, "{size}")["cards"][0]
    check(card["fits"] == {"size": 10} and card["fails"] is None and card["verdict"] == "always", f"{card}")
    text = " ".join(fit("-s", "h100,t4", "--vary", "size=1..10", PROGRAM, "{size}").stdout.split())
    check("size=10, the end of the range, still fits h100; t4. Try a larger range." in text, text)
    check("larger range" not in fit("-s", "t4", "--vary", "size=1..20000", PROGRAM, "{size}").stdout, "a border is one")
    card = found("-s", "t4", "--vary", "size=16000..20000", PROGRAM, "{size}", code=1)["cards"][0]
    check(card["fits"] is None and card["fails"] == {"size": 16000} and card["verdict"] == "never", f"{card}")
    card = found("-s", "t4", "--vary", "size=7..7", PROGRAM, "{size}")["cards"][0]
    check(card["fits"] == {"size": 7} and card["runs"] == 1, f"{card}")
    card = found("-s", "t4", PROGRAM, "16000", code=1)["cards"][0]
    check(card["fits"] is None and card["verdict"] == "never", f"{card}")


def test_not_monotonous():
    done = fit("-s", "t4,v100-16g", "--vary", "size=1..65536", PROGRAM, "{size}", "returns")
    text = " ".join(done.stdout.split())
    check(done.returncode == 0 and "grow monotonically with size" in text, text)
    check("size=65536 fits" in text and f"size={T4 + 1} does not fit" in text, text)
    card = found("-s", "t4", "--vary", "size=1..65536", PROGRAM, "{size}", "falls")["cards"][0]
    check(card["monotonous"] is False and card["fits"] == {"size": 65536}, f"{card}")


def test_caught():
    for how in "catches", "swallows":
        done = fit("-s", "t4", "--vary", "size=14000,16000", PROGRAM, "{size}", how)
        check(done.returncode == 0 and "caught the error" in " ".join(done.stdout.split()), done.stdout)
    card = found("-s", "t4", "--vary", "size=14000,16000", PROGRAM, "{size}", "catches")["cards"][0]
    check(card["fits"] == {"size": 14000} and card["fails"] == {"size": 16000}, f"{card}")


def test_a_server_without_room():
    """Its cache takes what is left in each run: whether a request fits is what the server says."""
    for values, fits in ("size=500,3000", 500), ("size=1..4096", 1509):
        card = found("-s", "t4", "--vary", values, PROGRAM, "{size}", "serves")["cards"][0]
        check(card["fits"] == {"size": fits} and card["fails"]["size"] in (1510, 3000), f"{values}: {card}")


def test_a_server_that_takes_all():
    """Nothing follows from what it took where there was room for anything: that run is ended, and it says itself what fits."""
    result = found("-s", "t4", "--vary", "size=1000..70000+8", PROGRAM, "{size}", "fills")
    card, most = result["cards"][0], 15095 * 9 // 10
    fits = most // 8 * 8
    check(card["fits"] == {"size": fits} and card["fails"] == {"size": fits + 8}, f"{card}")
    ran = [(run["card"], run["values"]["size"], run["takes_all"], run["ended"]) for run in result["runs"]]
    check({run for run in ran if run[0]} == {("t4", 70000, False, "out of memory"), ("t4", fits, False, "fits"),
                                             ("t4", fits + 8, False, "out of memory")}, f"{ran}")
    check({run[2:] for run in ran if not run[0]} == {(True, "fits")}, f"{ran}")
    card = found("-s", "t4", "--vary", "size=100000..200000", PROGRAM, "{size}", "fills", code=1)["cards"][0]
    check(card["verdict"] == "never" and card["fails"] == {"size": 100000}, f"{card}")


def test_refused():
    done = fit("-s", "t4", "--vary", "size=1..9,", "true", "{size}")
    check(done.returncode == 2 and "is not a range" in done.stderr, done.stderr)
    for text in "0", "17", "x":
        done = fit("-s", "t4", "--vary", "size=1..9", "--nproc", text, PROGRAM, "{size}")
        check(done.returncode == 2 and f"--nproc {text}: expected a number from 1 to 16" in done.stderr, done.stderr)
    done = fit("-s", "t4", "--vary", "size=1..5", HERE / "nothing", "{size}")
    check(done.returncode == 127 and done.stderr.endswith("/nothing: command not found\n"), done.stderr)
    done = fit("-s", "t4", "--vary", "size=3,5", PROGRAM, "{size}", "even")
    check(done.returncode == 2 and "    it has to be even" in done.stdout, done.stdout)
    check("size=3: the run ended with exit code 3" in done.stdout, done.stdout)
    done = fit("-s", "t4", "--vary", "size=3,5", PROGRAM, "{size}", "none")
    check(done.returncode == 2 and "used no GPU" in done.stdout, done.stdout)
    done = fit("-s", "t4", "--vary", "size=3,5", PROGRAM, "{size}", "dies")
    check(done.returncode == 2 and "signal 11" in done.stdout, done.stdout)
    check("1 more with unknown results ended the same way" in fit("-s", "t4", "--vary", "size=3,5", PROGRAM, "{size}", "even").stdout,
          "what ended alike is told once")


def test_a_trace_that_cannot_be_read():
    """It is named with what is wrong with it, and the program was started."""
    subprocess.run([MEMTAP, "run", "--simulate", "t4", "-o", HERE / "whole.mtap", PROGRAM, "100"], check=True, capture_output=True)
    head, blocks = blocks_of((HERE / "whole.mtap").read_bytes())
    whole = head + b"".join(blocks)
    wrong = {"is truncated": whole[:-60], "the recording was not closed; the trace may lack its end": head + b"".join(blocks[:-1]), "block 1 of ": head + b"".join(blocks[1:]),
             "is damaged": whole[:len(head) + 60] + b"wrong" + whole[len(head) + 65:]}
    for words, data in wrong.items():
        (HERE / "wrong.mtap").write_bytes(data)
        (HERE / "leave.sh").write_text('cp wrong.mtap "$MEMTAP_OUTPUT"\n')
        done = fit("-q", "-s", "t4", "--vary", "size=3", "sh", "leave.sh", "{size}")
        said = " ".join(done.stdout.split())
        check(done.returncode == 2 and "size=3: the run left a trace that cannot be read: " in said and words in said, words, done)
        card = found("-s", "t4", "--vary", "size=3", "sh", "leave.sh", "{size}", code=2)
        check(any(words in run["last_lines"] and run["ended"] == "unreadable" for run in card["runs"]), words, card["runs"])
    (HERE / "wrong.mtap").unlink(), (HERE / "leave.sh").unlink(), (HERE / "whole.mtap").unlink()


def test_text():
    done = fit("-s", "t4", "--vary", "size=16000", PROGRAM, "{size}", "prints")
    check("\033" not in done.stdout + done.stderr, "what the program printed cannot act")
    done = fit("-s", "t4,h100", "--vary", "size=16000,17000", "--picture", "p.svg", PROGRAM, "{size}")
    check(done.returncode == 1 and "t4" in done.stdout, done.stdout)
    xml.etree.ElementTree.parse(HERE / "p.svg")
    done = fit("-s", "t4,h100", "--vary", "size=1..20000", "--picture", "p.svg", PROGRAM, "{size}", "<&\033>")
    titles = [element.text for element in xml.etree.ElementTree.parse(HERE / "p.svg").iter() if element.text]
    check(any(f"t4: {T4}" in text for text in titles), f"the picture names {T4}: {titles}")
    (HERE / "p.svg").unlink()


def test_kept():
    done = fit("-q", "-s", "t4", "--folder", "kept", "--vary", "size=5,16000", PROGRAM, "{size}")
    folders = sorted(path.name.partition("-")[2] for path in (HERE / "kept").iterdir())
    check(done.returncode == 0 and "t4-size=5" in folders and "t4-size=16000" in folders, f"{folders}")
    for folder in (HERE / "kept").iterdir():
        check((folder / "output.txt").exists() and list(folder.glob("*.mtap")), f"{folder} has a trace")
    (HERE / "own.gpu").write_text("like = t4\n", encoding="utf-8")
    card = found("-s", HERE / "own.gpu", "--vary", "size=5", PROGRAM, "{size}")["cards"][0]
    check(card["fits"] == {"size": 5} and card["card"].endswith("/own.gpu"), f"a card of a file: {card}")


def test_left():
    """A process that the program leaves ends with its run."""
    found("-s", "t4", "--vary", "size=5,6", PROGRAM, "{size}", "leaves")
    nothing_is_left("after its run")


def test_timeout():
    done = fit("-s", "t4", "--timeout", "1", "--vary", "size=5,6", PROGRAM, "{size}", "hangs")
    check(done.returncode == 2 and "still running after 1 s" in done.stdout, done.stdout)
    nothing_is_left("after a timeout")


def interrupted(number):
    environment = {**os.environ, "TMPDIR": WORK.name}
    words = command("-s", "t4", "--vary", "size=1..1000", PROGRAM, "{size}", "hangs")
    process = subprocess.Popen(words, cwd=HERE, env=environment, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE)
    while not running():
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


def test_interrupted():
    for number in signal.SIGINT, signal.SIGTERM:
        code, said = interrupted(number)
        check(code == 128 + number and "interrupted" in said, f"{code}: {said}")
        nothing_is_left(f"after signal {number}")
    words = command("-s", "t4,h100", "--vary", "size=1..100000", PROGRAM, "{size}")
    with subprocess.Popen(words, cwd=HERE, env={**os.environ, "TMPDIR": WORK.name}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        process.stdout.readline()
        process.stdout.close()
        check(process.wait(60) == -signal.SIGPIPE, f"{process.returncode} after its reader has gone")
    nothing_is_left("after its reader has gone")
    code, _ = interrupted(signal.SIGKILL)
    check(code == -signal.SIGKILL, f"{code}")
    nothing_is_left("after a kill")


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
nothing_is_left("at the end")
finish()
