#!/usr/bin/env python3
"""Prints the main columns of an evaluation of MIOpen's solvers, and what follows its tables by solver.

usage: scripts/miopen_table.py EVALUATION.md
"""
import sys

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


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


with open(sys.argv[1]) as file:
    lines = file.read().splitlines()
by_solver, order, beside, ktn = {}, [], [], []
header = None
for line in lines:
    if not line.startswith("|"):
        header = None
    elif header is None:
        header = cells(line)
        part = beside if "beside" in header else ktn if "KernelTuningNet" in header else None
        if part is not None:
            part.append(line)
    elif part is not None:
        part.append(line)
    elif not line.startswith("|--"):
        solver, *values = cells(line)
        if solver not in by_solver:
            order.append(solver)
        for name, value in zip(header[1:], values):
            by_solver.setdefault(solver, {}).setdefault(name, value)

shown = [name for name in COLUMNS if any(name in row for row in by_solver.values())]
print("| solver | " + " | ".join(COLUMNS[name] for name in shown) + " |")
print("|---" * (len(shown) + 1) + "|")
for solver in order:
    print(f"| {solver} | " + " | ".join(by_solver[solver].get(name, "-") for name in shown) + " |")
print()
print(*(line for line in lines if line.startswith(("Mean over", "All ", "First choices"))), sep="\n")
for part, title in ((beside, "Beside the networks that they were distilled from:"), (ktn, "Beside KernelTuningNet, on the problems of the data types that it serves:")):
    if part:
        print("", title, "", *part, sep="\n")
