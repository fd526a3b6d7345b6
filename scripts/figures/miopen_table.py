#!/usr/bin/env python3
"""Prints the main columns of an evaluation of MIOpen's solvers, and what follows its tables by solver.

usage: scripts/figures/miopen_table.py [--said FILE] EVALUATION.md...    of one, or of FILE, what is said of all solvers together follows
"""
import sys

from put_figures import cells

#: column of the evaluation's tables, and its name here
COLUMNS = {
    "test": "test",
    "shapes": "shapes",
    "majority": "majority",
    "neighbour": "neighbour",
    "extremely randomised trees, whole configs": "random trees",
    "LightGBM, whole configs": "LightGBM, whole",
    "trees": "trees",
    "seqtune": "seqtune",
    "trees nats": "trees nats",
    "seqtune nats": "seqtune nats",
    "illegal": "illegal",
    "twins by batch": "twins",
}


lines, by_solver, beside, ktn = [], {}, [], []
paths, said = sys.argv[1:], None
if paths[0] == "--said":
    _, said, *paths = paths
for path in paths:
    header = None
    with open(path) as file:
        text = file.read().splitlines()
    lines += text
    for line in text:
        if not line.startswith("|"):
            header = None
        elif header is None:
            header = cells(line)
            part = beside if "beside" in header else ktn if "KernelTuningNet" in header else None
            if part is not None and not part:
                part.append(line)
        elif part is not None:
            if not line.startswith("|--") or len(part) == 1:
                part.append(line)
        elif not line.startswith("|--"):
            solver, *values = cells(line)
            for name, value in zip(header[1:], values):
                by_solver.setdefault(solver, {}).setdefault(name, value)
order = sorted(by_solver, key=lambda solver: (-int(by_solver[solver]["test"]), solver))

shown = [name for name in COLUMNS if any(name in row for row in by_solver.values())]
print("| solver | " + " | ".join(COLUMNS[name] for name in shown) + " |")
print("|---" * (len(shown) + 1) + "|")
for solver in order:
    print(f"| {solver} | " + " | ".join(by_solver[solver].get(name, "-") for name in shown) + " |")
told = ("Mean over", "All ", "First choices", "Sets ", "Of ")
if said:
    # without trees beside it there is nothing to compare with
    told = ("First choices", "Sets ", "Of ")
    with open(said) as file:
        lines = file.read().splitlines()
if said or len(paths) == 1:
    print("", *(line for line in lines if line.startswith(told)), sep="\n")
for part, title in ((beside, "Beside the networks that they were distilled from:"), (ktn, "Beside KernelTuningNet, which may have learned from these problems, on those of the data types that it serves (FP32, FP16):")):
    if part:
        print("", title, "", *part, sep="\n")
