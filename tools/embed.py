# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT NAME=FILE...: a C file with the text of each FILE as `const char NAME[]`."""

import json
import sys

with open(sys.argv[1], "w", encoding="utf-8") as out:
    for name, _, path in (word.partition("=") for word in sys.argv[2:]):
        with open(path, encoding="utf-8") as file:
            lines = "\n".join(json.dumps(line, ensure_ascii=False) for line in file)
        out.write(f"extern const char {name}[];\nconst char {name}[] =\n{lines};\n")
