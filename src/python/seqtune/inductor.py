"""PyTorch Inductor with predicted configs of its Triton matrix products: ``seqtune.inductor.install(model)``.

Where ``max_autotune_gemm`` would measure some twenty templates, Inductor gets the first predicted ones and the vendor's library beside
them. The model tells which config is best, not whether the library is better: the library stays among the choices unless
``library="unsure"`` says that a sure first choice shall stand alone. PyTorch is imported when :func:`install` is called.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from seqtune.errors import DeviceNotFoundError, InputError, MismatchError, NoLegalConfigError, ProblemError, UnavailableError
from seqtune.predictor import settles

__all__ = ["Chooser", "Product", "install", "uninstall"]

log = logging.getLogger(__name__)

#: Name of Inductor's template.
TEMPLATE = "triton::mm"

#: What is looked up, by Inductor's names.
OPS = ("mm", "addmm")

#: Types of which sums are kept in float32.
DTYPES = ("float16", "bfloat16", "float32")

#: Parameters that Inductor calls otherwise than AutoHeuristic.
RENAMED = {"numstages": "num_stages", "numwarps": "num_warps"}

#: Rows of tiles that follow each other, where the kernel has no parameter of it: what Inductor's own configs have.
GROUP_M = 8


@dataclass(frozen=True)
class Product:
    """A matrix product as Inductor tells of it: sizes, types and strides of both matrices, and the device's name.

    ``divides`` says whether a step divides the sum, whatever sizes come at run time.
    """

    m: int
    n: int
    k: int
    dtypes: tuple[str, str]
    strides: tuple[tuple[int, int], tuple[int, int]]
    device: str
    tf32: bool
    divides: Callable[[int], bool]

    def fields(self) -> dict[str, Any]:
        """Values by AutoHeuristic's column."""
        (a0, a1), (b0, b1) = self.strides
        return {
            "m": self.m,
            "k": self.k,
            "n": self.n,
            "mat1_dtype": self.dtypes[0],
            "mat2_dtype": self.dtypes[1],
            "mat1_stride_0": a0,
            "mat1_stride_1": a1,
            "mat2_stride_0": b0,
            "mat2_stride_1": b1,
            "mat1_iscontig": str((a0, a1) == (self.k, 1)),
            "mat2_iscontig": str((b0, b1) == (self.n, 1)),
            "using_tf32": str(self.tf32) if self.dtypes[0] == "float32" else "not_float_32",
        }


class Chooser:
    """What Inductor is told of a product: the logic, without PyTorch.

    ``predictor`` makes what predicts for a GPU of a name. ``asked`` counts the predictions, ``hits`` the products that were answered.
    """

    def __init__(
        self,
        predictor: Callable[[str], Any],
        fields: Mapping[str, Any],
        top: int = 3,
        library: str = "always",
        objective: str = "time",
        within_time: float | None = None,
    ) -> None:
        if library not in ("always", "unsure"):
            raise InputError(f"library is {library!r}, and has to be 'always' or 'unsure'")
        if top < 1:
            raise InputError(f"top is {top}, and at least one config is needed")
        self._predictor = functools.cache(predictor)
        self._fields, self._top, self._library = frozenset(fields), top, library
        self._by = {} if objective == "time" and within_time is None else {"objective": objective, "within_time": within_time}
        self._known: dict[tuple[Any, ...], tuple[list[dict[str, int]], bool]] = {}
        self.asked = self.hits = 0

    def choose(self, product: Product) -> tuple[list[dict[str, int]], bool]:
        """The configs to choose among, and whether the model is sure of the first, which is then the only one."""
        problem = {name: value for name, value in product.fields().items() if name in self._fields}
        key = (product.device, *problem.values())
        if key not in self._known:
            self.asked += 1
            predictor = self._predictor(product.device)
            predictions = predictor.predict(problem, top=self._top, **self._by)
            # what Inductor times tells nothing of energy
            sure = bool(self._by) or settles(predictor, predictions)
            few = predictions[:1] if sure else predictions
            self._known[key] = ([dict(prediction.config) for prediction in few], sure)
        return self._known[key]

    def entries(self, op: str, product: Product, offered: list[str]) -> dict[str, list[dict[str, Any]]]:
        """Options by template, of those that Inductor offers; empty where it shall choose as it does without us.

        A product is answered where the template of Triton is offered. Where the sum is so long that Inductor would split it, it is left
        alone: no model knows of that.
        """
        plain = all(dtype in DTYPES and dtype == product.dtypes[0] for dtype in product.dtypes)
        if op not in OPS or TEMPLATE not in offered or "decompose_k" in offered or not plain:
            return {}
        try:
            configs, sure = self.choose(product)
        except (ProblemError, NoLegalConfigError) as e:
            log.info("%s is left to Inductor: %s", op, e)
            return {}
        self.hits += 1
        found: dict[str, list[dict[str, Any]]] = {TEMPLATE: [options(config, product) for config in configs]}
        if not sure or self._library == "always":
            found.update({uid: [{}] for uid in offered if uid.startswith("aten::")})
        return found


