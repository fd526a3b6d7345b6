#!/usr/bin/env python3
"""Writes README's table of six rows from the tables in docs/results.md that scripts/folds.sh and scripts/miopen_figures.sh write.

usage: scripts/summary.py
"""
import re
import sys

from put_figures import cells, put, section

NAMES = {
    "triton_mm": "Triton mm, A100",
    "triton_flex_attention": "Triton flex_attention, A100",
    "triton_mixed_mm": "Triton mixed_mm, A100",
    "gemm": "gemm, CPU",
}
TREES = ["LightGBM, regression", "LightGBM, lambdarank"]

RESULTS = "docs/results.md"


def share(value):
    return f"{value:.1f}"


table = ["| | seqtune | LightGBM | difference | nearest neighbour |", "|---|---|---|---|---|"]
header, _, *folds = [cells(line) for line in section("folds.sh", RESULTS) if line.startswith("|")]
rows = {row[0]: row[1:] for row in folds}
first = lambda method, column: rows[method][column].split(" / ")[0]
for column, name in enumerate(header[1:]):
    kernel, problems = name.split(", ")
    # the better of both, by the mean; the difference is paired, problem by problem
    trees = min(TREES, key=lambda method: float(first(method, column).split(" ±")[0]))
    values = [first(method, column) for method in ["**seqtune, as `predict`**", trees, f"`predict` less {trees}"]]
    values.append(first("nearest neighbour", column))
    table.append(f"| {NAMES[kernel]}, {problems}: regret | " + " | ".join(values) + " |")

lines = section("miopen_figures.sh MI50", RESULTS)
header, _, *solvers = [cells(line) for line in lines if line.startswith("|")]
column = {name: header.index(name) for name in ["test", "neighbour", "trees", "seqtune"]}
top = lambda row, method: float(row[column[method]].split(" / ")[0])
stated = re.search(r"Mean over (\d+) solvers: top-1 seqtune ([\d.]+), trees ([\d.]+);", "\n".join(lines))
mean = {method: sum(top(row, method) for row in solvers) / len(solvers) for method in ["neighbour", "trees", "seqtune"]}
# shares of the table, and so their mean, are rounded by 0.05 at most; what is stated is rounded again
if max(abs(mean["seqtune"] - float(stated[2])), abs(mean["trees"] - float(stated[3]))) > 0.1:
    sys.exit(f"docs/results.md: the means {mean} are not those stated: {stated[0]}")
difference = f"{float(stated[2]) - float(stated[3]):+.1f}"
table.append(f"| MIOpen, mean of {stated[1]} solvers: exact | {stated[2]} | {stated[3]} | {difference} | {share(mean['neighbour'])} |")
everything = re.search(r"All (\d+) problems alike, seqtune less trees: top-1 ([^,]+),", "\n".join(lines))
total = sum(int(row[column["test"]]) for row in solvers)
if total != int(everything[1]):
    sys.exit(f"docs/results.md: the solvers have {total} problems, not {everything[1]}")
alike = [share(sum(int(row[column["test"]]) * top(row, method) for row in solvers) / total) for method in ["seqtune", "trees", "neighbour"]]
table.append(f"| MIOpen, {total} problems: exact | {alike[0]} | {alike[1]} | {everything[2]} | {alike[2]} |")

table = "\n".join(table)
put("summary.py", table, "README.md")
print(table)
