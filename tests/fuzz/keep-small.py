# SPDX-License-Identifier: Apache-2.0
"""keep-small.py NEW CORPUS: takes files of the folder NEW into CORPUS, small ones and some of the larger ones, 40 and
6 KB at most, under names that say what is in them. Files of CORPUS with other names (seeds, what once failed) stay."""
import hashlib
import pathlib
import sys

MOST_FILES, MOST_BYTES = 40, 6 << 10

new, corpus = (pathlib.Path(name) for name in sys.argv[1:])
for file in corpus.glob("reached-*"):
    file.unlink()
contents = sorted((file.read_bytes() for file in new.iterdir()), key=lambda content: (len(content), content))
left = MOST_BYTES
for content in contents[::-(-len(contents) // MOST_FILES) or 1]:
    left -= len(content)
    if left < 0:
        break
    (corpus / ("reached-" + hashlib.sha256(content).hexdigest()[:12])).write_bytes(content)
