"""Holds what docs/integrations/helion.md says against Helion itself, on the CPU: helion_check.py SEQTUNE FOLDER.

Helion writes a function from times of 60 shapes; 200 others tell what its choices lose. The times are made up by a simple rule, since there is no
GPU: what the backends lose says how they read the same table, not how good they are on a GPU.
"""

import csv
import hashlib
import importlib.util
import itertools
import json
import math
import random
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import helion._hardware
import numpy
import torch
from helion.autotuner.heuristic_generator import PerformanceTarget, generate_heuristic, get_all_backend_names

import seqtune
import seqtune.helion


def check(what: str, holds: bool, seen: object = "") -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {what}{f': {seen}' if str(seen) else ''}")
    if not holds:
        sys.exit(1)


CONFIGS = [
    {"block_sizes": [m, n, k], "num_warps": 4 if m * n <= 4096 else 8, "num_stages": 3}
    for m, n, k in itertools.product((16, 64, 128), (16, 64, 128), (32, 64))
]


def milliseconds(shape, config, noise=1.0):
    """A made-up time of a product on 108 units; infinite where the tiles do not fit."""
    (m, k, n), (tile_m, tile_n, step) = shape, config["block_sizes"]
    if (tile_m + tile_n) * step > 16000:
        return math.inf
    waves = math.ceil(math.ceil(m / tile_m) * math.ceil(n / tile_n) / 216)
    return (0.003 + 1e-6 * waves * math.ceil(k / step) * (tile_m * tile_n * step / 2e4 + 14)) * noise


def shapes(count, seed):
    draw = random.Random(seed)
    size = (1, 16, 48, 64, 100, 128, 256, 500, 512, 1000, 1024, 2048, 4096)
    return [tuple(draw.choice(size) for _ in range(3)) for _ in range(count)]


def measurements(path):
    draw, columns = random.Random(2), ["kernel_name", "shape_hash", "config_hash", "shape_features", "config", "timing_ms"]
    with open(path, "w", newline="") as file:
        rows = csv.DictWriter(file, columns)
        rows.writeheader()
        for shape in dict.fromkeys(shapes(60, 1)):
            m, k, n = shape
            features = {"arg0_dim0": m, "arg0_dim1": k, "arg1_dim0": k, "arg1_dim1": n, "arg0_ndim": 2, "arg0_dtype_size": 2}
            for config in CONFIGS:
                row = (
                    "matmul",
                    hashlib.sha256(repr(shape).encode()).hexdigest()[:16],
                    hashlib.sha256(repr(config).encode()).hexdigest()[:16],
                    json.dumps(features),
                    json.dumps(config),
                    milliseconds(shape, config, draw.uniform(0.99, 1.01)),
                )
                rows.writerow(dict(zip(columns, row)))


def module_of(path):
    spec = importlib.util.spec_from_file_location("heuristic", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(program, folder):
    # Helion names its files after the GPU
    helion._hardware.get_hardware_info = lambda: SimpleNamespace(device_kind="cuda", compute_capability="sm80")
    print(f"Helion {version('helion')}, PyTorch {torch.__version__}, seqtune {seqtune.__version__}")
    seqtune.helion.register()
    seqtune.helion.register("seqtune-model", program=program, epochs=10)
    check("the backends are registered", {"seqtune", "seqtune-model"} <= set(get_all_backend_names()), get_all_backend_names())
    table = folder / "measurements.csv"
    measurements(table)
    held_out = [shape for shape in dict.fromkeys(shapes(260, 3)) if shape not in set(shapes(60, 1))]
    lost = {}
    for backend in ("decision_tree", "nearest_neighbor", "seqtune", "seqtune-model"):
        out = folder / backend
        target = PerformanceTarget(backend=backend, max_configs=8, print_score_matrix=False, verbose=False)
        [result] = generate_heuristic(table, out, target=target).values()
        heuristic = module_of(out / "heuristic_matmul.py")
        slower, selected = [], [dict(config) for config in result.selected_configs]
        for m, k, n in held_out:
            args = torch.empty((m, k), device="meta"), torch.empty((k, n), device="meta")
            place, config = heuristic.key_matmul(*args), heuristic.autotune_matmul(*args)
            assert config == selected[place], (config, place)
            best = min(milliseconds((m, k, n), other) for other in selected)
            slower.append(milliseconds((m, k, n), config) / best)
        lost[backend] = 100 * (math.exp(float(numpy.mean(numpy.log(slower)))) - 1)
        lines = len(result.generated_code.splitlines())
        what = f"{100 * result.model_accuracy:.0f} % of the learned shapes right, {lines} lines"
        print(f"     {backend}: loses {lost[backend]:.1f} % on {len(held_out)} other shapes, at worst {max(slower):.2f} times as slow, {what}")
    check("every function answers with one of the selected configs", len(lost) == 4)
    check("the tree loses less than Helion's tree and neighbours", lost["seqtune"] < min(lost["decision_tree"], lost["nearest_neighbor"]))
    try:
        seqtune.helion.register("wrong", program="/nowhere/seqtune")
        generate_heuristic(table, folder / "wrong", target=PerformanceTarget(backend="wrong", print_score_matrix=False, verbose=False))
    except seqtune.UnavailableError as e:
        check("a missing program gets a sentence", "/nowhere/seqtune" in str(e), e)
    print("helion: all holds")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
