# SPDX-License-Identifier: Apache-2.0
"""libraries.py NAME [follow]: a public library's trainer, or the loop of its documentation with its model, on random weights and
data. With "follow", what `memtap plan` says first to `del` is deleted there: in the loop, or in the library's function, edited. Prints
the peak. Each needs its library and what that imports."""
import inspect
import sys
import textwrap

import torch
from torch.nn import functional

follow = "follow" in sys.argv[2:]
torch.manual_seed(0)


def edit(owner, name, old, new):
    """Replace a part of the source of a library's method."""
    method = getattr(owner, name)
    source = textwrap.dedent(inspect.getsource(method))
    assert source.count(old) == 1, source
    scope = sys.modules[method.__module__].__dict__
    exec(compile(source.replace(old, new), inspect.getsourcefile(method), "exec"), scope)
    setattr(owner, name, scope[name])


def words(rows, length=128, vocabulary=20000):
    drawn = [torch.randint(0, vocabulary, (length,)) for _ in range(rows)]
    return [{"input_ids": row, "labels": row} for row in drawn]


def pictures(rows, side=64, classes=10):
    return torch.utils.data.TensorDataset(torch.randn(rows, 3, side, side), torch.randint(0, classes, (rows,)))


def loader(rows, size):
    return torch.utils.data.DataLoader(rows, batch_size=size)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=20000, n_positions=128, n_embd=128, n_layer=2, n_head=4))


def trainer_arguments(**options):
    from transformers import TrainingArguments
    return TrainingArguments("out", num_train_epochs=1, report_to=[], save_strategy="no", logging_steps=1, **options)


def accelerate():
    from accelerate import Accelerator
    accelerator, model = Accelerator(), gpt2()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader(words(32), 8))
    total_loss = 0
    for batch in batches:
        outputs = model(**batch)
        loss = outputs.loss
        if follow:
            del outputs
        total_loss += loss.detach().float()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


def peft():
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(vocab_size=8000, hidden_size=128, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4))
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=8, target_modules=["q_proj", "v_proj"])).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    batches = loader(words(32, 256, 8000), 8)
    for _ in range(2):
        model.train()
        total_loss = 0
        for batch in batches:
            batch = {k: v.to("cuda") for k, v in batch.items()}
            outputs = model(**batch)
            loss = outputs.loss
            if follow:
                del outputs
            total_loss += loss.detach().float()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        eval_preds = []
        for batch in batches:
            batch = {k: v.to("cuda") for k, v in batch.items()}
            with torch.no_grad():
                outputs = model(**batch)
            eval_preds.extend(torch.argmax(outputs.logits, -1).detach().cpu().tolist())


def accuracy(output, target, topk):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0)) for k in topk]


def timm():
    from timm import create_model
    model = create_model("resnet18", num_classes=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)

    def train(batches):
        model.train()
        for images, target in batches:
            images = images.to("cuda", non_blocking=True)
            target = target.to("cuda", non_blocking=True)
            output = model(images)
            loss = functional.cross_entropy(output, target)
            accuracy(output, target, (1, 5))
            optimizer.zero_grad()
            if follow:
                del images
            loss.backward()
            optimizer.step()

    def validate(batches):
        model.eval()
        with torch.no_grad():
            for images, target in batches:
                images, target = images.to("cuda"), target.to("cuda")
                functional.cross_entropy(model(images), target)

    for _ in range(2):
        train(loader(pictures(64), 16))
        validate(loader(pictures(64), 16))


