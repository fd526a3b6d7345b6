#!/usr/bin/env python3
"""Kernel Tuner on a live OpenCL device, with predictions: gemm by its shipped model, and a kernel without a kernel.toml by a model of its caches.

usage: kernel_tuner_live.py FOLDER SEQTUNE        (scripts/integrations/kernel_tuner.sh runs it)
"""
import pathlib
import subprocess
import sys

import numpy
from kernel_tuner import tune_kernel

import seqtune
from seqtune.kernel_tuner import Strategy, describe

work, program = pathlib.Path(sys.argv[1]), sys.argv[2]


def shown(results, objective="time"):
    for at, result in enumerate(results, 1):
        names = [name for name in result if name.isupper() or name in SMOOTH]
        time = "fails" if "__error__" in result else f"{1e3 * result[objective]:9.1f} us"
        print(f"  {at:2} {time}  " + ",".join(f"{name}={result[name]}" for name in names))


# A kernel that has a kernel.toml and a model: the shipped ones.
def gemm(m, n, k):
    print(f"gemm {m} x {n} x {k}: 5 predicted configs first, then a genetic algorithm")
    kernel = seqtune.Kernel("gemm")
    model = seqtune.shipped("gemm-cpu")
    problem = {"M": m, "N": n, "K": k}
    # a part of the space: Kernel Tuner lists all of what it searches
    tune_params = {name: [value] for name, value in kernel.default.items()}
    tune_params.update(MWG=[16, 32, 64, 128], NWG=[64, 128], MDIM=[2, 8, 32], NDIM=[2, 4], VWN=[8, 16], STRM=[0, 1])
    tune_params.update(KWG=[8, 16, 32], KWI=[1, 2, 8], SA=[0, 1], SB=[0, 1], VWA=[1, 8], VWB=[1, 8], GROUP=[1, 4])
    space = seqtune.Space(kernel, problem, model.devices[0])

    def legal(p):
        return space.is_legal({name: int(p[name]) for name in kernel.parameters})

    a, b = (numpy.random.rand(*shape).astype(numpy.float32) for shape in ((m, k), (k, n)))
    arguments = [numpy.int32(m), numpy.int32(n), numpy.int32(k), numpy.float32(1), numpy.float32(0)]
    arguments += [a, b, numpy.zeros((m, n), numpy.float32)]
    tiles = lambda p: (-(-m // p["MWG"]) * -(-n // p["NWG"]), 1)
    strategy = Strategy(model, kernel, device="epyc", problem=problem, top=5, then="genetic_algorithm")
    results, environment = tune_kernel(
        "gemm", kernel.files["gemm.cl"], tiles, arguments, tune_params, grid_div_x=[], grid_div_y=[],
        block_size_names=["NDIM", "MDIM"], restrictions=legal, answer=[None] * 7 + [a @ b], atol=1e-2, lang="OpenCL",
        compiler_options=["-DtransA_N=1", "-DtransB_N=1", "-Ddtype_f32=1"], quiet=True, seed=1,
        strategy=strategy, strategy_options={"max_fevals": 12},
    )
    shown(results)
    predicted = [p.config for p in strategy.predictions]
    first = [{name: int(result[name]) for name in kernel.parameters} for result in results[: len(predicted)]]
    assert first == predicted, "the predicted configs were not measured first"
    assert len(results) > len(predicted), "the genetic algorithm did not go on"
    assert environment["best_config"]["time"] == min(r["time"] for r in results if "__error__" not in r)


SMOOTH = {"block_size_x": [16, 32, 64, 128, 256], "tile": [1, 2, 4, 8, 16, 32], "strided": [0, 1]}
RESTRICTIONS = ["block_size_x * tile <= 2048", lambda p: p["strided"] == 0 or p["tile"] > 1]
SOURCE = """
__kernel void smooth(__global float *y, __global const float *x, const int n)
{
    const int first = get_group_id(0) * block_size_x * tile + get_local_id(0) * (strided ? 1 : tile);
    for (int t = 0; t < tile; ++t) {
        const int i = first + t * (strided ? block_size_x : 1);
        if (i > 0 && i < n - 1) y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3.0f;
        else if (i < n) y[i] = x[i];
    }
}
"""


def smooth(n, **more):
    x = numpy.random.rand(n).astype(numpy.float32)
    y = x.copy()
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return tune_kernel(
        "smooth", SOURCE, n, [numpy.zeros_like(x), x, numpy.int32(n)], SMOOTH, grid_div_x=["block_size_x * tile"],
        restrictions=RESTRICTIONS, answer=[y, None, None], atol=1e-4, lang="OpenCL", quiet=True, **more,
    )


# A kernel that has none: tuned for some sizes as before, described, imported, trained.
def own(sizes, unseen, count):
    print(f"a kernel without a kernel.toml: {count} configs of each of {len(sizes)} sizes into cache files, as before")
    caches = [str(work / f"smooth_{n}.json") for n in sizes]
    for n, cache in zip(sizes, caches):
        smooth(n, cache=cache, strategy="random_sample", strategy_options={"max_fevals": count}, seed=1)
    folder = work / "smooth"
    done = describe(folder, SMOOTH, RESTRICTIONS, sizes[0], device=device_name())
    print(f"  {done.folder}/kernel.toml: constraints {done.constraints}, not translated {done.unread}")
    run = lambda *words: print("  " + subprocess.run([program, *map(str, words)], check=True, text=True, stdout=subprocess.PIPE).stdout.strip().replace("\n", "\n  "))
    run("import", "kernel-tuner", *caches, "--kernel", folder, "--device", done.device, "-o", work / "smooth.sqt", "--overwrite")
    run("train", work / "smooth.sqt", "--kernel", folder, "-o", work / "model", "--members", 1, "--epochs", 10)
    print(f"{unseen} elements, a size that it never saw: 3 predicted configs first, then greedy_mls")
    strategy = Strategy(work / "model", folder, top=3, then="greedy_mls")
    results, _ = smooth(unseen, strategy=strategy, strategy_options={"max_fevals": 8}, seed=1)
    shown(results)
    first = [{name: int(result[name]) for name in SMOOTH} for result in results[:3]]
    assert first == [p.config for p in strategy.predictions], "the predicted configs were not measured first"


def device_name():
    import pyopencl

    return pyopencl.get_platforms()[0].get_devices()[0].name


if __name__ == "__main__":
    gemm(300, 200, 100)
    own([1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 3 << 12, 3 << 15, 5 << 16], 3 << 17, 24)
