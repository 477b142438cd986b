# SPDX-License-Identifier: Apache-2.0
"""Made on the meta device, and assigned the tensors of a checkpoint: no module moves them."""
import torch
from torch import nn


def make():
    layer = nn.TransformerEncoderLayer(256, 4, 512, batch_first=True)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)


def main():
    weights = {name: value.cuda() for name, value in make().state_dict().items()}
    with torch.device("meta"):
        model = make()
    model.load_state_dict(weights, assign=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=.1, momentum=.9)
    for _ in range(4):
        x = torch.randn(8, 64, 256, device="cuda")
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
