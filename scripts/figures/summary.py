#!/usr/bin/env python3
"""Writes README's two tables from those that scripts/figures/folds.sh and scripts/figures/miopen_figures.sh write.

usage: scripts/figures/summary.py
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

FOLDS, MIOPEN = "docs/results/tables/folds.md", "docs/results/tables/miopen-mi50.md"


def share(value):
    return f"{value:.1f}"


HEAD = "| {} | seqtune | LightGBM | seqtune less LightGBM | nearest neighbour |\n|---|---|---|---|---|"

speed = [HEAD.format("speed lost by the first choice, % (less is better)")]
header, _, *folds = [cells(line) for line in section("folds.sh", FOLDS) if line.startswith("|")]
rows = {row[0]: row[1:] for row in folds}
first = lambda method, column: rows[method][column].split(" / ")[0]
for column, name in enumerate(header[1:]):
    kernel, problems = name.split(", ")
    # the better of both, by the mean; the difference is paired, problem by problem
    trees = min(TREES, key=lambda method: float(first(method, column).split(" ±")[0]))
    values = [first(method, column) for method in ["**seqtune, as `predict`**", trees, f"`predict` less {trees}"]]
    values.append(first("nearest neighbour", column))
    speed.append(f"| {NAMES[kernel]}, {problems} | " + " | ".join(values) + " |")

exact = [HEAD.format("first choice is the tuned config, % (more is better)")]
lines = section("miopen_figures.sh MI50", MIOPEN)
header, _, *solvers = [cells(line) for line in lines if line.startswith("|")]
column = {name: header.index(name) for name in ["test", "neighbour", "trees", "seqtune"]}
top = lambda row, method: float(row[column[method]].split(" / ")[0])
stated = re.search(r"Mean over (\d+) solvers: top-1 seqtune ([\d.]+), trees ([\d.]+);", "\n".join(lines))
mean = {method: sum(top(row, method) for row in solvers) / len(solvers) for method in ["neighbour", "trees", "seqtune"]}
# shares of the table, and so their mean, are rounded by 0.05 at most; what is stated is rounded again
if max(abs(mean["seqtune"] - float(stated[2])), abs(mean["trees"] - float(stated[3]))) > 0.1:
    sys.exit(f"{MIOPEN}: the means {mean} are not those stated: {stated[0]}")
everything = re.search(r"All (\d+) problems alike, seqtune less trees: top-1 ([^,]+),", "\n".join(lines))
total = sum(int(row[column["test"]]) for row in solvers)
if total != int(everything[1]):
    sys.exit(f"{MIOPEN}: the solvers have {total} problems, not {everything[1]}")
alike = [share(sum(int(row[column["test"]]) * top(row, method) for row in solvers) / total) for method in ["seqtune", "trees", "neighbour"]]
exact.append(f"| MIOpen, MI50, {total} problems | {alike[0]} | {alike[1]} | {everything[2]} | {alike[2]} |")
difference = f"{float(stated[2]) - float(stated[3]):+.1f}"
exact.append(f"| MIOpen, MI50, mean of {stated[1]} solvers | {stated[2]} | {stated[3]} | {difference} | {share(mean['neighbour'])} |")

tables = "\n".join([*speed, "", *exact])
put("summary.py", tables, "README.md")
print(tables)
