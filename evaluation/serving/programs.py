# SPDX-License-Identifier: Apache-2.0
"""Programs whose course depends on values, each run on a simulated H100; the trace's peak and PyTorch's own counter:

    programs.py MEMTAP PYTHON [NAME]...

PYTHON has PyTorch's CUDA build, transformers, TRL, torchvision, ultralytics, stable-baselines3 and torch-geometric; for CleanRL's own
files gymnasium 0.29.1, mujoco 2.3, tensorboard and tyro, and CLEANRL is the folder of its repository. The rows go into
evaluation/results/programs.csv; ends with 1 if a program ended badly or the peaks differ."""
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import results

LLAMA = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
         "num_key_value_heads": 4, "vocab_size": 8000}
GENERATE = {"greedy": {}, "sampling": {"do_sample": True, "top_p": 0.9}, "beam": {"num_beams": 4},
            "static cache": {"cache_implementation": "static"}, "offloaded cache": {"cache_implementation": "offloaded"},
            "assisted": {}}
MOE = {"Mixtral": {"num_local_experts": 8, "num_experts_per_tok": 2},
       "Qwen2Moe": {"num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 128,
                    "shared_expert_intermediate_size": 256},
       "Qwen3Moe": {"num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 128, "head_dim": 32},
       "Olmoe": {"num_experts": 16, "num_experts_per_tok": 4},
       "Phimoe": {"num_local_experts": 8, "num_experts_per_tok": 2},
       "DeepseekV3": {"n_routed_experts": 16, "num_experts_per_tok": 4, "n_group": 4, "topk_group": 2, "moe_intermediate_size": 128,
                      "first_k_dense_replace": 1, "num_key_value_heads": 8, "q_lora_rank": 64, "kv_lora_rank": 64}}
GRAPHS = ("GCNConv", "GATConv", "SAGEConv", "GINConv")
DETECTORS = ("fasterrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn")


CLEANRL = {"ppo.py": 2048, "ppo_continuous_action.py": 4096, "rpo_continuous_action.py": 4096, "pqn.py": 2048,
           **{name: (1500, 500) for name in ("dqn.py", "c51.py", "sac_continuous_action.py", "td3_continuous_action.py",
                                             "ddpg_continuous_action.py")}}  # steps, and from which on it learns


def generate(how):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    def model(**config):
        return LlamaForCausalLM(LlamaConfig(**{**LLAMA, **config})).cuda().half().eval()

    large, options = model(), dict(GENERATE[how])
    ids = torch.randint(10, 7000, (1 if how == "assisted" else 2, 64)).cuda()
    if how == "assisted":
        options["assistant_model"] = model(num_hidden_layers=1)
    out = large.generate(ids, max_new_tokens=24, pad_token_id=0, **options)
    assert out.shape[1] == 64 + 24, out.shape


def trains(model, least):
    """Two steps on tokens from `least` on."""
    import torch

    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        ids = torch.randint(least, 2000, (4, 256)).cuda()
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()


def experts(kind):
    import transformers

    model = transformers.AutoModelForCausalLM.from_config(
        getattr(transformers, f"{kind}Config")(**{**LLAMA, "num_hidden_layers": 2, **MOE[kind]})).cuda()
    trains(model, 0)


def switches():
    import transformers

    config = transformers.SwitchTransformersConfig(d_model=128, d_kv=16, d_ff=256, num_heads=8, num_layers=4, num_decoder_layers=4,
                                                   num_experts=8, vocab_size=8000, decoder_start_token_id=0)
    model = transformers.SwitchTransformersForConditionalGeneration(config).cuda()
    trains(model, 2)


def loops_over_experts():
    """Routes as nanoMoE-like programs do: each expert in turn takes the tokens that chose it."""
    import torch
    from torch import nn

    router = nn.Linear(256, 8).cuda()
    experts = nn.ModuleList(nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)) for _ in range(8)).cuda()
    optimizer = torch.optim.AdamW([*router.parameters(), *experts.parameters()])
    for _ in range(2):
        x = torch.randn(4096, 256).cuda()
        weights, chosen = router(x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        for i, expert in enumerate(experts):
            token, place = torch.where(chosen == i)
            out.index_add_(0, token, weights[token, place, None] * expert(x[token]))
        optimizer.zero_grad()
        out.square().mean().backward()
        optimizer.step()


def learns_by_groups():
    """Trains by TRL's GRPO on made-up texts."""
    import datasets
    import tokenizers
    import transformers
    import trl

    words = {word: i for i, word in enumerate(["<pad>", "<eos>", *(f"w{i}" for i in range(7998))])}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**LLAMA, pad_token_id=0, eos_token_id=1))
    texts = datasets.Dataset.from_dict({"prompt": [" ".join(f"w{(i * j) % 900}" for j in range(1, 30)) for i in range(16)]})
    with tempfile.TemporaryDirectory() as folder:
        config = trl.GRPOConfig(folder, max_steps=2, per_device_train_batch_size=4, num_generations=4, max_completion_length=24,
                                report_to="none", save_strategy="no", logging_steps=1)
        trl.GRPOTrainer(model, lambda completions, **_: [float(len(each)) for each in completions], args=config,
                        train_dataset=texts, processing_class=tokenizer).train()


