"""Asks Megatron-Core's own code for a table's rows: megatron_check.py record FOLDER | pinned FOLDER.

`record` writes what two ranks would record, and the configs that the function lists. `pinned` loads FOLDER/tables and chooses for each key without
timing, also for keys that were never recorded. The autotuner is Triton's; tensors are stand-ins that have a data type.
"""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import triton
import triton.language as tl
from megatron.core.tuning import selection, table

ARCHITECTURE = "sm90"
CONFIGS = [
    triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=warps, num_stages=stages)
    for m, n, k in [(16, 64, 128), (16, 32, 64), (32, 64, 64), (64, 64, 32), (64, 128, 64), (128, 128, 32), (128, 128, 64), (128, 64, 64)]
    for warps, stages in [(4, 3), (4, 5), (8, 3)]
]
KEY = ["m", "k", "n", "mat1_stride_0", "mat1_stride_1", "mat2_stride_0", "mat2_stride_1"]


@triton.autotune(configs=CONFIGS, key=KEY)
@triton.jit
def _triton_mm_kernel(
    a, b, c, m, k, n, mat1_stride_0, mat1_stride_1, mat2_stride_0, mat2_stride_1,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pass


def arguments(m: int, size: int) -> tuple:
    """Arguments of a launch: three tensors of halves, and sizes."""
    tensors = [SimpleNamespace(dtype="torch.float16")] * 3
    return (*tensors, m, size, size, size, 1, size, 1)


RECORDED = [(m, size) for size in (1024, 4096) for m in (1, 16, 64, 256, 1024, 4096)]
NEVER_RECORDED = [(48, 2048), (8192, 8192)]


def record(folder: Path) -> None:
    name = selection.kernel_name(_triton_mm_kernel)
    for rank in range(2):
        # ranks disagree, as timing makes them
        winner = CONFIGS[rank]
        row = {"kwargs": winner.kwargs, "num_warps": winner.num_warps, "num_stages": winner.num_stages}
        rows = {selection.tuning_key(_triton_mm_kernel, arguments(*shape), {}): row for shape in RECORDED}
        (folder / f"rec.rank{rank}.json").write_text(json.dumps({ARCHITECTURE: {name: rows}}))
    listed = [{"kwargs": c.kwargs, "num_warps": c.num_warps, "num_stages": c.num_stages} for c in CONFIGS]
    (folder / "candidates.json").write_text(json.dumps(listed))


def pinned(folder: Path) -> int:
    loaded = table.load(ARCHITECTURE, (folder / "tables",))
    name, missed, beside = selection.kernel_name(_triton_mm_kernel), 0, 0
    cheapest = selection.cheapest(CONFIGS)
    for shapes, what in ((RECORDED, "recorded"), (NEVER_RECORDED, "never recorded, row `*`")):
        for m, size in shapes:
            key = selection.tuning_key(_triton_mm_kernel, arguments(m, size), {})
            found = loaded.lookup(name, key, CONFIGS)
            missed += found is None
            if found is not None:
                chosen = selection.deterministic_choice(_triton_mm_kernel, CONFIGS, arguments(m, size), {}, table=loaded, on_miss="error")
                missed += chosen is not found
                beside += chosen is not cheapest
                print(f"m={m},n=k={size}: {selection.config_signature(chosen)} ({what})")
    asked = len(RECORDED) + len(NEVER_RECORDED)
    print(f"Megatron-Core: {asked - missed} of {asked} keys found a row, {beside} of them another config than its own untimed choice")
    return 1 if missed else 0


if __name__ == "__main__":
    do, where = sys.argv[1], Path(sys.argv[2])
    sys.exit(record(where) if do == "record" else pinned(where))
