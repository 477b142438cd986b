# SPDX-License-Identifier: Apache-2.0
"""test-top-tmux.py MEMTAP SHIM: memtap top as tmux shows it, at 80x24 and 200x50, resized, ended by a key, by a signal and
killed. Skipped (77) where there is no tmux."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import until

memtap, shim = (os.path.abspath(path) for path in sys.argv[1:])
program = str(pathlib.Path(__file__).with_name("top-program.py"))
if not shutil.which("tmux"):
    print("there is no tmux")
    sys.exit(77)


class Pane:
    def __init__(self, folder):
        self.name = f"memtap-{os.getpid()}"
        self.run("-u", "new-session", "-d", "-x", "80", "-y", "24", "-s", "top", "-c", str(folder),
                 "env LC_ALL=C.UTF-8 ENV= PS1='prompt ' /bin/sh")

    def run(self, *arguments):
        return subprocess.run(["tmux", "-L", self.name, "-f", "/dev/null", *arguments], check=True, text=True,
                              stdout=subprocess.PIPE).stdout

    def type(self, *keys):
        self.run("send-keys", "-t", "top", *keys)

    def lines(self):
        return self.run("capture-pane", "-p", "-t", "top").split("\n")

    def modes(self):
        """The other screen is on, the cursor is shown, lines wrap."""
        return self.run("display-message", "-p", "-t", "top", "#{alternate_on} #{cursor_flag} #{wrap_flag}").strip()

    def wait_for(self, what):
        if not until(lambda: what(self.lines())):
            raise AssertionError("\n".join(self.lines()))

    def end(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False)


def is_top(columns, rows):
    def look(lines):
        place = [line for line in lines if "top-program.py" in line and "keep" in line]
        return lines[rows - 1].startswith("q quit") and len(place) == 1 and any(
            line.startswith("allocated") and len(line) <= columns for line in lines)
    return look


def has_prompt(lines):
    return any(line.startswith("prompt") for line in lines) and not any(line.startswith("q quit") for line in lines)


def top_pid(parent):
    """Of the process that the shell in the pane runs."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", parent], stdout=subprocess.PIPE, text=True, check=True)
    return int(found.stdout.split()[0])


def main():
    with tempfile.TemporaryDirectory(prefix="memtap-tmux-") as name:
        trace = pathlib.Path(name) / "t.mtap"
        environment = {**os.environ, "LD_PRELOAD": shim, "MEMTAP_OUTPUT": str(trace), "MEMTAP_QUIET": "1"}
        with subprocess.Popen([sys.executable, program], env=environment, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            pane = Pane(name)
            try:
                shell = pane.run("display-message", "-p", "-t", "top", "#{pane_pid}").strip()
                for columns, rows, ending in ((80, 24, "key"), (200, 50, signal.SIGTERM), (80, 24, signal.SIGKILL)):
                    pane.run("resize-window", "-t", "top", "-x", str(columns), "-y", str(rows))
                    pane.type("clear", "Enter")
                    pane.wait_for(has_prompt)
                    pane.type(f"{memtap} top t.mtap", "Enter")
                    pane.wait_for(is_top(columns, rows))
                    pane.run("resize-window", "-t", "top", "-x", "120", "-y", "30")
                    pane.wait_for(is_top(120, 30))
                    assert pane.modes() == "1 0 0", pane.modes()
                    if ending == "key":
                        pane.type("q")
                    else:
                        os.kill(top_pid(shell), ending)
                    if ending == signal.SIGKILL:  # nobody can: the manual says what to type
                        pane.wait_for(lambda lines: any("prompt" in line for line in lines))
                        pane.type("reset", "Enter")
                    pane.wait_for(has_prompt)
                    assert ending == signal.SIGKILL or pane.modes() == "0 1 1", (ending, pane.modes())
                    print(columns, rows, ending, "ok", flush=True)
            finally:
                pane.end()
                process.kill()


main()
