#!/usr/bin/env python3
"""Seconds that a sweep takes, beside Kernel Tuner's for the same configs on the same OpenCL device: docs/results/tables/kernel-tuner-speed.md.

usage: kernel_tuner_speed.py FOLDER SEQTUNE RUNS        (scripts/integrations/kernel_tuner.sh speed runs it, on a quiet machine)

Both begin with nothing compiled and verify each config. Kernel Tuner's seconds are those within tune_kernel, seqtune's those of the whole program.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

folder, program, runs = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
CONFIGS = 40
# one size, and twelve of which each program serves all
CASES = {
    "gemm, 512^3": ("gemm", ["M=512,N=512,K=512"]),
    "gemm, 12 sizes": ("gemm", [f"M={m},N={n},K={k}" for m in (96, 320, 768) for n in (64, 300) for k in (128, 500)]),
    "conv2d, 32 x 28 x 28 by 64 of 3 x 3": ("conv2d", ["N=1,C=32,H=28,W=28,K=64,R=3,S=3"]),
}  # fmt: skip


def swept(case, run):
    """Seconds of seqtune's sweep, and its records by problem: config and median time."""
    kernel, problems = CASES[case]
    journal = folder / f"{kernel}-{len(problems)}-{run}.jsonl"
    words = [program, "sweep", kernel, "--device", "opencl:0", "--sample", CONFIGS, "--pool", CONFIGS, "--private-share", 0, "-o", journal, "--problems", *problems]
    began = time.monotonic()
    environment = {**os.environ, "SEQTUNE_CACHE": str(folder / f"seqtune-{kernel}-{len(problems)}-{run}")}
    subprocess.run(list(map(str, words)), check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    found = {}
    for line in journal.read_text().splitlines()[1:]:
        record = json.loads(line)
        times = record["outcome"]["Measured"]["samples_us"] if "Measured" in record["outcome"] else [float("inf")]
        found.setdefault(record["problem"], {})[record["config"]] = statistics.median(times)
    return seconds, found


def values(text):
    return dict(pair.split("=") for pair in text.split(","))


def tune(kernel, configs, problems):
    """In a process of its own: Kernel Tuner measures the configs of each problem; prints its seconds and the best of each problem."""
    import numpy
    from kernel_tuner import tune_kernel

    names = {"gemm": ["NDIM", "MDIM"], "conv2d": ["PX", "KX"]}[kernel]
    configs = [{name: int(value) for name, value in values(text).items()} for text in configs]
    # a parameter that stands for all, so that the space is these configs; work-groups are told by parameters of their own
    choose = "".join(f"#{'el' if at else ''}if CONFIG == {at}\n" + "".join(f"#define {n} {v}\n" for n, v in c.items() if n not in names) for at, c in enumerate(configs))
    source = choose + "#endif\n" + pathlib.Path(f"kernels/{kernel}/{kernel}.cl").read_text()
    tune_params = {"CONFIG": list(range(len(configs)))} | {n: sorted({c[n] for c in configs}) for n in names}

    # no lambda: Kernel Tuner would read its source
    def restrict(p):
        return all(int(p[n]) == configs[int(p["CONFIG"])][n] for n in names)

    seconds, best = 0.0, []
    for text in problems:
        p = values(text)
        arguments, answer, options, groups = {"gemm": gemm, "conv2d": conv2d}[kernel](p, numpy)
        began = time.monotonic()
        results, _ = tune_kernel(
            kernel, source, lambda t: (groups(configs[int(t["CONFIG"])]), 1), arguments, tune_params, grid_div_x=[], grid_div_y=[],
            block_size_names=list(names), restrictions=restrict, answer=answer, atol=1e-2, lang="OpenCL", compiler_options=options, quiet=True,
        )
        seconds += time.monotonic() - began
        assert len(results) == len(configs), f"{len(results)} of {len(configs)}"
        done = [r for r in results if isinstance(r["time"], float)]
        best.append(int(min(done, key=lambda r: r["time"])["CONFIG"]))
    print(json.dumps([seconds, best]))


def gemm(p, numpy):
    m, n, k = (int(p[name]) for name in "MNK")
    a, b = (numpy.random.rand(*shape).astype(numpy.float32) for shape in ((m, k), (k, n)))
    arguments = [numpy.int32(m), numpy.int32(n), numpy.int32(k), numpy.float32(1), numpy.float32(0), a, b, numpy.zeros((m, n), numpy.float32)]
    return arguments, [None] * 7 + [a @ b], ["-DtransA_N=1", "-DtransB_N=1", "-Ddtype_f32=1"], lambda c: -(-m // c["MWG"]) * -(-n // c["NWG"])


def conv2d(p, numpy):
    n, c, h, w, k, r, s = (int(p[name]) for name in "NCHWKRS")
    oh, ow = h - r + 1, w - s + 1
    x, weights = numpy.random.rand(n, c, h, w).astype(numpy.float32), numpy.random.rand(k, c, r, s).astype(numpy.float32)
    windows = numpy.lib.stride_tricks.sliding_window_view(x, (r, s), axis=(2, 3))
    y = numpy.einsum("nchwrs,kcrs->nkhw", windows, weights, optimize=True).astype(numpy.float32)
    numbers = [c, h, w, k, r, s, oh, ow, 1, 1, 0, 0, 1, 1, 1]
    arguments = [*map(numpy.int32, numbers), x.ravel(), weights.ravel(), numpy.zeros(y.size, numpy.float32)]
    groups = lambda t: n * -(-oh * ow // (t["PX"] * t["PPT"])) * -(-k // (t["KX"] * t["KPT"]))
    return arguments, [None] * 17 + [y.ravel()], ["-Ddtype_f32=1"], groups


def main():
    print(f"| {CONFIGS} configs of each size | Kernel Tuner, s | seqtune, s | times as fast | time of our best / of Kernel Tuner's best, both by our times |\n|---|---|---|---|---|")
    for case, (kernel, problems) in CASES.items():
        ours, theirs, found = [], [], []
        for run in range(runs):
            seconds, records = swept(case, run)
            ours.append(seconds)
            # Kernel Tuner gets the configs of the first size for all of them
            configs = list(next(iter(records.values())))
            command = [sys.executable, "-W", "ignore", __file__, str(folder), program, "0", kernel, json.dumps(configs), json.dumps(problems)]
            cache = folder / f"kernel-tuner-{kernel}-{len(problems)}-{run}"
            cache.mkdir()
            environment = {**os.environ, "POCL_CACHE_DIR": str(cache)}
            seconds, best = json.loads(subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
            theirs.append(seconds)
            for measured, at in zip(records.values(), best):
                if configs[at] in measured:
                    found.append(min(measured.values()) / measured[configs[at]])
            print(f"{case}: Kernel Tuner {theirs[-1]:.1f} s, seqtune {ours[-1]:.1f} s", file=sys.stderr)
        shown = [f"{statistics.median(s):.1f} ({min(s):.1f} to {max(s):.1f})" for s in (theirs, ours)]
        print(f"| {case} | {shown[0]} | {shown[1]} | {statistics.median(theirs) / statistics.median(ours):.1f} | {statistics.mean(found):.3f} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 4:
        tune(sys.argv[4], json.loads(sys.argv[5]), json.loads(sys.argv[6]))
    else:
        main()
