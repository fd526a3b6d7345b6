#!/usr/bin/env python3
"""Writes datasets/problems/*.txt: the problems that the shipped sweeps measure, drawn with a fixed seed.

gemm_cpu.txt, gemm_quickstart.txt, gemm_refine.txt: sizes drawn log-uniformly, rounded to what people use (powers of two, multiples of 8, 10 and 16, and odd
ones), with products small enough for a CPU; and the shapes that predictors get wrong: vectors, thin and flat matrices.

hpl.txt, hpl_held_out.txt: numbers of equations, drawn log-uniformly, for a sweep and for the check of its model.

clblast.txt, clblast_held_out.txt: the same for CLBlast's matrix products; clblast_padded.txt, clblast_padded_held_out.txt: of whole tiles, for its
indirect kernel.

batched_gemm_more.txt, depthwise_more.txt, histogram_more.txt, norm_more.txt, reduction_more.txt, spmv_more.txt, transpose_more.txt: drawn log-uniformly
within the sizes of batched_gemm.txt and so on, none of which comes again.

conv2d.txt: layers drawn from what convolutional networks have (filters, planes, channels, strides, groups), small enough for a CPU.

gemm_gpu.txt, conv2d_gpu.txt: sizes that people use, from SHAPES, and random ones; gemm_gpu_more.txt, conv2d_gpu_more.txt: others drawn in the same way, small
enough to be measured hundreds of times a second. SHAPES is a folder of lists of problems: deepbench_*.csv
(baidu-research/DeepBench, Apache-2.0), torchbench_gemm_shapes.csv (pytorch/benchmark, BSD-3-Clause) and miopen_conv_problems.csv
(ROCm/MIOpen, MIT). Without it they are left as they are.

usage: scripts/data/make_problems.py [SHAPES]
"""
import csv
import math
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "integrations"))
from clblast_figures import line_of, padded, size_of

folder = ROOT / "datasets" / "problems"


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


def equations(count, seed, low, high, without=()):
    rng = random.Random(seed)
    found = set()
    while len(found) < count:
        x = size(rng, low, high)
        if low <= x <= high and x not in without:
            found.add(x)
    return sorted(found)


def different(count, seed, draw, without=()):
    """So many different lines of `draw(rng)`, which is None where sizes do not fit."""
    rng = random.Random(seed)
    lines = []
    while len(lines) < count:
        line = draw(rng)
        if line and line not in lines and line not in without:
            lines.append(line)
    return lines


def products(count, seed, most_flops, without=()):
    def draw(rng):
        m, n, k = (size(rng, 32, 1024) for _ in range(3))
        return f"M={m},N={n},K={k}" if 1e5 <= 2 * m * n * k <= most_flops else None

    return different(count, seed, draw, without)


def in_tiles(line):
    return line_of(padded(size_of(line)))


def padded_products(count, seed, most_flops, without):
    lines = []
    for line in map(in_tiles, products(4 * count, seed, most_flops)):
        if line not in lines and line not in without:
            lines.append(line)
    return lines[:count]


def rows(shapes, name):
    with open(shapes / name) as file:
        return list(csv.DictReader(file))


def take(rng, lines, count, without):
    """So many different lines, or all, in a fixed order."""
    left = sorted(set(lines).difference(without))
    return rng.sample(left, min(count, len(left)))


def without_dtype(name):
    """Lines of a list that was written before, whatever their data type."""
    return {line.replace(",dtype=f16", "") for line in (folder / name).read_text().splitlines()}


def third_in_half(chosen):
    return [line + (",dtype=f16" if i % 3 == 2 else "") for i, line in enumerate(dict.fromkeys(chosen))]


