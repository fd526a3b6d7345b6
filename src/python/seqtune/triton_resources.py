"""What a config of a Triton kernel takes of a GPU, told by Triton's own compiler without one: shared memory, registers, spills.

>>> target_of("sm_90"), target_of("gfx942"), target_of("gfx1100")
(('cuda', 90, 32), ('hip', 'gfx942', 64), ('hip', 'gfx1100', 32))
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from seqtune.errors import Error, FailedError, InputError, UnavailableError

#: Triton's names of types by PyTorch's.
TYPES = {
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "bool": "i1",
}

#: Bytes that pointers and sizes are taken to be multiples of; without that hint loops are not pipelined.
ALIGNED = 16

#: Registers that NVIDIA's GPUs hand out to a warp at a time.
REGISTERS_OF_A_WARP = 256


@dataclass(frozen=True)
class Judgement:
    """What became of a config. ``why`` is empty where it is legal; numbers that the compiler does not tell are ``None``."""

    config: Any
    why: str
    shared: int | None = None
    registers: int | None = None
    spills: int | None = None

    @property
    def legal(self) -> bool:
        """Whether the config keeps the device's limits."""
        return not self.why


def target_of(architecture: str) -> tuple[str, int | str, int]:
    """Backend, architecture and lanes of a warp, of an architecture such as ``sm_90`` or ``gfx942``."""
    if match := re.fullmatch(r"sm_(\d+)a?", architecture):
        return ("cuda", int(match[1]), 32)
    if match := re.fullmatch(r"gfx(\d+)[0-9a-f]{2}.*", architecture):
        return ("hip", architecture.split(":")[0], 64 if int(match[1]) <= 9 else 32)
    raise InputError(f"Triton compiles for NVIDIA's sm_… and AMD's gfx…, not for `{architecture}`")


def signature_of(fn: Any, args: Mapping[str, Any], config: Any) -> tuple[dict[str, str], dict[str, Any], dict[Any, Any]]:
    """Types, constants and hints of a launch with these arguments by name: what ``triton.compiler.ASTSource`` takes."""
    types: dict[str, str] = {}
    constants: dict[str, Any] = {}
    hints: dict[Any, Any] = {}
    of_jit = {p.name for p in fn.params if p.is_constexpr}
    for at, name in enumerate(fn.arg_names):
        value = config.kwargs[name] if name in config.kwargs else args.get(name)
        if name in of_jit or value is None or (isinstance(value, int) and not isinstance(value, bool) and value == 1):
            types[name] = "constexpr"
            constants[name] = value
        elif isinstance(value, str):  # already a type
            types[name] = value
        elif hasattr(value, "dtype"):
            types[name] = "*" + _type_of(fn, name, str(value.dtype).removeprefix("torch."))
        elif isinstance(value, bool):
            types[name] = "i1"
        elif isinstance(value, int):
            types[name] = "i32" if -(2**31) <= value < 2**31 else "i64"
        else:
            types[name] = "fp32"
        if types[name].startswith("*") or (isinstance(value, int) and types[name] != "constexpr" and value % ALIGNED == 0):
            hints[(at,)] = [["tt.divisibility", ALIGNED]]
    return types, constants, hints


def _type_of(fn: Any, name: str, dtype: str) -> str:
    if dtype not in TYPES:
        raise InputError(f"`{name}` of {fn.__name__} is of {dtype}, which is not known here; give Triton's type of it as a text, such as `*fp8e4b8`")
    return TYPES[dtype]


def judge(fn: Any, config: Any, args: Mapping[str, Any], device: Any, spills: int | None = None) -> Judgement:
    """Compiles a ``triton.jit`` function with a config for a :class:`seqtune.Device`, on any machine, and holds what it takes against
    the device's limits.

    ``args`` are the arguments by name: tensors, numbers, or Triton's types of them, such as ``"*fp16"``. At most ``spills`` bytes of a
    thread may be spilled, any number where nothing is said. An option that a launch would refuse is illegal, though Triton's compiler passes over it.

    Each config is compiled in a process of its own, forked from this one: Triton 3.6 keeps what it learned of the first kind of GPU for all others
    of a process. A kernel that was launched here before, for this machine's GPU, is judged rightly for GPUs of that architecture alone.
    """
    backend = target_of(device.architecture)[0]
    why, shared, registers, spilled = _apart(lambda said: _resources(fn, config, args, device.architecture, said))
    if why:
        return Judgement(config, why)
    why = over(device.limits, config.num_warps * target_of(device.architecture)[2], shared, registers, backend)
    if not why and spills is not None and spilled is not None and spilled > spills:
        why = f"{spilled} bytes of a thread are spilled, more than {spills}"
    return Judgement(config, why, shared, registers, spilled)


