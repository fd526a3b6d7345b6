#!/usr/bin/env python3
"""Prints what each kernel of the library has to tune, and what its sweep of an H200 found: docs/results/tables/kernels.md.

usage: scripts/figures/kernel_library.py [SEQTUNE]     the program [default: target/release/seqtune]
"""
import collections
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

from sweep_rows import exported, geometric

# what bounds a kernel at the sizes of its list
KERNELS = {
    "gemm": "arithmetic", "gemm_tc": "tensor cores", "gemm_wg": "tensor cores", "conv2d": "arithmetic", "batched_gemm": "memory or arithmetic",
    "gemv": "memory", "transpose": "memory", "softmax": "memory", "norm": "memory", "reduction": "memory", "scan": "memory or latency",
    "stencil2d": "memory or arithmetic", "stencil3d": "memory", "depthwise": "memory or cache", "spmv": "memory", "attention": "arithmetic",
    "nbody": "arithmetic", "histogram": "local memory",
}  # fmt: skip


def example(name):
    """The problem that the kernel's README shows."""
    return re.search(rf"seqtune space {name} (\S+)", Path(f"kernels/{name}/README.md").read_text()).group(1)


def swept(program, name, defaults):
    """Problems, configs, and how many times as fast the best found is as the default and as the median config; `None` without a sweep."""
    path = Path(f"datasets/{name}/h200.sqt")
    if not path.exists():
        return None
    rows = exported(program, path)
    fields = list(rows[0])[: list(rows[0]).index(next(iter(defaults)))]
    problems = collections.defaultdict(list)
    for row in rows:
        problems[tuple(row[field] for field in fields)].append(row)
    by_default, by_median = [], []
    for members in problems.values():
        times = [float(row["median_us"]) for row in members if row["outcome"] == "measured"]
        default = [float(row["median_us"]) for row in members if all(row[p] == str(value) for p, value in defaults.items())]
        by_default += [us / min(times) for us in default[:1]]
        by_median.append(statistics.median(times) / min(times))
    failed = sum(row["outcome"] != "measured" for row in rows)
    return len(problems), len(rows), failed, geometric(by_default), geometric(by_median)


def main(program="target/release/seqtune"):
    print("| kernel | bound by | parameters | legal configs on an H200 | swept there: problems, configs | failed | best found / default | / median config |")
    print("|---|---|---|---|---|---|---|---|")
    for name, bound in KERNELS.items():
        asked = subprocess.run([program, "space", name, example(name), "--device", "H200", "--json"], check=True, capture_output=True, text=True)
        space = json.loads(asked.stdout)
        defaults = {p["name"]: p["default"] for p in space["parameters"]}
        found = swept(program, name, defaults)
        cells = f"{found[0]}, {found[1]:,} | {found[2]} | {found[3]:.2f} | {found[4]:.2f}" if found else "not yet | | |"
        print(f"| [{name}](../../../kernels/{name}/README.md) | {bound} | {len(defaults)} | {space['legal']:,} | {cells} |")


main(*sys.argv[1:])
