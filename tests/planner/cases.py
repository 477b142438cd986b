# SPDX-License-Identifier: Apache-2.0
"""(the program's arguments, the change that is asked for, the arguments with that change made). Those of one
program stand together: it is recorded once."""
CASES = []
# In tools/test: one of each of the more intricate kinds.
QUICK = {("perceptron", "zero3:8"), ("conv", "checkpoint:layers.*"), ("written", "precision:autocast"), ("written", "lora:16"),
         ("written", "batch:1/2"), ("gpt", "chunked-loss:16"),
         ("gpt-small --ddp 8", "bucket-views")}


def of(base, *changes):
    """Each change is its name and what is added to the arguments."""
    CASES.extend((base, change, f"{base} {more}") for change, more in changes)


of("gpt",
   ("optimizer:sgd", "--optimizer sgd"),
   ("optimizer:adam8bit", "--optimizer adam8bit"),
   ("zero2:8", "--zero2 8"),
   ("zero3:8", "--zero3 8"),
   ("precision:autocast", "--autocast"),
   ("precision:bf16", "--bf16"),
   ("checkpoint:layers.*", "--checkpoint layers.*"),
   ("checkpoint:layers.*.feed", "--checkpoint layers.*.feed"),
   ("chunked-loss:16", "--loss-chunks 16"),
   ("chunked-loss:4", "--loss-chunks 4"),
   ("checkpoint:layers.*+chunked-loss:16", "--checkpoint layers.* --loss-chunks 16"),
   ("precision:bf16+chunked-loss:16", "--bf16 --loss-chunks 16"),
   ("batch:1/2+chunked-loss:8", "--batch 4 --loss-chunks 8"),
   ("offload:activations", "--save-on-cpu"),
   ("lora:16", "--lora 16"),
   ("batch:1/2", "--batch 4"),
   ("sequence:1/2", "--length 256 --longest 512"),
   ("checkpoint:layers.*+optimizer:adam8bit", "--checkpoint layers.* --optimizer adam8bit"),
   ("precision:autocast+checkpoint:layers.*", "--autocast --checkpoint layers.*"),
   ("precision:bf16+optimizer:adam8bit", "--bf16 --optimizer adam8bit"),
   ("batch:1/2+precision:autocast", "--batch 4 --autocast"),
   ("lora:16+precision:bf16", "--lora 16 --bf16"))
of("gpt-small",
   ("optimizer:sgd", "--optimizer sgd"),
   ("optimizer:sgd-momentum", "--optimizer sgd-momentum"),
   ("optimizer:adamw-fused", "--optimizer adamw-fused"),
   ("optimizer:adamw-for-loop", "--optimizer adamw-for-loop"),
   ("optimizer:adafactor", "--optimizer adafactor"),
   ("optimizer:adam8bit", "--optimizer adam8bit"),
   ("offload:optimizer", "--optimizer cpu"),
   ("offload:parameters", "--offload-parameters 1"),
   ("zero2:4", "--zero2 4"),
   ("zero3:4", "--zero3 4"),
   ("zero3:16", "--zero3 16"),
   ("lora:8", "--lora 8"),
   ("zero3:8+optimizer:sgd-momentum", "--zero3 8 --optimizer sgd-momentum"),
   ("zero2:4+optimizer:adamw-fused", "--zero2 4 --optimizer adamw-fused"),
   ("zero3:4+checkpoint:layers.*", "--zero3 4 --checkpoint layers.*"),
   ("batch:2+offload:optimizer", "--batch 8 --optimizer cpu"))
of("gpt-small",
   ("zero1:8", "--zero1 8"))
of("lstm",
   ("zero1:4", "--zero1 4"))
of("gpt-small --ddp 8",
   ("zero1:8", "--zero1 8"),
   ("bucket-views", "--bucket-views"))
of("gpt-small --accumulate 2",
   ("zero3:8", "--zero3 8"),
   ("optimizer:adam8bit", "--optimizer adam8bit"))
of("gpt-small --accumulate 2 --batch 16",
   ("chunked-loss:16", "--loss-chunks 16"))