def legal(
    fn: Any, configs: Sequence[Any], args: Mapping[str, Any], device: Any, spills: int | None = None
) -> list[Any]:
    """Those of the configs that keep a device's limits, in their order: see :func:`judge`."""
    return [config for config in configs if judge(fn, config, args, device, spills).legal]


def checker(fn: Any, device: Any, spills: int | None = None) -> Callable[[Any, Mapping[str, Any]], bool]:
    """What ``autotune(allowed=…)`` takes: whether :func:`judge` finds a config legal for the arguments of a launch."""
    return lambda config, args: judge(fn, config, args, device, spills).legal


def over(limits: Mapping[str, float], threads: int, shared: int, registers: int | None, backend: str) -> str:
    """Why a program does not fit; empty where it does. Limits that are not known hold nothing back.

    >>> over({"local_memory": 49152, "local_memory_opt_in": 166912}, 256, 200_000, 100, "cuda")
    'it takes 200000 bytes of shared memory, and the device has 166912'
    >>> over({"local_memory": 65536, "local_memory_opt_in": 0}, 256, 60_000, 100, "hip")
    ''
    >>> over({"group_registers": 65536}, 512, 0, 255, "cuda")
    'it takes 131072 registers, and a work-group has 65536'
    """
    # a device whose work-groups may ask for no more at launch states 0
    stated = [limits[name] for name in ("local_memory", "local_memory_opt_in") if name in limits]
    most = max(stated, default=None)
    if most is not None and shared > most:
        return f"it takes {shared} bytes of shared memory, and the device has {int(most)}"
    items = limits.get("max_group_items")
    if items is not None and threads > items:
        return f"it has {threads} threads, and a work-group has {int(items)}"
    available = limits.get("group_registers")
    if available is not None and registers is not None and backend == "cuda":
        warps = -(-threads // 32)
        taken = warps * -(-registers * 32 // REGISTERS_OF_A_WARP) * REGISTERS_OF_A_WARP
        if taken > available:
            return f"it takes {taken} registers, and a work-group has {int(available)}"
    return ""


#: Why there is no program, else its shared memory, registers and spilled bytes.
Found = tuple[str, int, "int | None", "int | None"]


def _apart(work: Callable[[Callable[[], str]], Found]) -> Found:
    """What ``work`` finds in a process of its own. A compiler that crashes ends that one, and what it prints, whole programs among it, is kept from
    this one's output: ``work`` is given what tells it.
    """
    receiver, sender = os.pipe()
    printed = tempfile.TemporaryFile()

    def said() -> str:
        sys.stdout.flush()
        printed.seek(0)
        return printed.read().decode(errors="replace")

    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # threads of others are not used there
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(receiver)
        os.dup2(printed.fileno(), 1)
        os.dup2(printed.fileno(), 2)
        answer: Any = None
        try:
            answer = (None, work(said))
        except Error as error:
            answer = (type(error), str(error))
        except BaseException as error:
            answer = (FailedError, f"{type(error).__name__}: {error}")
        finally:
            with os.fdopen(sender, "wb") as file:
                pickle.dump(answer, file)
            # nothing of the parent's is run at its end
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as answered:
        told = answered.read()
    _, status = os.waitpid(child, 0)
    printed.close()
    if not told:
        return (f"the compiler crashes: signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "the compiler ends without a word"), 0, None, None
    kind, found = pickle.loads(told)
    if kind is not None:
        raise kind(found)
    return cast(Found, found)


def _resources(fn: Any, config: Any, args: Mapping[str, Any], architecture: str, said: Callable[[], str]) -> Found:
    compiled, why = _compile(fn, config, args, architecture, said)
    if compiled is None:
        return why, 0, None, None
    is_nvidia = target_of(architecture)[0] == "cuda"
    registers, spilled = _nvidia(compiled.asm["cubin"]) if is_nvidia else of_amd(compiled.asm["amdgcn"])
    return "", compiled.metadata.shared, registers, spilled


def reason_of(message: str, printed: str = "") -> str:
    """What is wrong, of the words of Triton's compiler and of what it printed: the assembler's first sentence where there is one, else the last line,
    or where that says nothing, the first error that was printed.

    >>> reason_of("PTXAS error\\n`ptxas` stderr:\\nptxas a.ptx, line 25; error   : Feature 'x' requires .target sm_89\\n\\nRepro command: ptxas a.ptx")
    "ptxas, line 25: Feature 'x' requires .target sm_89"
    >>> reason_of("ptxas fatal   : (C7602) Insufficient registers (24)\\nptxas fatal   : Ptx assembly aborted due to errors")
    'ptxas: (C7602) Insufficient registers (24)'
    >>> reason_of("at 3:4:\\n    v = tl.load(x)\\n    ^\\nx is no pointer")
    'x is no pointer'
    >>> reason_of("PassManager::run failed", "module {\\n}\\na.py:8:0: error: operand of another shape\\n")
    'operand of another shape'
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    for line in lines:
        if match := re.match(r"ptxas\b(?:.*?, (line \d+)[;:])?.*?\b(?:error|fatal)\s*:\s*(.*)", line):
            return ", ".join(filter(None, ("ptxas", match[1]))) + f": {match[2]}"
    if lines[-1:] == ["PassManager::run failed"]:
        if match := re.search(r"Assertion `(.*)' failed|\berror: (?!Failures have been)(.*)", printed):
            return f"the compiler asserts that {match[1]}" if match[1] else match[2]
    lines = [line for line in lines if not line.startswith("Repro command")] or lines
    return lines[-1] if lines else ""


def _compile(fn: Any, config: Any, args: Mapping[str, Any], architecture: str, said: Callable[[], str]) -> tuple[Any, str]:
    """The compiled program, or why there is none."""
    triton: Any = import_module("triton")
    target_class: Any = import_module("triton.backends.compiler").GPUTarget
    source_class: Any = import_module("triton.compiler").ASTSource
    jit_class: Any = import_module("triton.runtime.jit").JITFunction

    while not isinstance(fn, jit_class):
        if not hasattr(fn, "fn"):
            raise UnavailableError("Triton compiles nothing under TRITON_INTERPRET=1; judge configs without it")
        fn = fn.fn
    types, constants, hints = signature_of(fn, args, config)
    missing = [name for name, value in constants.items() if value is None and name not in args and name not in config.kwargs]
    if missing:
        raise InputError(f"args says nothing of `{missing[0]}`, an argument of {fn.__name__}")
    backend, arch, warp = target_of(architecture)
    options = {name: value for name in ("num_warps", "num_stages", "num_ctas", "maxnreg") if (value := getattr(config, name)) is not None}
    named = set(fn.arg_names)
    options.update({name: value for name, value in config.kwargs.items() if name not in named})
    source = source_class(fn=fn, signature=types, constexprs={(fn.arg_names.index(n),): v for n, v in constants.items()}, attrs=hints)
    target = target_class(backend, arch, warp)
    try:
        known = vars(import_module("triton.compiler").make_backend(target).parse_options(dict(options)))
        refused = [name for name in options if name not in known]
        if refused:
            return None, f"a launch for {backend} refuses the option `{refused[0]}`"
        ctas = known.get("num_ctas") or 1
        if ctas < 1 or ctas & (ctas - 1):
            return None, "it does not compile: num_ctas must be a power of 2"
        return triton.compile(source, target=target, options=options), ""
    except Exception as e:  # compilers raise what they like
        return None, f"it does not compile: {reason_of(str(e), said()) or type(e).__name__}"


def _nvidia(cubin: bytes) -> tuple[int | None, int | None]:
    """Registers and spilled bytes of a thread, by NVIDIA's tool that comes with Triton."""
    triton: Any = import_module("triton")

    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    if not tool.exists():
        return None, None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.cubin"
        path.write_bytes(cubin)
        done = subprocess.run([tool, "--dump-resource-usage", path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"{tool.name} cannot read a program of Triton's: {done.stderr.strip()}")
    return of_nvidia(done.stdout)


def of_nvidia(text: str) -> tuple[int | None, int | None]:
    """Registers and spilled bytes, of what ``cuobjdump --dump-resource-usage`` prints.

    >>> of_nvidia(" Function matmul:\\n  REG:110 STACK:0 SHARED:0 LOCAL:16 TEXTURE:0\\n")
    (110, 16)
    """
    registers, spilled = re.search(r"\bREG:(\d+)", text), re.search(r"\bLOCAL:(\d+)", text)
    stack = re.search(r"\bSTACK:(\d+)", text)
    bytes_ = [int(match[1]) for match in (spilled, stack) if match]
    return (int(registers[1]) if registers else None, max(bytes_, default=None) if bytes_ else None)


def of_amd(text: str) -> tuple[int | None, int | None]:
    """Vector registers and spilled bytes, of the metadata in AMD's assembly: a spilled register has four bytes.

    >>> of_amd(".vgpr_count: 128\\n.vgpr_spill_count: 3\\n.agpr_count: 0\\n")
    (128, 12)
    """
    registers, spilled = re.search(r"\.vgpr_count:\s*(\d+)", text), re.search(r"\.vgpr_spill_count:\s*(\d+)", text)
    return (int(registers[1]) if registers else None, 4 * int(spilled[1]) if spilled else None)
