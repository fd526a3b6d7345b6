#!/usr/bin/env python3
"""Measures configs of vLLM's fused MoE product on this machine's GPU, into a journal that ``seqtune train`` reads.

    python3 measure.py server.log --hidden 7168 --topk 8 -o moe.jsonl
    seqtune train moe.jsonl --kernel fused_moe -o moe-model
    seqtune export table moe-model --for vllm --from server.log -o tables
    VLLM_TUNED_CONFIG_FOLDER=tables vllm serve ...

The file is a log of vLLM, or a list of shapes such as ``E=24,N=1344,dtype=fp8_w8a8,block_shape=[128,128]``. Needs vLLM, a GPU and the package seqtune.
The same command goes on with a journal that is there. Results are compared with a product in float32.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import seqtune

#: Numbers of tokens that are measured: the engine takes the nearest row of its table.
ROWS = (1, 4, 16, 64, 256, 1024, 4096)

#: A shape in a log or a list, with what follows N in a table's name.
SHAPE = re.compile(r"\bE=(\d+),\s*N=(\d+)((?:,\s*[a-z_]+=(?:\[[^\]]*\]|[^,\s\[\]]+?(?=,|\.json|\s|$)))*)")
FIELD = re.compile(r"([a-z_]+)=(\[[^\]]*\]|[^,\s]+)")

#: Data types that are measured; others are in tables of SGLang alone, or need packed weights.
TYPES = ("auto", "bf16", "fp8_w8a8", "int8_w8a16")

#: Error of a result, as a share of its largest magnitude: activations in 8 bits are coarse.
TOLERANCE = {"auto": 0.02, "bf16": 0.02, "fp8_w8a8": 0.08, "int8_w8a16": 0.02}

#: Tokens whose results are checked.
CHECKED = 8

#: Parameters that the engine takes as they are; those of AMD's compiler only where they are set.
TAKEN = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
OF_AMD = ("waves_per_eu", "matrix_instr_nonkdim", "kpack")

Problem = dict[str, Any]


class Engine(Protocol):
    """What launches the product."""

    def measure(self, problem: Problem, config: dict[str, int]) -> list[float]:
        """Seconds of launches; raises ``seqtune.Invalid`` where the config does not work."""

    def device(self) -> str:
        """The GPU's name."""


def shape_of(line: str) -> Problem | str | None:
    """The shape in a line, why it is not measured, or ``None`` where the line has none.

    >>> shape_of("E=24,N=1344,device_name=NVIDIA_L40S,dtype=fp8_w8a8,block_shape=[128, 128].json")
    {'E': 24, 'N': 1344, 'dtype': 'fp8_w8a8', 'block_n': 128, 'block_k': 128}
    >>> shape_of("E=8,N=64,dtype=int4_w4a16")
    'dtype=int4_w4a16'
    """
    found = SHAPE.search(line)
    if found is None:
        return None
    more = dict(FIELD.findall(found[3]))
    more.pop("device_name", None)
    kind = more.pop("dtype", "auto")
    blocks = more.pop("block_shape", None)
    sides = [int(side) for side in re.findall(r"\d+", blocks or "")]
    if kind not in TYPES or (blocks is not None and (kind != "fp8_w8a8" or len(sides) != 2 or 0 in sides)):
        return f"dtype={kind}" if kind not in TYPES else f"block_shape={blocks} of dtype={kind}"
    if more:
        return ", ".join(f"{name}={value}" for name, value in more.items())
    columns, depth = sides or (0, 0)
    return {"E": int(found[1]), "N": int(found[2]), "dtype": kind, "block_n": columns, "block_k": depth}


def shapes_of(lines: Sequence[str]) -> list[Problem]:
    """The shapes of a file, each once; what is not measured is counted on standard error."""
    shapes: list[Problem] = []
    left: dict[str, int] = {}
    for line in lines:
        shape = shape_of(line)
        if isinstance(shape, str):
            left[shape] = left.get(shape, 0) + 1
        elif shape is not None and shape not in shapes:
            shapes.append(shape)
    for why, count in left.items():
        print(f"measure.py: {count} lines are left out: {why} is not measured here", file=sys.stderr)
    return shapes


