# SPDX-License-Identifier: Apache-2.0
"""Reference scripts (tests/zoo) as they are, and with a regression: edits of their source, made on the
fly. Each says which category and line a comparison has to name first."""
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))
from harness import PYTHON, ZOO, equal, must_run, recorded  # pylint: disable=wrong-import-position

OPTIMIZER = '''class Momentum(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {})

    @torch.no_grad()
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            state = self.state[parameter]
            if not state:
                state["average"] = torch.zeros_like(parameter, dtype=torch.bfloat16)
            state["average"].lerp_(parameter.grad.to(state["average"].dtype), 0.1)
            parameter.add_(state["average"], alpha=-0.1)


def log(phase):
'''


@dataclass
class Regression:
    """before: edits of both; change: edits of the new one, pairs of a text that is there once and
    what stands there instead. category, at: what is to blame; at: part of its line, or of its function
    where that is in a package."""
    script: str
    what: str
    category: str
    at: str
    change: tuple = ()
    before: tuple = ()
    environment: dict = field(default_factory=dict)
    gate: bool = True  # whether the peak has grown by it

    @property
    def name(self):
        return f"{self.script}: {self.what}"


@dataclass
class Script:
    arguments: tuple = ()
    before: tuple = ()  # to be smaller, or to have more than one iteration
    ranks: int = 1
    ends: int = 0       # exit code
    modules: tuple = ()  # that it needs besides torch
    compiles: bool = False  # and keeps what it has compiled: the first run does more than others


SCRIPTS = {
    "amp": Script(("--batch", 4, "--steps", 4)),
    "checkpointing": Script(("--batch", 288, "--width", 320, "--depth", 3, "--steps", 4)),
    "compiled": Script(("--batch", 8, "--depth", 1, "--steps", 4), modules=("triton",), compiles=True),
    "conv_vs_linear": Script((), (("for name in [args.layer] if args.layer else LAYERS",
                                   'for name in ["linear"] + 3 * ["conv"]'),)),
    "dataloader_workers": Script(("--batch", 64, "--images", 256, "--epochs", 1)),
    "ddp_two_ranks": Script(("--batch", 2, "--length", 16, "--width", 128, "--layers", 2), ranks=2),
    "diffusion_unet": Script(("--batch", 16, "--steps", 4)),
    "fragmentation_oom": Script(("--fill", 0.02)),
    "gpt2_xl": Script(("--batch", 1, "--length", 128, "--steps", 4), (("n_layer=48", "n_layer=2"),),
                      modules=("transformers",)),
    "graph_capture": Script(("--batch", 72, "--width", 600), (
        ('inputs.copy_(torch.randn(args.batch, args.width, device="cuda"))',
         'fresh = torch.randn(args.batch, args.width, device="cuda")\n        inputs.copy_(fresh)'),)),
    "kv_cache": Script(("--batch", 2, "--prompt", 64, "--tokens", 8, "--every", 2), (
        ("num_hidden_layers=24", "num_hidden_layers=2"), ("vocab_size=151936", "vocab_size=1024")),
        modules=("transformers",)),
    "linear_loop": Script(("--steps", 4)),
    "plain_oom": Script(("--batch", 2, "--steps", 3)),
    "qwen_adamw": Script(("--layers", 1, "--batch", 2, "--length", 64, "--steps", 4),
                         modules=("transformers",)),
}

ZERO_GRAD = "optimizer.zero_grad()\n"


def after_step(line):
    """A statement at the end of each iteration of training."""
    return (ZERO_GRAD, f"optimizer.zero_grad(); {line}\n")


def kept(script, name, at, category="inputs"):
    """The last iteration's tensor lives until the next one has its own."""
    return Regression(script, "kept", category, at, (after_step(f"held = {name}"),))


def leak(script, name, before='    log("model")\n'):
    """A copy of a tensor is kept in each iteration."""
    return Regression(script, "leak", "inputs", "history.append", (
        (before, f"{before}    history = []\n"), after_step(f"history.append({name}.clone())")))


def state(script, optimizer):
    """The optimizer's state in fp32 instead of bf16."""
    before = (("def log(phase):\n", OPTIMIZER), optimizer)
    return Regression(script, "state", "optimizer_state", "torch.zeros_like",
                      (("dtype=torch.bfloat16)\n            state", "dtype=torch.float32)\n            state"),),
                      before)


def wider(script, category, at, *change):
    return Regression(script, "wider", category, at, change)


def allocator(script, setting="roundup_power2_divisions:2"):
    """Blocks are rounded up, half way to the next power of two: no line is to blame but all."""
    return Regression(script, "allocator", "", "", environment={"PYTORCH_CUDA_ALLOC_CONF": setting})


