#!/usr/bin/env python3
"""Writes datasets/problems/*.txt: the problems that the shipped sweeps measure, drawn with a fixed seed.

gemm_cpu.txt, gemm_quickstart.txt: sizes drawn log-uniformly, rounded to what people use (powers of two, multiples of 8, 10 and 16, and odd
ones), with products small enough for a CPU; and the shapes that predictors get wrong: vectors, thin and flat matrices.
"""
import math
import pathlib
import random

folder = pathlib.Path(__file__).resolve().parent.parent / "datasets" / "problems"


def size(rng, low, high):
    x = math.exp(rng.uniform(math.log(low), math.log(high)))
    step = rng.choice([1, 8, 10, 16, 0, 0])  # 0: a power of two
    if step == 0:
        return 2 ** round(math.log2(x))
    return max(step, round(x / step) * step)


def gemm(count, seed, most_flops):
    rng = random.Random(seed)
    lines, seen = [], set()
    while len(lines) < count:
        kind = rng.random()
        m, n, k = (size(rng, 16, 1536) for _ in range(3))
        if kind < 0.06:
            m = 1
        elif kind < 0.12:
            n = 1
        elif kind < 0.22:
            m = rng.randint(2, 15)
        elif kind < 0.32:
            n = rng.randint(2, 15)
        flops = 2 * m * n * k
        if not 1e5 <= flops <= most_flops or (m, n, k) in seen:
            continue
        seen.add((m, n, k))
        layout = rng.choices(["", ",transB=T", ",transA=T"], [4, 2, 1])[0]
        lines.append(f"M={m},N={n},K={k}{layout}")
    return lines


def write(name, lines):
    (folder / name).write_text("# Written by scripts/make_problems.py.\n" + "\n".join(lines) + "\n")


folder.mkdir(parents=True, exist_ok=True)
write("gemm_cpu.txt", gemm(320, 20261121, 2.5e8))
write("gemm_quickstart.txt", gemm(32, 7, 1.2e8))
