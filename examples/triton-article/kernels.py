"""A matrix product C = A B in f32, row-major, by three kernels in Triton: examples/triton-article/README.md walks through them.

Offsets are 32 bits wide: no matrix may have 2^31 elements or more.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def naive(a, b, c, M, N, K, WHOLE: tl.constexpr):
    """One program an element of C: a row of A by a column of B, each loaded whole. WHOLE is a power of two, at least K."""
    column, row = tl.program_id(0), tl.program_id(1)
    k = tl.arange(0, WHOLE)
    left = tl.load(a + row * K + k, mask=k < K, other=0.0)
    right = tl.load(b + k * N + column, mask=k < K, other=0.0)
    tl.store(c + row * N + column, tl.sum(left * right))


@triton.jit
def transposed(a, bt, c, M, N, K, WHOLE: tl.constexpr):
    """The same of a B that was transposed before: both operands are rows, so that neighbouring lanes load neighbouring elements."""
    column, row = tl.program_id(0), tl.program_id(1)
    k = tl.arange(0, WHOLE)
    left = tl.load(a + row * K + k, mask=k < K, other=0.0)
    right = tl.load(bt + column * K + k, mask=k < K, other=0.0)
    tl.store(c + row * N + column, tl.sum(left * right))


@triton.jit
def tiled(
    a, b, c, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """One program a tile of C. What it loads is used BLOCK_N or BLOCK_M times; Triton puts it into shared memory."""
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    k = tl.arange(0, BLOCK_K)
    from_a = a + rows[:, None] * K + k[None, :]
    from_b = b + k[:, None] * N + columns[None, :]
    sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for done in range(0, K, BLOCK_K):
        left = tl.load(from_a, mask=(rows < M)[:, None] & (done + k < K)[None, :], other=0.0)
        right = tl.load(from_b, mask=(done + k < K)[:, None] & (columns < N)[None, :], other=0.0)
        sums = tl.dot(left, right, sums, input_precision=PRECISION)
        from_a += BLOCK_K
        from_b += BLOCK_K * N
    tl.store(c + rows[:, None] * N + columns[None, :], sums, mask=(rows < M)[:, None] & (columns < N)[None, :])


#: What is launched: kernel, constants (WHOLE follows from K), warps of a program, stages of the pipeline.
TILE = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
LAUNCHES = {
    "naive": (naive, {}, 8, 1),
    "transposed": (transposed, {}, 8, 1),
    "tiled": (tiled, {**TILE, "PRECISION": "ieee"}, 4, 3),
    "tiled, tf32": (tiled, {**TILE, "PRECISION": "tf32"}, 4, 3),
}


def constants_of(name, k):
    """The constants of a launch for sums of length k."""
    return LAUNCHES[name][1] or {"WHOLE": triton.next_power_of_2(k)}


def grid_of(constants, m, n):
    """Programs along the columns and along the rows of C."""
    return triton.cdiv(n, constants.get("BLOCK_N", 1)), triton.cdiv(m, constants.get("BLOCK_M", 1))


def product(name, a, b, out=None, one=False):
    """A B; of `transposed` b is B's transpose. `one` launches one program, which compiles."""
    kernel, _, warps, stages = LAUNCHES[name]
    (m, k), n = a.shape, b.shape[0 if name == "transposed" else 1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device) if out is None else out
    constants = constants_of(name, k)
    kernel[(1, 1) if one else grid_of(constants, m, n)](a, b, c, m, n, k, **constants, num_warps=warps, num_stages=stages)
    return c
