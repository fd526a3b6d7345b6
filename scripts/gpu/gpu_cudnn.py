#!/usr/bin/env python3
"""Times cuDNN on the convolutions of a list, by PyTorch on the GPU of this machine, with cold caches as `seqtune sweep` has them.

usage: gpu_cudnn.py PROBLEMS OUT [SECONDS]

PROBLEMS holds problems of the kernel conv2d, one a line. cuDNN searches its own algorithms first (`cudnn.benchmark`); f32 is computed without
TF32. OUT gets a line for each: the problem, a tab, median microseconds of 30 launches. Stops after SECONDS [default: 60].
"""
import statistics
import sys
import time


def read(path):
    """Problems as dictionaries, with their text."""
    with open(path) as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("#")]
    return [(line, dict(part.split("=") for part in line.split(","))) for line in lines]


def median_us(torch, launch, flush):
    """Median time of a launch whose caches were overwritten before."""
    for _ in range(3):
        launch()
    pairs = []
    for _ in range(30):
        flush.fill_(1)
        began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        began.record()
        launch()
        ended.record()
        pairs.append((began, ended))
    torch.cuda.synchronize()
    return 1e3 * statistics.median(began.elapsed_time(ended) for began, ended in pairs)


def main():
    problems, out = sys.argv[1:3]
    end = time.time() + float(sys.argv[3] if len(sys.argv) > 3 else 60)
    import torch

    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    flush = torch.empty(2 * cache // 4, dtype=torch.int32, device="cuda")
    done = 0
    with open(out, "w") as file, torch.no_grad():
        for text, of in read(problems):
            if time.time() > end:
                break
            size = lambda name, default=None: int(of.get(name, default))
            dtype = torch.float16 if of.get("dtype", "f32") == "f16" else torch.float32
            x = torch.randn(size("N"), size("C"), size("H"), size("W"), device="cuda", dtype=dtype)
            w = torch.randn(size("K"), size("C") // size("groups", 1), size("R"), size("S"), device="cuda", dtype=dtype)
            pairs = {name: (size(f"{name}_h", default), size(f"{name}_w", default)) for name, default in (("stride", 1), ("pad", 0), ("dilation", 1))}
            options = {"stride": pairs["stride"], "padding": pairs["pad"], "dilation": pairs["dilation"], "groups": size("groups", 1)}
            call = lambda: torch.nn.functional.conv2d(x, w, **options)
            print(f"{text}\t{median_us(torch, call, flush):.2f}", file=file, flush=True)
            done += 1
    print(f"cuDNN {torch.backends.cudnn.version()}: {done} convolutions on {torch.cuda.get_device_name()}")


if __name__ == "__main__":
    main()
