#!/usr/bin/env python3
"""Prints how good the models of the library's kernels are on shapes that they did not see: the tables docs/results/tables/library-*.md.

usage: scripts/figures/library_table.py [SEQTUNE [MODEL [FILE]]]     the program [default: target/release/seqtune]; needs LightGBM (scripts/setup.sh lightgbm)

For each models/KERNEL-cpu and its sweeps datasets/KERNEL/cpu-*.sqt, what `seqtune evaluate model --lightgbm=on` tells. With MODEL, a model of all
these kernels: what it is worth beside each kernel's own model, without LightGBM. With FILE too: what it is worth on the sweeps datasets/KERNEL/FILE.
"""
import json
import random
import statistics
import subprocess
import sys
from pathlib import Path


def kernels():
    """Those with a model for CPUs; gemm has a section of its own."""
    return sorted({m.name.removesuffix("-cpu") for m in Path("models").glob("*-cpu")} - {"gemm"})


def sweeps_of(kernel):
    return sorted(Path("datasets", kernel).glob("cpu-*.sqt"))


def evaluated(program, sweeps, model, *options):
    command = [program, "evaluate", "model", model, *sweeps, *options, "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return report | {"by_method": {row["method"]: row for row in report["rows"]}}


def line(kernel, report):
    rows = report["by_method"]
    first = lambda method: f"{100 * rows[method]['mean']:.1f}" if rows.get(method, {}).get('mean') is not None else "-"
    own, sureness = rows["seqtune, as predict"], report["sureness"]
    cells = [
        kernel, f"{report['train_problems']} / {report['test_problems']}",
        f"**{100 * own['mean']:.1f}**", f"{100 * own['p10']:.1f}", f"{100 * own['best_of_5']:.1f}",
        f"{100 * sureness['calibration_error']:.0f} ({100 * sureness['error_by_chance']:.0f})",
        *map(first, ["LightGBM, regression", "LightGBM, lambdarank", "nearest neighbour", "best on average", "kernel default", "random (expected)"]),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def beside(kernel, own, joint):
    cells = [f"{100 * r['by_method']['seqtune, as predict'][what]:.1f}" for what in ("mean", "p10", "best_of_5") for r in (own, joint)]
    return "| " + " | ".join([kernel, *cells]) + " |"


def calibration(firsts, bins=15):
    """Calibration error of first choices, as `seqtune evaluate` counts it (src/eval/measures/reliability.rs), and by chance alone, in points."""
    def error(firsts):
        sums = [0.0] * bins
        for probability, best in firsts:
            sums[min(int(probability * bins), bins - 1)] += probability - best
        return 100 * sum(map(abs, sums)) / len(firsts)

    drawn = random.Random(1)
    chance = [error([(p, drawn.random() < p) for p, _ in firsts]) for _ in range(400)]
    return f"{len(firsts)} held-out shapes together {error(firsts):.1f} ({statistics.mean(chance):.1f})"


def table(headings):
    print("| " + " | ".join(headings) + " |\n|" + "---|" * len(headings))


def of_file(program, model, file):
    """Each kernel that the model and the file's sweeps have."""
    known = json.loads(subprocess.run([program, "check", model, "--json"], check=True, stdout=subprocess.PIPE).stdout)["kernels"]
    means = []
    table(HEADINGS)
    for kernel in sorted(known):
        try:
            report = evaluated(program, [Path("datasets", kernel, file)], model)
        except subprocess.CalledProcessError as e:
            if "falls into the test part" in e.stderr:
                continue  # none of its few problems was held out
            sys.exit(e.stderr)
        print(line(kernel, report), flush=True)
        own = report["by_method"]["seqtune, as predict"]
        means.append((report["test_problems"], 100 * own["mean"], 100 * own["best_of_5"]))
    problems = sum(count for count, *_ in means)
    first, five = (sum(m[0] * m[i] for m in means) / max(1, problems) for i in (1, 2))
    print(f"\nMean of all {problems} held-out problems: first choice {first:.1f}, best of five {five:.1f}.")


HEADINGS = [
    "kernel", "shapes learned / held out", "first choice", "10th percentile", "best of 5", "calibration error (by chance)",
    "LightGBM, regression", "lambdarank", "neighbour", "best on average", "default", "random",
]  # fmt: skip


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "target/release/seqtune"
    joint = sys.argv[2] if len(sys.argv) > 2 else None
    if len(sys.argv) > 3:
        return of_file(program, joint, sys.argv[3])
    if joint:
        table(["kernel", *(f"{what}, {whose}" for what in ("first choice", "10th percentile", "best of 5") for whose in ("own model", "one of all"))])
    else:
        table(HEADINGS)
    means, firsts, met = [], [], []
    for kernel in kernels():
        own = evaluated(program, sweeps_of(kernel), f"models/{kernel}-cpu", *([] if joint else ["--lightgbm=on"]))
        reports = [own] + ([evaluated(program, sweeps_of(kernel), joint)] if joint else [])
        print(beside(kernel, *reports) if joint else line(kernel, own), flush=True)
        means.append([100 * r["by_method"]["seqtune, as predict"]["mean"] for r in reports])
        firsts.append([(first["probability"], first["best"]) for first in reports[-1]["firsts"]])
        best = reports[-1]["by_method"]["seqtune, as predict"]
        met += [firsts[-1]] if best["mean"] >= 0.95 and best["p10"] >= 0.85 and best["best_of_5"] >= 0.99 else []
    print("\nCalibration error in points (by chance alone): " + calibration(sum(firsts, [])), end="")
    print(f"; of the {len(met)} kernels with 95, 85 and 99 %, {calibration(sum(met, []))}." if met else ".")
    print("\nFirst choices, mean of the kernels: " + ", ".join(f"{sum(column) / len(column):.1f}" for column in zip(*means)) + ".")


if __name__ == "__main__":
    main()
