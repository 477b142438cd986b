# SPDX-License-Identifier: Apache-2.0
"""test-top.py MEMTAP SHIM: memtap top on a terminal and as text, for programs that run, end, are killed, come later or
are none. Whatever ends it, the terminal is as it was."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from terminals import Terminal

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import check, finish, until

memtap, shim = (os.path.abspath(path) for path in sys.argv[1:])
program = str(pathlib.Path(__file__).with_name("top-program.py"))
running = []


def start(trace, *more, **settings):
    environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1", **settings}
    process = subprocess.Popen([sys.executable, program, *more], env=environment, stdout=subprocess.PIPE, text=True)
    running.append(process)
    process.stdout.readline()
    return process


def end(process, number=signal.SIGKILL):
    process.send_signal(number)
    process.wait()


def memtap_top(*arguments, cwd=None, **settings):
    return subprocess.run([memtap, "top", *map(str, arguments)], cwd=cwd, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **settings}, stdin=subprocess.DEVNULL, check=False)


def wait_for_file(trace):
    """Until the writer has written: it does so every 2 s."""
    if not until(lambda: "leak" in memtap_top("--once", trace).stdout):
        raise AssertionError("nothing is written")


def comes_to_fit(terminal, columns, rows):
    return terminal.until(lambda: len(terminal.screen()) == rows and all(len(line) <= columns for line in terminal.screen()))


def refused(what, *arguments, **more):
    done = memtap_top(*arguments, **more)
    check(done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout, what, done)
    return done.stderr


def as_text(folder, trace, process):
    for arguments in (["--once", trace], [trace], [process.pid], [folder], []):
        done = memtap_top(*arguments, cwd=folder)
        check(not done.returncode and not done.stderr and
              "\x1b" not in done.stdout and "top-program.py" in done.stdout and
              re.search(r"64.00 MiB +1  other +top-program.py:\d+ keep", done.stdout), f"text of {len(arguments)} {arguments[-1:]}", done)
    coloured = memtap_top("--once", "--color=always", trace).stdout
    check("\x1b[38;5;" in coloured and not re.search(r"\x1b\[[^m]*[^m0-9;]", coloured), "colours")
    check(memtap_top("--once", trace, LC_ALL="C").stdout.isascii(), "plain letters")
    lines = memtap_top("--once", process.pid).stdout.splitlines()
    check(lines and all(line == line.rstrip() or "█" in line for line in lines[2:3]), "all lines end")


def sizes(trace):
    terminal = Terminal([memtap, "top", str(trace)])
    for columns, rows in ((80, 24), (200, 50), (80, 24), (40, 10), (1, 1), (300, 100), (80, 24)):
        terminal.resize(columns, rows)
        check(comes_to_fit(terminal, columns, rows), f"{columns} x {rows}", *terminal.screen())
    screen = terminal.wait_for("^q quit")
    check(all(any(re.search(each, line) for line in screen) for each in (
        r"^allocated +[\d.]+ [MG]iB", r"^ +other +[\d.]+ [MG]iB 100.0 %", r"allocations per second", r"▁|▂|▃|▄|▅|▆|▇|█",
        r"bytes +change +blocks", r"64.00 MiB +1  other")), "what is on 80 x 24", *screen)
    terminal.press("q")
    check(terminal.end() == (0, True), "q quits", repr(terminal.text[-200:]))


def keys(trace):
    terminal = Terminal([memtap, "top", "--interval", "0.2", str(trace)])
    terminal.wait_for("^q quit")
    terminal.press("?")
    terminal.wait_for("Page up")
    terminal.press("?s")
    terminal.wait_for("sort: blocks")
    terminal.press("s")
    terminal.wait_for("sort: change")
    terminal.press("c")
    terminal.wait_for("c only other")
    terminal.press("\x1b[B")
    terminal.press("\x1b[A\x1b[6~\x1b[5~\x1bOB\x1b[H")
    terminal.wait_for(r"\+[\d.]+ [KMG]iB")  # the leak
    terminal.press("r ")
    terminal.wait_for(", paused")
    check(not any(re.search(r"\+[\d.]+ [KMG]iB", line) for line in terminal.screen()), "no change after r",
          *terminal.screen())
    terminal.press(" ")
    terminal.wait_for(r"\+[\d.]+ [KMG]iB")
    terminal.press("\x1b[Z\x1b\x1b[99~xyzd\t")  # keys that are none
    terminal.wait_for("^q quit")
    terminal.press("q")
    check(terminal.end() == (0, True), "keys")


def signals(trace):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT):
        terminal = Terminal([memtap, "top", str(trace)])
        terminal.wait_for("^q quit")
        changed = terminal.modes() != terminal.before
        os.kill(terminal.pid, number)
        check(changed and terminal.end() == (-number, True), f"{number.name} restores", repr(terminal.text[-200:]))
    terminal = Terminal([memtap, "top", str(trace)])
    terminal.wait_for("^q quit")
    terminal.press("\x03")
    check(terminal.end() == (-signal.SIGINT, True), "Ctrl-C")
    terminal = Terminal([memtap, "top", str(trace)])
    terminal.wait_for("^q quit")
    os.close(terminal.fd)  # the terminal is gone
    check(until(lambda: os.waitpid(terminal.pid, os.WNOHANG)[0]), "a terminal that is gone ends it")


def stopped(trace):
    """By a shell, as nobody else continues it."""
    shell = Terminal(["/bin/sh", "-i"], PS1="prompt ", ENV="")
    shell.until(lambda: "prompt" in shell.text)
    shell.press(f"stty -echo; {memtap} top {trace}\n")
    shell.wait_for("^q quit")
    entered = shell.modes()
    shell.press("\x1a")
    shell.until(lambda: "Stopped" in shell.text)
    check("Stopped" in shell.text.rpartition("\x1b[?1049l")[2] and
          shell.modes() != entered, "stopped: the terminal is given back")
    shell.until(lambda: "prompt" in shell.text.rpartition("Stopped")[2])
    shell.text = ""
    shell.press("fg\n")
    shell.wait_for("^q quit")
    check("\x1b[?1049h" in shell.text and shell.modes() == entered, "continued: it is taken again")
    shell.press("q")
    shell.until(lambda: "prompt" in shell.text)
    shell.press("exit\n")
    check(shell.end()[0] == 0, "and the shell goes on")


def ends(folder):
    trace = folder / "ends.mtap"
    terminal = Terminal([memtap, "top", "--interval", "0.2", str(trace)])
    terminal.wait_for("to appear")  # it waits
    process = start(trace)
    terminal.wait_for("live$")
    terminal.wait_for("64.00 MiB +1  other")
    end(process)
    screen = terminal.wait_for("ended: killed")
    check(any("keep" in line for line in screen), "a killed program's last state stays", *screen)
    terminal.press("q")
    check(terminal.end() == (0, True), "it ends well")
    check("ended: killed" in terminal.text.rpartition("\x1b[?1049l")[2], "and says so")
    said = refused("a trace that has ended", trace)
    check("(killed)" in said and "memtap report" in said, "how it ended", said)
    said = refused("a folder of ended ones", folder / "done") if not shutil.copytree(
        folder, folder / "done", ignore=shutil.ignore_patterns("done", "live*")) else refused("a folder", folder / "done")
    check("still being written" in said, "none is written", said)


def none(folder, trace):
    refused("no such trace", "--once", folder / "nothing.mtap")
    refused("no such process", "999999999")
    with subprocess.Popen(["sleep", "100"]) as process:
        said = refused("a process that is not recorded", process.pid)
        check("is not writing a trace" in said, "why", said)
        process.kill()
    (folder / "other").mkdir()
    refused("an empty folder", folder / "other")
    refused("an empty folder, by itself", cwd=folder / "other")
    (folder / "script").write_text("#!/bin/sh, which is no trace at all\n")
    refused("what is no trace", folder / "script")
    refused("a wrong interval", "--interval", "0", trace)
    damaged = folder / "damaged"
    damaged.write_bytes(trace.read_bytes()[:200] + b"\xff" * 300)
    said = refused("a damaged trace", damaged)
    check(re.search("damaged|cut|ended", said), "which says so", said)
    dumb = subprocess.run([memtap, "top", trace], stdout=subprocess.PIPE, env={**os.environ, "TERM": "dumb"}, check=False)
    check(dumb.returncode == 0 and b"\x1b" not in dumb.stdout, "a dumb terminal")


def ranks(folder):
    job = folder / "job"
    job.mkdir()
    processes = [start(job / "t.mtap", "\x1b[31mred\x1b]0;title\x07\x9b2J", RANK=str(rank), WORLD_SIZE="3",
                       MASTER_ADDR="here") for rank in range(3)]
    for trace in job.glob("*.mtap"):
        wait_for_file(trace)
    text = memtap_top(job).stdout
    check(all(re.search(rf"^[> ]{rank} +\d+ +[\d.]+ [MG]iB", text, re.M) for rank in range(3)), "a line for each rank", text)
    text = memtap_top(os.getpid()).stdout
    check(all(re.search(rf"^[> ]{rank}  ", text, re.M) for rank in range(3)), "and of their parent", text)
    terminal = Terminal([memtap, "top", "--interval", "0.2", str(job)], 200, 24)
    terminal.wait_for("^>0 ")
    terminal.press("\x1b[C")
    terminal.wait_for("^>1 ")
    terminal.press("\x1b[D\x1b[D")
    screen = terminal.wait_for("^>2 ")
    check(any("rank 2" in line for line in screen), "the chosen rank", *screen)
    end(processes[1])
    terminal.wait_for("^ 1 .*ended: killed")
    terminal.press("q")
    check(terminal.end() == (0, True), "several")
    check("title" in terminal.text and "\x1b]" not in terminal.text and
          "\x1b[31m" not in terminal.text and "\x07" not in terminal.text, "foreign text does not act")
    for process in processes:
        end(process)


def main():
    with tempfile.TemporaryDirectory(prefix="memtap-top-") as name:
        folder = pathlib.Path(name)
        try:
            live = folder / "live"
            live.mkdir()
            trace = live / "live.mtap"
            process = start(trace)
            wait_for_file(trace)
            as_text(live, trace, process)
            for part in sizes, keys, signals, stopped:
                part(trace)
            none(folder, trace)
            ends(folder)
            ranks(folder)
            check(process.poll() is None, "the program runs on")
        finally:
            for process in running:
                process.kill()
    finish()


main()
