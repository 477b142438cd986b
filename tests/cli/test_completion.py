# SPDX-License-Identifier: Apache-2.0
"""test_completion.py MEMTAP: what shells complete with `memtap completion SHELL`, according to the shells
themselves, as far as they are installed (bash always is)."""
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile

SHELLS = ("bash", "fish", "zsh")
memtap = str(pathlib.Path(sys.argv[1]).resolve())
os.environ["PATH"] = os.path.dirname(memtap) + os.pathsep + os.environ["PATH"]  # the scripts ask it
faults = []

FOLDER = "good"
# The words of a command line up to the cursor; what must be offered; what must not.
LINES = [
    (["memtap", "re"], {"report", "recover"}, {"run", "info"}),
    (["memtap", "report", "--"], {"--format", "--by", "--at", "--help"}, {"--simulate"}),
    (["memtap", "report", "--by", "st"], {"stack"}, {"file"}),
    (["memtap", "report", "--by", "file", "t"], {"trace.mtap"}, {"stack"}),
    (["memtap", "run", "--simulate", "h"], {"h100", "h200"}, {"list", "rtx4090"}),
    (["memtap", "run", "--output", "t"], {"trace.mtap"}, {"true"}),
    (["memtap", "history", ""], {"add", "trend"}, {"report"}),
    (["memtap", "history", "add", "--d"], {"--db"}, {"--keep-last"}),
    (["memtap", "history", "add", "t"], {"trace.mtap"}, {"trend"}),
    (["memtap", "check", "t"], {"trace.mtap"}, {"trend.toml", "train.py"}),
    (["memtap", "check", "trace.mtap", "--against", ""], {"trace.mtap", FOLDER}, {"trend.toml", "json"}),
    (["memtap", "check", "trace.mtap", "--against", "trace.mtap", "t"], {"trace.mtap"}, {"trend.toml"}),
    (["memtap", "check", "trace.mtap", "--budget", "tren"], {"trend.toml"}, {"trace.mtap"}),
    (["memtap", "check", "-f", "j"], {"json", "junit"}, {"text", "trace.mtap"}),
    (["memtap", "diff", "-f", ""], {"text", "markdown", "json"}, {"trace.mtap"}),
    (["memtap", "diff", "trace.mtap", "t"], {"trace.mtap"}, {"train.py"}),
    (["memtap", "completion", ""], {"bash", "zsh", "fish"}, {"trace.mtap"}),
    (["memtap", "oom", "good/"], {"good/night.mtap"}, {"good/notes"}),
    (["memtap", "lib", "t"], set(), {"trace.mtap", "train.py"}),
    (["memtap", "history", "list", "t"], set(), {"trace.mtap", "train.py"}),
    (["memtap", "he"], {"help"}, {"report"}),
    (["memtap", "help", "rep"], {"report"}, {"recover", "trace.mtap"}),
    (["memtap", "nightly", "--"], {"--folder", "--budget", "--simulate"}, {"--output"}),
    (["memtap", "nightly", "trai"], {"train.py"}, {"trace.mtap"}),
    (["memtap", "run", "trai"], {"train.py"}, {"trace.mtap"}),
    (["memtap", "run", "tru"], {"true"}, {"trace.mtap"}),
    (["memtap", "run", "--", "tru"], {"true"}, {"trace.mtap"}),
]


def script(shell):
    return subprocess.run([memtap, "completion", shell], capture_output=True, text=True, check=True).stdout


def ask_bash(words):
    quoted = " ".join(f"'{word}'" for word in words)
    return subprocess.run(
        ["bash", "--norc", "-c", f'{script("bash")}\nCOMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}\n'
         '_memtap\nprintf "%s\\n" "${COMPREPLY[@]}"'],
        capture_output=True, text=True, check=True).stdout.splitlines()


def ask_fish(words):
    out = subprocess.run(
        ["fish", "--no-config", "-c", f"source completion.fish; complete -C '{' '.join(words)}'"],
        capture_output=True, text=True, check=True).stdout
    return [line.split("\t")[0] for line in out.splitlines()]


# zsh completes at a terminal only. It is told to write down what it offers, and when it is ready.
ZSH = """unsetopt zle_bracketed_paste
autoload -Uz compinit; compinit -u -d dump; source completion.zsh
compadd() { local -a found; builtin compadd -O found "$@"; print -rl -- $found >>offered; builtin compadd "$@" }
zle-line-init() { : >ready }; zle -N zle-line-init
bindkey '^G' list-choices; bindkey '^U' kill-whole-line
"""


class Zsh:
    def __init__(self):
        pathlib.Path(".zshrc").write_text(ZSH)
        pid, self.terminal = pty.fork()
        if not pid:
            os.environ.update(TERM="dumb", ZDOTDIR=os.getcwd())
            os.execvp("zsh", ["zsh", "-d", "-i"])
        self.wait()

    def wait(self):
        """Until the next prompt; 60 s are for a machine that is very busy."""
        for _ in range(6000):
            if os.path.exists("ready"):
                return
            if select.select([self.terminal], [], [], 0.01)[0]:
                os.read(self.terminal, 65536)
        raise TimeoutError("zsh shows no prompt")

    def ask(self, words):
        pathlib.Path("offered").write_text("")
        os.remove("ready")
        os.write(self.terminal, " ".join(words).encode() + b"\x07\x15\n")
        self.wait()
        return pathlib.Path("offered").read_text().split()


asked = 0


def judge(shell, ask):
    global asked
    for words, wanted, unwanted in LINES:
        offered = {name.removesuffix("/") for name in ask(words)}
        if shell == "zsh": # it offers what follows the folder
            wanted = {name.removeprefix(words[-1]) if "/" in words[-1] else name for name in wanted}
        asked += 1
        if wanted - offered or unwanted & offered:
            faults.append(f"{shell}: {' '.join(words)}: {sorted(offered)[:20]}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    os.environ["HOME"] = folder
    pathlib.Path(FOLDER).mkdir()
    for name in ("trace.mtap", "trend.toml", "train.py", "good/night.mtap", "good/notes"):
        pathlib.Path(name).touch()
    for shell in SHELLS:
        if not shutil.which(shell):
            print(f"{shell} is not installed")
            continue
        pathlib.Path(f"completion.{shell}").write_text(script(shell))
        if shell == "zsh":
            judge(shell, Zsh().ask)
        else:
            judge(shell, ask_bash if shell == "bash" else ask_fish)
    os.chdir("/")
print(asked, "questions", *faults, sep="\n")
sys.exit(bool(faults) or asked < len(LINES))
