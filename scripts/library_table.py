#!/usr/bin/env python3
"""Prints how good the models of the library's kernels are on shapes that they did not see: a table of docs/results.md.

usage: scripts/library_table.py [SEQTUNE]     the program [default: target/release/seqtune]; needs LightGBM (scripts/setup.sh lightgbm)

For each models/KERNEL-cpu and its sweep datasets/KERNEL/cpu-epyc-2c.sqt, what `seqtune evaluate --light-gbm` tells.
"""
import json
import subprocess
import sys
from pathlib import Path


def evaluated(program, kernel, model):
    command = [program, "evaluate", model, f"datasets/{kernel}/cpu-epyc-2c.sqt", "--light-gbm", "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def line(kernel, report):
    rows = {row["method"]: row for row in report["rows"]}
    first = lambda method: f"{100 * rows[method]['mean']:.1f}" if method in rows else "-"
    own, sureness = rows["seqtune, as predict"], report["sureness"]
    cells = [
        kernel, f"{report['train_problems']} / {report['test_problems']}",
        f"**{100 * own['mean']:.1f}**", f"{100 * own['p10']:.1f}", f"{100 * own['best_of_5']:.1f}",
        f"{100 * sureness['calibration_error']:.0f} ({100 * sureness['error_by_chance']:.0f})",
        *map(first, ["LightGBM, regression", "LightGBM, lambdarank", "nearest neighbour", "best on average", "kernel default", "random (expected)"]),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "target/release/seqtune"
    headings = ["kernel", "shapes learned / held out", "first choice", "10th percentile", "best of 5", "calibration error (by chance)",
                "LightGBM, regression", "lambdarank", "neighbour", "best on average", "default", "random"]  # fmt: skip
    print("| " + " | ".join(headings) + " |\n|" + "---|" * len(headings))
    for model in sorted(Path("models").glob("*-cpu")):
        kernel = model.name.removesuffix("-cpu")
        # gemm has a section of its own
        if kernel != "gemm":
            print(line(kernel, evaluated(program, kernel, str(model))), flush=True)


main()