REGRESSIONS = [
    kept("amp", "images", "images = torch.randn"),
    leak("amp", "images"),
    state("amp", ("torch.optim.AdamW(model.parameters(), lr=1e-3)", "Momentum(model.parameters())")),
    wider("amp", "activations", "model(images)", ("(64, 128, 256, 512)", "(64, 192, 256, 512)")),
    allocator("amp"),
    kept("checkpointing", "inputs", "inputs = torch.randn"),
    leak("checkpointing", "inputs", '    name = "checkpointed" if checkpointing else "plain"\n'),
    state("checkpointing", ("torch.optim.SGD(model.parameters(), lr=0.01)",
                            "Momentum(model.parameters())")),
    wider("checkpointing", "parameters", '.to("cuda")',
          ("nn.Linear(width, 4 * width)", "nn.Linear(width, 6 * width)"),
          ("nn.Linear(4 * width, width)", "nn.Linear(6 * width, width)")),
    allocator("checkpointing"),
    kept("compiled", "images", "images = torch.randn"),
    leak("compiled", "images"),
    state("compiled", ("torch.optim.AdamW(model.parameters(), lr=1e-4)", "Momentum(model.parameters())")),
    wider("compiled", "parameters", '.to("cuda")', ("nn.Linear(width, 4 * width)", "nn.Linear(width, 6 * width)"),
          ("nn.Linear(4 * width, width)", "nn.Linear(6 * width, width)")),
    allocator("compiled"),
    Regression("conv_vs_linear", "kept", "activations", "outputs = layer(inputs)", (
        ("    loss.backward()\n", "    loss.backward()\n    train_once.held = outputs\n"),)),
    Regression("conv_vs_linear", "leak", "inputs", "inputs = torch.randn", (
        ("    loss.backward()\n", "    loss.backward()\n    HISTORY.append(inputs)\n"),
        ("LAYERS = {", "HISTORY = []\nLAYERS = {"))),
    wider("conv_vs_linear", "parameters", '.to("cuda")',
          ("nn.Linear(1024, 1024)", "nn.Linear(1024, 16384)")),
    allocator("conv_vs_linear"),
    kept("dataloader_workers", "images", "images = images.to"),
    leak("dataloader_workers", "images"),
    state("dataloader_workers", ("torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
                                 "Momentum(model.parameters())")),
    wider("dataloader_workers", "activations", "model(images)",
          ("nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32)",
           "nn.Conv2d(3, 48, 3, padding=1), nn.BatchNorm2d(48)"), ("nn.Conv2d(32,", "nn.Conv2d(48,")),
    allocator("dataloader_workers"),
    kept("ddp_two_ranks", "tokens", "tokens = torch.randn"),
    leak("ddp_two_ranks", "tokens"),
    state("ddp_two_ranks", ("torch.optim.AdamW(model.parameters(), lr=1e-4)",
                            "Momentum(model.parameters())")),
    wider("ddp_two_ranks", "parameters", '.to("cuda")',
          ("args.width // 64, 4 * args.width", "args.width // 64, 6 * args.width")),
    allocator("ddp_two_ranks"),
    kept("diffusion_unet", "noisy", "noisy = "),
    leak("diffusion_unet", "images"),
    state("diffusion_unet", ("torch.optim.Adam(model.parameters(), lr=1e-4)",
                             "Momentum(model.parameters())")),
    wider("diffusion_unet", "parameters", '.to("cuda")',
          ("(128, 256, 512, 1024)", "(128, 256, 640, 1024)")),
    allocator("diffusion_unet"),
    Regression("fragmentation_oom", "kept", "activations", "self.smooth(pixels)", (
        ("        del dropped\n", ""),)),
    kept("gpt2_xl", "tokens", "tokens = torch.randint"),
    leak("gpt2_xl", "tokens"),
    state("gpt2_xl", ("torch.optim.Adam(masters, lr=1e-4, fused=True)", "Momentum(masters)")),
    wider("gpt2_xl", "parameters", "PreTrainedModel.to", ("n_embd=1600", "n_embd=1800")),
    allocator("gpt2_xl"),
    Regression("graph_capture", "leak", "inputs", "fresh = ", (
        ("        inputs.copy_(fresh)", "        inputs.copy_(fresh)\n        history.append(fresh)"),
        ('    log("model")\n', '    log("model")\n    history = []\n'))),
    wider("graph_capture", "parameters", '.to("cuda")',
          ("nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)",
           "nn.Linear(width, 6 * width), nn.GELU(), nn.Linear(6 * width, width)")),
    allocator("graph_capture"),
    wider("kv_cache", "parameters", "PreTrainedModel.to",
          ("intermediate_size=4864", "intermediate_size=6144")),
    allocator("kv_cache"),
    Regression("linear_loop", "kept", "activations", "outputs = model(inputs)", (
        ("        outputs = model(inputs)\n",
         "        outputs = model(inputs)\n        older, old = old, outputs\n"),
        ('    log("model")\n', '    log("model")\n    old = None\n'))),
    Regression("linear_loop", "leak", "inputs", "inputs = torch.randn", (
        ("        outputs = model(inputs)\n",
         "        outputs = model(inputs)\n        history.append(inputs)\n"),
        ('    log("model")\n', '    log("model")\n    history = []\n'))),
    wider("linear_loop", "parameters", "model = nn.Linear",
          ("nn.Linear(10_000, 50_000", "nn.Linear(10_000, 60_000")),
    kept("plain_oom", "images", "images = torch.randn"),
    leak("plain_oom", "images"),
    state("plain_oom", ("torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
                        "Momentum(model.parameters())")),
    wider("plain_oom", "parameters", '.to("cuda")', ("(64, 128, 256, 512)", "(64, 128, 256, 640)")),
    allocator("plain_oom"),
    kept("qwen_adamw", "tokens", "tokens = torch.randint"),
    leak("qwen_adamw", "tokens"),
    state("qwen_adamw", ("torch.optim.AdamW(model.parameters(), lr=1e-5)",
                         "Momentum(model.parameters())")),
    wider("qwen_adamw", "parameters", "Qwen2MLP.__init__",
          ("intermediate_size=8960", "intermediate_size=10240")),
    allocator("qwen_adamw"),
]

