#!/usr/bin/env python3
"""Turns what Inductor prints with max_autotune_gemm into AutoHeuristic's form, for `seqtune import autoheuristic`.

usage: scripts/inductor_log.py LOG... > mm.txt

Inductor prints the ten fastest choices of each product (`AUTOTUNE mm(…)`), AutoHeuristic keeps all; of a product that a file of
AutoHeuristic among the LOGs holds, that file's times are taken, and what it says of the GPU. Without one the import needs `--device`, as a log does
not name the GPU. Only products in half precision are read.
"""

import re
import sys

BLOCK = re.compile(r"AUTOTUNE mm\((\d+)x(\d+), \d+x(\d+)\)\nstrides: \[(\d+), (\d+)\], \[(\d+), (\d+)\]\ndtypes: (torch\.\w*float16), \8\n((?:  .*\n)+)")
CHOICE = re.compile(r"  (\S+) ([\d.]+) ms")
CONTEXT = 12  # columns that tell the product

# of no GPU, so that an import without --device is refused
FIRST = (
    '{"shared_memory": 0, "device_capa": [0, 0], "name": "mm", "numerical_features": ["m", "k", "n", "mat1_stride_0", "mat1_stride_1", '
    '"mat2_stride_0", "mat2_stride_1"], "categorical_features": ["mat1_dtype", "mat2_dtype", "mat1_iscontig", "mat2_iscontig", "using_tf32"]}'
)
COLUMNS = "m,k,n,mat1_dtype,mat2_dtype,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_iscontig,mat2_iscontig,using_tf32,choice,feedback"


def choice(name: str, line: str) -> str:
    """What AutoHeuristic calls a choice."""
    if not name.startswith("triton"):
        return f"extern_{name}"
    of = dict(re.findall(r"(\w+)=(\d+)", line))
    tile = "_".join(f"BLOCK-{axis}={of[f'BLOCK_{axis}']}" for axis in "MKN")
    return f"type=triton_{tile}_numstages={of['num_stages']}_numwarps={of['num_warps']}"


def printed(text: str):
    """Products of a log, each with its lines; the newest of each counts."""
    for m, k, n, s0, s1, t0, t1, dtype, lines in BLOCK.findall(text):
        # of rows that follow one another, or of one row
        contiguous = [stride == "1" and other == size for stride, other, size in ((s1, s0, k), (t1, t0, n))]
        context = ",".join([m, k, n, dtype, dtype, s0, s1, t0, t1, *map(str, contiguous), "not_float_32"])
        found = [(CHOICE.match(line), line) for line in lines.splitlines()]
        yield context, [f"{choice(match[1], line)},{match[2]}" for match, line in found if match]


def main(paths: list[str]) -> None:
    if not paths:
        sys.exit(__doc__)
    first, kept, whole = FIRST, {}, {}
    for path in paths:
        try:
            with open(path, errors="replace") as file:
                text = file.read()
        except OSError as e:
            sys.exit(f"inductor_log.py: {path}: {e.strerror}")
        if text.startswith("{"):
            first, _, *lines = text.splitlines()
            for line in lines:
                cells = line.split(",")
                whole.setdefault(",".join(cells[:CONTEXT]), []).append(",".join(cells[CONTEXT:]))
        else:
            kept.update(printed(text))
    if not kept and not whole:
        sys.exit("inductor_log.py: no log holds `AUTOTUNE mm(…)` of products in half precision; run with max_autotune_gemm, and keep what it prints to standard error")
    print(first, COLUMNS, sep="\n")
    for context, choices in {**kept, **whole}.items():
        # measured twice, the last time counts
        for name, time in dict(line.rsplit(",", 1) for line in choices).items():
            print(context, name, time, sep=",")


main(sys.argv[1:])
