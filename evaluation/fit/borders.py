# SPDX-License-Identifier: Apache-2.0
"""Borders that memtap fit finds, each checked by two plain runs: the largest value has to run to its end, the
next one has to run out of memory. By hand; it takes minutes a program.

    python3 evaluation/fit/borders.py --memtap build/tools/memtap --python .venv/bin/python [--public FOLDER] [NAME]...

FOLDER has check-outs of the public programs (nanoGPT, minGPT, llama2.c, examples, pytorch-image-models); the Python
then needs torchvision, einops, ema-pytorch, accelerate, denoising-diffusion-pytorch, tqdm, requests, sentencepiece
and pyyaml too."""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

CAMPAIGNS = pathlib.Path(__file__).resolve().parents[1]
ZOO = CAMPAIGNS.parent / "tests" / "zoo"
sys.path[:0] = [str(CAMPAIGNS / "advice"), str(CAMPAIGNS)]
import public  # noqa: E402
import results  # noqa: E402

COLUMNS = ["program", "card", "range", "fits", "fails", "reserved_gib", "runs", "plain_runs", "seconds"]

SMALL, MIDDLE, LARGE = "t4,rtx4090,a100-40g", "rtx4090,a100-40g,h100", "a100-40g,h100,b200"

# name: cards, --vary, the program's words; Z/ is the zoo, F/ the folder of public programs, and "in X" the folder X
# below that of the copies (evaluation/advice/public.py), where the program runs
PROGRAMS = {
    "amp": (SMALL, "batch=1..4096", "python Z/amp.py --batch {batch}"),
    "checkpointing": (SMALL, "batch=1..65536", "python Z/checkpointing.py --batch {batch}"),
    "compiled": (SMALL, "batch=1..4096", "python Z/compiled.py --depth 1 --batch {batch}"),
    "dataloader_workers": (SMALL, "size=1..4096", "python Z/dataloader_workers.py --images 4096 --batch {size}"),
    "ddp_two_ranks": (SMALL, "batch=1..4096", "torchrun --nproc-per-node 2 Z/ddp_two_ranks.py --batch {batch}"),
    "diffusion_unet": (MIDDLE, "batch=1..4096", "python Z/diffusion_unet.py --batch {batch}"),
    "gpt2_xl": (LARGE, "batch=1..4096", "python Z/gpt2_xl.py --batch {batch}"),
    "gpt2_xl --checkpointing": (LARGE, "batch=1..4096", "python Z/gpt2_xl.py --checkpointing --batch {batch}"),
    "graph_capture": (SMALL, "batch=1..1000000", "python Z/graph_capture.py --batch {batch}"),
    "kv_cache": (SMALL, "batch=1..4096", "python Z/kv_cache.py --tokens 32 --batch {batch}"),
    "linear_loop": (SMALL, "batch=1..1000000", "python Z/linear_loop.py --batch {batch}"),
    "plain_oom": (SMALL, "batch=1..4096", "python Z/plain_oom.py --steps 3 --batch {batch}"),
    "sharded_ranks": (SMALL, "batch=1..4096", "torchrun --nproc-per-node 2 Z/sharded_ranks.py --width 1024 --batch {batch}"),
    "pipeline_ranks": (SMALL, "batch=4..4096+4", "torchrun --nproc-per-node 2 Z/pipeline_ranks.py --width 1024 --batch {batch}"),
    "qwen_adamw": (LARGE, "batch=1..4096", "python Z/qwen_adamw.py --batch {batch}"),
    "qwen_adamw, length": (LARGE, "length=16..4096+16", "python Z/qwen_adamw.py --batch 8 --length {length}"),
    "nanoGPT": (MIDDLE, "batch=1..4096",
                "python train.py config/train_gpt2.py --wandb_log=False --compile=False --max_iters=8 "
                "--eval_iters=1 --eval_interval=100 --gradient_accumulation_steps=1 --out_dir=out --batch_size={batch}"),
    "minGPT adder": (SMALL, "batch=1..4096",
                     "python F/minGPT/projects/adder/adder.py --trainer.max_iters=8 --trainer.num_workers=0 "
                     "--model.model_type=gpt2-medium --trainer.batch_size={batch}"),
    "minGPT text": (SMALL, "batch=1..4096",
                    "in minGPT python projects/chargpt/chargpt.py --trainer.max_iters=6 --trainer.num_workers=0 "
                    "--model.model_type=gpt2 --trainer.batch_size={batch}"),
    "Transformer": (SMALL, "batch=1..4096",
                    "python F/examples/word_language_model/main.py --accel --data DATA --model Transformer --epochs 1 "
                    "--emsize 512 --nhid 2048 --nhead 8 --nlayers 6 --dry-run --save {batch}.pt --batch_size {batch}"),
    "LSTM": (SMALL, "batch=1..4096",
             "python F/examples/word_language_model/main.py --accel --data DATA --model LSTM --epochs 1 "
             "--emsize 1024 --nhid 1024 --nlayers 4 --dry-run --save {batch}.pt --batch_size {batch}"),
    "DCGAN": ("t4,rtx3060,l4", "batch=1..1000",
              "python F/examples/dcgan/main.py --dataset fake --accel --niter 1 --workers 0 --ngf 256 --ndf 256 "
              "--imageSize 64 --batchSize {batch}"),
    "llama2.c": (SMALL, "batch=1..4096",
                 "in llama2.c python train.py --compile=False --max_iters=8 --eval_iters=1 --eval_interval=1000 "
                 "--gradient_accumulation_steps=1 --vocab_source=custom --vocab_size=4096 --batch_size={batch}"),
    "diffusion": (MIDDLE, "batch=16..120", "python DIFFUSION {batch}"),
}
PUBLIC = list(PROGRAMS)[list(PROGRAMS).index("nanoGPT"):]
DIFFUSION = """
import sys
from denoising_diffusion_pytorch import GaussianDiffusion, Trainer, Unet
model = Unet(dim=64, dim_mults=(1, 2, 4, 8), flash_attn=False)
Trainer(GaussianDiffusion(model, image_size=64, timesteps=1000), sys.argv[2], train_batch_size=int(sys.argv[1]),
        train_num_steps=4, gradient_accumulate_every=1, calculate_fid=False, save_and_sample_every=1000).train()
"""