class Vllm:
    """vLLM's own product on the first GPU."""

    def __init__(self, hidden: int, topk: int, seed: int) -> None:
        import torch
        import triton
        from vllm.model_executor.layers import fused_moe
        from vllm.model_executor.layers.fused_moe import config as quantization
        from vllm.model_executor.layers.fused_moe.fused_moe import fused_experts

        if not torch.cuda.is_available():
            raise SystemExit("measure.py: PyTorch finds no GPU here; run this on the machine that serves")
        self.torch, self.triton = torch, triton
        self.experts: Callable[..., Any] = fused_experts
        self.override: Callable[..., Any] = fused_moe.override_config
        self.quantization = quantization
        self.hidden, self.topk = hidden, topk
        self.generator = torch.Generator("cuda").manual_seed(seed)
        self.weights: tuple[Problem, Any] | None = None
        self.loaded: tuple[Problem, Any] | None = None

    def device(self) -> str:
        return str(self.torch.cuda.get_device_name(0))

    def measure(self, problem: Problem, config: dict[str, int]) -> list[float]:
        try:
            self.torch.cuda.synchronize()
        except RuntimeError as e:
            raise SystemExit(f"measure.py: the last config took the GPU's context with it ({e}); the same command goes on") from e
        if self.loaded is None or self.loaded[0] != problem:
            self.loaded = (problem, self.load(problem))
        run, expected, tokens = self.loaded[1]
        chosen = {name: config[name] for name in TAKEN} | {name: config[name] for name in OF_AMD if config[name]}
        with self.override(chosen | {"SPLIT_K": 1}):
            try:
                result = run()[tokens].float()
                samples = self.triton.testing.do_bench_cudagraph(run, rep=20, return_mode="all")
            except self.triton.runtime.errors.OutOfResources as e:
                raise seqtune.Invalid(str(e), kind="compile") from e
        error = float((result - expected).abs().max() / expected.abs().max())
        # a NaN is within nothing
        if not error <= TOLERANCE[problem["dtype"]]:
            raise seqtune.Invalid(f"off by {error:.3g} of the largest magnitude", kind="correctness")
        return [milliseconds / 1e3 for milliseconds in samples]

    def load(self, problem: Problem) -> tuple[Callable[[], Any], Any, Any]:
        """What launches the product, some of its tokens' results in float32, and their places."""
        torch = self.torch
        layer = {name: value for name, value in problem.items() if name != "M"}
        if self.weights is None or self.weights[0] != layer:
            self.weights = None  # two layers may not fit
            self.weights = (layer, [self.matrices(problem, *shape) for shape in self.sides(problem)])
        (first, first_scale), (second, second_scale) = self.weights[1]
        tokens = problem["M"]
        hidden = torch.randn(tokens, self.hidden, device="cuda", dtype=torch.bfloat16, generator=self.generator)
        scores = torch.rand(tokens, problem["E"], device="cuda", generator=self.generator)
        shares, ids = scores.topk(self.topk, dim=1)
        shares, ids = shares / shares.sum(1, keepdim=True), ids.to(torch.int32)
        quantized = self.quantized(problem, first_scale, second_scale)

        def run() -> Any:
            return self.experts(hidden, first, second, shares, ids, quant_config=quantized)

        places = torch.linspace(0, tokens - 1, min(CHECKED, tokens), device="cuda").long()
        expected = torch.stack([self.product(problem, hidden[at].float(), shares[at], ids[at]) for at in places.tolist()])
        return run, expected, places

    def sides(self, problem: Problem) -> list[tuple[int, int]]:
        """Rows and columns of an expert's two matrices; the first holds the gate's too."""
        return [(2 * problem["N"], self.hidden), (self.hidden, problem["N"])]

    def matrices(self, problem: Problem, rows: int, columns: int) -> tuple[Any, Any]:
        """Random matrices of all experts, and their scales; ``None`` where they have none."""
        torch = self.torch
        kind = problem["dtype"]
        values, scales = None, []
        for expert in range(problem["E"]):
            matrix = torch.randn(rows, columns, device="cuda", dtype=torch.float32, generator=self.generator) / columns**0.5
            matrix, scale = self.quantize(problem, matrix)
            if values is None:
                values = torch.empty(problem["E"], rows, columns, device="cuda", dtype=matrix.dtype)
            values[expert] = matrix
            scales.append(scale)
        return values, None if kind in ("auto", "bf16") else torch.stack(scales)

    def quantize(self, problem: Problem, matrix: Any) -> tuple[Any, Any]:
        """A matrix in the problem's data type, and its scales."""
        torch = self.torch
        if problem["dtype"] in ("auto", "bf16"):
            return matrix.to(torch.bfloat16), None
        if problem["dtype"] == "int8_w8a16":
            scale = matrix.abs().amax(1) / 127
            return (matrix / scale[:, None]).round().to(torch.int8), scale
        number = self.quantization.current_platform.fp8_dtype()
        most = torch.finfo(number).max
        if not problem["block_n"]:
            scale = matrix.abs().max() / most
            return (matrix / scale).to(number), scale
        scale = self.block_scales(matrix, problem["block_n"], problem["block_k"]) / most
        return (matrix / self.spread(problem, scale, matrix.shape)).to(number), scale

    def block_scales(self, matrix: Any, height: int, width: int) -> Any:
        """The largest magnitude of each block; blocks at the edges are smaller."""
        rows, columns = matrix.shape
        padded = self.torch.nn.functional.pad(matrix.abs(), (0, -columns % width, 0, -rows % height))
        return padded.view(padded.shape[0] // height, height, -1, width).amax((1, 3))

    def spread(self, problem: Problem, scale: Any, shape: Sequence[int]) -> Any:
        """The scales of blocks, for each element."""
        each = scale.repeat_interleave(problem["block_n"], 0).repeat_interleave(problem["block_k"], 1)
        return each[: shape[0], : shape[1]]

    def quantized(self, problem: Problem, first: Any, second: Any) -> Any:
        """vLLM's description of the data types."""
        kind = problem["dtype"]
        if kind in ("auto", "bf16"):
            return None
        if kind == "int8_w8a16":
            return self.quantization.int8_w8a16_moe_quant_config(w1_scale=first, w2_scale=second)
        blocks = [problem["block_n"], problem["block_k"]] if problem["block_n"] else None
        return self.quantization.fp8_w8a8_moe_quant_config(w1_scale=first, w2_scale=second, block_shape=blocks)

    def product(self, problem: Problem, token: Any, shares: Any, ids: Any) -> Any:
        """One token's result in float32."""
        assert self.weights is not None
        total = self.torch.zeros(self.hidden, device="cuda")
        for share, expert in zip(shares.tolist(), ids.tolist()):
            first, second = [self.plain(problem, values[expert], scales, expert) for values, scales in self.weights[1]]
            gate, up = (first @ token).chunk(2)
            total += share * (second @ (self.torch.nn.functional.silu(gate) * up))
        return total

    def plain(self, problem: Problem, matrix: Any, scales: Any, expert: int) -> Any:
        """A matrix in float32."""
        matrix = matrix.float()
        if scales is None:
            return matrix
        scale = scales[expert]
        if problem["dtype"] == "int8_w8a16":
            return matrix * scale[:, None]
        return matrix * (self.spread(problem, scale, matrix.shape) if problem["block_n"] else scale)


def words(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shapes", help="log of vLLM, or a list of shapes")
    parser.add_argument("-o", "--output", required=True, help="journal")
    parser.add_argument("--hidden", type=int, required=True, help="hidden size of the model")
    parser.add_argument("--topk", type=int, required=True, help="experts of a token")
    parser.add_argument("--rows", type=lambda text: [int(row) for row in text.split(",")], default=ROWS, help="numbers of tokens")
    parser.add_argument("--sample", type=int, default=60, help="configs of a problem")
    parser.add_argument("--device", help="the GPU as seqtune calls it; default: by its own name")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(given)


def main(given: Sequence[str], opened: Callable[[int, int, int], Engine] = Vllm) -> None:
    asked = words(given)
    try:
        lines = Path(asked.shapes).read_text(errors="replace").splitlines()
    except OSError as e:
        raise SystemExit(f"measure.py: {asked.shapes}: {e.strerror}") from e
    shapes = shapes_of(lines)
    if not shapes:
        raise SystemExit(f"measure.py: {asked.shapes} names no shape, such as E=24,N=1344,dtype=fp8_w8a8")
    if few := [shape["E"] for shape in shapes if shape["E"] < asked.topk]:
        raise SystemExit(f"measure.py: --topk {asked.topk} of {few[0]} experts; a token has at most as many as there are")
    if min(asked.hidden, asked.topk, *asked.rows) < 1:
        raise SystemExit("measure.py: --hidden, --topk and --rows count from 1")
    engine = opened(asked.hidden, asked.topk, asked.seed)
    problems = [shape | {"M": row} for shape in shapes for row in asked.rows]
    try:
        kernel = seqtune.Kernel("fused_moe")
        device = seqtune.Device(asked.device or engine.device())
        done = seqtune.sweep(
            kernel, engine.measure, problems, device=device, journal=asked.output, sample=asked.sample, seed=asked.seed
        )
    except seqtune.Error as e:
        raise SystemExit(f"measure.py: {e}") from e
    print(f"{done.journal}: {len(done.records)} records, {done.measured} measured now, {done.failed} failed now")


if __name__ == "__main__":
    main(sys.argv[1:])
