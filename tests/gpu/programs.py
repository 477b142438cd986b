# SPDX-License-Identifier: Apache-2.0
"""programs.py list | NAME: programs that results.py runs on a real card and on a simulated one. NAME ends with the counters of PyTorch's
allocator: "counter PEAK RESERVED", bytes."""
import importlib.util
import os
import runpy
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

ROOT = Path(__file__).resolve().parents[2]
ZOO = [["linear_loop.py"], ["conv_vs_linear.py"], ["diffusion_unet.py"], ["checkpointing.py"], ["amp.py"],
       ["kv_cache.py", "--tokens", "64", "--every", "16"], ["graph_capture.py"], ["qwen_adamw.py", "--layers", "8"],
       ["gpt2_xl.py", "--checkpointing"], ["compiled.py", "--depth", "2", "--batch", "8"]]
DECODER = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 4}


def train(model, batch, steps=3, autocast=None, optimizer=torch.optim.AdamW):
    optimizer = optimizer(model.parameters(), lr=1e-4)
    for _ in range(steps):
        given = batch()
        with torch.autocast("cuda", autocast, enabled=autocast is not None):
            out = model(**given) if isinstance(given, dict) else model(given)
        out = getattr(out, "logits", out)
        out = out["out"] if isinstance(out, dict) else out
        out = out[0] if isinstance(out, tuple) else out
        out.float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def timm(name, batch=32, layout=torch.contiguous_format, benchmark=False, **options):
    import timm as library

    torch.backends.cudnn.benchmark = benchmark
    model = library.create_model(name).cuda().to(memory_format=layout)
    train(model, lambda: torch.randn(batch, 3, 224, 224).cuda().to(memory_format=layout), **options)


def torchvision(name, *shape, **options):
    from torchvision.models import get_model

    train(get_model(name, weights=None, **options).cuda(), lambda: torch.randn(*shape).cuda(), optimizer=torch.optim.SGD)


def transformers(kind, head, dtype=torch.float32, checkpoint=False, compiled=False, autocast=None, **config):
    import transformers as library

    model = getattr(library, kind + head)(getattr(library, kind + "Config")(vocab_size=8000, **config)).cuda().to(dtype).train()
    if checkpoint:
        model.gradient_checkpointing_enable()

    def batch():
        ids = torch.randint(0, 8000, (8, 256)).cuda()
        return {"input_ids": ids, **({"decoder_input_ids": ids} if kind == "T5" else {})}

    train(torch.compile(model) if compiled else model, batch, autocast=autocast)


def recurrent(kind):
    train(getattr(nn, kind)(256, 512, 2, batch_first=True, dropout=0.1).cuda(), lambda: torch.randn(32, 100, 256).cuda())


def convolutions(kind, *shape):
    layer = getattr(nn, kind)
    model = nn.Sequential(layer(16, 32, 3, padding=1), nn.ReLU(), layer(32, 64, 3, padding=1), nn.ReLU(), layer(64, 16, 3, padding=1))
    train(model.cuda(), lambda: torch.randn(8, 16, *shape).cuda())


def transforms():
    x = torch.randn(64, 1000, 1001, device="cuda", requires_grad=True)
    for _ in range(3):
        torch.fft.irfft2(torch.fft.rfft2(x)).square().mean().backward()
        x.grad = None
    torch.stft(torch.randn(16, 160000, device="cuda"), 400, 160, window=torch.hann_window(400).cuda(), return_complex=True)


def linear_algebra():
    a, batch = torch.randn(512, 512, device="cuda"), torch.randn(16, 256, 256, device="cuda")
    positive = a @ a.T + 512 * torch.eye(512).cuda()
    for function in (torch.linalg.cholesky, torch.linalg.eigh):
        function(positive)
    for function in (torch.linalg.inv, torch.linalg.svd, torch.linalg.qr, torch.linalg.eigvals, torch.linalg.det):
        function(a)
    for function in (torch.linalg.svd, torch.linalg.det):
        function(batch)
    for function in (torch.linalg.solve, torch.linalg.lstsq):
        function(a, a)


