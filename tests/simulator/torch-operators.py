# SPDX-License-Identifier: Apache-2.0
"""Calls what PyTorch has CUDA's libraries for, and much besides: nothing may fail, take an absurd amount
of memory, or reach an entry point that nobody modelled."""
import gc
import os
import sys
import tempfile
from contextlib import nullcontext

import torch
import torch.nn.functional as F
from torch import nn

MIB = 1 << 20


def random(*shape, **options):
    return torch.randn(*shape, device='cuda', **options)


def copied(value):
    """On the device, with these contents: what a kernel would write is not there."""
    return torch.as_tensor(value).cuda()


def decompositions():
    for shape in ((64, 64), (128, 32), (4, 16, 16), (1000, 300)):
        torch.linalg.svd(random(*shape), full_matrices=False)
        torch.linalg.svdvals(random(*shape, dtype=torch.float64))
        torch.linalg.qr(random(*shape))
    for driver in ('gesvd', 'gesvdj', 'gesvda'):
        torch.linalg.svd(random(64, 64), driver=driver)
    for shape in ((64, 64), (4, 16, 16), (300, 300)):
        torch.linalg.eigh(random(*shape))
        torch.linalg.eigvalsh(random(*shape, dtype=torch.float64))
    torch.linalg.eigh(random(8, 8, dtype=torch.complex64))
    torch.linalg.eigvals(copied(torch.eye(16)))
    torch.linalg.cholesky(copied(torch.eye(32)))
    torch.linalg.cholesky(copied(torch.eye(32).expand(4, 32, 32)))
    torch.linalg.lu_factor(random(4, 16, 16))
    torch.linalg.ldl_factor(random(16, 16))


def equations():
    matrix = random(32, 32, requires_grad=True)
    torch.linalg.solve(matrix, random(32, 4)).sum().backward()
    torch.linalg.inv(matrix).sum().backward()
    torch.linalg.slogdet(matrix)
    torch.linalg.inv(random(100, 5, 5))
    torch.linalg.lstsq(random(32, 8), random(32, 2))
    torch.linalg.pinv(random(10, 5))
    torch.linalg.matrix_exp(random(8, 8))
    torch.linalg.solve_triangular(random(16, 16), random(16, 2), upper=True)
    torch.cholesky_solve(random(32, 2), random(32, 32))
    torch.cholesky_inverse(random(32, 32))
    torch.ormqr(random(16, 8), random(8), random(16, 4))


def products():
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64):
        a = random(2, 8, 8, dtype=dtype)
        torch.bmm(a, a)
        torch.baddbmm(a, a, a)
        torch.addmv(a[0, 0], a[0], a[0, 0])
        torch.dot(a[0, 0], a[0, 0])
    torch._addmm_activation(random(16), random(4, 8), random(8, 16), use_gelu=True)
    torch._int_mm(*(copied(torch.zeros(64, 64, dtype=torch.int8)) for _ in range(2)))
    if hasattr(torch, '_grouped_mm'):
        ends = copied(torch.tensor([16, 32, 48, 64], dtype=torch.int32))
        torch._grouped_mm(random(64, 32, dtype=torch.bfloat16),
                          random(4, 32, 64, dtype=torch.bfloat16), offs=ends)
    if hasattr(torch, '_grouped_mm') and torch.cuda.get_device_capability() >= (8, 9):
        scale = copied(torch.ones(1))
        a = random(64, 64).to(torch.float8_e4m3fn)
        torch._scaled_mm(a, a.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)


def transforms():
    for length in (16, 1000, MIB):
        torch.fft.irfft(torch.fft.rfft(random(length)))
    torch.fft.fft2(random(4, 3, 64, 64))
    torch.fft.irfftn(torch.fft.rfftn(random(16, 16, 16, dtype=torch.float64)))
    window = copied(torch.ones(400))
    spectrum = torch.stft(random(1, 1600), 400, window=window, return_complex=True)
    torch.istft(spectrum, 400, window=window)