def write_data(args, work):
    """Random words, tokens and pictures, in the shapes that the programs read."""
    words = [f"w{i}" for i in range(20000)]
    (work / "words").mkdir()
    for name, n in (("train", 3000), ("valid", 40), ("test", 40)):
        text = "\n".join(" ".join(random.choices(words, k=300)) for _ in range(n))
        (work / "words" / f"{name}.txt").write_text(text + "\n")
    shutil.copytree(args.public / "nanoGPT", work, dirs_exist_ok=True) # it reads and writes where it is started
    for name in "train.bin", "val.bin":
        tokens = random.randbytes(20_000_000).translate(bytes(byte % 128 for byte in range(256)))
        (work / "data" / "openwebtext" / name).write_bytes(tokens)
    (work / "pictures").mkdir()
    make = ("import sys\nfrom PIL import Image\nimport os\nfor i in range(120):\n"
            "    Image.frombytes('RGB', (64, 64), os.urandom(3 * 64 * 64)).save(f'{sys.argv[1]}/{i}.png')\n")
    subprocess.run([args.python, "-c", make, work / "pictures"], check=True)
    (work / "diffusion.py").write_text(DIFFUSION)
    public.prepare(args.public, work / "copies", args.python)


def words_of(args, work, text):
    places = {"DATA": str(work / "words"), "DIFFUSION": str(work / "diffusion.py")}
    words = [places.get(word, word) for word in text.split()]
    words = [word.replace("Z/", f"{ZOO}/").replace("F/", f"{args.public}/") for word in words]
    if words[0] == "torchrun":
        words[:1] = ["python", "-m", "torch.distributed.run", "--standalone"]
    return [str(args.python) if word == "python" else word for word in words] + (
        [str(work / "pictures")] if "DIFFUSION" in text else [])


