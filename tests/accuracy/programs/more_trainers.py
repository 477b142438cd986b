# SPDX-License-Identifier: Apache-2.0
"""More of others' optimizers and models on random weights and data, each in a process of its own: more_trainers.py lion | muon |
flow (zuko) | codebook (vector_quantize_pytorch) | lookahead | soap | sharpness (all three pytorch_optimizer's) | prodigy | mini (adam_mini) |
lomo | private (opacus) | inference (pyro) | rotary (x_transformers) | spikes (snntorch) | closure (skorch) | engine (ignite) |
shards (fairscale) | lora | ia3 | prompt (all three peft's) | tasks (higher's MAML) | paths (torchdiffeq, by its adjoint) |
noises (torchsde, by its adjoint) | spheres (geoopt) | free (schedulefree) | masks (pytorch_tabnet) | curvature (backpack) |
memory (titans_pytorch, whose weights each forward adapts by torch.func)."""
import sys
import tempfile

import torch
from torch import nn

torch.distributions.Distribution.set_default_validate_args(False)  # of values, which a simulated card does not compute


def train(optimizer, loss_of):
    for _ in range(4):
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()


def make_tokens(*shape):
    return torch.randint(2000, shape, device="cuda")


class Decoder(nn.Module):
    """Of PyTorch's own layers: the optimizers are tried with it."""

    def __init__(self):
        super().__init__()
        self.words, self.out = nn.Embedding(2000, 256), nn.Linear(256, 2000)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 3)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1] - 1, device=tokens.device)
        return nn.functional.cross_entropy(self.out(self.layers(self.words(tokens[:, :-1]), mask)).transpose(1, 2), tokens[:, 1:])


def make_decoder():
    return Decoder().cuda()


def lion():
    from lion_pytorch import Lion
    model = make_decoder()
    train(Lion(model.parameters(), lr=1e-4, weight_decay=0.1), lambda: model(make_tokens(4, 257)))


def muon():
    from muon import SingleDeviceMuonWithAuxAdam
    model = make_decoder()
    wide = [p for p in model.parameters() if p.ndim >= 2]
    optimizer = SingleDeviceMuonWithAuxAdam([{"params": wide, "use_muon": True, "lr": 0.02},
                                             {"params": [p for p in model.parameters() if p.ndim < 2], "use_muon": False, "lr": 1e-3}])
    train(optimizer, lambda: model(make_tokens(4, 257)))


def train_decoder(make):
    model = make_decoder()
    train(make(model), lambda: model(make_tokens(4, 257)))


def lookahead():
    from pytorch_optimizer import Lookahead
    train_decoder(lambda model: Lookahead(torch.optim.AdamW(model.parameters(), 1e-3), k=2))


def soap():
    from pytorch_optimizer import SOAP
    train_decoder(lambda model: SOAP(model.parameters(), lr=1e-3))


def sharpness():
    from pytorch_optimizer import SAM
    model = make_decoder()
    optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1)
    for _ in range(3):
        tokens = make_tokens(4, 257)
        model(tokens).backward()
        optimizer.first_step(zero_grad=True)
        model(tokens).backward()
        optimizer.second_step(zero_grad=True)


def prodigy():
    from prodigyopt import Prodigy
    train_decoder(lambda model: Prodigy(model.parameters()))


def mini():
    from adam_mini import Adam_mini
    train_decoder(lambda model: Adam_mini(model.named_parameters(), lr=1e-3, dim=256, n_heads=4))


def lomo():
    from lomo_optim import AdaLomo
    model = make_decoder()
    optimizer = AdaLomo(model, lr=1e-3)
    for _ in range(4):
        optimizer.fused_backward(model(make_tokens(4, 257)), 1e-3)


def make_classifier():
    return nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 100))


def make_examples(n, device="cuda"):
    return torch.randn(n, 512, device=device), torch.randint(100, (n,), device=device)


def private():
    from opacus.grad_sample import GradSampleModule
    from opacus.optimizers import DPOptimizer
    model = GradSampleModule(make_classifier().cuda())
    optimizer = DPOptimizer(torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), noise_multiplier=1.0, max_grad_norm=1.0,
                            expected_batch_size=32)
    examples, labels = make_examples(32)
    train(optimizer, lambda: nn.functional.cross_entropy(model(examples), labels))