def segmentation_models():
    import segmentation_models_pytorch as smp
    model = smp.Unet("resnet18", encoder_weights=None, in_channels=3, classes=1).cuda()
    loss_fn = smp.losses.DiceLoss(smp.losses.BINARY_MODE, from_logits=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    data = torch.utils.data.TensorDataset(torch.randn(24, 3, 64, 64), (torch.rand(24, 1, 64, 64) > 0.5).float())
    for _ in range(2):
        outputs = []
        for image, mask in loader(data, 8):
            image, mask = image.cuda(), mask.cuda()
            logits_mask = model(image)
            loss = loss_fn(logits_mask, mask)
            pred_mask = (logits_mask.sigmoid() > 0.5).float()
            tp, fp, fn, tn = smp.metrics.get_stats(pred_mask.long(), mask.long(), mode="binary")
            outputs.append({"loss": loss.detach(), "tp": tp})
            optimizer.zero_grad()
            if follow:
                del image
            loss.backward()
            optimizer.step()


def torchrl():
    from tensordict import TensorDict
    from tensordict.nn import TensorDictModule
    from torchrl.data import LazyTensorStorage, ReplayBuffer, SamplerWithoutReplacement
    from torchrl.modules import OneHotCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE

    def net(out):
        return torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.Tanh(), torch.nn.Linear(512, out))

    def zeros(*shape):
        return torch.zeros(*shape, dtype=torch.bool, device="cuda")

    actor = ProbabilisticActor(TensorDictModule(net(4), ["observation"], ["logits"]), in_keys=["logits"],
                               distribution_class=OneHotCategorical, return_log_prob=True).cuda()
    critic = ValueOperator(net(1), in_keys=["observation"]).cuda()
    advantage = GAE(gamma=0.99, lmbda=0.95, value_network=critic, average_gae=True)
    loss_module = ClipPPOLoss(actor, critic)
    optim = torch.optim.Adam(loss_module.parameters(), 3e-4)
    buffer = ReplayBuffer(storage=LazyTensorStorage(16384, device="cuda"), sampler=SamplerWithoutReplacement(), batch_size=4096)
    for _ in range(3):
        data = TensorDict({"observation": torch.randn(64, 256, 64, device="cuda")}, [64, 256])
        with torch.no_grad():
            data = actor(data)
        data["next"] = TensorDict({"observation": torch.randn(64, 256, 64, device="cuda"), "reward": torch.randn(64, 256, 1, device="cuda"),
                                   "done": zeros(64, 256, 1), "terminated": zeros(64, 256, 1)}, [64, 256])
        for epoch in range(2):
            advantage(data)
            view = data.reshape(-1)
            buffer.extend(view)
            if follow and epoch == 1:
                for key in "observation", "reward":
                    del data["next", key], view["next", key]
            for _ in range(4):
                losses = loss_module(buffer.sample())
                (losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]).backward()
                torch.nn.utils.clip_grad_norm_(loss_module.parameters(), 1.0)
                optim.step()
                optim.zero_grad()


def ultralytics():
    from pathlib import Path

    import cv2
    import numpy
    from ultralytics import YOLO
    from ultralytics.engine import trainer
    if follow:
        backward = "self.scaler.scale(self.loss).backward()"
        edit(trainer.BaseTrainer, "_do_train", backward, "batch['img'] = torch.empty(1, 3, 160, 160); " + backward)
    for folder in "images/t", "labels/t":
        Path("boxes", folder).mkdir(parents=True, exist_ok=True)
    for i in range(16):
        cv2.imwrite(f"boxes/images/t/{i}.jpg", numpy.random.default_rng(i).integers(0, 255, (160, 160, 3), numpy.uint8))
        Path(f"boxes/labels/t/{i}.txt").write_text("0 0.5 0.5 0.3 0.3\n")
    Path("boxes/d.yaml").write_text(f"path: {Path.cwd()}/boxes\ntrain: images/t\nval: images/t\nnames: {{0: a}}\n")
    YOLO("yolov8n.yaml").train(data="boxes/d.yaml", epochs=2, imgsz=160, batch=8, workers=0, device=0, amp=False, plots=False, val=False,
                               save=False, verbose=False)


def torchvision():
    """references/segmentation/train.py."""
    from torchvision.models.segmentation import lraspp_mobilenet_v3_large
    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=21).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)

    def criterion(inputs, target):
        losses = {name: functional.cross_entropy(x, target, ignore_index=255) for name, x in inputs.items()}
        return losses["out"]

    def train_one_epoch(batches):
        for image, target in batches:
            image, target = image.to("cuda"), target.to("cuda")
            output = model(image)
            loss = criterion(output, target)
            if follow:
                del output
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    data = torch.utils.data.TensorDataset(torch.randn(8, 3, 256, 256), torch.randint(0, 21, (8, 256, 256)))
    for _ in range(2):
        train_one_epoch(loader(data, 4))


