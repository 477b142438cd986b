# SPDX-License-Identifier: Apache-2.0
"""A vector-quantizing autoencoder: its forward replaces its buffers, which are moving averages."""
import torch
from torch import nn


class Quantizer(nn.Module):
    def __init__(self, codes=1024, width=256):
        super().__init__()
        self.register_buffer("codebook", torch.randn(codes, width))
        self.register_buffer("counts", torch.ones(codes))
        self.register_buffer("sums", torch.randn(codes, width))

    def forward(self, z):
        chosen = (z @ self.codebook.t()).argmax(1)
        code = self.codebook[chosen]
        with torch.no_grad():
            hits = torch.zeros(len(z), len(self.codebook), device=z.device)
            self.counts = .99 * self.counts + .01 * hits.sum(0)
            self.sums = .99 * self.sums + .01 * hits.t() @ z
            self.codebook = self.sums / self.counts[:, None]
        return z + (code - z).detach(), (code.detach() - z).pow(2).mean()


def main():
    encoder = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256)).cuda()
    quantizer = Quantizer().cuda()
    decoder = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 784)).cuda()
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    for _ in range(5):
        x = torch.rand(1024, 784, device="cuda")
        code, distance = quantizer(encoder(x))
        loss = (decoder(code) - x).pow(2).mean() + distance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
