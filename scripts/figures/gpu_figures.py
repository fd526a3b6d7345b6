#!/usr/bin/env python3
"""Prints what the shipped sweeps of the H200 hold: products and convolutions, the best found beside cuBLAS, what the default costs, and joules.

usage: scripts/figures/gpu_figures.py [SEQTUNE]     the program [default: target/release/seqtune]
"""
import collections
import math
import statistics
import sys

from sweep_rows import exported, geometric

# the first of several is 60 random configs of each problem, then guided ones
SWEEPS = {
    "gemm": ["datasets/gemm/h200.sqt", "datasets/gemm/h200-later.sqt", "datasets/gemm/h200-more.sqt"],
    "gemm, guided": ["datasets/gemm/h200-4096.sqt"],
    "gemm_tc": ["datasets/gemm_tc/h200.sqt", "datasets/gemm_tc/h200-more.sqt"],
    "gemm_tc, a part in whole": ["datasets/gemm_tc/h200-4096.sqt"],
    "gemm_wg": ["datasets/gemm_wg/h200.sqt"],
    "gemm_wg, 300 random": ["datasets/gemm_wg/h200-4096.sqt"],
    "conv2d": ["datasets/conv2d/h200.sqt", "datasets/conv2d/h200-more.sqt"],
}
# metered, and metered again
METERED = "datasets/gemm/h200-energy.sqt", "datasets/gemm/h200-energy-again.sqt"
# what scripts/gpu/gpu_cudnn.py measured; a convolution's other fields have these values
CUDNN = "datasets/conv2d/h200-cudnn.tsv"
PLAIN = {"stride_h": "1", "stride_w": "1", "pad_h": "0", "pad_w": "0", "dilation_h": "1", "dilation_w": "1", "groups": "1", "dtype": "f32"}


def problems(program, *paths):
    """Records of datasets by problem; the first of each is the default config, where the problem's sweep has it."""
    rows = [row for path in paths for row in exported(program, path)]
    fields = list(rows[0])[: list(rows[0]).index("dtype") + 1]
    found = collections.defaultdict(list)
    for row in rows:
        found[tuple(row[field] for field in fields)].append(row)
    return fields, found


def cudnn():
    """Microseconds of cuDNN by problem."""
    with open(CUDNN) as file:
        pairs = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {frozenset({**PLAIN, **dict(part.split("=") for part in text.split(","))}.items()): float(us) for text, us in pairs}


def guided(found, random=60):
    """How much faster the best found is by what was measured after the random configs: geometric mean, and share of the problems that gain."""
    gains = []
    for rows in found.values():
        times = [float(row["median_us"]) for row in rows if row["outcome"] == "measured"]
        if len(rows) > random:
            gains.append(min(times[:random]) / min(times))
    return geometric(gains), sum(gain > 1 for gain in gains) / len(gains), len(gains)


def energy(program):
    """What the fastest config of a product costs beyond the least joules, and how far two meterings of a config differ."""
    fields, found = problems(program, METERED[0])
    costs = [[(float(row["median_us"]), float(row["joules"])) for row in rows if row["joules"]] for rows in found.values()]
    lost = [min(metered)[1] / min(joules for _, joules in metered) - 1 for metered in costs]
    print(f"\nEnergy: {len(costs)} products, {sum(map(len, costs))} configs. The fastest takes {100 * statistics.mean(lost):.1f} % more joules than the least, "
          f"{100 * max(lost):.0f} % at most; in {sum(loss == 0 for loss in lost)} products it takes the least.")  # fmt: skip
    again, apart = problems(program, METERED[1])[1], []
    parameters = [name for name in next(iter(found.values()))[0] if name.isupper() and name not in fields]
    for values, rows in again.items():
        first = {tuple(row[name] for name in parameters): float(row["joules"]) for row in found[values]}
        apart += [abs(float(row["joules"]) / first[tuple(row[name] for name in parameters)] - 1) for row in rows]
    print(f"\n{len(apart)} configs metered twice differ by {100 * statistics.median(apart):.1f} % in the median, {100 * sorted(apart)[int(0.9 * len(apart))]:.1f} % at the 90th "
          f"percentile, {100 * max(apart):.1f} % at most.")  # fmt: skip


def flops(problem):
    return 2 * math.prod(int(problem[size]) for size in "MNK")


def main(program="target/release/seqtune"):
    print("| kernel | data | problems | configs | best found / default | best found / the vendor's library | least | most |")
    print("|---|---|---|---|---|---|---|---|")
    large, convolutions = [], cudnn()
    gains = {}
    for kernel, paths in SWEEPS.items():
        fields, found = problems(program, *paths)
        if kernel in ("gemm", "conv2d"):
            gains[kernel] = guided(problems(program, paths[0])[1])
        groups = collections.defaultdict(list)
        for values, rows in found.items():
            problem = dict(zip(fields, values))
            times = [float(row["median_us"]) for row in rows if row["outcome"] == "measured"]
            library = next((float(row["library_us"]) for row in rows if row["library_us"]), None)
            library = library or convolutions.get(frozenset(problem.items()))
            groups[problem["dtype"]].append((len(rows), min(times), times[0], library))
            if library and "M" in problem and [problem[size] for size in "MNK"] in (["2048"] * 3, ["4096"] * 3):
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
    for kernel, (gain, share, count) in gains.items():
        print(f"\n{kernel}: guided configs made the best found {gain:.2f} times as fast; {100 * share:.0f} % of {count} problems gained.")
    energy(program)


main(*sys.argv[1:])