def gemm_gpu(shapes, rng, counts=(120, 80, 130), most_flops=1.4e11, without=()):
    def fits(m, n, k):
        # a bad config takes a hundred times the best one's time
        return max(m, n, k) <= 65_536 and 1e6 <= 2 * m * n * k <= most_flops and 4 * (m * k + k * n + m * n) <= 2**29

    def lines(sizes):
        return [f"M={m},N={n},K={k}{layout}" for m, n, k, layout in sizes if fits(m, n, k)]

    models = [(int(r["M"]), int(r["N"]), int(r["K"]), ",transB=T") for r in rows(shapes, "torchbench_gemm_shapes.csv")]
    bench = [
        (int(r["m"]), int(r["n"]), int(r["k"]), "".join(f",trans{x}=T" for x in "AB" if r[f"{x.lower()}_t"] == "true"))
        for r in rows(shapes, "deepbench_gemm_problems.csv")
    ]
    squares = [] if without else [(x, x, x, "") for x in (128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)]
    drawn = []
    while len(drawn) < 400:
        m, n, k = (size(rng, 1, 8_192) for _ in range(3))
        drawn.append((m, n, k, rng.choices(["", ",transB=T", ",transA=T", ",transA=T,transB=T"], [4, 3, 2, 1])[0]))
    others = []
    for source, count in zip((models, bench, drawn), counts):
        others += take(rng, lines(source), count, without)
    # a sweep that is stopped has seen some of each
    rng.shuffle(others)
    chosen = lines(squares) + others
    return third_in_half(chosen)


def layer(n, c, h, w, k, r, s, p, q, u, v, d=1, e=1, g=1, flops=(1e7, 5e10)):
    """A line of a convolution; None where its sizes do not fit or its work is not within `flops`."""
    out = lambda x, f, pad, step, dilation: (x + 2 * pad - dilation * (f - 1) - 1) // step + 1
    oh, ow = out(h, r, p, u, d), out(w, s, q, v, e)
    if oh < 1 or ow < 1 or c % g or k % g:
        return None
    if not flops[0] <= 2 * n * k * oh * ow * c // g * r * s <= flops[1] or 4 * (n * c * h * w + n * k * oh * ow) > 2**30:
        return None
    text = f"N={n},C={c},H={h},W={w},K={k},R={r},S={s}"
    for name, value, usual in (
        ("pad_h", p, 0), ("pad_w", q, 0), ("stride_h", u, 1), ("stride_w", v, 1), ("dilation_h", d, 1), ("dilation_w", e, 1), ("groups", g, 1),
    ):
        text += f",{name}={value}" if value != usual else ""
    return text


