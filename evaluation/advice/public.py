# SPDX-License-Identifier: Apache-2.0
"""Public training scripts that campaign.py runs out of memory: check-outs of their repositories, each in a folder of its name,
which are not part of memtap. They are run from copies next to random data in the shapes that they read."""
import shutil
import subprocess

# A name: where it runs and the command, {batch} its batch size, and the classes of its repeated blocks.
LANGUAGE = "main.py --accel --data ../../words --epochs 1 --log-interval 1000 --batch_size {batch} "
SCRIPTS = {
    "nanoGPT": ("nanoGPT", "train.py --compile=False --eval_iters=1 --eval_interval=1000 --gradient_accumulation_steps=1 "
                           "--n_layer=6 --n_head=6 --n_embd=384 --block_size=256 --batch_size={batch}", "Block"),
    "llama2.c": ("llama2.c", "train.py --compile=False --eval_iters=1 --eval_interval=1000 --gradient_accumulation_steps=1 "
                             "--vocab_source=custom --vocab_size=4096 --batch_size={batch}", "TransformerBlock"),
    "minGPT": ("minGPT", "projects/adder/adder.py --trainer.num_workers=0 --model.model_type=gpt-mini --data.ndigit=3 "
                         "--trainer.max_iters=6 --trainer.batch_size={batch}", "Block"),
    "minGPT text": ("minGPT", "projects/chargpt/chargpt.py --trainer.num_workers=0 --model.model_type=gpt-mini "
                              "--trainer.max_iters=6 --trainer.batch_size={batch}", "Block"),
    "Transformer": ("examples/word_language_model", LANGUAGE + "--model Transformer --emsize 256 --nhid 1024 --nhead 8 --nlayers 4 "
                    "--bptt 64", "TransformerEncoderLayer"),
    "LSTM": ("examples/word_language_model", LANGUAGE + "--model LSTM --emsize 256 --nhid 256", None),
    "mnist": ("examples/mnist", "main.py --epochs 1 --batch-size {batch}", None),
    "mnist_rnn": ("examples/mnist_rnn", "main.py --accel --epochs 1 --batch-size {batch}", None),
    "forward_forward": ("examples/mnist_forward_forward", "main.py --epochs 3 --train_size {batch}", None),
    "siamese": ("examples/siamese_network", "main.py --epochs 1 --batch-size {batch}", None),
    "vae": ("examples/vae", "main.py --epochs 1 --batch-size {batch}", None),
    "dcgan": ("examples/dcgan", "main.py --dataset fake --accel --niter 1 --workers 0 --batchSize {batch}", None),
    "imagenet": ("examples/imagenet", "main.py --dummy --epochs 1 -j 0 -b {batch}", "BasicBlock,Bottleneck,_DenseBlock,EncoderBlock"),
    "super_resolution": ("examples/super_resolution", "main.py --upscale_factor 2 --nEpochs 1 --threads 0 --accel "
                         "--batchSize {batch}", None),
    "gat": ("examples/gat", "main.py --epochs 5", None),
    "timm": ("pytorch-image-models", "train.py --data-dir ../pictures --num-classes 2 -j 1 --epochs 1 --no-prefetcher --img-size 64 "
             "--epoch-repeats 8 -b {batch} --output ../out", "Block,ResNetV2,ConvNeXtBlock"),
}

# A name, the script, options of its own, its batch, options of observed.py, and the card's part, as in cases.py.
CASES = [
    ("nanoGPT 85 %", "nanoGPT", "", 16, "", 0.85),
    ("nanoGPT 60 %", "nanoGPT", "", 16, "", 0.6),
    ("nanoGPT, fp32, long", "nanoGPT", "--dtype=float32 --block_size=1024", 4, "", 0.7),
    ("nanoGPT, accumulating", "nanoGPT", "--gradient_accumulation_steps=3", 16, "", 0.9),
    ("nanoGPT, many parameters", "nanoGPT", "--n_embd=768 --n_layer=8", 1, "", 0.8),
    ("nanoGPT keeps outputs", "nanoGPT", "", 8, "--leak --limit 10", 0.8),
    ("nanoGPT stores pieces", "nanoGPT", "", 8, "--store 16 --limit 10", 0.85),
    ("nanoGPT, streams", "nanoGPT", "", 16, "--streams", 0.7),
    ("llama2.c 80 %", "llama2.c", "", 32, "", 0.8),
    ("llama2.c 50 %", "llama2.c", "", 32, "", 0.5),
    ("minGPT 80 %", "minGPT", "", 1024, "", 0.8),
    ("minGPT text 70 %", "minGPT text", "", 64, "", 0.7),
    ("Transformer 85 %", "Transformer", "", 48, "", 0.85),
    ("Transformer 55 %", "Transformer", "", 48, "", 0.55),
    ("Transformer, Adam", "Transformer", "--use-optimizer", 16, "", 0.8),
    ("LSTM 75 %", "LSTM", "", 128, "", 0.75),
    ("LSTM keeps outputs", "LSTM", "", 64, "--leak --limit 8", 0.6),
    ("mnist 80 %", "mnist", "", 512, "", 0.8),
    ("mnist 60 %", "mnist", "", 1024, "", 0.6),
    ("mnist_rnn 70 %", "mnist_rnn", "", 1024, "", 0.7),
    ("siamese 70 %", "siamese", "", 256, "", 0.7),
    ("forward_forward 80 %", "forward_forward", "", 2000, "", 0.8),
    ("vae 70 %", "vae", "", 1024, "", 0.7),
    ("dcgan 80 %", "dcgan", "", 64, "", 0.8),
    ("dcgan 55 %", "dcgan", "", 64, "", 0.55),
    ("imagenet resnet18 75 %", "imagenet", "-a resnet18", 16, "", 0.75),
    ("imagenet resnet50 60 %", "imagenet", "-a resnet50", 8, "", 0.6),
    ("imagenet densenet121 70 %", "imagenet", "-a densenet121", 8, "", 0.7),
    ("imagenet vit_b_16 85 %", "imagenet", "-a vit_b_16", 8, "", 0.85),
    ("super_resolution 70 %", "super_resolution", "", 8, "", 0.7),
    ("gat 60 %", "gat", "--concat-heads --hidden-dim 128", 0, "", 0.6),
    ("gat 80 %", "gat", "", 0, "", 0.8),
    ("timm vit 70 %", "timm", "--model vit_tiny_patch16_224 --model-kwargs img_size=64 --opt adamw", 64, "", 0.7),
    ("timm vit amp 60 %", "timm", "--model vit_tiny_patch16_224 --model-kwargs img_size=64 --opt adamw --amp", 128, "", 0.6),
    ("timm convnext 75 %", "timm", "--model convnext_atto --opt adamw", 64, "", 0.75),
]

