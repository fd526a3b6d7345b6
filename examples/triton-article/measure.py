"""Measures the three kernels, and PyTorch's product, on this machine's GPU within a minute: a JSON line for each kernel and size.

    python3 examples/triton-article/measure.py [SECONDS]      at most so long, 55 if none is named
    TRITON_INTERPRET=1 python3 examples/triton-article/measure.py --dry      tiny sizes on a CPU: are the results right?

Caches are as the launch before left them. Times are medians by device events. What would take too long is left out and told.
"""

import json
import statistics
import sys
import time

BEGAN = time.monotonic()

import torch  # noqa: E402
from kernels import LAUNCHES, product  # noqa: E402

DRY = "--dry" in sys.argv
SECONDS = float(next((word for word in sys.argv[1:] if not word.startswith("-")), 55))
DEVICE = "cpu" if DRY else "cuda"
SIZES = [(5, 3, 7), (33, 17, 100), (2, 3, 200)] if DRY else [(1024, 1536, 2048), (2048, 3072, 4096), (4096, 6144, 8192)]
ENOUGH = 0.3  # seconds of launches of a kernel at a size


def left():
    return SECONDS - (time.monotonic() - BEGAN)


def wait():
    if not DRY:
        torch.cuda.synchronize()


def timed(call):
    """Milliseconds of one call."""
    if DRY:
        began = time.perf_counter()
        call()
        return 1e3 * (time.perf_counter() - began)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)


def median(call):
    """Median milliseconds and number of launches; the first is counted only where it is long."""
    times = [timed(call)]
    if times[0] < 1e3 * ENOUGH:
        first, spent = times.pop(), 0.0
        while len(times) < 3 or (len(times) < 30 and spent < 1e3 * ENOUGH - first):
            times.append(timed(call))
            spent += times[-1]
    return statistics.median(times), len(times)


def error(a, b, c):
    """Largest error of 256 elements against double precision, in shares of the largest of them."""
    draw = torch.Generator().manual_seed(1)
    rows = torch.randint(a.shape[0], (256,), generator=draw).to(DEVICE)
    columns = torch.randint(b.shape[1], (256,), generator=draw).to(DEVICE)
    right = (a[rows].double() * b[:, columns].t().double()).sum(1)
    return ((c[rows, columns].double() - right).abs().max() / right.abs().max()).item()


def say(**what):
    print(json.dumps(what), flush=True)


def whole(name):
    """PyTorch's own product, in f32 or with TF32."""

    def call(a, b, out=None, one=False):
        torch.backends.cuda.matmul.allow_tf32 = name == "torch, tf32"
        return torch.matmul(a, b, out=out)

    return call


def ways():
    for name in LAUNCHES:
        if not (DRY and "tf32" in name):  # the interpreter rounds nothing
            yield name, (lambda a, b, out=None, one=False, name=name: product(name, a, b, out, one))
    yield "torch", whole("torch")
    if not DRY:
        yield "torch, tf32", whole("torch, tf32")


def main():
    import triton

    torch.manual_seed(1)
    device = "cpu" if DRY else torch.cuda.get_device_name()
    say(device=device, torch=torch.__version__, triton=triton.__version__, startup_s=round(time.monotonic() - BEGAN, 1))
    if not DRY:
        source = torch.empty(2**28, device=DEVICE)
        target = torch.empty_like(source)
        milliseconds, _ = median(lambda: target.copy_(source))
        say(kernel="copy", bytes=2**31, ms=round(milliseconds, 4), gbs=round(2**31 / milliseconds / 1e6, 1))
        del source, target
    last = {}
    for m, n, k in SIZES:
        a, b = torch.rand((m, k), device=DEVICE) * 2 - 1, torch.rand((k, n), device=DEVICE) * 2 - 1
        bt = b.t().contiguous()
        c = torch.empty((m, n), device=DEVICE)
        turned, _ = median(lambda: torch.empty_like(bt).copy_(b.t()))
        say(kernel="transposing B", M=m, N=n, K=k, ms=round(turned, 4))
        for name, call in reversed(list(ways())):  # the slowest last
            where = {"kernel": name, "M": m, "N": n, "K": k}
            expected = 20 * last.get(name, 0.0) / 1e3  # eight times the work, out of caches
            if expected > left() - 3 and not DRY:
                say(**where, skipped=f"it may take {expected:.1f} s, and {left():.1f} s are left")
                continue
            right = bt if name == "transposed" else b
            try:
                c.fill_(float("nan"))
                call(a, right, out=c, one=True)  # compiles
                wait()
                milliseconds, launches = median(lambda: call(a, right, out=c))
                off = error(a, b, c)
            except Exception as e:  # a compiler or driver says what it likes; the others are still measured
                say(**where, failed=f"{type(e).__name__}: {str(e).strip().splitlines()[-1] if str(e).strip() else ''}")
                continue
            last[name] = milliseconds
            rate = 2 * m * n * k / milliseconds / 1e9
            say(**where, ms=round(milliseconds, 4), tflops=round(rate, 4), launches=launches, error=float(f"{off:.1e}"))
            if DRY and not off < 1e-5:
                sys.exit(f"{name} is wrong at {m} x {n} x {k}")
    say(seconds=round(time.monotonic() - BEGAN, 1))


if __name__ == "__main__":
    main()