PARSE = "args = parser.parse_args()\n"
MODEL = '    log("model")\n'


def more(script, what, category, at, *change, **others):
    return Regression(script, what, category, at, change, **others)


# Of other kinds, some of which change no peak.
MORE = [
    more("amp", "a larger batch", "activations", "model(images)", (PARSE, f"{PARSE}    args.batch = 6\n")),
    more("amp", "a graph that is retained", "activations", "model(images)",
         ("backward()", "backward(retain_graph=True)")),
    more("amp", "outputs that a hook keeps", "activations", "model(images)",
         (MODEL, f"{MODEL}    kept = {{}}\n    for part in model:\n        part.register_forward_hook("
                 "lambda part, inputs, output: kept.__setitem__(id(part), output))\n")),
    more("amp", "an average of the model", "parameters", "AveragedModel(",
         (MODEL, f"{MODEL}    average = torch.optim.swa_utils.AveragedModel(model)\n")),
    more("amp", "gradients that are zeroed", "temporaries", "model(images)",
         (ZERO_GRAD, "optimizer.zero_grad(set_to_none=False)\n")),
    more("amp", "data made ahead", "inputs", "data = torch.randn",
         (MODEL, f'{MODEL}    data = torch.randn(4 * args.batch, 3, 224, 224, device="cuda")\n'),
         ('images = torch.randn(args.batch, 3, 224, 224, device="cuda")',
          "images = data[step * args.batch:(step + 1) * args.batch]")),
    more("plain_oom", "validation with a graph", "activations", "return F.relu(self.norm2",
         ("with torch.no_grad():", "with torch.enable_grad():"),
         before=((ZERO_GRAD, f"{ZERO_GRAD}        with torch.no_grad():\n            F.cross_entropy("
                  "model(torch.cat([images, images])), torch.cat([labels, labels]))\n"),)),
    more("plain_oom", "Adam instead of SGD", "optimizer_state", "optimizer.step()",
         ("SGD(model.parameters(), lr=0.1, momentum=0.9)", "Adam(model.parameters(), lr=0.1)")),
    more("plain_oom", "momentum", "optimizer_state", "optimizer.step()", ("lr=0.1)", "lr=0.1, momentum=0.9)"),
         before=(("lr=0.1, momentum=0.9)", "lr=0.1)"),)),
    more("plain_oom", "buffers in fp32", "buffers", '.to("cuda")', ("torch.bfloat16)", "torch.float32)"),
         before=(("        self.norm1 = nn", '        self.register_buffer("mask", torch.zeros('
                  "channels, 4096, dtype=torch.bfloat16))\n        self.norm1 = nn"),)),
    more("plain_oom", "a second model", "parameters", "deepcopy(model)",
         ("import argparse\n", "import argparse\nimport copy\n"),
         (MODEL, f"{MODEL}    teacher = copy.deepcopy(model)\n")),
    more("plain_oom", "a larger workspace", "workspace", "model(images)",
         environment={"CUBLAS_WORKSPACE_CONFIG": ":65536:8"}),
    more("dataloader_workers", "batches that are kept", "inputs", "images = images.to",
         (MODEL, f"{MODEL}    seen = []\n"), after_step("seen.append(images)")),
    more("dataloader_workers", "fp64", "activations", "model(images)", (".float() / 255", ".double() / 255"),
         ('make_model().to("cuda")', 'make_model().to("cuda").double()')),
    more("checkpointing", "no checkpoints", "activations", "return x + self.dropout",
         ("(True, True)", "(False, False)"), before=(("(False, True)", "(True, True)"),), gate=False),
    more("kv_cache", "parameters in fp32", "parameters", "Qwen2MLP.__init__",
         (".to(torch.bfloat16)", ".to(torch.float32)")),
    more("kv_cache", "a longer prompt", "temporaries", "SiLUActivation.forward",
         (PARSE, f"{PARSE}    args.prompt = 96\n"), gate=False),
    more("kv_cache", "a graph of what is generated", "activations", "Qwen2MLP.forward",
         ("torch.inference_mode()", "torch.enable_grad()"), gate=False),
    more("qwen_adamw", "a larger vocabulary", "parameters", "Qwen2Model.__init__",
         ("vocab_size=151936", "vocab_size=180000")),
    more("qwen_adamw", "foreach instead of fused", "temporaries", "optimizer.step()",
         ("lr=1e-5, fused=True", "lr=1e-5, foreach=True"), before=(("lr=1e-5", "lr=1e-5, fused=True"),),
         gate=False),
    more("qwen_adamw", "AMSGrad", "optimizer_state", "optimizer.step()", ("lr=1e-5", "lr=1e-5, amsgrad=True")),
    more("gpt2_xl", "eager attention", "activations", "eager_attention_forward",
         ("use_cache=False)", 'use_cache=False, attn_implementation="eager")'), gate=False),
    more("ddp_two_ranks", "gradients beside buckets", "gradients", "loss = model(tokens)",
         ("gradient_as_bucket_view=True", "gradient_as_bucket_view=False"),
         before=(('.to("cuda"))', '.to("cuda"), gradient_as_bucket_view=True)'),)),
    more("ddp_two_ranks", "longer sequences", "activations", "loss = model(tokens)",
         (PARSE, f"{PARSE}    args.length = 256\n")),
]