def diffusers():
    """The loop of examples/unconditional_image_generation."""
    from diffusers import DDPMScheduler, UNet2DModel
    model = UNet2DModel(sample_size=32, block_out_channels=(32, 64), down_block_types=("DownBlock2D", "DownBlock2D"),
                        up_block_types=("UpBlock2D", "UpBlock2D"), layers_per_block=1).cuda()
    scheduler, optimizer = DDPMScheduler(num_train_timesteps=1000), torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(2):
        for clean_images, _ in loader(pictures(256, 32), 64):
            clean_images = clean_images.to("cuda")
            noise = torch.randn(clean_images.shape, device="cuda")
            timesteps = torch.randint(0, 1000, (len(clean_images),), device="cuda").long()
            noisy_images = scheduler.add_noise(clean_images, noise, timesteps)
            if follow:
                del clean_images
            loss = functional.mse_loss(model(noisy_images, timesteps).sample, noise)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def monai():
    """The loop of its tutorials for segmentation in 3D."""
    from monai.losses import DiceLoss
    from monai.networks.nets import UNet
    model = UNet(spatial_dims=3, in_channels=1, out_channels=4, channels=(16, 32, 64), strides=(2, 2), num_res_units=2).cuda()
    loss_function = DiceLoss(to_onehot_y=True, softmax=True)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    rows = [{"image": torch.randn(1, 32, 32, 32), "label": torch.randint(0, 4, (1, 32, 32, 32))} for _ in range(8)]
    for _ in range(2):
        for batch_data in loader(rows, 4):
            inputs, labels = batch_data["image"].to("cuda"), batch_data["label"].to("cuda")
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = loss_function(outputs, labels)
            if follow:
                del outputs
            loss.backward()
            optimizer.step()


def transformers_gpt2():
    from transformers import Trainer
    Trainer(gpt2(), trainer_arguments(per_device_train_batch_size=8), train_dataset=words(32)).train()


def transformers_bert():
    from transformers import BertConfig, BertForSequenceClassification, Trainer
    model = BertForSequenceClassification(BertConfig(vocab_size=3000, hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
                                                     intermediate_size=1024))
    rows = [{"input_ids": torch.randint(0, 3000, (128,)), "attention_mask": torch.ones(128, dtype=torch.long), "labels": i % 2}
            for i in range(48)]
    Trainer(model, trainer_arguments(per_device_train_batch_size=16, eval_strategy="epoch"), train_dataset=rows, eval_dataset=rows).train()


def lightning():
    import lightning as L

    class Net(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.BatchNorm2d(32), torch.nn.ReLU(),
                                           torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10))

        def training_step(self, batch, _):
            loss = functional.cross_entropy(self.net(batch[0]), batch[1])
            self.log("loss", loss, prog_bar=True)
            return loss

        def validation_step(self, batch, _):
            self.log("val", functional.cross_entropy(self.net(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    L.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
              enable_progress_bar=False).fit(Net(), loader(pictures(64), 16), loader(pictures(64), 16))


def ignite():
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Accuracy, Loss
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 32 * 32, 10)).cuda()
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), torch.nn.CrossEntropyLoss()
    trainer = create_supervised_trainer(model, optimizer, criterion, device="cuda")
    evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "nll": Loss(criterion)}, device="cuda")
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda _: evaluator.run(loader(pictures(128, 32), 32)))
    trainer.run(loader(pictures(128, 32), 32), max_epochs=2)


def skorch():
    import numpy
    from skorch import NeuralNet, NeuralNetClassifier
    if follow:
        edit(NeuralNet, "train_step_single", "loss.backward()", "y_pred = y_pred.new_empty(0); loss.backward()")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dense, self.output = torch.nn.Linear(512, 2048), torch.nn.Linear(2048, 10)

        def forward(self, X):
            return torch.softmax(self.output(torch.relu(self.dense(X))), -1)

    draw = numpy.random.default_rng(0)
    NeuralNetClassifier(Net, max_epochs=2, lr=0.1, batch_size=1024, device="cuda", optimizer=torch.optim.Adam).fit(
        draw.standard_normal((5000, 512), numpy.float32), draw.integers(0, 10, 5000))


TRAINERS = {function.__name__: function for function in
            (accelerate, peft, timm, segmentation_models, torchrl, ultralytics, skorch, torchvision,
             diffusers, monai, transformers_gpt2, transformers_bert, lightning, ignite)}
if __name__ == "__main__":
    TRAINERS[sys.argv[1]]()
    print("peak", torch.cuda.max_memory_allocated())
