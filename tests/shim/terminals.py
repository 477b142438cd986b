# SPDX-License-Identifier: Apache-2.0
"""What a command does on a terminal: a pty whose program is read until it shows something. The screen is kept as text, as
far as memtap top writes it."""
import codecs
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from checks import LONG

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
CODES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z])")


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command, columns=80, rows=24, **settings):
        wait, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.read(wait, 1)
            os.environ.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **settings})
            os.execv(command[0], command)
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.fd)
        os.write(go, b"!")
        os.close(wait)
        os.close(go)
        self.text = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Whether anything came."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            new = os.read(self.fd, 65536)
        except OSError:  # the program is gone
            time.sleep(0.02)
            return False
        self.text += self.decoder.decode(new)
        return bool(new)

    def screen(self):
        """The lines of the last whole frame."""
        frames = re.findall(r"\x1b\[\?2026h\x1b\[H(.*?)\x1b\[\?2026l", self.text, re.S)
        return [CODES.sub("", line).rstrip("\r") for line in frames[-1].split("\n")] if frames else []

    def until(self, holds):
        """Read until it holds; whether it does."""
        end = time.monotonic() + LONG
        while not (found := holds()) and time.monotonic() < end:
            self.read(0.2)
        return found

    def wait_for(self, pattern):
        """The screen that shows it."""
        if self.until(lambda: any(re.search(pattern, line) for line in self.screen())):
            return self.screen()
        raise AssertionError(f"{pattern} is not on the screen:\n" + "\n".join(self.screen()) + repr(self.text[-300:]))

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def modes(self):
        return termios.tcgetattr(self.fd)

    def end(self):
        """How it ended, once it has; whether the terminal is as it was."""
        if not self.until(lambda: os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)):
            raise AssertionError("it does not end")
        while self.read(0.05):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]), self.is_restored()

    def is_restored(self):
        last = self.text.rpartition(ENTER)[2] if ENTER in self.text else LEAVE + "\x1b[?25h\x1b[?7h"
        return LEAVE in last and "\x1b[?25h" in last and "\x1b[?7h" in last and self.modes() == self.before
