# SPDX-License-Identifier: Apache-2.0
"""What a command does on a terminal: a pty whose program is read until it shows something. The screen is kept as text, as
far as memtap top writes it."""
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
CODES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z])")


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command, columns=80, rows=24, **settings):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            time.sleep(0.1)  # until the terminal has its size
            os.environ.update({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **settings})
            os.execv(command[0], command)
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.fd)
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
            return False
        self.text += self.decoder.decode(new)
        return bool(new)

    def screen(self):
        """The lines of the last whole frame."""
        frames = re.findall(r"\x1b\[\?2026h\x1b\[H(.*?)\x1b\[\?2026l", self.text, re.S)
        return [CODES.sub("", line).rstrip("\r") for line in frames[-1].split("\n")] if frames else []

    def wait_for(self, pattern, seconds=60):
        """The screen that shows it."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if any(re.search(pattern, line) for line in self.screen()):
                return self.screen()
            self.read(0.2)
        raise AssertionError(f"{pattern} is not on the screen:\n" + "\n".join(self.screen()) + repr(self.text[-300:]))

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def modes(self):
        return termios.tcgetattr(self.fd)

    def end(self, seconds=30):
        """How it ended, once it has; whether the terminal is as it was."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            while self.read(0.05):
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.05):
                    pass
                return os.waitstatus_to_exitcode(status), self.is_restored()
        raise AssertionError("it does not end")

    def is_restored(self):
        last = self.text.rpartition(ENTER)[2] if ENTER in self.text else LEAVE + "\x1b[?25h\x1b[?7h"
        return LEAVE in last and "\x1b[?25h" in last and "\x1b[?7h" in last and self.modes() == self.before