def inference():
    import pyro
    from pyro.distributions import Bernoulli, Normal
    pyro.enable_validation(False)
    encoder, place, scale = (layer.cuda() for layer in (nn.Linear(784, 512), nn.Linear(512, 64), nn.Linear(512, 64)))
    decoder = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 784)).cuda()

    def model(x):
        pyro.module("decoder", decoder)
        with pyro.plate("data", len(x)):
            hidden = pyro.sample("hidden", Normal(torch.zeros(len(x), 64, device="cuda"), 1.0).to_event(1))
            pyro.sample("seen", Bernoulli(logits=decoder(hidden)).to_event(1), obs=x)

    def guide(x):
        for name, part in (("encoder", encoder), ("place", place), ("scale", scale)):
            pyro.module(name, part)
        with pyro.plate("data", len(x)):
            y = encoder(x).relu()
            pyro.sample("hidden", Normal(place(y), scale(y).exp()).to_event(1))

    steps = pyro.infer.SVI(model, guide, pyro.optim.Adam({"lr": 1e-3}), loss=pyro.infer.Trace_ELBO())
    for _ in range(4):
        steps.step(torch.rand(512, 784, device="cuda"))


def rotary():
    from x_transformers import AutoregressiveWrapper, TransformerWrapper
    from x_transformers import Decoder as Layers
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=2000, max_seq_len=256, attn_layers=Layers(
        dim=256, depth=4, heads=4, rotary_pos_emb=True))).cuda()
    train(torch.optim.AdamW(model.parameters(), 1e-3), lambda: model(make_tokens(4, 257)))


def spikes():
    import snntorch
    first, last = nn.Linear(512, 1024).cuda(), nn.Linear(1024, 100).cuda()
    cells = [snntorch.Leaky(0.9).cuda() for _ in range(2)]

    def loss_of():
        x, labels = make_examples(256)
        states, out = [cell.init_leaky() for cell in cells], 0
        for _ in range(8):
            y, states[0] = cells[0](first(x), states[0])
            y, states[1] = cells[1](last(y), states[1])
            out = out + y
        return nn.functional.cross_entropy(out, labels)
    train(torch.optim.Adam([*first.parameters(), *last.parameters()], 1e-3), loss_of)


def closure():
    from skorch import NeuralNetClassifier
    examples, labels = make_examples(1024, "cpu")
    NeuralNetClassifier(make_classifier(), criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, max_epochs=2, device="cuda",
                        batch_size=256, verbose=0).fit(examples.numpy(), labels.numpy())


def engine():
    from ignite.engine import create_supervised_trainer
    from ignite.handlers import EMAHandler
    model = make_classifier().cuda()
    trainer = create_supervised_trainer(model, torch.optim.AdamW(model.parameters(), 1e-3), nn.functional.cross_entropy, device="cuda",
                                        amp_mode="amp", scaler=True)
    EMAHandler(model, momentum=0.01).attach(trainer)
    trainer.run([make_examples(512, "cpu") for _ in range(4)], max_epochs=1)


def shards():
    from fairscale.nn.data_parallel import ShardedDataParallel
    from fairscale.optim import OSS
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl", init_method=f"file://{tempfile.mkdtemp()}/store", rank=0, world_size=1)
    model = make_decoder()
    optimizer = OSS(model.parameters(), optim=torch.optim.AdamW, lr=1e-3)
    model = ShardedDataParallel(model, optimizer)
    train(optimizer, lambda: model(make_tokens(4, 257)))


def adapt(make):
    """In training, transformers' models fill a cache of keys and values, too."""
    import peft
    from transformers import AutoModelForCausalLM, LlamaConfig
    model = peft.get_peft_model(AutoModelForCausalLM.from_config(LlamaConfig(
        hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, vocab_size=2000)), make(peft)).cuda()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-3)

    def loss_of():
        tokens = make_tokens(4, 256)
        return model(input_ids=tokens, attention_mask=torch.ones_like(tokens), labels=tokens).loss
    train(optimizer, loss_of)


def lora():
    adapt(lambda peft: peft.LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"], use_dora=True))


def ia3():
    adapt(lambda peft: peft.IA3Config(task_type="CAUSAL_LM"))


def prompt():
    adapt(lambda peft: peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=16))


def flow():
    import zuko
    model = zuko.flows.NSF(64, 64, transforms=3, hidden_features=(512, 512)).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train(optimizer, lambda: -model(torch.randn(512, 64, device="cuda")).log_prob(torch.randn(512, 64, device="cuda")).mean())


def codebook():
    from vector_quantize_pytorch import VectorQuantize
    encoder, decoder = nn.Linear(512, 256).cuda(), nn.Linear(256, 512).cuda()
    book = VectorQuantize(256, codebook_size=2048, decay=0.8, commitment_weight=1.0).cuda()
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def loss_of():
        x = torch.randn(4, 1024, 512, device="cuda")
        quantized, _, commitment = book(encoder(x))
        return nn.functional.l1_loss(decoder(quantized), x) + commitment.sum()
    train(optimizer, loss_of)