def options(config: Mapping[str, int], product: Product) -> dict[str, Any]:
    """All options of the template for a config: PyTorch 2.11 fills in none, and 2.15 those of another config."""
    named = {RENAMED.get(name, name): value for name, value in config.items()}
    return {
        "GROUP_M": GROUP_M,
        **named,
        # of another step's it would be wrong results
        "EVEN_K": product.divides(config["BLOCK_K"]),
        "ACC_TYPE": "tl.float32",
        "USE_FAST_ACCUM": False,
    }


#: Words of makers before the name of a GPU.
MAKERS = ("NVIDIA", "AMD", "Tesla", "GeForce", "Instinct", "Radeon")


def device_names(name: str) -> list[str]:
    """What a GPU may be described as, of what PyTorch calls it.

    >>> device_names("NVIDIA A100-SXM4-40GB"), device_names("NVIDIA GeForce RTX 4090")[1:]
    (['NVIDIA A100-SXM4-40GB', 'A100-SXM4-40GB', 'A100'], ['RTX 4090', 'RTX'])
    """
    words = name.split()
    while words and words[0] in MAKERS:
        words.pop(0)
    short = " ".join(words)
    return list(dict.fromkeys([name, short, short.split("-")[0].split(" ")[0]]))


def _predictor_for(model: Any, kernel: Any, name: str) -> Any:
    """What predicts for the GPU of this name, as it is described."""
    from seqtune import Predictor

    for called in device_names(name):
        try:
            device = model.device(called)
        except DeviceNotFoundError:
            continue
        return Predictor(model, kernel, device)
    raise UnavailableError(f"no described device is called {name}: name one, or a .toml file, with install(device=…)")


#: Choosers that handlers are made of, by what tells them apart.
_choosers: dict[str, Chooser] = {}


def install(
    model: Any,
    *,
    kernel: Any = "triton_mm",
    device: Any = None,
    top: int = 3,
    library: str = "always",
    objective: str = "time",
    within_time: float | None = None,
) -> Chooser:
    """Lets Inductor choose among predicted configs, in all threads that have compiled nothing yet and in this one.

    ``model`` is the path of one, or a :class:`seqtune.Model`; ``kernel`` what it was trained for, with fields and parameters like those of
    ``triton_mm``; ``device`` a description, by default that of the GPU that is compiled for. Where the model is not to be trusted alone Inductor
    measures the first ``top``. ``library="unsure"`` leaves the vendor's library out where the model is sure. ``objective`` and ``within_time`` are those
    of :meth:`seqtune.Predictor.predict`; the first choice is then taken, because Inductor measures time alone.
    """
    from seqtune import Device, Kernel, Model, Predictor

    kernel = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    model = model if isinstance(model, Model) else Model(model, kernel=kernel.name)
    fields = _check(kernel)
    if kernel.name not in model.kernels:
        raise MismatchError(f"the model was made for {', '.join(model.kernels)}, not kernel {kernel.name}")
    if device is None:
        chooser = Chooser(functools.partial(_predictor_for, model, kernel), fields, top, library, objective, within_time)
    else:
        own = Predictor(model, kernel, device if isinstance(device, Device) else Device(device))
        chooser = Chooser(lambda _: own, fields, top, library, objective, within_time)
    name = device.name if isinstance(device, Device) else device
    install_chooser(chooser, f"{model.digest}-{kernel.space_hash}-{name}-{top}-{library}-{objective}-{within_time}")
    return chooser