def of(script):
    return [regression for regression in REGRESSIONS if regression.script == script]


def edited(script, edits):
    """The source of a reference script with edits. Each has to find its place."""
    text = (ZOO / f"{script}.py").read_text(encoding="utf-8")
    for find, replace in edits:
        if text.count(find) != 1:
            raise ValueError(f"{script}.py has {find!r} {text.count(find)} times")
        text = text.replace(find, replace)
    return text


def record(folder, script, edits=(), environment=None, before=(), forks=None):
    """Runs the script with these edits and those that make it small: a list of its traces, one for
    each rank. It lies in `folder`, which is made, under its own name. before: a command that runs it;
    forks: where it is run if it is one process."""
    how = SCRIPTS[script]
    folder = Path(folder)
    folder.mkdir(parents=True)
    source = folder / f"{script}.py"
    source.write_text(edited(script, (*how.before, *edits)), encoding="utf-8")
    runner = [] if how.ranks == 1 else ["-m", "torch.distributed.run", "--standalone",
                                        "--nproc-per-node", how.ranks]
    name = "trace.mtap" if how.ranks == 1 else "trace-%r.mtap"
    if forks and how.ranks == 1:
        code, output = forks.run(folder / name, source, *how.arguments, env=environment, cwd=folder)
        if not equal(f"exit code of {source}", code, how.ends):
            print(output)
        return sorted(folder.glob("*.mtap"))
    must_run([*recorded(folder / name, gpus=how.ranks), *before, PYTHON, *runner, source, *how.arguments],
             ends=how.ends, cwd=folder, env={"PYTORCH_CUDA_ALLOC_CONF": None, **(environment or {})})
    return sorted(folder.glob("*.mtap"))


def record_pair(folder, regression):
    """The traces before and after it, each a list."""
    folder = Path(folder)
    before = record(folder / "before", regression.script, regression.before)
    now = record(folder / "now", regression.script, (*regression.before, *regression.change),
                 regression.environment)
    return before, now


def line_of(regression):
    """The number of the line that is to blame, in the new script; None where it is not in there."""
    how = SCRIPTS[regression.script]
    text = edited(regression.script, (*how.before, *regression.before, *regression.change))
    lines = [i for i, line in enumerate(text.splitlines(), 1) if regression.at in line]
    return lines[0] if regression.at and lines else None
