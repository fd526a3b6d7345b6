"""Holds what docs/integrations/triton.md says against Triton itself, without a GPU: triton_check.py judge | cache FOLDER | launch MODEL.

`judge` compiles configs of examples/triton/matmul.py for GPUs that are not there. `cache` lets Triton's autotuner write its files, with made-up
times. `launch`, under TRITON_INTERPRET=1, runs the kernel with configs that a model of these files predicts.
"""

import math
import random
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import triton
import triton.language as tl

sys.path.insert(0, str(Path(__file__).parents[2] / "examples/triton"))
from matmul import KERNEL, matmul_kernel, product  # noqa: E402


@triton.jit
def widen(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n).to(tl.float32), mask=at < n)


@triton.jit
def narrow(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.inline_asm_elementwise(
        "cvt.rn.satfinite.e4m3x2.f32 $0, $1, $1;", "=h,f", [tl.load(x + at, mask=at < n)], dtype=tl.int16, is_pure=True, pack=1
    )
    tl.store(y + at, word, mask=at < n)


def check(what: str, holds: bool, seen: object = "") -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {what}{f': {seen}' if str(seen) else ''}")
    if not holds:
        sys.exit(1)


def judged() -> None:
    import seqtune
    import seqtune.triton

    args = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": 4096, "N": 4096, "K": 4096}

    def config(tile, warps, stages):
        return triton.Config(dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), tile)), num_warps=warps, num_stages=stages)

    good, big, odd = config((128, 128, 64), 8, 3), config((256, 128, 64), 8, 5), config((64, 64, 33), 4, 2)
    for name, shared in [("A100", 65536), ("H100", 98304), ("MI300X", 65536)]:
        device, began = seqtune.Device(name), time.monotonic()
        found = seqtune.triton.judge(matmul_kernel, good, args, device)
        took = time.monotonic() - began
        what = f"{found.shared} bytes of shared memory, {found.registers} registers, {found.spills} bytes spilled, in {took:.1f} s"
        check(f"128x128x64 in 3 stages for {name}", found.legal and found.shared == shared, what)
        over = seqtune.triton.judge(matmul_kernel, big, args, device)
        check(f"256x128x64 in 5 stages for {name} is illegal", not over.legal, over.why)
    check("what does not compile is told", not (no := seqtune.triton.judge(matmul_kernel, odd, args, seqtune.Device("A100"))).legal, no.why)
    for name, options, word in [("MI300X", {"maxnreg": 64}, "maxnreg"), ("H100", {"kwargs": {"waves_per_eu": 2}}, "waves_per_eu"), ("A100", {"kwargs": {"num_stage": 2}}, "num_stage")]:
        tile = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, **options.pop("kwargs", {})}
        told = seqtune.triton.judge(matmul_kernel, triton.Config(tile, **options), args, seqtune.Device(name)).why
        check(f"`{word}` is refused for {name}", f"refuses the option `{word}`" in told, told)
    found = seqtune.triton.judge(matmul_kernel, config((64, 64, 32), 4, 1), args, seqtune.Device("RX 6900 XT"))
    check("shared memory is there on a GPU whose launches get no more", found.legal and found.shared, found.why)
    told = seqtune.triton.judge(matmul_kernel, triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, maxnreg=16), args, seqtune.Device("H100")).why
    check("too few registers are told by the assembler's first sentence", "Insufficient registers" in told, told)
    told = seqtune.triton.judge(matmul_kernel, triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_ctas=3), args, seqtune.Device("H100")).why
    check("three blocks of a cluster are refused", "num_ctas must be a power of 2" in told, told)
    eight = {"x": "*fp8e5", "y": "*fp32", "n": 4096}
    for name in ("H100", "A100", "MI300X", "A100"):
        told = seqtune.triton.judge(widen, triton.Config({"BLOCK": 256}), eight, seqtune.Device(name))
        check(f"8-bit floats for {name} after others", told.legal, told.why)
    told = seqtune.triton.judge(narrow, triton.Config({"BLOCK": 256}), {"x": "*fp32", "y": "*i16", "n": 4096}, seqtune.Device("A100")).why
    check("the reason is the assembler's", "requires .target sm_89" in told and "Repro" not in told, told)
    left = seqtune.triton.legal(matmul_kernel, [big, good, odd], args, seqtune.Device("A100"))
    check("legal() keeps those that may be tried, in order", left == [good])


