#!/usr/bin/env python3
"""Judges the kernel `clocks` on programs left out one at a time: docs/results/tables/clocks.md. Some minutes.

usage: scripts/figures/clocks.py TABLE [SEQTUNE] [PROGRAM...]    TABLE: CSV as docs/results/clocks.md says; programs: those of benchmark suites

For each program a model learns all others. It answers by the instruction mix alone, with two pairs of clocks measured, and with its own first
choices measured. Printed: by how much the chosen pair costs more than the best, over programs, and how far predictions are off.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# of benchmark suites; the others of the table are micro-benchmarks
REAL = [
    "2dconvolution", "2mm", "atax", "backprop", "blackscholes", "correlation", "covariance", "fft", "gemm", "gesummv", "gramschmidt", "mri-gridding",
    "reduction", "s3d", "s3d_double", "sort", "stencil2d",
]  # fmt: skip
PAIRS = ["MEMORY=3505,CORE=1164", "MEMORY=810,CORE=1164"]
WAYS = {"by the mix alone": ["0"], "two pairs measured": PAIRS, "three first choices measured": ["3"]}


# programs are judged side by side, each on a core
ONE = {**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=ONE)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def judged(program, table, name, folder):
    """Rows of `evaluate measured` of a program that was left out, by objective and way."""
    run(program, "import", "clocks", table, "-o", folder / "a.sqt", "--without", name)
    run(program, "import", "clocks", table, "-o", folder / "t.sqt", "--only", name)
    run(program, "train", folder / "a.sqt", "-o", folder / "model", "--epochs", 4, "--members", 1, "--test", 0)
    ask = ["evaluate", "measured", folder / "model", folder / "t.sqt", "--all-problems", "--json", "--objective"]
    return {(o, w): json.loads(run(program, *ask, o, "--measured", *given))[-1] for o in ("energy", "edp", "time") for w, given in WAYS.items()}


def one(program, table, name):
    with tempfile.TemporaryDirectory() as folder:
        rows = judged(program, table, name, Path(folder))
    print(f"{name}: energy {100 * rows['energy', 'two pairs measured']['excess']:.2f} % above the least with two pairs", file=sys.stderr)
    return rows


def main(table, program="target/release/seqtune", *programs):
    found = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for rows in pool.map(lambda name: one(program, table, name), programs or REAL):
            for key, row in rows.items():
                found.setdefault(key, []).append(row)
    print("| objective | known of the program | above the best, mean % | median % | not marked unsure, % | these above, mean % | hypervolume of the front, mean % | prediction off by, median % |")
    print("|---|---|---|---|---|---|---|---|")
    for (objective, way), rows in found.items():
        excess = [100 * row["excess"] for row in rows]
        sure = [100 * row["excess"] for row in rows if row["sure"] > 0]
        fronts = [100 * row["front"] for row in rows]
        errors = [100 * row["error"] for row in rows if row["error"] is not None]
        shown = [f"{statistics.mean(excess):.2f}", f"{statistics.median(excess):.2f}", f"{100 * len(sure) / len(rows):.0f}"]
        shown += [f"{statistics.mean(sure):.2f}" if sure else "-", f"{statistics.mean(fronts):.1f}", f"{statistics.median(errors):.1f}" if errors else "-"]
        print(f"| {objective} | {way} | " + " | ".join(shown) + " |")


if not Path(*sys.argv[1:2]).is_file():
    print(f"clocks: {sys.argv[1] if sys.argv[1:] else 'no file'} is no table; usage: scripts/figures/clocks.py TABLE [SEQTUNE] [PROGRAM...]", file=sys.stderr)
    sys.exit(2)
main(*sys.argv[1:])
