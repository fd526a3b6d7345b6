#!/usr/bin/env python3
"""Prints the part of a journal whose problems a list names, of each all configs or so many at random (the same each time).

usage: scripts/gpu/part.py JOURNAL.jsonl PROBLEMS.txt [CONFIGS]
"""
import json
import random
import sys

TRANSPOSED = {"transA=T", "transB=T"}

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__.strip())
with open(sys.argv[2]) as file:
    wanted = [set(line.strip().split(",")) for line in file if line.strip() and not line.startswith("#")]
found = {}
with open(sys.argv[1]) as file:
    print(next(file), end="")
    for line in file:
        problem = json.loads(line)["problem"]
        values = set(problem.split(","))
        # a list leaves out what has its usual value
        if any(named <= values and values & TRANSPOSED <= named for named in wanted):
            found.setdefault(problem, []).append(line)
if not found:
    sys.exit(f"part.py: {sys.argv[1]} has none of the problems of {sys.argv[2]}")
for problem, lines in found.items():
    most = int(sys.argv[3]) if len(sys.argv) == 4 else len(lines)
    sys.stdout.writelines(random.Random(problem).sample(lines, min(most, len(lines))))