def sorts():
    x, index = torch.randn(5_000_000, device="cuda"), torch.randint(0, 1000, (5_000_000,), device="cuda")
    for function in (torch.sort, torch.median, torch.histc, torch.unique):
        function(x)
    x.topk(100), x.cumsum(0), x.logcumsumexp(0), x.kthvalue(5), x.view(1000, 5000).argsort(1)
    index.unique(return_inverse=True), index.bincount(), x[index].sum(), torch.searchsorted(x.sort()[0], x)
    torch.randperm(1_000_000, device="cuda"), torch.multinomial(torch.rand(100, 5000, device="cuda"), 10)
    rows = torch.zeros(1000, 64, device="cuda", requires_grad=True)
    rows[index[:100000]].sum().backward()
    torch.index_put(rows.detach(), (index[:1000],), torch.ones(1000, 64, device="cuda"), accumulate=True)


def sparse():
    bag = nn.EmbeddingBag(100000, 64, sparse=True).cuda()
    optimizer = torch.optim.SparseAdam(bag.parameters())
    for _ in range(3):
        bag(torch.randint(0, 100000, (256, 20)).cuda()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def attention(kind):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    heads = [torch.randn(4, 16, 2048, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    with sdpa_kernel(getattr(SDPBackend, kind)):
        for _ in range(3):
            F.scaled_dot_product_attention(*heads, is_causal=True).float().sum().backward()


def flex_attention():
    from torch.nn.attention.flex_attention import create_block_mask
    from torch.nn.attention.flex_attention import flex_attention as attend

    heads = [torch.randn(4, 16, 1024, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 1024, 1024)
    compiled = torch.compile(attend)
    for _ in range(3):
        compiled(*heads, block_mask=mask).float().sum().backward()


def products():
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        a = torch.randn(4096, 4096, device="cuda", dtype=dtype)
        a @ a, torch.bmm(a.view(16, 256, 4096), a.view(16, 4096, 256)), F.linear(a, a, a[0]), torch.addmm(a[0], a, a)
    small, one = torch.randn(256, 256, device="cuda").to(torch.float8_e4m3fn), torch.ones((), device="cuda")
    torch._scaled_mm(small, small.t(), one, one, out_dtype=torch.bfloat16)
    bytes_ = torch.randint(-5, 5, (256, 256), device="cuda", dtype=torch.int8)
    torch._int_mm(bytes_, bytes_)
    with torch.cuda.stream(torch.cuda.Stream()):
        a = torch.randn(1024, 1024, device="cuda")
        a @ a


def layers(n=8, width=1024):
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(n)]).cuda()


def rows():
    return torch.randn(64, 1024).cuda()


def distributed(sharded):
    from torch import distributed as ranks

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(20000 + os.getpid() % 20000), RANK="0", WORLD_SIZE="1")
    ranks.init_process_group("nccl", device_id=torch.device("cuda:0"))
    model = layers()
    if sharded:
        from torch.distributed.fsdp import fully_shard

        for layer in model:
            fully_shard(layer)
        fully_shard(model)
    else:
        model = nn.parallel.DistributedDataParallel(model)
    train(model, rows)
    ranks.destroy_process_group()


def graphed():
    train(torch.cuda.make_graphed_callables(layers(2), (torch.randn(64, 1024, device="cuda"),)), rows)


def compiled_as(mode):
    train(torch.compile(layers(2), mode=mode), rows, steps=5)


def lightning():
    import lightning as library

    class Module(library.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))

        def training_step(self, batch, _):
            return self.model(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(256, 512)), 32)
    library.Trainer(max_steps=6, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                    precision="bf16-mixed").fit(Module(), data)


def lora():
    import peft
    import transformers as library

    model = library.LlamaForCausalLM(library.LlamaConfig(vocab_size=8000, **DECODER)).cuda().bfloat16()
    model = peft.get_peft_model(model, peft.LoraConfig(r=16, target_modules=["q_proj", "v_proj"]))
    train(model, lambda: {"input_ids": torch.randint(0, 8000, (4, 512)).cuda()})


def pinned():
    held = [torch.randn(1024, 1024).pin_memory() for _ in range(8)]
    for _ in range(3):
        there = [each.to("cuda", non_blocking=True) for each in held]
        [each.cpu() for each in there]


def gaussian_process():
    import gpytorch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, *given):
            super().__init__(*given)
            self.mean = gpytorch.means.ConstantMean()
            self.covariance = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.covariance(x))

    x = torch.rand(2000, 4).cuda()
    y = torch.sin(x.sum(1))
    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Process(x, y, likelihood).cuda()
    likely = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        (-likely(model(x), y)).backward()
        optimizer.step()


highest = [0, 0]


def note_peaks(reset=torch.cuda.reset_peak_memory_stats):
    """Keep the counters' peaks, which a script may reset."""
    highest[:] = map(max, highest, (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))
    reset()


