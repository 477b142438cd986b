# SPDX-License-Identifier: Apache-2.0
"""observed.py [OPTION]... SCRIPT [ARGUMENT]...: runs a training script of somebody else as it is, and says how far it got as
program.py does: its last line is JSON. A position is the number of modules' calls, their ends, nodes of backward and steps of the
optimizer so far; what is computed again does not count. What advice would have a user change in the script is an option, as are
ways to run out of memory that the script has not."""
import argparse
import json
import os
import runpy
import sys
from unittest import mock

import numpy  # noqa: F401  (forks.py imports what scripts import, once)
import torch
import torch._dynamo
import torchvision  # noqa: F401
from cases import is_out_of_memory
from program import Adam8
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.checkpoint import checkpoint

call_module, run_backward = torch.nn.Module.__call__, torch.autograd.backward


class Enough(BaseException):
    """That many steps were requested."""


def nodes_of(tensors):
    """The nodes that backward will run, but for those that add up a parameter's gradient."""
    found, to_see = {}, [one.grad_fn for one in ([tensors] if torch.is_tensor(tensors) else tensors)]
    while to_see:
        node = to_see.pop()
        if node is not None and node not in found and node.name() != "torch::autograd::AccumulateGrad":
            found[node] = True
            to_see += [following for following, _ in node.next_functions]
    return found


class Observer:
    def __init__(self, args):
        self.args, self.blocks = args, set(args.blocks.split(","))
        self.at = self.depth = self.in_block = self.n_backward = 0
        self.in_backward = False
        self.kept, self.side = [], None

    def reach(self, *_):
        self.at += 1

    def call(self, module, *args, **kwargs):
        """Instead of a module's own call."""
        if self.in_backward:  # it is computed again
            return call_module(module, *args, **kwargs)
        is_top, is_block = not self.depth, type(module).__name__ in self.blocks and not self.in_block
        if is_top:
            args = self.whole_model(args)
        self.reach()
        self.depth, self.in_block = self.depth + 1, self.in_block + is_block
        try:
            if is_block and self.args.checkpoint and module.training and torch.is_grad_enabled():
                output = checkpoint(lambda *a, **k: call_module(module, *a, **k), *args, use_reentrant=False, **kwargs)
            else:
                output = call_module(module, *args, **kwargs)
        finally:
            self.depth, self.in_block = self.depth - 1, self.in_block - is_block
        self.reach()
        if is_top and self.args.leak and not self.args.forget:
            self.kept.append(output)
        return output

    def whole_model(self, args):
        """The inputs, which with --streams come on another stream, as a prefetcher's."""
        if self.args.store and not self.args.forget:
            self.kept.append([torch.empty(self.args.store * 2**17, device="cuda") for _ in range(8)])
            if len(self.kept) % 2:
                del self.kept[-1][::2]
        if not self.args.streams or not all(torch.is_tensor(one) and one.is_cuda for one in args):
            return args
        self.side = self.side or torch.cuda.Stream()
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            args = [one.clone() for one in args]
        torch.cuda.current_stream().wait_stream(self.side)
        for one in args:
            one.record_stream(torch.cuda.current_stream())
        return args

    def backward(self, *args, **kwargs):
        if self.n_backward == self.args.limit:
            raise Enough
        self.n_backward += 1
        self.reach()
        self.in_backward = True
        handles = [node.register_prehook(self.reach) for node in nodes_of(args[0])]
        try:
            run_backward(*args, **kwargs)
        finally:
            self.in_backward = False
            for handle in handles:
                handle.remove()

    def watch(self):
        torch.nn.Module.__call__ = lambda module, *args, **kwargs: self.call(module, *args, **kwargs)
        torch.autograd.backward = self.backward
        register_optimizer_step_pre_hook(self.reach)
        if self.args.optimizer == "adam8":
            for name in ("Adam", "AdamW", "SGD"):
                setattr(torch.optim, name, lambda parameters, lr=1e-3, **_: Adam8(parameters, lr))
        if self.args.set_to_none:
            register_optimizer_step_post_hook(lambda optimizer, *_: optimizer.zero_grad(set_to_none=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", default="", help="names of classes of modules to checkpoint")
    parser.add_argument("--limit", type=int, default=6, help="how often backward runs at most")
    parser.add_argument("--checkpoint", action="store_true")
    parser.add_argument("--optimizer")
    parser.add_argument("--set-to-none", type=int, default=0, help="1: free gradients after each step")
    parser.add_argument("--leak", action="store_true", help="keep what the model returns")
    parser.add_argument("--store", type=int, default=0, help="MiB to store at each call of the model, in pieces")
    parser.add_argument("--forget", action="store_true", help="do not keep it, nor store, after all")
    parser.add_argument("--streams", action="store_true", help="inputs come on another stream")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    sys.modules["wandb"] = mock.MagicMock()  # it would ask for an account
    sys.argv = [args.script, *args.arguments]
    sys.path[:0] = [os.path.dirname(os.path.abspath(args.script)), os.getcwd()]
    observer, ended = Observer(args), "whole"
    observer.watch()
    try:
        runpy.run_path(args.script, run_name="__main__")
    except (Enough, SystemExit):
        pass
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        ended = "oom"
    stats = torch.cuda.memory_stats()
    print("\n" + json.dumps({"ended": ended, "at": [observer.at], "allocations": stats["allocation.all.allocated"],
                             "peak": stats["allocated_bytes.all.peak"], "reserved": stats["reserved_bytes.all.peak"]}), flush=True)


if __name__ == "__main__":
    main()
