# SPDX-License-Identifier: Apache-2.0
"""Public trainers on random weights and data: trainers.py megatron | lightning | monai | pyg | accelerate |
deepspeed | diffusers | timm | quantized (transformers' 4 bits) | trl | preferences (TRL's DPO) | torchtune | compiled (by
accelerate) | segmentation (segmentation_models_pytorch) | clip (open_clip) | gaussian (gpytorch) | metric (pytorch_metric_learning, with
its memory of embeddings) | reward (TRL's) | augmented (kornia)."""
import os
import sys
import tempfile

import torch
from torch import nn

WAY = sys.argv[1]
truth = {"persistent": []}  # what no object shows (observe.py)
os.chdir(tempfile.mkdtemp())
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1", LOCAL_RANK="0", WANDB_DISABLED="true")


def make_llama(width=512, layers=4, **more):
    from transformers import LlamaConfig
    return LlamaConfig(hidden_size=width, intermediate_size=4 * width, num_hidden_layers=layers, num_attention_heads=8,
                       num_key_value_heads=4, vocab_size=8000, max_position_embeddings=512, **more)


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        tokens = torch.randint(8000, (256,))
        return {"input_ids": tokens, "labels": tokens, "attention_mask": torch.ones_like(tokens)}


def megatron():
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.transformer import TransformerConfig
    start_process_group()
    parallel_state.initialize_model_parallel()
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    config = TransformerConfig(num_layers=4, hidden_size=512, num_attention_heads=8, bf16=True, params_dtype=torch.bfloat16,
                               pipeline_dtype=torch.bfloat16)
    model = GPTModel(config, get_gpt_layer_local_spec(), 8000, 256).cuda().bfloat16()
    model = DistributedDataParallel(config, DistributedDataParallelConfig(use_distributed_optimizer=True), model)
    optimizer = get_megatron_optimizer(OptimizerConfig(optimizer="adam", lr=1e-4, bf16=True, params_dtype=torch.bfloat16,
                                                       use_distributed_optimizer=True), [model])
    for _ in range(4):
        model.zero_grad_buffer()
        optimizer.zero_grad()
        tokens = torch.randint(8000, (4, 256), device="cuda")
        places = torch.arange(256, device="cuda").expand(4, -1)
        mask = torch.ones(4, 1, 256, 256, device="cuda", dtype=torch.bool).triu(1)
        loss = model(tokens, places, mask, labels=tokens).float().mean()
        loss.backward()
        finalize_model_grads([model])
        optimizer.step()


def start_process_group():
    torch.cuda.set_device(0)
    torch.distributed.init_process_group("nccl", init_method=f"file://{tempfile.mkdtemp()}/store", rank=0, world_size=1)


def lightning():
    import lightning as L

    class Model(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Embedding(8000, 512), *(nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
                                                                for _ in range(3)), nn.Linear(512, 8000))

        def training_step(self, batch, at):
            tokens = batch["input_ids"]
            loss = nn.functional.cross_entropy(self.net(tokens).transpose(1, 2), tokens)
            self.log("loss", loss)
            return loss

        def validation_step(self, batch, at):
            self.log("val", self.net(batch["input_ids"]).mean())

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

    def data():
        return torch.utils.data.DataLoader(Texts(), batch_size=4)

    L.Trainer(max_steps=4, accelerator="gpu", devices=1, precision="bf16-mixed", accumulate_grad_batches=2, logger=False,
              enable_checkpointing=False, enable_progress_bar=False, gradient_clip_val=1.0,
              val_check_interval=4, limit_val_batches=2).fit(Model(), data(), data())


