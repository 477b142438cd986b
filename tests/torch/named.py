# SPDX-License-Identifier: Apache-2.0
"""named.py LOG SCRIPT [ARGUMENT...]: runs a script up to its second optimizer step, and logs what its
models' parts are called, and where their parameters and gradients are."""
import gc
import json
import os
import runpy
import sys

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

steps = 0


def roots():
    modules = [thing for thing in gc.get_objects() if isinstance(thing, nn.Module)]
    parts = {id(child) for module in modules for child in module.children()}
    return [module for module in modules if id(module) not in parts]


def log(*_):
    global steps
    steps += 1
    if steps < 2:
        return
    models = []
    for model in roots():
        parameters, gradients = [], []
        for name, parameter in model.named_parameters(remove_duplicate=False):
            parameters.append([parameter.untyped_storage().data_ptr(), name.rpartition(".")[0]])
            if parameter.grad is not None:
                gradients.append([parameter.grad.untyped_storage().data_ptr(), parameters[-1][1]])
        models.append({"class": type(model).__name__, "parameters": parameters,
                       "gradients": gradients, "modules": [n for n, _ in model.named_modules()]})
    with open(path, "w") as file:
        json.dump(models, file)
    sys.stdout.flush()
    os._exit(0)  # nothing is freed


path = sys.argv[1]
sys.argv = sys.argv[2:]
register_optimizer_step_pre_hook(log)
gc.freeze()  # what PyTorch itself has need not be looked at
runpy.run_path(sys.argv[0], run_name="__main__")