def finds_by_yolo(trains):
    import torch
    import ultralytics

    yolo = ultralytics.YOLO("yolov8n.yaml", verbose=False)
    if not trains:
        yolo.predict([torch.rand(1, 3, 320, 320)[0].permute(1, 2, 0).mul(255).byte().numpy()] * 2, device=0, imgsz=320, verbose=False)
        return
    model = yolo.model.cuda().train()
    model.args = ultralytics.cfg.get_cfg()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = {"img": torch.rand(4, 3, 320, 320).cuda(), "batch_idx": torch.tensor([0., 0, 1, 3]).cuda(),
             "cls": torch.tensor([[1.], [2], [3], [1]]).cuda(), "bboxes": torch.tensor([[.5, .5, .2, .2]] * 4).cuda()}
    for _ in range(2):
        optimizer.zero_grad()
        model(batch)[0].sum().backward()
        optimizer.step()


def acts():
    """Trains an actor and a critic with one file's loop, as CleanRL's ppo.py does."""
    import gymnasium
    import torch
    from torch import nn

    environments = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4)
    actor, critic = (nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, n)).cuda() for n in (2, 1))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], eps=1e-5)
    seen, advantages = torch.tensor(environments.reset(seed=1)[0]).cuda(), []
    for _ in range(4):
        steps = []
        for _ in range(64):
            policy = torch.distributions.Categorical(logits=actor(seen))
            action = policy.sample()
            after, reward, *_ = environments.step(action.cpu().numpy())
            steps.append((seen, action, policy.log_prob(action).detach(), torch.tensor(reward).float().cuda()))
            seen = torch.tensor(after).float().cuda()
        observed, action, before, reward = (torch.stack(each).flatten(0, 1) for each in zip(*steps))
        for chosen in torch.randperm(len(observed)).cuda().split(64):
            policy = torch.distributions.Categorical(logits=actor(observed[chosen]))
            value = critic(observed[chosen]).squeeze(-1)
            advantage = reward[chosen] - value.detach()
            ratio = (policy.log_prob(action[chosen]) - before[chosen]).exp()
            advantages.append(advantage.mean().item())
            loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() + (value - reward[chosen]).square().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(actor.parameters(), 0.5)
            optimizer.step()
    environments.close()


def plays(kind):
    import stable_baselines3

    options = {"n_steps": 256} if kind == "PPO" else {"learning_starts": 200}
    environment = "Pendulum-v1" if kind == "SAC" else "CartPole-v1"
    getattr(stable_baselines3, kind)("MlpPolicy", environment, device="cuda", **options).learn(512)


def runs_cleanrls(name, steps):
    folder = Path(os.environ["CLEANRL"])
    steps, *learns = steps if isinstance(steps, tuple) else (steps,)
    sys.path.insert(0, str(folder))
    sys.argv = [name, "--total-timesteps", str(steps), *(["--learning-starts", str(*learns)] if learns else [])]
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        runpy.run_path(str(folder / "cleanrl" / name), run_name="__main__")
        os.chdir("/")


