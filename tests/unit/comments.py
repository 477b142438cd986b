# SPDX-License-Identifier: Apache-2.0
"""comments.py [ROOT]: a comment above a function begins with an imperative verb: it says what the function does, then why.
tools/lint calls it."""

import pathlib
import re
import sys

import layers

VERBS = """
    abort accept act add align allocate allow analyze answer append apply arrange ask attach become begin bind block
    break bring call catch change check choose classify clear close collect combine commit compare complete
    compress compute conclude confirm connect consider convert copy count create cut decide decode define
    describe destroy discard divide do double draw drop earn edit empty enable encode end ensure enter evaluate
    examine exchange expect expire explain export fail feed fill find finish fit flush fold follow forget
    forward free gather get give go group guard halve hand handle hash hear hint hold ignore import inline
    install intern join judge keep kill launch lay learn leave let limit list load locate lock look make map
    mark match measure memoize merge model move multiply name note number offload open order pack pad pair parse
    pass place predict prefetch prepare print prove push put rank reach read receive recognize recompute record
    refuse register rehash release remember remove rename repeat replace replay report reserve reset resolve
    restore retire return round run sample save say scatter search send serve set settle shard share shorten
    show shrink sign skip sleep sort stand start stop sum suppose switch symbolize take tell translate try turn
    undo unload unmap update use visit wait wake walk watch weigh widen write
""".split()

COMMENT = re.compile(r"^/\*((?:[^*]|\*(?!/))*)\*/[ \t]*\n", re.M)
ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*")
FUNCTION = re.compile(r"(?!typedef\b)[A-Za-z_][\w \t*]*?[ *](\w+)\([^;{}]*\)[^;{}()]*(?:;|\{)")

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2])
faults, seen = [], 0
for folder in layers.MAY_INCLUDE:
    for source in layers.sources(root / folder):
        text = ATTRIBUTE.sub("", source.read_text())
        for comment in COMMENT.finditer(text):
            function = FUNCTION.match(text, comment.end())
            if not function or comment[1].startswith(" ---") or "SPDX" in comment[1]:
                continue
            seen += 1
            word = re.match(r"\W*([\w'-]*)", comment[1].replace("\n *", " "))[1]
            if word.lower() not in VERBS or not comment[1].lstrip("* \n").startswith(word):
                line = text.count("\n", 0, comment.start()) + 1
                faults.append(f"{source.relative_to(root).as_posix()}:{line}: {function[1]}: \"{word}\" ...")

print(*faults, sep="\n", end="\n" if faults else "")
if faults:
    print("begin a function's comment with what it does: Return, Find, Write ...; another verb is added to VERBS in", __file__)
sys.exit(bool(faults) or seen < 3000)