def sparse():
    at, values = copied([[0, 1, 2], [2, 0, 1]]), copied([1., 1., 1.])
    listed = torch.sparse_coo_tensor(at, values, (3, 3))
    torch.sparse.mm(listed, random(3, 4))
    listed.coalesce().to_dense()
    listed @ listed
    rows = torch.sparse_csr_tensor(copied([0, 1, 2, 3]), copied([2, 0, 1]), values, (3, 3))
    rows @ random(3, 4)
    rows @ random(3)
    rows @ rows
    rows + rows
    torch.sparse.sampled_addmm(rows, random(3, 3), random(3, 3))
    torch.triangular_solve(random(3, 1), rows)


def recurrent():
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        for options in ({}, {'num_layers': 2, 'bidirectional': True, 'dropout': .1}, {'bias': False},
                        {'batch_first': True}):
            module = kind(16, 32, **options).cuda()
            module(random(5, 4, 16))[0].sum().backward()
            module.eval()(random(5, 4, 16))
    module = nn.LSTM(16, 32, proj_size=8).cuda()
    packed = nn.utils.rnn.pack_padded_sequence(random(7, 3, 16), [7, 4, 2])
    module(packed)[0].data.sum().backward()
    with torch.autocast('cuda'):
        nn.GRU(16, 32).cuda()(random(5, 4, 16))[0].float().sum().backward()
    # cuDNN's way, with targets on the host, and PyTorch's own.
    for place in ('cpu', 'cuda'):
        logs = random(50, 16, 20, requires_grad=True).log_softmax(2)
        lengths = torch.full((16,), 50, dtype=torch.int), torch.full((16,), 10, dtype=torch.int)
        targets = torch.ones(160, dtype=torch.int).to(place)
        try:
            F.ctc_loss(logs, targets, *lengths).backward()
        except RuntimeError as error:
            assert 'same device' in str(error) or 'CPU Backend' in str(error), error


def convolutions():
    cases = ((nn.Conv1d(3, 8, 3), (2, 3, 100)), (nn.Conv3d(3, 8, 3), (2, 3, 8, 16, 16)),
             (nn.ConvTranspose2d(3, 8, 3, 2), (2, 3, 16, 16)),
             (nn.Conv2d(8, 8, 3, groups=8), (2, 8, 16, 16)),
             (nn.Conv2d(8, 16, 3, groups=2, dilation=2, padding='same'), (2, 8, 16, 16)),
             (nn.ConvTranspose3d(3, 4, 3), (1, 3, 8, 8, 8)))
    for module, shape in cases:
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            module.to('cuda', dtype)(random(*shape, dtype=dtype)).sum().backward()
    for flag in ('benchmark', 'deterministic'):
        with torch.backends.cudnn.flags(**{flag: True}):
            nn.Conv2d(3, 8, 3).cuda()(random(2, 3, 17, 17)).sum().backward()
    with torch.backends.cudnn.flags(enabled=False):
        nn.Conv2d(3, 8, 3).cuda()(random(2, 3, 17, 17)).sum().backward()
        nn.Conv3d(3, 8, 3).cuda()(random(2, 3, 7, 17, 17)).sum().backward()
    F.grid_sample(random(1, 3, 8, 8, requires_grad=True), random(1, 4, 4, 2)).sum().backward()
    nn.BatchNorm3d(3).cuda()(random(2, 3, 4, 4, 4)).sum().backward()
    F.interpolate(random(1, 3, 8, 8), scale_factor=2, mode='bicubic')


