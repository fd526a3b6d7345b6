"""A matrix product in Triton that takes its predicted config at each launch: docs/integrations/triton.md.

Without a GPU: TRITON_INTERPRET=1 python3 matmul.py MODEL
"""

import sys
from pathlib import Path

import torch
import triton
import triton.language as tl

KERNEL = Path(__file__).parent  # its kernel.toml


@triton.jit
def matmul_kernel(
    a, b, c, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    steps = tl.arange(0, BLOCK_K)
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        inside = k + steps < K
        left = tl.load(a + rows[:, None] * K + (k + steps)[None, :], mask=(rows < M)[:, None] & inside[None, :], other=0.0)
        right = tl.load(b + (k + steps)[:, None] * N + columns[None, :], mask=inside[:, None] & (columns < N)[None, :], other=0.0)
        sums = tl.dot(left, right, sums)
    place = c + rows[:, None] * N + columns[None, :]
    tl.store(place, sums.to(c.dtype.element_ty), mask=(rows < M)[:, None] & (columns < N)[None, :])


def product(kernel, a, b):
    """A B by a kernel that was decorated with an autotuner."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    kernel[lambda args: (triton.cdiv(m, args["BLOCK_M"]), triton.cdiv(n, args["BLOCK_N"]))](a, b, c, m, n, k)
    return c


if __name__ == "__main__":
    import seqtune.triton

    if len(sys.argv) != 2:
        sys.exit("usage: matmul.py MODEL")
    matmul = seqtune.triton.autotune(sys.argv[1], key=["M", "N", "K"], kernel=KERNEL)(matmul_kernel)
    where = "cuda" if torch.cuda.is_available() else "cpu"
    for m, n, k in [(64, 64, 64), (100, 70, 33), (512, 256, 128), (100, 70, 33)]:
        a, b = torch.randn((m, k), device=where), torch.randn((k, n), device=where)
        error = (product(matmul, a, b) - a @ b).abs().max().item()
        print(f"{m} x {n} x {k}: {matmul.best_config}, error {error:.1e}")
    print(f"the model was asked {matmul.asked} times, {matmul.measured} configs were measured")