def monai():
    from monai.data import MetaTensor
    from monai.losses import DiceCELoss
    from monai.networks.nets import UNETR
    model = UNETR(1, 4, (64, 64, 64), feature_size=8, hidden_size=192, mlp_dim=768, num_heads=4).cuda()
    loss_of = DiceCELoss(to_onehot_y=True, softmax=True)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    scaler = torch.amp.GradScaler()
    for _ in range(4):
        image = MetaTensor(torch.randn(1, 1, 64, 64, 64)).cuda()
        label = MetaTensor(torch.randint(4, (1, 1, 64, 64, 64))).cuda()
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = loss_of(model(image), label)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def pyg():
    from torch_geometric.data import Data
    from torch_geometric.nn import GATConv, GCNConv

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = GCNConv(128, 256, cached=True), GATConv(256, 64, heads=4)
            self.last = nn.Linear(256, 16)

        def forward(self, x, edges):
            x = self.first(x, edges).relu()
            return self.last(self.second(x, edges).relu())

    data = Data(x=torch.randn(20000, 128), edge_index=torch.randint(20000, (2, 200000)), y=torch.randint(16, (20000,))).to("cuda")
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(data.x, data.edge_index), data.y)
        loss.backward()
        optimizer.step()


def accelerate():
    from accelerate import Accelerator
    from transformers import AutoModelForCausalLM, get_scheduler
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=2)
    model = AutoModelForCausalLM.from_config(make_llama())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.utils.data.DataLoader(Texts(), batch_size=4)
    model, optimizer, data, plan = accelerator.prepare(model, optimizer, data, get_scheduler("linear", optimizer, 0, 100))
    for at, batch in enumerate(data):
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            plan.step()
            optimizer.zero_grad()
        if at == 7:
            break


def deepspeed():
    import deepspeed as ds
    from transformers import AutoModelForCausalLM
    start_process_group()
    model = AutoModelForCausalLM.from_config(make_llama())
    model.gradient_checkpointing_enable()
    engine, *_ = ds.initialize(model=model, model_parameters=model.parameters(), config={
        "train_micro_batch_size_per_gpu": 4, "bf16": {"enabled": True}, "zero_optimization": {"stage": 2},
        "gradient_accumulation_steps": 2, "gradient_clipping": 1.0,
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True}}})
    for _ in range(6):
        tokens = torch.randint(8000, (4, 256), device="cuda")
        loss = engine(input_ids=tokens, labels=tokens).loss
        engine.backward(loss)
        engine.step()


def diffusers():
    from diffusers import AutoencoderKL, DDPMScheduler, UNet2DConditionModel
    from diffusers.training_utils import EMAModel
    vae = AutoencoderKL(block_out_channels=(32, 64), down_block_types=("DownEncoderBlock2D",) * 2,
                        up_block_types=("UpDecoderBlock2D",) * 2).cuda().requires_grad_(False)
    unet = UNet2DConditionModel(sample_size=32, block_out_channels=(64, 128), layers_per_block=1, cross_attention_dim=64,
                                down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), in_channels=4, out_channels=4,
                                up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")).cuda()
    unet.enable_gradient_checkpointing()
    average = EMAModel(unet.parameters(), model_cls=UNet2DConditionModel, model_config=unet.config)
    average.to("cuda")
    noises = DDPMScheduler()
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-4)
    for _ in range(4):
        images, words = torch.randn(4, 3, 64, 64, device="cuda"), torch.randn(4, 16, 64, device="cuda")
        latents = vae.encode(images).latent_dist.sample() * 0.18
        noise = torch.randn_like(latents)
        times = torch.randint(0, 1000, (4,), device="cuda")
        loss = nn.functional.mse_loss(unet(noises.add_noise(latents, noise, times), times, words).sample, noise)
        loss.backward()
        nn.utils.clip_grad_norm_(unet.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        average.step(unet.parameters())


def timm():
    import timm as images
    from timm.data import Mixup
    from timm.loss import SoftTargetCrossEntropy
    from timm.optim import create_optimizer_v2
    from timm.utils import ModelEmaV3, NativeScaler
    model = images.create_model("swin_tiny_patch4_window7_224", num_classes=100).cuda()
    average = ModelEmaV3(model)
    optimizer = create_optimizer_v2(model, "lamb", lr=1e-3)
    mixup, loss_of, scaler = Mixup(0.8, num_classes=100), SoftTargetCrossEntropy(), NativeScaler()
    for _ in range(4):
        x, y = mixup(torch.randn(8, 3, 224, 224, device="cuda"), torch.randint(100, (8,), device="cuda"))
        with torch.autocast("cuda", torch.float16):
            loss = loss_of(model(x), y)
        optimizer.zero_grad()
        scaler(loss, optimizer, parameters=model.parameters())
        average.update(model)


def quantized():
    from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    AutoModelForCausalLM.from_config(make_llama(1024)).save_pretrained("model")
    model = AutoModelForCausalLM.from_pretrained("model", device_map={"": 0}, quantization_config=BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16))
    model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(target_modules=["q_proj", "v_proj"]))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for _ in range(4):
        tokens = torch.randint(8000, (2, 256), device="cuda")
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def make_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast
    words = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2, **{f"w{i}": i for i in range(3, 8000)}}, unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def make_text(words):
    return " ".join(f"w{3 + (i * 7919) % 7997}" for i in range(words))