def _check(kernel: Any) -> Mapping[str, Any]:
    """The fields of a kernel, which have to be those of a product."""
    known = Product(1, 1, 1, ("float16", "float16"), ((1, 1), (1, 1)), "", False, lambda _: True).fields()
    strange = [name for name, field in kernel.fields.items() if name not in known and field["default"] is None]
    missing = [name for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K") if name not in kernel.parameters]
    if strange:
        raise InputError(f"kernel {kernel.name} has a field `{strange[0]}` that Inductor does not tell; use one like triton_mm")
    if missing:
        raise InputError(f"kernel {kernel.name} has no parameter `{missing[0]}`; use one like triton_mm")
    return dict(kernel.fields)


def install_chooser(chooser: Chooser, key: str) -> None:
    """Installs a chooser; ``key`` tells it apart, so that Inductor's cache keeps no graph of another one."""
    choices: Any = import_module("torch._inductor.choices")
    config: Any = import_module("torch._inductor.config")
    V: Any = import_module("torch._inductor.virtualized").V

    _choosers[key] = chooser
    factory = functools.partial(handler, key)
    if hasattr(choices, "register_inductor_choices"):
        choices.register_inductor_choices("seqtune", factory)
    else:
        config.inductor_choices_class = factory
        V.set_choices_handler(factory())


def uninstall() -> None:
    """Lets Inductor choose as it does without us."""
    choices: Any = import_module("torch._inductor.choices")
    config: Any = import_module("torch._inductor.config")
    V: Any = import_module("torch._inductor.virtualized").V

    if hasattr(choices, "unregister_inductor_choices"):
        choices.unregister_inductor_choices("seqtune")
    elif isinstance(config.inductor_choices_class, functools.partial) and config.inductor_choices_class.func is handler:
        config.inductor_choices_class = None
        V.set_choices_handler(choices.InductorChoices())


def handler(key: str) -> Any:
    """The choices handler of an installed chooser: what Inductor makes one of in each thread."""
    return _handler_class()(key, _choosers[key])


@functools.cache
def _handler_class() -> Any:
    base: Any = import_module("torch._inductor.lookup_table.choices").LookupTableChoices

    class SeqtuneChoices(base):
        """Answers from the lookup table, where the user has one, then from the model."""

        def __init__(self, key: str, chooser: Chooser) -> None:
            super().__init__()
            self._key, self._chooser = key, chooser

        def uuid(self) -> str:
            """What tells graphs of this model apart in Inductor's cache."""
            return f"seqtune-{self._key}"

        def lookup_template_configs(
            self,
            kernel_inputs: Any,
            op_name: str,
            template_uids: list[str],
            template_hash_map: dict[str, str | None] | None = None,
        ) -> dict[str, list[dict[str, Any]]]:
            found: dict[str, list[dict[str, Any]]]
            found = super().lookup_template_configs(kernel_inputs, op_name, template_uids, template_hash_map)
            if found or op_name not in OPS or kernel_inputs.device_type != "cuda":
                return found
            product = product_of(kernel_inputs)
            return self._chooser.entries(op_name, product, template_uids) if product else {}

    return SeqtuneChoices


def product_of(kernel_inputs: Any) -> Product | None:
    """The product of Inductor's inputs; ``None`` of one that is batched or has a type of its own for the result."""
    torch: Any = import_module("torch")

    at = (getattr(kernel_inputs, "_mat1_idx", -2), getattr(kernel_inputs, "_mat2_idx", -1))
    strides = tuple(tuple(int(s) for s in kernel_inputs.strides_hinted()[i]) for i in at)
    dtypes = tuple(str(kernel_inputs.dtype(i)).removeprefix("torch.") for i in at)
    if any(len(stride) != 2 for stride in strides) or kernel_inputs.out_dtype() != kernel_inputs.dtype(at[0]):
        return None
    m, n, k = (int(size) for size in kernel_inputs.mnk_hinted())
    symbolic = kernel_inputs.mnk_symbolic()[2]
    name = torch.cuda.get_device_properties(kernel_inputs.device()).name
    tf32 = torch.backends.cuda.matmul.fp32_precision == "tf32"
    return Product(m, n, k, dtypes, strides, name, tf32, functools.partial(_divides, symbolic))  # type: ignore[arg-type]


def _divides(size: Any, step: int) -> bool:
    """Whether a step divides a size that may be a symbol: only what holds of every value is true."""
    try:
        return int(size) % step == 0
    except TypeError:
        V: Any = import_module("torch._inductor.virtualized").V

        return bool(V.graph.sizevars.statically_known_multiple_of(size, step))