def tasks():
    import higher
    model = make_classifier().cuda()
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    inner = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(4):
        optimizer.zero_grad()
        for _ in range(2):
            with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (fast, steps):
                for _ in range(2):
                    examples, labels = make_examples(64)
                    steps.step(nn.functional.cross_entropy(fast(examples), labels))
                examples, labels = make_examples(64)
                nn.functional.cross_entropy(fast(examples), labels).backward()
        optimizer.step()


class Speed(nn.Module):
    """The derivative of a state by time."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(128, 512), nn.Tanh(), nn.Linear(512, 128))

    def forward(self, time, state):
        return self.net(state)


def paths():
    from torchdiffeq import odeint_adjoint
    speed, last = Speed().cuda(), nn.Linear(128, 10).cuda()
    times = torch.linspace(0, 1, 5, device="cuda")

    def loss_of():
        state, labels = torch.randn(1024, 128, device="cuda"), torch.randint(10, (1024,), device="cuda")
        return nn.functional.cross_entropy(last(odeint_adjoint(speed, state, times, method="rk4")[-1]), labels)
    train(torch.optim.Adam([*speed.parameters(), *last.parameters()], 1e-3), loss_of)


class Drift(nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.net, self.scale = nn.Sequential(nn.Linear(128, 512), nn.Tanh(), nn.Linear(512, 128)), nn.Parameter(torch.ones(128))

    def f(self, time, state):
        return self.net(state)

    def g(self, time, state):
        return self.scale.expand_as(state)


def noises():
    import torchsde
    drift = Drift().cuda()
    times = torch.linspace(0, 1, 5, device="cuda")

    def loss_of():
        start = torch.randn(1024, 128, device="cuda")
        return torchsde.sdeint_adjoint(drift, start, times, dt=0.25, method="euler")[-1].square().mean()
    train(torch.optim.Adam(drift.parameters(), 1e-3), loss_of)


def spheres():
    import geoopt
    model = nn.Linear(1024, 256).cuda()
    places = geoopt.ManifoldParameter(torch.randn(4096, 1024, device="cuda"), manifold=geoopt.Sphere())
    optimizer = geoopt.optim.RiemannianAdam([places, *model.parameters()], lr=1e-3)
    train(optimizer, lambda: nn.functional.cross_entropy(
        model(places[torch.randint(4096, (512,), device="cuda")]), torch.randint(256, (512,), device="cuda")))


def free():
    from schedulefree import AdamWScheduleFree
    model = make_decoder()
    optimizer = AdamWScheduleFree(model.parameters(), lr=1e-3, foreach=True)
    for _ in range(2):
        optimizer.train()
        train(optimizer, lambda: model(make_tokens(4, 257)))
        optimizer.eval()
        with torch.no_grad():
            model(make_tokens(4, 257))


def masks():
    from pytorch_tabnet.tab_model import TabNetClassifier
    examples, labels = make_examples(4096, "cpu")
    TabNetClassifier(n_d=64, n_a=64, device_name="cuda", verbose=0).fit(
        examples.numpy(), labels.numpy(), eval_set=[(examples[:1024].numpy(), labels[:1024].numpy())], max_epochs=2, batch_size=1024,
        virtual_batch_size=256)


def curvature():
    from backpack import backpack, extend
    from backpack.extensions import KFAC, BatchGrad, DiagGGNMC, SumGradSquared
    model, loss_of = extend(make_classifier().cuda()), extend(nn.CrossEntropyLoss())
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(6):
        examples, labels = make_examples(32)
        optimizer.zero_grad()
        loss = loss_of(model(examples), labels)
        with backpack(BatchGrad(), DiagGGNMC(), SumGradSquared(), KFAC()):
            loss.backward()
        optimizer.step()


def memory():
    from titans_pytorch import MemoryAsContextTransformer
    model = MemoryAsContextTransformer(num_tokens=2000, dim=64, depth=2, segment_len=32, num_persist_mem_tokens=4, num_longterm_mem_tokens=8,
                                       heads=2, dim_head=32, neural_memory_layers=(1, 2),
                                       neural_memory_kwargs={"dim_head": 32, "heads": 2}).cuda()
    train(torch.optim.AdamW(model.parameters(), 1e-3), lambda: model(make_tokens(2, 129), return_loss=True))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