def trl():
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl import SFTConfig, SFTTrainer
    SFTTrainer(AutoModelForCausalLM.from_config(make_llama()), processing_class=make_tokenizer(),
               train_dataset=Dataset.from_dict({"text": [make_text(150 + 10 * i) for i in range(32)]}),
               args=SFTConfig(output_dir="out", max_steps=4, per_device_train_batch_size=4, gradient_accumulation_steps=2, bf16=True,
                              gradient_checkpointing=True, max_length=256, report_to=[], save_strategy="no", logging_steps=2)).train()


def preferences():
    from datasets import Dataset
    from transformers import AutoModelForCausalLM
    from trl import DPOConfig, DPOTrainer
    model = AutoModelForCausalLM.from_config(make_llama())
    DPOTrainer(model, AutoModelForCausalLM.from_config(make_llama()), processing_class=make_tokenizer(),
               train_dataset=Dataset.from_dict({"prompt": [make_text(50)] * 32, "chosen": [make_text(100)] * 32,
                                                "rejected": [make_text(80)] * 32}),
               args=DPOConfig(output_dir="out", max_steps=4, per_device_train_batch_size=4, bf16=True, report_to=[],
                              save_strategy="no", logging_steps=2)).train()


def torchtune():
    from torchtune.models.llama3_2 import llama3_2
    from torchtune.modules import TransformerSelfAttentionLayer
    from torchtune.modules.loss import CEWithChunkedOutputLoss
    from torchtune.training import OptimizerInBackwardWrapper, register_optim_in_bwd_hooks, set_activation_checkpointing
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = llama3_2(vocab_size=8000, num_layers=4, num_heads=8, num_kv_heads=4, embed_dim=512, max_seq_len=512, intermediate_dim=2048)
    set_activation_checkpointing(model, auto_wrap_policy={TransformerSelfAttentionLayer})
    of = {parameter: torch.optim.AdamW([parameter], lr=1e-4, fused=True) for parameter in model.parameters()}
    register_optim_in_bwd_hooks(model=model, optim_dict=of)
    wrapper = OptimizerInBackwardWrapper({name: of[parameter] for name, parameter in model.named_parameters()})
    loss_of = CEWithChunkedOutputLoss()
    model.set_num_output_chunks(loss_of.num_output_chunks)
    for _ in range(4):
        tokens = torch.randint(8000, (4, 256), device="cuda")
        loss = loss_of(model(tokens), tokens)
        loss.backward()
    assert len(wrapper.state_dict())


