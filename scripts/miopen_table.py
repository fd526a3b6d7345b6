#!/usr/bin/env python3
"""Prints the main columns of an evaluation of MIOpen's solvers.

usage: scripts/miopen_table.py EVALUATION.md
"""
import sys

with open(sys.argv[1]) as file:
    lines = file.read().splitlines()
table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
first = next(i for i, row in enumerate(table) if row[0] == "solver")
last = next((i for i, row in enumerate(table) if i > first and row[0] == "solver"), len(table))
wanted = ["solver", "test", "neighbour", "trees", "trees nats", "seqtune", "seqtune nats"]
columns = [table[first].index(name) for name in wanted]
for row in table[first:last]:
    print("| " + " | ".join(row[c] for c in columns) + " |")
print()
print(*(line for line in lines if line.startswith(("Mean over", "All ", "First choices", "Teacher-forced"))), sep="\n")