def detects(kind, trains):
    import torch
    import torchvision

    model = getattr(torchvision.models.detection, kind)(weights=None, weights_backbone=None, num_classes=5).cuda().train(trains)
    pictures = [torch.rand(3, 256, 256).cuda() for _ in range(2)]
    if not trains:
        with torch.no_grad():
            model(pictures)
        return
    target = {"boxes": torch.tensor([[10., 10, 100, 100], [50, 50, 200, 200]]).cuda(), "labels": torch.tensor([1, 2]).cuda(),
              "masks": torch.ones(2, 256, 256, dtype=torch.uint8).cuda()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        sum(model(pictures, [target, target]).values()).backward()
        optimizer.step()


def convolves(kind):
    import torch
    import torch_geometric.nn

    nodes = 2000
    x, edges = torch.randn(nodes, 64).cuda(), torch.randint(0, nodes, (2, 8000)).cuda()
    chosen, labels = (torch.rand(nodes) < 0.3).cuda(), torch.randint(0, 7, (nodes,)).cuda()
    kinds = {"GINConv": lambda a, b: torch_geometric.nn.GINConv(torch.nn.Linear(a, b))}
    layers = [kinds.get(kind, getattr(torch_geometric.nn, kind))(64, n).cuda() for n in (64, 7)]
    optimizer = torch.optim.Adam([weight for layer in layers for weight in layer.parameters()])
    for _ in range(3):
        optimizer.zero_grad()
        out = layers[1](layers[0](x, edges).relu(), edges)
        torch.nn.functional.cross_entropy(out[chosen], labels[chosen]).backward()
        optimizer.step()


PROGRAMS = {**{f"generate, {how}": (generate, how) for how in GENERATE}, **{kind: (experts, kind) for kind in MOE},
            **{kind: (plays, kind) for kind in ("PPO", "SAC", "DQN")}, **{kind: (convolves, kind) for kind in GRAPHS},
            **{f"CleanRL's {name}": (runs_cleanrls, name, steps) for name, steps in CLEANRL.items()},
            "Switch": (switches,), "experts in a loop": (loops_over_experts,), "GRPO of TRL": (learns_by_groups,),
            "PPO in one file": (acts,), "YOLOv8, trains": (finds_by_yolo, True), "YOLOv8, predicts": (finds_by_yolo, False),
            **{f"{kind}, {'trains' if trains else 'evaluates'}": (detects, kind, trains)
               for kind in DETECTORS for trains in (True, False)}}


def run(name):
    import torch

    function, *arguments = PROGRAMS[name]
    function(*arguments)
    print("counter", torch.cuda.max_memory_allocated())


def record(memtap, python, name, trace):
    # What is compiled is compiled anew: a first run tunes kernels, with a buffer as large as the card's cache, and a second finds them.
    compiled = {"TORCHINDUCTOR_CACHE_DIR": f"{trace}.inductor", "TRITON_CACHE_DIR": f"{trace}.triton"}
    done = subprocess.run([memtap, "run", "--simulate", "h100", "-o", trace, "--", python, __file__, "--run", name],
                          capture_output=True, text=True, check=False, env={**os.environ, **compiled})
    counter = re.search(r"^counter (\d+)", done.stdout, re.MULTILINE)
    if done.returncode or not counter:
        print(done.stderr[-2000:])
        return [name, f"exit code {done.returncode}", "", "", ""]
    report = json.loads(subprocess.run([memtap, "report", "-f", "json", trace], capture_output=True, text=True, check=True).stdout)
    peak = report["devices"][0]["peak"]["allocated"]
    unknown = report["not_computed"]["sizes"] if report["not_computed"] else 0
    return [name, "equal" if peak == int(counter[1]) else "DIFFERS", peak, counter[1], unknown]


def main(memtap, python, *names):
    rows = []
    for name in names or (name for name in PROGRAMS if not name.startswith("CleanRL") or "CLEANRL" in os.environ):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(record(memtap, python, name, Path(folder) / "run.mtap"))
        print(*rows[-1], sep="\t", flush=True)
        results.save("programs", ["program", "peak", "trace", "counter", "sizes not computed"], rows[-1:], memtap, python)
    return any(row[1] != "equal" for row in rows)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(sys.argv[2])
    else:
        sys.exit(main(*sys.argv[1:]))