def attention():
    kernels = [nullcontext()]
    if hasattr(torch.nn, 'attention'):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        kernels += [sdpa_kernel(getattr(SDPBackend, name)) for name in
                    ('MATH', 'FLASH_ATTENTION', 'EFFICIENT_ATTENTION', 'CUDNN_ATTENTION')
                    if hasattr(SDPBackend, name)]
    for kernel in kernels:
        heads = [random(2, 4, 128, 64, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
        with kernel:
            F.scaled_dot_product_attention(*heads, is_causal=True).sum().backward()
    heads = [random(2, 4, 128, 64, requires_grad=True) for _ in range(3)]
    F.scaled_dot_product_attention(*heads, attn_mask=random(128, 128)).sum().backward()
    module, x = nn.MultiheadAttention(64, 4, batch_first=True).cuda(), random(2, 10, 64)
    module(x, x, x)[0].sum().backward()
    with torch.inference_mode():
        nn.TransformerEncoderLayer(64, 4, batch_first=True).cuda().eval()(x)


def embeddings():
    for mode in ('sum', 'mean', 'max'):
        bag = nn.EmbeddingBag(1000, 64, mode=mode, device='cuda')
        bag(copied(torch.arange(32)), copied(torch.arange(0, 32, 4))).sum().backward()
    for is_sparse, kind in ((True, torch.optim.SparseAdam), (False, torch.optim.Adam)):
        table = nn.Embedding(1000, 64, sparse=is_sparse, device='cuda')
        table(copied(torch.arange(32))).sum().backward()
        kind(list(table.parameters())).step()


def searches():
    x = random(1000)
    torch.nonzero(x), torch.masked_select(x, x > 0), x[x > 0]
    torch.unique(copied(torch.arange(10)), return_counts=True)
    torch.unique(copied([[1, 2], [1, 2]]), dim=0)
    torch.topk(x, 10), torch.sort(x), torch.argsort(random(10, 10)), torch.kthvalue(x, 5)
    torch.median(x), torch.mode(x), torch.quantile(x, .5), torch.cumsum(x, 0), torch.cummax(x, 0)
    torch.searchsorted(torch.sort(x)[0], x), torch.randperm(100000, device='cuda')
    torch.histc(x), torch.cdist(random(10, 3), random(11, 3))
    x.index_put_((copied([1, 1]),), random(2), accumulate=True)


def compiled_on_the_fly():
    source = 'template <typename T> T f(T x, T y, T alpha) { return x + alpha * y; }'
    torch.cuda.jiterator._create_jit_fn(source, alpha=1.0)(random(8), random(8))
    torch.special.bessel_j0(random(8)), torch.special.zeta(random(3), random(3))
    torch.lcm(copied([4, 6]), copied([6, 9])), torch.i0(random(3)), torch.lgamma(random(3))
    copied(torch.ones(3, dtype=torch.complex64)).prod()


def optimizers():
    optim = torch.optim
    for kind in (optim.Adam, optim.AdamW, optim.SGD):
        for options in ({'foreach': True}, {'foreach': False}, {'maximize': True}):
            module = nn.Linear(8, 8).cuda()
            optimizer = kind(module.parameters(), lr=1e-3, **options)
            module(random(2, 8)).sum().backward()
            optimizer.step()
    for options in ({'fused': True}, {'capturable': True}):
        module = nn.Linear(8, 8).cuda()
        optimizer = optim.AdamW(module.parameters(), **options)
        module(random(2, 8)).sum().backward()
        optimizer.step()
    for kind in (optim.RMSprop, optim.Adadelta, optim.Adagrad, optim.Adamax, optim.NAdam, optim.RAdam,
                 optim.ASGD, optim.Rprop):
        module = nn.Linear(8, 8).cuda()
        optimizer = kind(module.parameters())
        module(random(2, 8)).sum().backward()
        optimizer.step()


PARTS = (decompositions, equations, products, transforms, sparse, recurrent, convolutions, attention,
         embeddings, searches, compiled_on_the_fly, optimizers)


def notes_of(run):
    """What the stand-in libraries say on stderr meanwhile."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            run()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return [line for line in file.read().decode().splitlines() if 'cudasim' in line]


def main():
    notes = []
    for part in PARTS:
        torch.cuda.reset_peak_memory_stats()
        notes += notes_of(part)
        peak = torch.cuda.max_memory_allocated()
        print(f'{part.__name__}: {peak / MIB:.1f} MiB', flush=True)
        # cuBLAS has up to 64 MiB, 32 for each of two handles.
        assert peak < 160 * MIB, 'absurd'
        gc.collect()
        torch.cuda.empty_cache()
    print(*notes, sep='\n')
    sys.exit(bool(notes))


main()
