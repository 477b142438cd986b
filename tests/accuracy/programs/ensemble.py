# SPDX-License-Identifier: Apache-2.0
"""Five networks trained as one: their parameters are stacked, which are then leaves of no module."""
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(256, 512)
        self.out = nn.Linear(512, 10)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def main():
    parameters, _ = stack_module_state([Net().cuda() for _ in range(5)])
    skeleton = Net().to("meta")
    optimizer = torch.optim.Adam(list(parameters.values()), lr=1e-3)
    for _ in range(4):
        x = torch.randn(512, 256, device="cuda")
        y = torch.randint(0, 10, (512,), device="cuda")
        outputs = vmap(lambda p, x: functional_call(skeleton, p, (x,)), (0, None))(parameters, x)
        loss = sum(nn.functional.cross_entropy(output, y) for output in outputs)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