def cached(folder: Path) -> None:
    """Files of Triton's autotuner, written by its own code: only the GPU's times are made up."""
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.runtime.cache import triton_key  # noqa: F401  # what 3.6 makes keys of

    target = SimpleNamespace(get_current_target=lambda: GPUTarget("cuda", 80, 32), get_current_device=lambda: 0)
    triton.runtime.driver.set_active(target)
    draw = random.Random(1)
    values = [(16, 32, 64, 128), (16, 32, 64, 128), (16, 32, 64)]
    for _ in range(24):
        m, n, k = (draw.choice((64, 100, 256, 500, 1024, 2048)) for _ in range(3))
        configs = [
            triton.Config(
                dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), map(draw.choice, values))),
                num_warps=draw.choice((2, 4, 8)),
                num_stages=draw.choice((1, 2, 3, 4)),
            )
            for _ in range(40)
        ]
        tuner = triton.autotune(configs, ["M", "N", "K"], cache_results=True)(matmul_kernel)

        def bench(tuner=tuner, configs=configs):
            tuner.configs_timings = {config: made_up(m, n, k, config, draw) for config in configs}
            tuner.cache[key] = min(tuner.configs_timings, key=tuner.configs_timings.get)

        key = (m, n, k, *[str(torch.float16)] * 3)
        tuner.check_disk_cache(key, configs, bench)
    files = list(Path(triton.knobs.cache.dir).glob("*/matmul_kernel.autotune.json"))
    for at, file in enumerate(files):
        shutil.copy(file, folder / f"{at}.autotune.json")
    failed = sum("Infinity" in file.read_text() for file in files)
    check("Triton wrote its files", len(files) > 20 and failed > 0, f"{len(files)}, of {failed} some configs failed")


def made_up(m, n, k, config, draw):
    tile_m, tile_n, step = (config.kwargs[f"BLOCK_{axis}"] for axis in "MNK")
    if config.num_stages * (tile_m + tile_n) * step * 2 > 120_000:
        return [math.inf] * 3
    waves = math.ceil(math.ceil(m / tile_m) * math.ceil(n / tile_n) / 216)
    time = 0.003 + 1e-6 * waves * math.ceil(k / step) * (tile_m * tile_n * step / 2e4 + 40 / config.num_stages + config.num_warps)
    return [time * draw.uniform(0.99, 1.01) * factor for factor in (1, 0.98, 1.05)]


def launched(model: str) -> None:
    import torch

    import seqtune
    import seqtune.triton

    measured = []

    def bench(call, quantiles=None):
        call()
        measured.append(1.0 / (1 + len(measured)))
        return [measured[-1]] * 3

    shapes = [(64, 64, 64), (100, 70, 33), (64, 64, 64), (256, 64, 128), (100, 70, 33)]
    torch.manual_seed(1)

    def errors(kernel):
        pairs = [(torch.randn((m, k)), torch.randn((k, n))) for m, n, k in shapes]
        return max((product(kernel, a, b) - a @ b).abs().max().item() for a, b in pairs)

    predictor = seqtune.Predictor(model, KERNEL)
    asked = [{"M": m, "N": n, "K": k, "dtype": "float32"} for m, n, k in shapes]
    unsure = sum(predictor.predict(problem, top=1)[0].unsure for problem in {str(p): p for p in asked}.values())
    kernel = seqtune.triton.autotune(predictor, key=["M", "N", "K"], top=3, do_bench=bench)(matmul_kernel)
    error = errors(kernel)
    check("right results with the predicted configs", error < 1e-3, f"error {error:.0e}, last {kernel.best_config}")
    check("the model was asked once for each key", kernel.asked == 3, f"{kernel.asked} times in {len(shapes)} launches")
    check("three configs were measured where it was unsure", len(measured) == 3 * unsure == kernel.measured, f"{unsure} of 3 keys")

    class Sure:
        """The same, of a model that is sure of everything."""

        kernel = predictor.kernel

        def predict(self, *args, **more):
            return [SimpleNamespace(config=p.config, unsure=False) for p in predictor.predict(*args, **more)]

    measured.clear()
    sure = seqtune.triton.autotune(Sure(), key=["M", "N", "K"], do_bench=bench)(matmul_kernel)
    error = errors(sure)
    check("nothing is measured where the model is sure", sure.measured == len(measured) == 0 and error < 1e-3, f"error {error:.0e}")
    first = seqtune.triton.to_config(predictor.predict(asked[0], top=1)[0].config)
    kernel = seqtune.triton.autotune(Sure(), key=["M"], do_bench=bench, allowed=lambda config, args: config != first)(matmul_kernel)
    errors(kernel)
    check("what is not allowed is not tried", first not in kernel.cache.values(), f"not {first}")
    fixed = triton.autotune(seqtune.triton.configs(predictor, asked, top=1), key=["M", "N", "K"], do_bench=bench)(matmul_kernel)
    check("a fixed list of predicted configs", errors(fixed) < 1e-3, f"{len(fixed.configs)} configs")
    try:
        seqtune.triton.autotune(predictor, key=["rows"])(matmul_kernel)
    except seqtune.InputError as e:
        check("a wrong key gets a sentence", "no argument of matmul_kernel" in str(e), e)


if __name__ == "__main__":
    part, *rest = sys.argv[1:]
    print(f"Triton {triton.__version__}: {part}")
    {"judge": lambda: judged(), "cache": lambda: cached(Path(rest[0])), "launch": lambda: launched(rest[0])}[part]()
