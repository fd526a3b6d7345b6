"""Lowers matrix products through PyTorch Inductor for an NVIDIA A100 that is not there, and shows which templates it chose among.

Inductor asks PyTorch and Triton what GPU there is; here they answer with an A100's description. Fake tensors have no data, so
programs are written and nothing is run or measured.
"""

import re
from types import SimpleNamespace

import torch
import torch._inductor.config as config
import triton
from torch._dynamo.source import ConstantSource
from torch._inductor import select_algorithm
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses import fake_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv
from triton.backends.compiler import GPUTarget

NAME = "NVIDIA A100-SXM4-40GB"


def pretend() -> None:
    """Puts the A100's description where PyTorch and Triton look for a GPU."""
    device = SimpleNamespace(
        name=NAME, major=8, minor=0, multi_processor_count=108, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048,
        warp_size=32, shared_memory_per_block=49152, shared_memory_per_block_optin=166912, shared_memory_per_multiprocessor=167936,
        gcnArchName=NAME, total_memory=40 << 30, L2_cache_size=40 << 20, max_threads_per_block=1024, is_integrated=0, clock_rate=1410000,
        memory_clock_rate=1215000, memory_bus_width=5120, uuid="0", pci_bus_id=0, pci_device_id=0, pci_domain_id=0,
    )  # fmt: skip
    cuda = torch.cuda
    cuda.get_device_properties = cuda._get_device_properties = lambda *_: device
    cuda.get_device_capability = lambda *_: (8, 0)
    cuda.current_device = lambda: 0
    cuda.device_count = lambda: 1
    cuda.is_available = cuda.is_initialized = lambda: True
    cuda._lazy_init = lambda: None
    cuda.get_device_name = lambda *_: NAME
    fake_tensor.init_gpu_context = lambda *_: None
    stub = SimpleNamespace(
        get_current_target=lambda: GPUTarget("cuda", 80, 32), get_current_device=lambda: 0, is_active=lambda: True
    )
    triton.runtime.driver.set_active(stub)
    config.max_autotune_gemm = True
    config.force_disable_caches = True
    config.compile_threads = 1


def lower(function, *shapes, dtype=torch.float16, transposed=False, symbolic=()):
    """The program that Inductor writes for a function of tensors of these shapes, and the choices that it would measure.

    Sizes that are `symbolic` may be others at run time. `transposed` stores the last tensor with its columns one behind the other.
    """
    seen = []
    original = select_algorithm.AlgorithmSelectorCache.__call__

    def look(self, name, choices, *args, **kwargs):
        seen.extend(choices)
        # nothing can be measured here: the first template is taken, where there is one
        ordered = sorted(choices, key=lambda choice: "Triton" not in type(choice).__name__)
        return original(self, name, ordered[:1], *args, **kwargs)

    environment = ShapeEnv()
    with FakeTensorMode(allow_non_fake_inputs=True, shape_env=environment) as mode:
        sizes = {size: symbol(environment, size) for size in symbolic}
        shapes = [tuple(sizes.get(size, size) for size in shape) for shape in shapes]
        tensors = [torch.empty(shape, dtype=dtype, device="cuda") for shape in shapes]
        if transposed:
            tensors[-1] = torch.empty(shapes[-1][::-1], dtype=dtype, device="cuda").t()
        graph = make_fx(function)(*tensors)
        lowering = GraphLowering(graph, shape_env=environment, is_inference=True)
        select_algorithm.AlgorithmSelectorCache.__call__ = look
        try:
            with V.set_graph_handler(lowering), V.set_fake_mode(mode), V.set_debug_handler(DebugContext()):
                lowering.run(*tensors)
                written = lowering.codegen()[0]
        finally:
            select_algorithm.AlgorithmSelectorCache.__call__ = original
    return getattr(written, "value", written), seen


def symbol(environment, size):
    """A size that may be another one at run time."""
    source = ConstantSource(f"size{size}")
    made = environment.create_symbol(size, source=source, dynamic_dim=DimDynamic.DYNAMIC)
    return environment.create_symintnode(made, hint=size, source=source)


def constants(source: str) -> dict[str, str]:
    """The template's constants in a written program."""
    found = re.findall(r"(BLOCK_[MNK]|GROUP_M|EVEN_K|ACC_TYPE|USE_FAST_ACCUM) : tl.constexpr = (\S+)", source)
    launch = re.findall(r"(num_stages|num_warps)=(\d+)", source)
    return dict([*found, *launch])


def templates(choices) -> list[str]:
    """What a choice is: the vendor's library by its name, a template by its tile."""

    def name(choice):
        options = dict(re.findall(r"(\w+)=([\w.']+)", getattr(choice, "description", "") or ""))
        tile = [options.get(f"BLOCK_{axis}") for axis in "MNK"]
        return "triton " + "x".join(tile) if all(tile) else choice.name

    return [name(choice) for choice in choices]