of("gpt-small --autocast --batch 16",
   ("chunked-loss:16", "--loss-chunks 16"))
of("gpt-small --autocast",
   ("optimizer:adam8bit", "--optimizer adam8bit"),
   ("zero3:8", "--zero3 8"),
   ("checkpoint:layers.*", "--checkpoint layers.*"))
of("llama --ddp 4",
   ("zero1:4", "--zero1 4"),
   ("bucket-views", "--bucket-views"))
of("llama",
   ("optimizer:adam8bit", "--optimizer adam8bit"),
   ("zero3:8", "--zero3 8"),
   ("precision:autocast", "--autocast"),
   ("precision:bf16", "--bf16"),
   ("checkpoint:layers.*", "--checkpoint layers.*"),
   ("checkpoint:layers.*.attention", "--checkpoint layers.*.attention"),
   ("chunked-loss:16", "--loss-chunks 16"),
   ("precision:autocast+chunked-loss:32", "--autocast --loss-chunks 32"),
   ("offload:activations", "--save-on-cpu"),
   ("lora:64", "--lora 64"),
   ("sequence:1/4", "--length 256"),
   ("batch:2", "--batch 8"),
   ("batch:1/2+checkpoint:layers.*", "--batch 2 --checkpoint layers.*"),
   ("sequence:1/2+checkpoint:layers.*.attention", "--length 512 --checkpoint layers.*.attention"),
   ("precision:bf16+checkpoint:layers.*", "--bf16 --checkpoint layers.*"),
   ("checkpoint:layers.*+offload:optimizer", "--checkpoint layers.* --optimizer cpu"))
of("scores",
   ("sequence:1/2", "--length 256 --longest 512"),
   ("batch:1/4", "--batch 1"),
   ("precision:autocast", "--autocast"),
   ("checkpoint:layers.*.attention", "--checkpoint layers.*.attention"),
   ("zero2:8", "--zero2 8"))
of("written",
   ("chunked-loss:16", "--loss-chunks 16"),
   ("precision:autocast", "--autocast"),
   ("lora:16", "--lora 16"),
   ("batch:1/2", "--batch-part 1/2"))
of("experts",
   ("chunked-loss:16", "--loss-chunks 16"),
   ("optimizer:adafactor", "--optimizer adafactor"),
   ("zero3:8", "--zero3 8"),
   ("checkpoint:layers.*.feed", "--checkpoint layers.*.feed"),
   ("offload:optimizer", "--optimizer cpu"),
   ("batch:1/2", "--batch 4"))
of("vit",
   ("optimizer:sgd", "--optimizer sgd"),
   ("precision:autocast", "--autocast"),
   ("checkpoint:layers.*", "--checkpoint layers.*"),
   ("batch:1/2", "--batch 16"),
   ("offload:activations", "--save-on-cpu"),
   ("batch:1/2+optimizer:sgd", "--batch 16 --optimizer sgd"),
   ("precision:autocast+optimizer:adam8bit", "--autocast --optimizer adam8bit"))
of("conv",
   ("optimizer:sgd-momentum", "--optimizer sgd-momentum"),
   ("precision:autocast", "--autocast"),
   ("checkpoint:layers.*", "--checkpoint layers.*"),
   ("batch:1/2", "--batch 16"))
of("diffusion",
   ("precision:bf16", "--bf16"),
   ("checkpoint:layers.*", "--checkpoint layers.*"),
   ("batch:1/2", "--batch 8"),
   ("zero3:8", "--zero3 8"))
of("lstm",
   ("optimizer:adam8bit", "--optimizer adam8bit"),
   ("batch:1/2", "--batch 16"),
   ("sequence:1/2", "--length 128"),
   ("batch:1/2+optimizer:adafactor", "--batch 16 --optimizer adafactor"))
of("perceptron",
   ("optimizer:adamw-for-loop", "--optimizer adamw-for-loop"),
   ("precision:bf16", "--bf16"),
   ("zero3:8", "--zero3 8"),
   ("lora:32", "--lora 32"),
   ("precision:bf16+zero3:8", "--bf16 --zero3 8"),
   ("offload:parameters", "--offload-parameters 1"))