def layers(count, seed, flops):
    def draw(rng):
        r, s = rng.choices([(1, 1), (3, 3), (5, 5), (7, 7), (1, 7), (3, 1)], [5, 8, 2, 1, 1, 1])[0]
        plane = rng.choice([7, 8, 13, 14, 16, 28, 32, 56, 64, 112, 224, rng.randint(5, 120)])
        c = rng.choice([1, 3, 3] + [size(rng, 8, 512)] * 6)
        k = size(rng, 8, 512)
        g = rng.choices([1, 2, 4, 8], [8, 1, 1, 1])[0]
        step = rng.choices([1, 2], [3, 1])[0]
        d = rng.choices([1, 2], [9, 1])[0] if r * s > 1 else 1
        p, q = (0, 0) if rng.random() < 0.1 else (d * (r - 1) // 2, d * (s - 1) // 2)
        return layer(rng.choice([1, 1, 1, 2, 4, 8, 16]), c, plane, plane, k, r, s, p, q, step, step, d, d, g, flops)

    return different(count, seed, draw)


def more(name, count, seed, draw, options):
    """Lines of `draw(rng)` that NAME.txt has not, each with each of the options in so many of a hundred."""
    rng = random.Random(seed)
    sizes_of = lambda line: {pair for pair in line.split(",") if pair.split("=")[1].isdigit()}
    known = [sizes_of(line) for line in (folder / f"{name}.txt").read_text().splitlines() if not line.startswith("#")]
    lines = []
    while len(lines) < count:
        line = draw(rng)
        if line and sizes_of(line) not in known:
            known.append(sizes_of(line))
            lines.append(line + "".join(f",{option}" for option, percent in options if rng.random() < percent / 100))
    return lines


def matrix(rows, columns, work, most_batch=1):
    """Draws a matrix of so many elements from so many to so many rows and columns."""

    def draw(rng):
        batch = size(rng, 1, most_batch) if most_batch > 1 and rng.random() < 0.5 else 1
        m, n = size(rng, *rows), size(rng, *columns)
        fits = rows[0] <= m <= rows[1] and columns[0] <= n <= columns[1] and work[0] <= batch * m * n <= work[1]
        return ("" if batch == 1 else f"batch={batch},") + f"rows={m},columns={n}" if fits else None

    return draw


def segments(rng):
    """Draws values to be counted."""
    n, batch, bins, narrow = size(rng, 36, 1_251_452), size(rng, 1, 2_654), size(rng, 8, 4_096), rng.choice([0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 10])
    if not 16_000 <= n * batch <= 3_000_000 or n < 36 or bins < 8 or bins > 4_096:
        return None
    return f"n={n},batch={batch},bins={bins}" + (f",narrow={narrow}" if narrow else "")


def small_products(rng):
    """Draws a batch of matrix products."""
    batch, m, n, k = size(rng, 3, 229_376), size(rng, 1, 256), size(rng, 1, 256), size(rng, 1, 256)
    return f"batch={batch},M={m},N={n},K={k}" if 1e5 <= 2 * batch * m * n * k <= 2e7 else None


def planes(rng):
    """Draws a depthwise convolution, of images or of sequences."""
    r, s = rng.choices([(3, 3), (5, 5), (7, 7), (4, 4), (9, 9), (1, 4), (1, 7), (1, 15), (1, 31)], [80, 40, 16, 4, 2, 11, 6, 6, 10])[0]
    wide = size(rng, 7, 256) if r > 1 else size(rng, 16, 1_600)
    high = 1 if r == 1 else wide if rng.random() < 0.8 else size(rng, 7, 256)
    n, c = rng.choice([1, 1, 1, 2, 4, 8]), size(rng, 3, 2_048)
    if not 1e5 <= 2 * n * c * high * wide * r * s <= 5.3e7 or high < r or wide < s:
        return None
    step = ",stride=2" if r > 1 and rng.random() < 0.25 else ""
    pads = "".join(f",pad_{name}={(x - 1) // 2}" for name, x in (("h", r), ("w", s)) if x > 2)
    return f"N={n},C={c},H={high},W={wide},R={r},S={s}{step}{pads}"


def sparse(rng):
    """Draws a sparse matrix: most are square, two rows in three unequal, one band in three all columns."""
    rows = size(rng, 180, 2_000_000)
    columns = rows if rng.random() < 0.8 else size(rng, 450, 2_000_000)
    mean = math.exp(rng.uniform(math.log(2.4), math.log(300)))
    nonzeros = round(rows * mean)
    band = columns if rng.random() < 0.33 else round(columns * math.exp(rng.uniform(math.log(0.002), 0)))
    if not 20_000 <= nonzeros <= 4_000_000 or band < 2 * mean:
        return None
    spread = f",spread={rng.randint(2, 75)}" if rng.random() < 0.67 else ""
    run = f",run={rng.choice([2, 3, 4, 8, 16])}" if rng.random() < 0.4 and band >= 16 else ""
    return f"rows={rows},columns={columns},nonzeros={nonzeros}{spread},band={band}{run}"


def conv_gpu(shapes, rng, counts=(70, 40, 60), flops=(1e7, 5e10), without=()):
    def numbers(r, names):
        return [int(r[name]) for name in names.split()]

    models = [layer(*numbers(r, "n c h w k fh fw ph pw sh sw dh dw g"), flops=flops) for r in rows(shapes, "miopen_conv_problems.csv")]
    bench = [
        layer(*numbers(r, "n c h w k filter_h filter_w pad_h pad_w hstride wstride"), flops=flops) for r in rows(shapes, "deepbench_conv_problems.csv")
    ]
    drawn = []
    while len(drawn) < 400:
        filters = rng.choice([1, 1, 3, 3, 3, 5, 7])
        plane = rng.choice([7, 8, 14, 16, 28, 32, 56, 64, 112, rng.randint(5, 120)])
        step = rng.choice([1, 1, 1, 2])
        drawn.append(
            layer(rng.choice([1, 2, 4, 8, 16, 32, 64]), size(rng, 3, 1_024), plane, plane, size(rng, 8, 1_024), filters, filters,
                  filters // 2, filters // 2, step, step, flops=flops)
        )
    chosen = []
    for lines, count in zip((models, bench, drawn), counts):
        chosen += take(rng, filter(None, lines), count, without)
    rng.shuffle(chosen)
    return third_in_half(chosen)


def write(name, lines):
    (folder / name).write_text("# Written by scripts/data/make_problems.py.\n" + "\n".join(lines) + "\n")


folder.mkdir(parents=True, exist_ok=True)
write("gemm_cpu.txt", gemm(320, 20261121, 2.5e8))
write("gemm_quickstart.txt", gemm(32, 7, 1.2e8))
write("gemm_refine.txt", gemm(30, 11, 1.2e8))
sizes = equations(40, 27, 64, 2500)
write("hpl.txt", [f"N={n}" for n in random.Random(27).sample(sizes, len(sizes))])
write("hpl_held_out.txt", [f"N={n}" for n in equations(10, 28, 64, 2500, sizes)])
swept = products(220, 29, 2.5e8)
write("clblast.txt", swept)
held_out = products(30, 30, 2.5e8, swept)
write("clblast_held_out.txt", held_out)
held_out = list(dict.fromkeys(map(in_tiles, held_out)))
write("clblast_padded_held_out.txt", held_out)
write("clblast_padded.txt", padded_products(220, 31, 2.5e8, held_out))
write("conv2d.txt", layers(190, 32, (5e6, 1.2e8)))
half = ("dtype=f16", 20)
write("norm_more.txt", more("norm", 150, 33, matrix((3, 5_000), (32, 16_384), (1_280, 2_560_000)), [("kind=rms", 40), half]))
write("reduction_more.txt", more("reduction", 300, 34, matrix((1, 1_000_000), (1, 500_000), (50_000, 2_000_000)), [("axis=rows", 45), half]))
write("transpose_more.txt", more("transpose", 300, 35, matrix((2, 262_144), (3, 262_144), (16_000, 1_600_000), 128), [half]))
write("histogram_more.txt", more("histogram", 300, 36, segments, [half]))
options = [("transB=T", 33), ("transA=T", 8), ("shared_b=yes", 13), ("beta=1", 31), half]
write("batched_gemm_more.txt", more("batched_gemm", 150, 37, small_products, options))
write("depthwise_more.txt", more("depthwise", 150, 38, planes, [half]))
write("spmv_more.txt", more("spmv", 150, 39, sparse, []))
if len(sys.argv) > 1:
    shapes = pathlib.Path(sys.argv[1])
    write("gemm_gpu.txt", gemm_gpu(shapes, random.Random(4)))
    write("conv2d_gpu.txt", conv_gpu(shapes, random.Random(5)))
    write("gemm_gpu_more.txt", gemm_gpu(shapes, random.Random(40), (50, 30, 120), 6e9, without_dtype("gemm_gpu.txt")))
    write("conv2d_gpu_more.txt", conv_gpu(shapes, random.Random(41), (60, 30, 60), (1e7, 1e10), without_dtype("conv2d_gpu.txt")))
else:
    print("no folder of shapes is named: the lists of gemm and conv2d for a GPU are left as they are", file=sys.stderr)
