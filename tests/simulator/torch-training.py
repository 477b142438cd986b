# SPDX-License-Identifier: Apache-2.0
"""Trains under simulation and compares PyTorch's own statistics with sums made by hand.

PyTorch's allocator rounds a block up to 512 bytes. It takes blocks of up to 1 MiB from segments of
2 MiB, blocks below 10 MiB from segments of 20 MiB, and gives larger ones their own, in 2 MiB steps.
"""
import gc

import torch
from torch import nn

MIB = 1 << 20

# Before 2.3 the scaler was CUDA's own.
GradScaler = getattr(torch.amp, 'GradScaler', lambda _: torch.cuda.amp.GradScaler())
OutOfMemoryError = getattr(torch, 'OutOfMemoryError', torch.cuda.OutOfMemoryError)


def rounded(tensors):
    """What the tensors take: each storage once, on the device only."""
    sizes = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
             for t in tensors if t.is_cuda and t.numel()}
    return sum((size + 511) // 512 * 512 for size in sizes.values())


def held():
    """What tensors hold: memory_allocated() without the ends of blocks (below 1 MiB) that were not
    worth splitting off, which differ between releases of PyTorch."""
    blocks = [block for segment in torch.cuda.memory_snapshot() for block in segment['blocks']
              if block['state'] == 'active_allocated']
    expect('its blocks', sum(block['size'] for block in blocks), torch.cuda.memory_allocated())
    return sum((block['requested_size'] + 511) // 512 * 512 for block in blocks)


def model_tensors(model, optimizer):
    states = [value for state in optimizer.state.values() for value in state.values()
              if torch.is_tensor(value)]
    return [*model.parameters(), *model.buffers(), *states]


def expect(what, found, expected):
    if found != expected:
        raise SystemExit(f'{what}: {found} bytes, expected {expected}')
    print(f'{what}: {found}')


def start_again():
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    expect('allocated at the start', torch.cuda.memory_allocated(), 0)
    expect('reserved at the start', torch.cuda.memory_reserved(), 0)


def segments():
    start_again()
    held = []
    for size, allocated, reserved in ((1, 512, 2 * MIB), (MIB - 512, MIB, 2 * MIB),
                                      (3 * MIB, 4 * MIB, 22 * MIB), (9 * MIB, 13 * MIB, 22 * MIB),
                                      (12 * MIB, 25 * MIB, 34 * MIB),
                                      (25 * MIB // 2, 25 * MIB + 25 * MIB // 2, 48 * MIB)):
        held.append(torch.empty(size, dtype=torch.uint8, device='cuda'))
        expect(f'allocated after {size} more', torch.cuda.memory_allocated(), allocated)
        expect(f'reserved after {size} more', torch.cuda.memory_reserved(), reserved)
    free, total = torch.cuda.mem_get_info()
    held.clear()
    torch.cuda.empty_cache()
    expect('given back', torch.cuda.mem_get_info()[0] - free, 48 * MIB)


def linear():
    start_again()
    model = nn.Linear(1000, 1030).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    weight, bias = 1030 * 1000 * 4 + 64, 1030 * 4 + 488
    expect('linear, its parameters', torch.cuda.memory_allocated(), weight + bias)
    for _ in range(3):
        model(torch.randn(64, 1000, device='cuda')).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    torch._C._cuda_clearCublasWorkspaces()
    expect('linear, with gradients and AdamW', held(), 4 * (weight + bias))
    optimizer.zero_grad()
    expect('linear, without gradients', held(), 3 * (weight + bias))


def convolutions():
    start_again()
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2), nn.GroupNorm(8, 64), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
    model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters())
    scaler = GradScaler('cuda')
    for _ in range(3):
        images = torch.randn(8, 3, 64, 64, device='cuda')
        with torch.autocast('cuda', dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(images),
                                               torch.zeros(8, dtype=torch.long, device='cuda'))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    del images, loss
    torch._C._cuda_clearCublasWorkspaces()
    # Two scalars of the scaler: its scale and its growth tracker.
    expect('convolutions', held(),
           rounded(model_tensors(model, optimizer)) + 2 * 512)
    assert torch.cuda.max_memory_allocated() > 8 * 32 * 64 * 64 * 2


def transformer():
    start_again()
    layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        with torch.autocast('cuda', dtype=torch.bfloat16):
            loss = model(torch.randn(4, 32, 128, device='cuda')).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    del loss
    torch._C._cuda_clearCublasWorkspaces()
    expect('transformer', held(), rounded(model_tensors(model, optimizer)))


def recurrent():
    start_again()
    model = nn.LSTM(100, 200, num_layers=2, bidirectional=True).cuda()
    # cuDNN's weights are one block; the tensors of the parameters are views into it.
    weights = 2 * 800 * (100 + 200 + 2) + 2 * 800 * (400 + 200 + 2)
    expect('lstm, its weights', rounded(model.parameters()), (4 * weights + 511) // 512 * 512)
    states = torch.randn(50, 8, 100, device='cuda')
    for module in (model, nn.GRU(100, 200).cuda(), nn.RNN(100, 200, bias=False).cuda(),
                   nn.LSTM(100, 200, proj_size=50).cuda()):
        allocated = torch.cuda.memory_allocated()
        outputs, _ = module(states)
        expect('its outputs', outputs.shape[:2].numel(), 50 * 8)
        # What cuDNN keeps for backward: at least the gates of every step.
        assert torch.cuda.memory_allocated() - allocated > outputs.numel() * 4 * 2
        outputs.sum().backward()
        del outputs


def qwen():
    try:
        from transformers import Qwen2Config, Qwen2ForCausalLM
    except ImportError:
        print('transformers is not installed: no Qwen2')
        return
    start_again()
    config = Qwen2Config(hidden_size=128, intermediate_size=256, num_hidden_layers=3,
                         num_attention_heads=4, num_key_value_heads=2, vocab_size=1000)
    with torch.device('cuda'):
        model = Qwen2ForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters())
    for dtype in (torch.float32, torch.bfloat16):
        ids = torch.zeros(2, 64, dtype=torch.long, device='cuda')
        with torch.autocast('cuda', dtype=dtype, enabled=dtype != torch.float32):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss = loss.item()
        del ids
    torch._C._cuda_clearCublasWorkspaces()
    parameters = sum((p.numel() * 4 + 511) // 512 * 512 for p in model.parameters())
    expect('qwen2, parameters by hand', rounded(model.parameters()), parameters)
    expect('qwen2', held(), rounded(model_tensors(model, optimizer)))


def private_pools():
    return sum(segment['total_size'] for segment in torch.cuda.memory_snapshot()
               if segment['segment_pool_id'] != (0, 0))


def graphs():
    start_again()
    model = nn.Linear(1000, 1000).cuda()
    images = torch.randn(64, 1000, device='cuda')
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            model(images).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    model.zero_grad()
    expect('no graph yet', private_pools(), 0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        loss = model(images).sum()
        loss.backward()
    assert not torch.cuda.is_current_stream_capturing()
    graph.replay()
    torch.cuda.synchronize()
    # A segment of small blocks, and one of large ones; two in older releases.
    print(f'the pool of the graph: {private_pools()}')
    assert private_pools() in (22 * MIB, 42 * MIB)
    captured = private_pools()
    allocated = torch.cuda.memory_allocated()
    graph.replay()
    expect('another replay', torch.cuda.memory_allocated(), allocated)
    graphed = torch.cuda.make_graphed_callables(
        nn.Sequential(nn.Linear(100, 100), nn.ReLU()).cuda(),
        (torch.randn(8, 100, device='cuda', requires_grad=True),))
    graphed(torch.randn(8, 100, device='cuda', requires_grad=True)).sum().backward()
    assert private_pools() > captured
    del graph, graphed, loss
    model.zero_grad()
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    expect('without the graphs', private_pools(), 0)


def out_of_memory():
    start_again()
    held = []
    total = torch.cuda.mem_get_info()[1]
    try:
        while True:
            held.append(torch.empty(1 << 30, dtype=torch.uint8, device='cuda'))
    except OutOfMemoryError as error:
        message = str(error)
    assert 'Tried to allocate 1024.00 MiB' in message, message
    assert 'this process has' in message, message
    assert len(held) << 30 > total - (2 << 30), len(held)
    held.clear()


def others():
    values = torch.arange(1000).cuda()
    assert values.cpu().tolist() == list(range(1000))
    assert torch.zeros(3, device='cuda').sum().item() == 0
    assert torch.nonzero(values).shape == (999, 1)
    del values
    assert not torch.empty(1000, dtype=torch.long, device='cuda').cpu().any(), 'what a block held'
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.randn(100, device='cuda').mul_(2)
    last.record()
    torch.cuda.synchronize()
    assert first.elapsed_time(last) >= 0
    assert torch.randn(10, pin_memory=True).is_pinned()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                            torch.profiler.ProfilerActivity.CUDA]) as profile:
        nn.Linear(8, 8).cuda()(torch.randn(2, 8, device='cuda'))
    assert any('linear' in event.key for event in profile.key_averages())
    with torch.profiler.profile(profile_memory=True) as profile:
        torch.ones(8, device='cuda')
    assert '[memory]' in [event.name for event in profile.events()]


def main():
    assert torch.cuda.is_available()
    print(torch.cuda.get_device_properties(0))
    for part in (segments, linear, convolutions, transformer, recurrent, qwen, graphs, out_of_memory, others):
        part()


main()
