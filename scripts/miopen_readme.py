#!/usr/bin/env python3
"""Puts the main columns of an evaluation of MIOpen's solvers into README.md, between the markers.

usage: scripts/miopen_readme.py EVALUATION.md README.md
"""
import re
import sys

evaluation, readme = (open(path).read() for path in sys.argv[1:3])
lines = evaluation.splitlines()
table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
first = next(i for i, row in enumerate(table) if row[0] == "solver")
last = next((i for i, row in enumerate(table) if i > first and row[0] == "solver"), len(table))
wanted = ["solver", "test", "neighbour", "trees", "trees nats", "seqtune", "seqtune nats"]
columns = [table[first].index(name) for name in wanted]
rows = ["| " + " | ".join(row[c] for c in columns) + " |" for row in table[first:last]]
text = "\n".join(rows) + "\n\n" + "\n".join(line for line in lines if line.startswith(("Mean over", "Teacher-forced")))
marked = re.compile(r"(<!-- figures: scripts/miopen.sh -->\n).*?(\n<!-- end of figures -->)", re.S)
new, found = marked.subn(lambda m: m.group(1) + text + m.group(2), readme)
assert found == 1, f"{sys.argv[2]} has no section for these figures"
open(sys.argv[2], "w").write(new)