DATA = """
import gzip, os, random, struct, sys
import numpy as np
from PIL import Image
generator = np.random.default_rng(19)
def numbers(*shape, most=256, kind=np.uint8):
    return generator.integers(0, most, shape).astype(kind)
def pictures(folder, n, side):
    os.makedirs(folder)
    for i in range(n):
        Image.fromarray(numbers(side, side, 3)).save(f"{folder}/{i}.jpg")
os.makedirs("data/MNIST/raw")
for name, n in (("train", 6000), ("t10k", 2048)):
    with open(f"data/MNIST/raw/{name}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">iiii", 2051, n, 28, 28) + numbers(n, 28, 28).tobytes())
    with open(f"data/MNIST/raw/{name}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">ii", 2049, n) + numbers(n, most=10).tobytes())
os.makedirs("words")
for name, n in (("train", 400), ("valid", 10), ("test", 10)):
    with open(f"words/{name}.txt", "w") as file:
        for row in numbers(n, 200, most=5000, kind=int):
            print(*[f"w{word}" for word in row], file=file)
for name in "train", "val":
    numbers(500_000, kind=np.uint16).tofile(f"nanoGPT/data/openwebtext/{name}.bin")
os.makedirs("llama2.c/data/tok4096")
for i in range(2):
    numbers(500_000, most=4096, kind=np.uint16).tofile(f"llama2.c/data/tok4096/data{i}.bin")
with open("minGPT/input.txt", "w") as file:
    file.write("".join(random.choices("abcdefghijklmnopqrstuvwxyz ,.!GO\\n", k=20000)))
for part in "train", "test":
    pictures(f"examples/super_resolution/dataset/BSDS300/images/{part}", 64, 256)
for part in "train", "validation":
    for kind in "ab":
        pictures(f"pictures/{part}/{kind}", 100, 64)
os.makedirs("examples/gat/cora")
with open("examples/gat/cora/cora.content", "w") as file:
    for i, row in enumerate(numbers(2708, 300, most=2)):
        print(i, *row, f"class{i % 7}", file=file)
with open("examples/gat/cora/cora.cites", "w") as file:
    for row in numbers(5000, 2, most=2708, kind=int):
        print(*row, file=file)
"""


def prepare(public, work, python):
    """Copies of the scripts that are there, and random data; the names of the scripts that are not."""
    work.mkdir()
    for name in {place.split("/")[0] for place, _, _ in SCRIPTS.values()}:
        if (public / name).is_dir():
            shutil.copytree(public / name, work / name, ignore=shutil.ignore_patterns(".git", "*.ipynb"))
        else:
            (work / name).mkdir()
    for folder in "nanoGPT/data/openwebtext", "llama2.c", "minGPT", "examples":
        (work / folder).mkdir(parents=True, exist_ok=True)
    subprocess.run([python, "-c", DATA], cwd=work, check=True)
    for name in "mnist", "vae", "mnist_rnn", "siamese_network", "mnist_forward_forward":  # some read ../data, some data
        (work / "examples" / name / "data").unlink(missing_ok=True)
        if (work / "examples" / name).is_dir():
            (work / "examples" / name / "data").symlink_to(work / "data")
    if not (work / "examples/data").exists():
        (work / "examples/data").symlink_to(work / "data")
    return [name for name, (place, command, _) in SCRIPTS.items() if not (work / place / command.split()[0]).is_file()]


def command(script, options, batch):
    """A script with its arguments, and observed.py's option for its blocks."""
    _, words, blocks = SCRIPTS[script]
    return [*words.format(batch=batch).split(), *options], ["--blocks", blocks] if blocks else []
