# SPDX-License-Identifier: Apache-2.0
"""Ways to run out of memory: a name, program.py's options, and the card's size as a part of what the same run reserves on
a card that is large enough (what the context and handles take comes on top)."""

PHASES = ("load", "forward", "loss", "backward", "optimizer", "evaluation")  # of program.py, in their order
ATTENTION = "--batch 24 --length 192 --layers 6"
DENSE = "--model dense --width 1024 --layers 8 --batch 8"
PICTURES = "--model convolution --width 64 --layers 8 --batch 32 --length 48"

CASES = [
    # The first steps, on cards from nearly large enough to much too small.
    ("attention 83 %", ATTENTION, 0.83),
    ("attention 80 %", ATTENTION, 0.8),
    ("attention 60 %", ATTENTION, 0.6),
    ("attention 40 %", ATTENTION, 0.4),
    ("attention 25 %", ATTENTION, 0.25),
    ("dense 90 %", DENSE, 0.9),
    ("dense 70 %", DENSE, 0.7),
    ("dense 45 %", DENSE, 0.45),
    ("dense 20 %", DENSE, 0.2),
    ("pictures 90 %", PICTURES, 0.9),
    ("pictures 60 %", PICTURES, 0.6),
    ("pictures 35 %", PICTURES, 0.35),
    ("recurrent 90 %", "--model recurrent --width 512 --length 96 --batch 256", 0.9),
    ("recurrent 50 %", "--model recurrent --width 512 --length 96 --batch 256", 0.5),
    # Mixed precision, accumulation, other optimizers.
    ("autocast 85 %", ATTENTION + " --autocast", 0.85),
    ("autocast 50 %", ATTENTION + " --autocast", 0.5),
    ("half with masters 90 %", DENSE + " --dtype bfloat16 --masters", 0.9),
    ("half with masters 75 %", DENSE + " --dtype bfloat16 --masters", 0.75),
    ("half 85 %", DENSE + " --dtype bfloat16", 0.85),
    ("accumulating 85 %", ATTENTION + " --accumulate 3", 0.85),
    ("SGD 80 %", DENSE + " --optimizer sgd", 0.8),
    ("one by one 80 %", DENSE + " --one-by-one", 0.8),
    ("large optimizer 75 %", "--model dense --width 2048 --layers 6 --batch 1 --length 16", 0.75),
    ("large optimizer 95 %", "--model dense --width 2048 --layers 6 --batch 1 --length 16", 0.95),
    # Gradients that stay; evaluation with gradients.
    ("zeroed gradients 90 %", ATTENTION + " --width 512 --set-to-none 0", 0.9),
    ("zeroed gradients 75 %", DENSE + " --set-to-none 0", 0.75),
    ("evaluation 75 %", ATTENTION + " --evaluate 2", 0.75),
    ("evaluation 60 %", ATTENTION + " --evaluate 3", 0.6),
    # Checkpointed already.
    ("checkpointed 70 %", ATTENTION + " --checkpoint --layers 12", 0.7),
    ("checkpointed 60 %", PICTURES + " --checkpoint", 0.6),
    # Leaks.
    ("keeps graphs", ATTENTION + " --leak graph --steps 8", 0.6),
    ("keeps graphs, late", ATTENTION + " --leak graph --steps 16", 0.85),
    ("keeps data", "--batch 512 --length 192 --layers 1 --width 128 --leak data --steps 24", 0.9),
    # Sequences of other lengths each step: fragmentation.
    ("longer each step", "--batch 16 --layers 6 --length 64 --longer 24 --steps 12", 0.5),
    ("longer each step, small card", "--batch 16 --layers 6 --length 64 --longer 24 --steps 12", 0.42),
    ("changing lengths 65 %", "--batch 16 --layers 6 --steps 12 --lengths 128 250 90 310 170 222", 0.65),
    ("changing lengths 50 %", "--batch 16 --layers 6 --steps 12 --lengths 128 250 90 310 170 222", 0.5),
    ("changing lengths 75 %", "--batch 16 --layers 6 --steps 12 --lengths 128 250 90 310 170 222", 0.75),
    ("stores pieces 90 %", "--batch 8 --layers 2 --store 3 --steps 40", 0.9),
    ("stores pieces 70 %", "--batch 8 --layers 2 --store 5 --steps 40", 0.7),
    # Several streams.
    ("streams 70 %", ATTENTION + " --streams --steps 8", 0.7),
    ("streams, changing lengths", "--batch 32 --layers 4 --streams --steps 12 --lengths 128 250 90 310", 0.6),
    ("streams, pictures", PICTURES + " --streams", 0.55),
]


def is_out_of_memory(error):
    """PyTorch's own error, or one of a library's handle, whose memory is not PyTorch's."""
    return type(error).__name__ == "OutOfMemoryError" or any(word in str(error) for word in ("ALLOC_FAILED", "ALLOCATION_FAILED"))
