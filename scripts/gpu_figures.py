#!/usr/bin/env python3
"""Prints what the shipped sweeps of the H200 hold: products and convolutions, the best found beside cuBLAS, and what the default costs.

usage: scripts/gpu_figures.py [SEQTUNE]     the program [default: target/release/seqtune]
"""
import collections
import csv
import math
import subprocess
import sys
import tempfile

SWEEPS = {
    "gemm": "datasets/gemm/h200.sqt",
    "gemm, guided": "datasets/gemm/h200-4096.sqt",
    "gemm_tc": "datasets/gemm_tc/h200.sqt",
    "conv2d": "datasets/conv2d/h200.sqt",
}


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def problems(program, path):
    """Records of a dataset by problem; the first of each is the default config."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "export", "csv", path, "-o", f"{folder}/sweep.csv"], check=True, stdout=subprocess.DEVNULL)
        with open(f"{folder}/sweep.csv") as file:
            rows = list(csv.DictReader(file))
    fields = list(rows[0])[: list(rows[0]).index("dtype") + 1]
    found = collections.defaultdict(list)
    for row in rows:
        found[tuple(row[field] for field in fields)].append(row)
    return fields, found


def flops(problem):
    return 2 * math.prod(int(problem[size]) for size in "MNK")


def main(program="target/release/seqtune"):
    print("| kernel | data | problems | configs | best found / default | best found / cuBLAS | least | most |")
    print("|---|---|---|---|---|---|---|---|")
    large = []
    for kernel, path in SWEEPS.items():
        fields, found = problems(program, path)
        groups = collections.defaultdict(list)
        for values, rows in found.items():
            problem = dict(zip(fields, values))
            times = [float(row["median_us"]) for row in rows if row["outcome"] == "measured"]
            library = next((float(row["library_us"]) for row in rows if row["library_us"]), None)
            groups[problem["dtype"]].append((len(rows), min(times), times[0], library))
            if library and [problem[size] for size in "MNK"] in (["2048"] * 3, ["4096"] * 3):
                rates = [flops(problem) / us / 1e6 for us in (min(times), library)]
                large.append((kernel, problem["dtype"], problem["M"], *rates, library / min(times)))
        for dtype, members in groups.items():
            beside = [library / best for _, best, _, library in members if library]
            gained = geometric([default / best for _, best, default, _ in members])
            shares = [f"{geometric(beside):.2f}", f"{min(beside):.2f}", f"{max(beside):.2f}"] if beside else ["", "", ""]
            configs = sum(count for count, *_ in members)
            print(f"| {kernel} | {dtype} | {len(members)} | {configs:,} | {gained:.2f} | " + " | ".join(shares) + " |")
    print("\n| kernel | data | M = N = K | best found, TFLOP/s | cuBLAS, TFLOP/s | share |\n|---|---|---|---|---|---|")
    for kernel, dtype, size, own, theirs, share in sorted(large):
        print(f"| {kernel} | {dtype} | {size} | {own:.1f} | {theirs:.1f} | {100 * share:.0f} % |")


main(*sys.argv[1:])
