# SPDX-License-Identifier: Apache-2.0
"""test_facts.py FACTS TABLE CUDASIM LIBDIR CARD: on the simulated card the program FACTS prints what it printed on a
real one, by the table, which names what is different, and why."""
import csv
import subprocess
import sys


def main(program, path, cudasim, libdir, card):
    with open(path, newline="", encoding="utf-8") as file:
        table = {row["fact"]: row for row in csv.DictReader(file)}
    done = subprocess.run([cudasim, libdir, "--gpu", card, "--", program], capture_output=True, text=True, check=False)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stdout}{done.stderr}"
    found = dict(line.split("\t") for line in done.stdout.splitlines())
    faults = [f"{fact}: not in the table" for fact in found.keys() - table.keys()]
    for fact, row in table.items():
        if bool(row["simulated"]) != bool(row["why"]) or row["simulated"] == row["card"]:
            faults.append(f"{fact}: what is different has a reason, and nothing else has")
        if found.get(fact) != (row["simulated"] or row["card"]):
            faults.append(f"{fact}: it is {found.get(fact)}; the table has {row['simulated'] or row['card']}")
    return "\n".join(faults) or 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