def plain(args, work, place, env, command):
    """Whether a run as a user would make it ends well: True; False: out of memory; None: something else."""
    command = re.sub(r"memtap run ", f"{args.memtap} run -q --stacks none -o '{work}/t-%p.mtap' ", command, count=1)
    done = subprocess.run(["sh", "-c", command], cwd=place, env=env, capture_output=True, text=True, errors="replace",
                          check=False)
    for trace in work.glob("t-*.mtap*"):
        trace.unlink(missing_ok=True)
    said = done.stdout + done.stderr
    return True if not done.returncode else False if re.search("out of memory|OutOfMemory", said) else None


def try_one(args, work, name, rows):
    cards, vary, text = PROGRAMS[name]
    cards = args.cards or cards
    options = ["--gpus", "2"] if text.startswith("torchrun") else []
    env = {**os.environ, "PYTHONPATH": str(args.public / "minGPT")}
    place = work
    if text.startswith("in "):
        _, folder, text = text.split(" ", 2)
        place = work / "copies" / folder
    command = [args.memtap, "fit", "-q", "-f", "json", "-s", cards, *options, "-V", vary, "--",
               *words_of(args, work, text)]
    done = subprocess.run([str(word) for word in command], cwd=place, env=env, capture_output=True, text=True, check=False)
    if not done.stdout:
        print(f"{name}: {done.stderr}")
        return 1
    result, faults = json.loads(done.stdout), 0
    for card in result["cards"]:
        runs = {}
        for run in result["runs"]:
            if run["card"] == card["card"]:
                runs[json.dumps(run["values"])] = run
        sides = [card[side] and runs[json.dumps(card[side])]["command"] for side in ("fits", "fails")]
        with ThreadPoolExecutor(args.jobs) as pool:
            got = list(pool.map(lambda line: line and plain(args, work, place, env, line), sides))
        right = got == [None if side is None else good for side, good in zip(sides, (True, False))]
        faults += not right or card["verdict"] == "not known"
        value = [str(next(iter(card[side].values()))) if card[side] else "" for side in ("fits", "fails")]
        peak = f"{card['peak_reserved'] / 2**30:.2f}" if card["peak_reserved"] else ""
        said = {True: "runs", False: "out of memory", None: "?"}
        confirmed = ", ".join(said[one] for one, side in zip(got, sides) if side)
        rows.append([name, card["card"], vary.replace("=", " "), *value, peak, card["runs"],
                     confirmed + ("" if right else " WRONG"), f"{result['seconds']:.0f}"])
        print(*rows[-1], sep=", ", flush=True)
    if any(card["verdict"] == "not known" for card in result["cards"]):
        print(*(run["last_lines"] for run in result["runs"] if run["ended"] == "refused"), sep="\n")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memtap", type=pathlib.Path, default="build/tools/memtap")
    parser.add_argument("--python", type=pathlib.Path, default=sys.executable)
    parser.add_argument("--public", type=pathlib.Path, default="/nonexistent")
    parser.add_argument("--jobs", type=int, default=2, help="plain runs at a time")
    parser.add_argument("--cards", help="instead of those of the table, with commas between")
    parser.add_argument("--save", action="store_true", help="write the rows into evaluation/results/borders.csv")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.memtap, args.python, args.public = args.memtap.resolve(), args.python.absolute(), args.public.resolve()
    names = args.names or [name for name in PROGRAMS if name not in PUBLIC or args.public.is_dir()]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        if set(names) & set(PUBLIC):
            write_data(args, work)
        rows = []
        faults = sum(try_one(args, work, name, rows) for name in names)
    if args.save:
        results.save("borders", COLUMNS, rows, args.memtap, args.python)
    print(f"\n{faults} borders of {len(names)} programs were not confirmed")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
