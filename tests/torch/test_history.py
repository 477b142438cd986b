# SPDX-License-Identifier: Apache-2.0
"""Ten nights of a program that somebody works on, from its repository, by the documented commands: in
the seventh commit an optimizer's state becomes fp32, in the ninth a layer gets wider. The history names
both commits, with the category and the line, and nothing else."""
import json
import re
import shutil

from harness import MEMTAP, Forks, Path, check, equal, finish, must_run, need_torch, os, skip, tempfile

PROGRAM = '''import torch

STATE = torch.bfloat16
WIDTH = 1024


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(512, WIDTH)
        self.down = torch.nn.Linear(WIDTH, 512)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


class Momentum(torch.optim.Optimizer):
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                state = self.state[parameter]
                if not state:
                    state["momentum"] = torch.zeros_like(parameter, dtype=STATE)
                state["momentum"].add_(parameter.grad)


def main():
    net = Net().cuda()
    optimizer = Momentum(net.parameters(), {})
    for _ in range(3):
        net(torch.randn(4096, 512, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


main()
'''
STATE_NIGHT, WIDTH_NIGHT = 7, 9


def version(night):
    """Each night there is another line at the top, so that all others move."""
    text = "# edited\n" * night + PROGRAM
    if night >= STATE_NIGHT:
        text = text.replace("bfloat16", "float32")
    return text.replace("1024", "1280") if night >= WIDTH_NIGHT else text


if not shutil.which("git"):
    skip("there is no git")
need_torch()
with tempfile.TemporaryDirectory() as folder, Forks() as forks:
    code = Path(folder) / "code"
    clean = {name: None for name in os.environ if re.match("GIT|CI_|BUILD|CIRCLE|BITBUCKET|TRAVIS", name)}
    clean |= {"MEMTAP_HISTORY": str(Path(folder) / "history.db")}
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-C", code]
    must_run(["git", "init", "-q", "-b", "main", code], env=clean)
    commits = [None]
    for night in range(1, 11):
        (code / "train.py").write_text(version(night))
        must_run([*git, "add", "train.py"], env=clean)
        must_run([*git, "commit", "-q", "-m", f"night {night}"], env=clean)
        commits.append(must_run([*git, "rev-parse", "HEAD"], env=clean).stdout.strip())
        trace = Path(folder) / f"{night}.mtap"
        equal(f"night {night}", forks.run(trace, "train.py", cwd=code), (0, ""))
        must_run([MEMTAP, "history", "add", "--tag", "nightly", trace], cwd=code, env=clean)
    text = must_run([MEMTAP, "history", "trend"], cwd=code, env=clean).stdout
    trend = json.loads(must_run([MEMTAP, "history", "trend", "--format", "json"], env=clean).stdout)

print(text)
nights = trend["nights"]
equal("the steps' commits", [(night["before"]["commit"], night["after"]["commit"]) for night in nights],
      [(commits[night - 1], commits[night]) for night in (STATE_NIGHT, WIDTH_NIGHT)])
if len(nights) == 2:
    state, width = nights
    check("optimizer_state" in state["series"] and "activations" not in state["series"],
          f"series of the optimizer's state: {state['series']}")
    site = state["sites"][0]
    equal("the optimizer's line", (site["category"], site["function"], site["file"]),
          ("optimizer_state", "Momentum.step", "train.py"))
    check("activations" in width["series"] and "parameters" in width["series"],
          f"series of the wider layer: {width['series']}")
    places = {(site["category"], site["function"]) for site in width["sites"][:4]}
    check(any(function == "Net.forward" for _, function in places), f"sites of the wider layer: {places}")
check(all(len(line) <= 90 for line in text.splitlines()), "lines are too long for a terminal")
check(commits[STATE_NIGHT][:12] in text and commits[WIDTH_NIGHT][:12] in text, "no commit in the text")
finish()
