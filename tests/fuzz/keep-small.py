# SPDX-License-Identifier: Apache-2.0
"""keep-small.py NEW CORPUS: takes the smallest files of the folder NEW into CORPUS, 6 KB in all, under
names that say what is in them. Files of CORPUS with other names (seeds, what once failed) stay."""
import hashlib
import pathlib
import sys

MOST = 6 << 10

new, corpus = (pathlib.Path(name) for name in sys.argv[1:])
for file in corpus.glob("reached-*"):
    file.unlink()
left = MOST
for content in sorted((file.read_bytes() for file in new.iterdir()), key=lambda b: (len(b), b)):
    left -= len(content)
    if left < 0:
        break
    (corpus / ("reached-" + hashlib.sha256(content).hexdigest()[:12])).write_bytes(content)