def run_script(name, *arguments):
    torch.cuda.reset_peak_memory_stats = note_peaks
    sys.argv = [name, *arguments]
    runpy.run_path(str(ROOT / "tests" / "zoo" / name), run_name="__main__")


def load_programs():
    """Those of evaluation/serving/programs.py that need no other library than this one."""
    found = importlib.util.spec_from_file_location("served", ROOT / "evaluation" / "serving" / "programs.py")
    served = importlib.util.module_from_spec(found)
    found.loader.exec_module(served)
    needs = ("CleanRL", "GRPO", "PPO", "SAC", "DQN", "YOLO")
    return {name: (lambda f=function, a=arguments: f(*a)) for name, (function, *arguments) in served.PROGRAMS.items()
            if not name.startswith(needs)}


HALF, BRAIN = torch.float16, torch.bfloat16
LAST = torch.channels_last
PROGRAMS = {
    **{" ".join(words): (lambda w=words: run_script(*w)) for words in ZOO},
    "resnet50": lambda: timm("resnet50"), "resnet50, amp, channels last": lambda: timm("resnet50", autocast=HALF, layout=LAST),
    "resnet50, cudnn.benchmark": lambda: timm("resnet50", benchmark=True), "convnext": lambda: timm("convnext_tiny"),
    "vit, amp": lambda: timm("vit_base_patch16_224", autocast=BRAIN), "efficientnet": lambda: timm("efficientnet_b0"),
    "swin": lambda: timm("swin_tiny_patch4_window7_224", batch=16), "mobilenet, amp": lambda: timm("mobilenetv3_large_100", autocast=BRAIN),
    "resnet18": lambda: torchvision("resnet18", 32, 3, 224, 224), "vgg16": lambda: torchvision("vgg16", 16, 3, 224, 224),
    "densenet": lambda: torchvision("densenet121", 16, 3, 224, 224),
    "deeplab": lambda: torchvision("deeplabv3_resnet50", 4, 3, 256, 256, weights_backbone=None),
    "r3d": lambda: torchvision("r3d_18", 4, 3, 16, 112, 112),
    "bert, amp": lambda: transformers("Bert", "ForMaskedLM", autocast=BRAIN, num_hidden_layers=4),
    "gpt2": lambda: transformers("GPT2", "LMHeadModel", n_layer=4),
    "gpt2, bf16, checkpointing": lambda: transformers("GPT2", "LMHeadModel", BRAIN, checkpoint=True, n_layer=6),
    "llama": lambda: transformers("Llama", "ForCausalLM", **DECODER),
    "llama, bf16": lambda: transformers("Llama", "ForCausalLM", BRAIN, **DECODER),
    "llama, amp": lambda: transformers("Llama", "ForCausalLM", autocast=BRAIN, **DECODER),
    "llama, compiled": lambda: transformers("Llama", "ForCausalLM", BRAIN, compiled=True, **{**DECODER, "num_hidden_layers": 2}),
    "t5": lambda: transformers("T5", "ForConditionalGeneration", d_model=256, num_layers=3),
    "qwen3, bf16": lambda: transformers("Qwen3", "ForCausalLM", BRAIN, **DECODER),
    **{kind: (lambda k=kind: recurrent(k)) for kind in ("LSTM", "GRU", "RNN")},
    **{f"{kind}{n}d": (lambda k=kind, i=n, s=shape: convolutions(f"{k}{i}d", *s)) for kind in ("Conv", "ConvTranspose")
       for n, shape in ((1, (4096,)), (2, (128, 128)), (3, (16, 32, 32)))},
    "FFT": transforms, "linear algebra": linear_algebra, "sorts": sorts, "sparse": sparse,
    **{kind: (lambda k=kind: attention(k)) for kind in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH")},
    "flex_attention": flex_attention, "products": products, "DDP of one rank": lambda: distributed(False),
    "FSDP of one rank": lambda: distributed(True), "graphed callables": graphed,
    "compiled, reduce-overhead": lambda: compiled_as("reduce-overhead"), "Lightning": lightning, "LoRA": lora, "pinned": pinned,
    "Gaussian process": gaussian_process,
    **load_programs(),
}


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print("\n".join(PROGRAMS))
    else:
        torch.manual_seed(0)
        PROGRAMS[sys.argv[1]]()
        note_peaks()
        print("counter", *highest)
