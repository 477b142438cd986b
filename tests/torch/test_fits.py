# SPDX-License-Identifier: Apache-2.0
"""memtap fit with a real PyTorch: the border is one, a training without an end is ended when it repeats, memory
that ran out is seen whatever the program makes of it, and all ranks have to fit."""
import json
from pathlib import Path

from harness import MEMTAP, PYTHON, check, equal, finish, folder, must_run, need_torch, run

PROGRAM = Path(__file__).with_name("to_fit.py")


def fit(*words, ends=0):
    done = must_run([MEMTAP, "fit", "-q", "-f", "json", "-s", "t4", *words], ends=ends, cwd=work.name)
    return json.loads(done.stdout)


def card_of(*words, ends=0):
    return fit(*words, ends=ends)["cards"][0]


def is_border():
    """An endless training; its border by plain runs, which have an end."""
    result = fit("--vary", "size=7000..8000+100", "--", PYTHON, PROGRAM, "--steps", "0", "--size", "{size}")
    card = result["cards"][0]
    equal("the verdict", card["verdict"], "border")
    equal("the step", card["fails"]["size"] - card["fits"]["size"], 100)
    check(all(run["stopped"] and run["iterations"] >= 3 for run in result["runs"] if run["ended"] == "fits"),
          f"runs are ended when they repeat: {result['runs']}")
    for side, code in ("fits", 0), ("fails", 1):
        done = run([MEMTAP, "run", "-q", "--simulate", "t4", "--", PYTHON, PROGRAM, "--steps", "6", "--size",
                    card[side]["size"]], cwd=work.name)
        equal(f"the exit code of {card[side]}", done.returncode, code)


def knows_the_end():
    """What comes after the training counts where runs go on to the end."""
    words = ["--vary", "size=5000", "--", PYTHON, PROGRAM, "--how", "evaluates", "--size", "{size}", "--steps"]
    equal("ended early", card_of(*words, "1000000")["verdict"], "always")
    equal("to the end", card_of("--steps", "all", *words, "8", ends=1)["verdict"], "never")


def waits_for_the_end_of_a_warm_up():
    """Iterations that repeat on a stream of their own are not the last ones."""
    words = ["--vary", "size=5000", "--", PYTHON, PROGRAM, "--how", "warms", "--size", "{size}"]
    equal("after the warm-up", card_of(*words, ends=1)["verdict"], "never")


def sees_what_is_caught():
    for how in "catches", "swallows":
        card = card_of("--vary", "size=9000", "--", PYTHON, PROGRAM, "--how", how, "--size", "{size}", ends=1)
        equal(how, (card["fits"], card["fails"]), (None, {"size": 9000}))
        check(card["frontier"][0]["caught"], f"{how}: {card['frontier'][0]}")


def takes_environment():
    result = fit("--vary", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,backend:cudaMallocAsync", "--", PYTHON, "-c",
                 "import torch; torch.zeros(1, device='cuda'); print(torch.cuda.memory.get_allocator_backend())")
    values = [line["fits"]["PYTORCH_CUDA_ALLOC_CONF"] for line in result["cards"][0]["frontier"]]
    equal("the values", values, ["expandable_segments:True", "backend:cudaMallocAsync"])


def takes_made_up_values():
    """What the first expert gets, by scores that are not computed; and a box for each that is found."""
    words = ["--vary", "size=1000", "--", PYTHON, "-c",
             "import torch; chosen = torch.empty(4096, 64, device='cuda').topk(2).indices; "
             "first = torch.bincount(chosen.flatten(), minlength=64).tolist()[0]; "
             "torch.empty(first * {size} << 16, dtype=torch.uint8, device='cuda')"]
    equal("even experts", card_of(*words)["fails"], None)
    result = fit("--skew", "zipf:1", *words, ends=1)
    equal("the first loaded more", result["cards"][0]["fails"], {"size": 1000})
    check(all(" --skew zipf:1 " in run["command"] for run in result["runs"]), f"to repeat a run: {result['runs']}")
    words = ["--allow-unknown", "--seed", "3", "--vary", "size=5", "--", PYTHON, "-c",
             "import torch; found = (torch.empty(5000, 200, device='cuda') > 0.5).nonzero(); "
             "torch.empty(len(found) * {size} << 20, dtype=torch.uint8, device='cuda')"]
    equal("no box", card_of(*words)["verdict"], "always")
    equal("4,000 boxes", card_of("--boxes", "4000", *words, ends=1)["verdict"], "never")
    for option, value in ("skew", "zipf:x"), ("seed", "-1"), ("boxes", "many"), ("values", "q"):
        done = run([MEMTAP, "fit", "-s", "t4", f"--{option}={value}", "--", "true"])
        check(done.returncode == 2 and f"--{option} " in done.stderr and done.stderr.count("\n") == 1, f"{option}: {done.stderr}")


def counts_all_ranks():
    """Rank 1 has twice of what rank 0 has, which then waits for it."""
    card = card_of("--nproc", "2", "--vary", "size=1000,8000", "--", PYTHON, "-c",
                   "import torch, torch.distributed as dist; dist.init_process_group('nccl'); rank = dist.get_rank(); "
                   "torch.cuda.set_device(rank % torch.cuda.device_count()); "
                   "torch.empty(({size} << 20) * (1 + rank), dtype=torch.uint8, device='cuda'); "
                   "dist.all_reduce(torch.ones(1, device='cuda')); dist.destroy_process_group()")
    equal("two ranks", (card["fits"], card["fails"]), ({"size": 1000}, {"size": 8000}))


def tells_what_is_beside():
    """What a later process convolves, though the first does not; and what handles take, which is an estimate for this card."""
    later = "import torch; torch.nn.Conv2d(1, 1, 3).cuda()(torch.ones(1, 1, 9, 9, device='cuda'))"
    first = ("import subprocess, sys, torch; x = torch.ones(8, {size}, device='cuda'); x @ x.T; "
             f"subprocess.run([sys.executable, '-c', {later!r}], check=True)")
    words = ["--vary", "size=8", "--", PYTHON, "-c", first]
    says = " ".join(must_run([MEMTAP, "fit", "-q", "-s", "t4", *words], cwd=work.name).stdout.split())
    check("cuDNN's convolution workspaces are not simulated" in says, f"workspaces: {says}")
    check("cuSOLVER use up to 10.02 MiB of a card (measured on an H100; an estimate" in says, f"handles: {says}")
    (one,) = fit(*words)["runs"]
    equal("a handle of cuBLAS on this card, or of cuDNN, in MiB", one["handles"] >> 20, 10)


need_torch()
work = folder()
is_border()
knows_the_end()
waits_for_the_end_of_a_warm_up()
sees_what_is_caught()
takes_environment()
takes_made_up_values()
counts_all_ranks()
tells_what_is_beside()
finish()
