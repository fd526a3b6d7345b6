"""Prints a file in AutoHeuristic's format with made-up times of a matrix product on an A100: inductor_invented.py [PROBLEMS].

Nothing was measured: a program's steps take as long as a simple rule says, so that there is something to learn.
"""

import itertools
import json
import math
import random
import sys

COLUMNS = "m,k,n,mat1_dtype,mat2_dtype,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_iscontig,mat2_iscontig,using_tf32"
SHARED = 166912


def milliseconds(m, k, n, config, noise):
    tile_m, tile_n, step, stages, warps = config
    groups = min(SHARED // (max(stages - 1, 1) * (tile_m + tile_n) * step * 2), 64 // warps)
    if groups == 0:
        return None
    waves = math.ceil(math.ceil(m / tile_m) * math.ceil(n / tile_n) / (108 * groups))
    # arithmetic of a tile's step, and what waiting for memory adds where little is in flight
    work = tile_m * tile_n * step / 65536 / min(1.0, warps * 2048 / (tile_m * tile_n))
    wait = 0.6 / stages + 0.1 * warps / 4
    return 1e-3 * (2 + waves * groups * math.ceil(k / step) * (work / 4 + wait)) * noise


def main(problems):
    draw = random.Random(1)
    print(json.dumps({"numerical_features": [], "categorical_features": [], "choices": [], "shared_memory": SHARED, "device_capa": [8, 0], "name": "mm"}))
    print(f"{COLUMNS},choice,feedback")
    configs = list(itertools.product((16, 32, 64, 128), (16, 32, 64, 128), (16, 32, 64), (2, 3, 4), (2, 4, 8)))
    for _ in range(problems):
        m, k, n = (draw.choice((16, 48, 64, 100, 256, 500, 1024, 1152, 2048, 4096)) for _ in range(3))
        row = f"{m},{k},{n},torch.float16,torch.float16,{k},1,{n},1,True,True,not_float_32"
        print(f"{row},extern_mm,{1e-3 * (4 + m * k * n / 9e7):.5f}")
        # a tile of more than the next power of two is none of the space
        sensible = [c for c in configs if all(tile == 16 or tile < 2 * size for tile, size in zip(c, (m, n, k)))]
        for config in draw.sample(sensible, min(30, len(sensible))):
            if (time := milliseconds(m, k, n, config, draw.uniform(0.98, 1.02))) is not None:
                tile_m, tile_n, step, stages, warps = config
                choice = f"type=triton_BLOCK-M={tile_m}_BLOCK-K={step}_BLOCK-N={tile_n}_numstages={stages}_numwarps={warps}"
                print(f"{row},{choice},{time:.6f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
