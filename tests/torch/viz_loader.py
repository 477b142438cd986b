# SPDX-License-Identifier: Apache-2.0
"""viz_loader.py SNAPSHOT...: reads each as torch.cuda._memory_viz does, and makes of it all that it can."""
import pickle
import sys

from torch.cuda import _memory_viz as viz

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    same = lambda lines: lines
    made = [viz.segments(snapshot, same), viz.memory(snapshot, same), viz.compare(snapshot["segments"], [], same),
            viz.segsum(snapshot), viz.trace_plot(snapshot, device=0), viz.segment_plot(snapshot, device=0)]
    if any(snapshot["device_traces"]):
        made.append(viz.trace(snapshot))
    print(*(len(text) for text in made))
    if min(map(len, made)) < 10:
        sys.exit(f"{path}: something is empty")