def compiled():
    from accelerate import Accelerator
    from transformers import AutoModelForCausalLM
    accelerator = Accelerator(mixed_precision="bf16", dynamo_backend="aot_eager")
    model = AutoModelForCausalLM.from_config(make_llama())
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-4))
    for _ in range(4):
        tokens = torch.randint(8000, (4, 256), device="cuda")
        loss = model(input_ids=tokens, labels=tokens).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def segmentation():
    import segmentation_models_pytorch as smp
    model = smp.Unet("resnet18", encoder_weights=None, classes=4).cuda()
    loss_of = smp.losses.DiceLoss("multiclass")
    optimizer = torch.optim.RAdam(model.parameters(), lr=1e-3)
    for _ in range(4):
        images, masks = torch.randn(4, 3, 128, 128, device="cuda"), torch.randint(4, (4, 128, 128), device="cuda")
        optimizer.zero_grad()
        loss = loss_of(model(images), masks)
        loss.backward()
        optimizer.step()


def clip():
    from open_clip import ClipLoss
    from open_clip.model import CLIP
    model = CLIP(256, {"image_size": 64, "layers": 3, "width": 256, "patch_size": 8},
                 {"context_length": 32, "vocab_size": 8000, "width": 256, "heads": 4, "layers": 3}).cuda()
    model.set_grad_checkpointing(True)
    loss_of = ClipLoss(cache_labels=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(4):
        images, texts = torch.randn(32, 3, 64, 64, device="cuda"), torch.randint(8000, (32, 32), device="cuda")
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.bfloat16):
            loss = loss_of(*model(images, texts))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def gaussian():
    import gpytorch

    class Process(gpytorch.models.ApproximateGP):
        def __init__(self, points):
            strategy = gpytorch.variational.VariationalStrategy(
                self, points, gpytorch.variational.CholeskyVariationalDistribution(points.size(0)), learn_inducing_locations=True)
            super().__init__(strategy)
            self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x, y = torch.randn(4096, 8, device="cuda"), torch.randn(4096, device="cuda")
    truth["persistent"] += [x, y]  # the data of all iterations
    likelihood, model = gpytorch.likelihoods.GaussianLikelihood().cuda(), Process(torch.randn(512, 8)).cuda()
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=4096)
    for at in range(4):
        optimizer.zero_grad()
        loss = -bound(model(x[at * 1024:][:1024]), y[at * 1024:][:1024])
        loss.backward()
        optimizer.step()


def metric():
    from pytorch_metric_learning.losses import ContrastiveLoss, CrossBatchMemory
    model = nn.Sequential(nn.Flatten(), nn.Linear(3072, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
    loss_of = CrossBatchMemory(ContrastiveLoss(), 256, memory_size=2048).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(4):
        images, labels = torch.randn(256, 3, 32, 32, device="cuda"), torch.randint(16, (256,), device="cuda")
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()


def reward():
    from datasets import Dataset
    from transformers import AutoModelForSequenceClassification
    from trl import RewardConfig, RewardTrainer
    tokenizer, config = make_tokenizer(), make_llama(num_labels=1)
    config.pad_token_id = 0
    RewardTrainer(AutoModelForSequenceClassification.from_config(config), processing_class=tokenizer,
                  train_dataset=Dataset.from_dict({"chosen": [make_text(100)] * 32, "rejected": [make_text(80)] * 32}),
                  args=RewardConfig(output_dir="out", max_steps=4, per_device_train_batch_size=4, bf16=True, report_to=[],
                                    save_strategy="no", logging_steps=2)).train()


def augmented():
    from kornia.augmentation import AugmentationSequential, ColorJitter, RandomAffine, RandomHorizontalFlip
    from kornia.losses import FocalLoss
    change = AugmentationSequential(RandomHorizontalFlip(), ColorJitter(0.1, 0.1, 0.1, 0.1), RandomAffine(30.0))
    model = nn.Sequential(nn.Conv2d(3, 64, 3, 2), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 128, 3, 2), nn.BatchNorm2d(128), nn.ReLU(),
                          nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(2048, 1000)).cuda()
    loss_of = FocalLoss(0.25, reduction="mean")
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    for _ in range(4):
        images, labels = torch.rand(16, 3, 96, 96, device="cuda"), torch.randint(1000, (16,), device="cuda")
        with torch.no_grad():
            images = change(images)
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    globals()[WAY]()
