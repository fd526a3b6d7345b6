"""Measures on the GPU of this machine what PyTorch's and Triton's own searches find, and tries models there.

    python3 scripts/gpu/gpu_torch.py prepare OUT SECONDS
    python3 scripts/gpu/gpu_torch.py collect OUT SECONDS [triton] [mm]
    python3 scripts/gpu/gpu_torch.py live OUT SECONDS [--inductor MODEL] [--triton MODEL]

`prepare` compiles Inductor's programs for `collect` into the folder that INDUCTOR_CACHES names and measures nothing, so that a GPU can do
other work meanwhile. `collect` leaves files for `seqtune import`: OUT/mm.N.txt of PyTorch's AutoHeuristic and OUT/matmul.autotune.tar of Triton's autotuner. `live`
compiles layers and launches a kernel with Inductor's and Triton's own search and with models (folders; of kernels triton_mm and examples/triton),
and writes tables to OUT/torch.md; SEQTUNE_BIN names the command line, for the lookup table.

No verb takes longer than SECONDS. What is measured is in OUT/collect.jsonl or OUT/live.jsonl at once, what compilers say in OUT/log.txt.
`--dry` rehearses on a CPU with small sizes: Inductor for the CPU, which asks no model, and Triton's interpreter.
"""

import contextlib
import fcntl
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[2] / "examples/triton"))
if sys.argv[1:2] == ["_part"]:  # what only watches processes needs none of these
    import torch
    import triton.testing
    from matmul import KERNEL, matmul_kernel, product
    from torch._dynamo.utils import counters
    from torch._inductor import config, select_algorithm
    from torch._inductor.async_compile import AsyncCompile
    from torch._inductor.lookup_table.choices import LookupTableChoices
    from torch._inductor.utils import run_and_get_code
    from torch._inductor.virtualized import V

    import seqtune
    import seqtune.inductor
    import seqtune.triton
DRY = "--dry" in sys.argv
DEVICE = "cpu" if DRY else "cuda"
WORKERS = 4  # processes that compile for Inductor; one at a time measures
# tile of rows, columns, step; warps, stages
CONFIGS = [
    (16, 32, 64, 2, 4), (16, 64, 64, 4, 3), (16, 128, 32, 4, 4), (16, 128, 64, 8, 3), (32, 32, 32, 2, 2), (32, 32, 64, 4, 4),
    (32, 64, 32, 4, 3), (32, 64, 64, 4, 4), (32, 128, 64, 4, 3), (64, 16, 64, 4, 4), (64, 32, 64, 4, 3), (64, 64, 16, 2, 4),
    (64, 64, 32, 4, 3), (64, 64, 64, 4, 4), (64, 64, 64, 8, 2), (64, 128, 32, 4, 4), (64, 128, 64, 4, 3), (64, 128, 64, 8, 4),
    (128, 32, 64, 4, 3), (128, 64, 32, 4, 3), (128, 64, 64, 4, 4), (128, 128, 32, 4, 4), (128, 128, 64, 8, 3), (128, 128, 64, 4, 3),
]  # fmt: skip
# sizes of the layers that `live` compiles; `collect` has no product of them
WIDE, TALL, DEEP, LOW = (48, 64, 96, 32) if DRY else (2304, 3072, 9216, 768)
TOKENS = (32, 16) if DRY else (1024, 16)
UNSEEN = [(48, 32, 64), (16, 48, 32)] if DRY else [(1536, 2304, 768), (384, 3072, 1920), (2304, 768, 3072), (640, 640, 2560), (3584, 1792, 1792)]
WAYS = {"plain": "Inductor, no search", "seqtune": "model", "table": "lookup table of the model", "search": "Inductor's search"}


def left(end: float) -> float:
    """Seconds until a moment of the epoch, which processes share."""
    return end - time.time()


class Out:
    """The folder of results. Records are kept at once."""

    def __init__(self, folder: str, verb: str) -> None:
        self.folder, self.verb = Path(folder).resolve(), verb
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / f"{verb}.jsonl"

    def note(self, **record: object) -> None:
        with open(self.file, "a") as file:
            file.write(json.dumps(record) + "\n")

    def read(self, **like: object) -> list[dict]:
        """The records with these values."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        records = [json.loads(line) for line in lines if line.endswith("}")]
        return [record for record in records if like.items() <= record.items()]

    def failures(self) -> list[str]:
        return [f"{record['what']}: {record['why']}" for record in self.read(part="failed")]

    @contextlib.contextmanager
    def trying(self, what: str):
        """Keeps the reason of a failure, and goes on."""
        try:
            yield
        except Exception as e:
            print(f"{what}: {type(e).__name__}: {e}", flush=True)
            self.note(part="failed", what=what, why=f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[0][:300]}")


class Part:
    """A part of the work in a process of its own, with compilers' caches of its own, or those of a folder that stays."""

    def __init__(self, out: Out, end: float, *args: object, caches: str | None = None, **env: str) -> None:
        self.stays = bool(caches)
        self.caches = caches or tempfile.mkdtemp(prefix="gpu_torch-")
        self.out, self.end, self.name = out, end, " ".join(map(str, args[:2]))
        own = {"TORCHINDUCTOR_CACHE_DIR": f"{self.caches}/inductor", "TRITON_CACHE_DIR": f"{self.caches}/triton"}
        own |= {"TRITON_INTERPRET": str(int(DRY)), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, HERE, "_part", out.verb, out.folder, end, *args, *(["--dry"] if DRY else [])]
        with open(out.folder / "log.txt", "ab") as log:
            to = {"stdout": log, "stderr": log, "start_new_session": True}
            self.process = subprocess.Popen([str(word) for word in command], env={**os.environ, **own, **env}, **to)

    def finish(self) -> None:
        """Waits until the part ends, or its time does; then it is killed."""
        try:
            if code := self.process.wait(max(0.1, left(self.end))):
                self.out.note(part="failed", what=self.name, why=f"it ended with {code}: see log.txt")
        except subprocess.TimeoutExpired:
            self.out.note(part="failed", what=self.name, why="its time was over")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if not self.stays:
            shutil.rmtree(self.caches, ignore_errors=True)


def note_device(out: Out) -> str | None:
    """The described device that this GPU is; what PyTorch calls it is noted too."""
    name, described = "none" if DRY else torch.cuda.get_device_name(), None
    for called in seqtune.inductor.device_names(name)[::-1]:
        with contextlib.suppress(seqtune.DeviceNotFoundError):
            described = seqtune.Device(called).name
    if not out.read(part="device"):
        out.note(part="device", name=name, described=described)
    return described


def microseconds(call) -> float:
    """Median time of a call; of a GPU that of a graph of many, so that the time of Python is not measured."""
    if DRY:
        return 1e3 * short_bench(call)[0]
    try:
        return 1e3 * triton.testing.do_bench_cudagraph(call, rep=30, return_mode="median")
    except Exception as e:
        print(f"no graph: {e}", flush=True)
        return 1e3 * triton.testing.do_bench(call, return_mode="median")


def short_bench(call, quantiles=None):
    """What Triton's autotuner measures with in `collect`: 20 ms a config."""
    if DRY:
        began = time.perf_counter()
        call()
        return [1e3 * (time.perf_counter() - began)] * 3
    return triton.testing.do_bench(call, warmup=5, rep=20, quantiles=quantiles)


def error_of(result, right) -> float:
    return ((result.float() - right).abs().max() / right.abs().max()).item()


def mm_problems() -> list[tuple[int, int, int, str, str]]:
    """Sizes m, n, k of language models' products, data type and layouts ("nt": the second matrix is a layer's weight)."""
    if DRY:
        return [(16, 48, 32, "float16", "nt"), (32, 32, 32, "bfloat16", "nn"), (64, 32, 16, "float16", "tn"), (16, 16, 16, "float16", "nn")]
    draw = random.Random(1)
    layers = [(4096, 4096), (11008, 4096), (4096, 11008), (1024, 4096), (6144, 4096), (2048, 2048), (2560, 2048), (5632, 2048), (2048, 5632),
              (768, 768), (768, 3072), (1024, 1024), (4096, 1024), (1024, 2816), (5120, 1280), (1280, 5120), (896, 896), (4864, 896),
              (128, 896), (512, 2048), (256, 1024), (64, 4096), (32000, 2048), (320, 1280), (640, 1600), (1600, 6400)]  # fmt: skip
    rows = [16, 32, 64, 96, 128, 200, 256, 384, 512, 1000, 1024, 2048, 4096]
    sizes = [(m, n, k) for m, (n, k) in itertools.product(rows, layers) if m * n * k <= 1 << 37]
    draw.shuffle(sizes)
    return [(*size, draw.choice(("float16", "bfloat16")), draw.choices(("nt", "nn", "tn"), (6, 3, 1))[0]) for size in sizes]


def mm_part(out: Out, end: float, index: str) -> None:
    """Compiles every WORKERS-th product: to `prepare`, or while AutoHeuristic writes what Inductor measures."""
    config.shape_padding = False  # another product would be measured
    config.fx_graph_cache = config.autotune_local_cache = False  # a product that was prepared is to be measured
    config.compile_threads = 1  # in threads of this process: what its pool of processes compiles is loaded once more to be measured, which took a second each
    # AutoHeuristic keeps nothing of a product of which one template needs more shared memory than there is, since these are left out of the key
    select_algorithm.create_precompile_key = lambda name, inputs, choices: f"{name} {inputs}"
    measure = select_algorithm.AlgorithmSelectorCache.benchmark

    def alone(self, choices, *args, **options):
        if out.verb == "prepare":
            return {choice: 1.0 + at for at, choice in enumerate(choices)}
        with open(os.environ["ONE_AT_A_TIME"], "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return measure(self, choices, *args, **options)

    select_algorithm.AlgorithmSelectorCache.benchmark = alone
    product = torch.compile(lambda a, b: torch.mm(a, b), dynamic=False, options={"max_autotune_gemm": True})
    longest = 0.0
    for problem in mm_problems()[int(index) :: WORKERS]:
        if left(end) < 1.3 * longest + 1:
            break
        began, what = time.time(), "mm " + " ".join(str(value) for value in problem)
        with out.trying(what), torch.no_grad():
            m, n, k, dtype, (first, second) = problem
            torch._dynamo.reset()
            select_algorithm.clear_feedback_savers()
            options = {"dtype": getattr(torch, dtype), "device": DEVICE}
            a = torch.randn((m, k), **options) if first == "n" else torch.randn((k, m), **options).t()
            b = torch.randn((k, n), **options) if second == "n" else torch.randn((n, k), **options).t()
            result = product(a, b)
            # the GPU is to do nothing beside other work
            checked = {} if out.verb == "prepare" else {"error": error_of(result, a.float() @ b.float())}
            out.note(part="mm", what=what, seconds=time.time() - began, **checked)
        longest = max(longest, time.time() - began)


def triton_problems() -> list[tuple[int, int, int, str]]:
    """Sizes that are multiples of 16, so that each config is compiled once for each data type."""
    if DRY:
        return [(64, 32, 32, "float16"), (32, 64, 16, "float16")]
    draw = random.Random(2)
    rows, others = [16, 32, 64, 128, 256, 512, 1024, 2048, 4096], [64, 128, 256, 320, 512, 1024, 1280, 2048, 4096]
    sizes = [(m, n, k) for m, n, k in itertools.product(rows, others, others) if m * n * k <= 1 << 34]
    return [(*size, draw.choice(("float16", "bfloat16"))) for size in draw.sample(sizes, 60)]


def configs() -> list:
    return [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=w, num_stages=s) for m, n, k, w, s in CONFIGS]


def triton_part(out: Out, end: float) -> None:
    """Lets Triton's autotuner measure, and puts each file that it writes into an archive at once."""
    note_device(out)
    began, dtypes = time.time(), [] if DRY else [torch.float16, torch.bfloat16]
    with out.trying("compiling in threads"):
        # LLVM and ptxas let other threads work
        with ThreadPoolExecutor(os.cpu_count()) as pool, triton.AsyncCompileMode(pool, ignore_errors=True):
            for dtype, config in itertools.product(dtypes, configs()):
                matmul_kernel.warmup(dtype, dtype, dtype, 1024, 1024, 1024, grid=(1,), **config.all_kwargs())
        out.note(part="compiled", seconds=time.time() - began)
    tuned = triton.autotune(configs(), ["M", "N", "K"], do_bench=short_bench, cache_results=True)(matmul_kernel)
    kept, longest = set(), 0.0
    for m, n, k, dtype in triton_problems():
        if left(end) < 1.5 * longest + 0.5:
            break
        began, what = time.time(), f"triton {m} {n} {k} {dtype}"
        with out.trying(what):
            a, b = (torch.randn(size, device=DEVICE).to(getattr(torch, dtype)) for size in ((m, k), (k, n)))
            error = error_of(product(tuned, a, b), a.float() @ b.float())
            for path in set(Path(os.environ["TRITON_CACHE_DIR"]).glob("*/*.autotune.json")) - kept:
                with tarfile.open(out.folder / "matmul.autotune.tar", "a") as archive:
                    archive.add(path, f"{len(kept):03}.autotune.json")
                kept.add(path)
            out.note(part="triton", what=what, seconds=time.time() - began, error=error, files=len(kept), best=str(tuned.best_config))
        longest = max(longest, time.time() - began)


def mm_parts(out: Out, end: float, folder: Path) -> None:
    """All products, in WORKERS processes at once; AutoHeuristic, which adds templates of its own, writes into the folder."""
    lock = tempfile.NamedTemporaryFile()
    env = {"TORCHINDUCTOR_AUTOHEURISTIC_COLLECT": "mm", "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM": "1", "ONE_AT_A_TIME": lock.name}
    env["TORCHINDUCTOR_COMPILE_THREADS"] = str(max(2, (os.cpu_count() or 2) // 3))
    caches, log = os.environ.get("INDUCTOR_CACHES"), "TORCHINDUCTOR_AUTOHEURISTIC_LOG_PATH"
    parts = [Part(out, end, "mm", at, caches=caches, **env, **{log: str(folder / f"mm.{at}.txt")}) for at in range(WORKERS)]
    for part in parts:
        part.finish()


def prepare(out: Out, end: float) -> None:
    os.nice(19)
    with tempfile.TemporaryDirectory() as made_up:
        mm_parts(out, end - 1, Path(made_up))
    print("\n".join([f"prepared {len(out.read(part='mm'))} products", *out.failures()]))


def collect(out: Out, end: float, kinds: list[str]) -> None:
    if "triton" in kinds:
        Part(out, end - left(end) / 2 if "mm" in kinds else end, "triton").finish()
    if "mm" in kinds:
        mm_parts(out, end - 1, out.folder)
    for kind in ("triton", "mm"):
        done = out.read(part=kind)
        print(f"{kind}: {len(done)} problems, largest error {max((record['error'] for record in done), default=0):.1e}")
    print("\n".join([*out.failures(), *(f"{r['name']}: --device {r['described']} at the import" for r in out.read(part="device"))]))


def layers():
    """Six linear layers of different sizes, two with a bias."""
    linear, silu = torch.nn.Linear, torch.nn.SiLU
    sizes = [(WIDE, TALL), (TALL, WIDE), (WIDE, DEEP), (DEEP, WIDE)]
    plain = [layer for k, n in sizes for layer in (linear(k, n, bias=False), silu())]
    return torch.nn.Sequential(*plain, linear(WIDE, LOW), torch.nn.GELU(), linear(LOW, WIDE)).to(DEVICE).eval()


def lookup_table(model: str, device: str | None) -> dict:
    """What `seqtune export inductor` writes of the layers' products, with and without a bias."""
    sizes = [(TALL, WIDE), (WIDE, TALL), (DEEP, WIDE), (WIDE, DEEP), (LOW, WIDE), (WIDE, LOW)]
    problems = [f"m={m},n={n},k={k}" for m in TOKENS for n, k in sizes]
    table: dict = {}
    for op in ("mm", "addmm"):
        with tempfile.TemporaryDirectory() as folder:
            command = [os.environ.get("SEQTUNE_BIN", "seqtune"), "export", "inductor", model, *problems, "--layout", "nt", "--op", op]
            command += ["-o", f"{folder}/table.json", *(["--device", device] if device else [])]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"seqtune export inductor: {done.stderr.strip()}")
            table.update(json.loads(Path(folder, "table.json").read_text()))
    return table


def way_part(out: Out, end: float, way: str, model: str) -> None:
    """Compiles the layers in one way, for each number of rows."""
    module, exact = layers().half(), layers()
    exact.load_state_dict(module.state_dict())
    device = note_device(out)
    chooser = seqtune.inductor.install(model) if way == "seqtune" else None
    if way == "table":
        config.lookup_table.table = lookup_table(model, device)
        V.set_choices_handler(LookupTableChoices())
    with torch.no_grad():
        # what any first compilation takes: Inductor's imports and processes
        torch.compile(lambda x: x * 2 + 1)(torch.ones(64, device=DEVICE))
        if config.compile_threads > 1:  # with one there are no processes: threads compile
            with out.trying("Inductor's processes"):
                AsyncCompile.wait_pool_ready(20)
        for rows in TOKENS:
            if left(end) > 2:
                with out.trying(f"{WAYS[way]}, {rows} rows"):
                    x = torch.randn((rows, WIDE), device=DEVICE).half()
                    right, eager = exact(x.float()), module(x)
                    if way == "plain":
                        out.note(part="way", way="eager", rows=rows, error=error_of(eager, right), us=microseconds(lambda x=x: module(x)))
                    found = compiled(module, x, right, {} if way == "plain" else {"max_autotune_gemm": True})
                    found["asked"] = f"{chooser.asked}, {chooser.hits}" if chooser else ""
                    out.note(part="way", way=way, rows=rows, **found)


def compiled(module, x, right, options: dict) -> dict:
    """Seconds of the first call, time of later ones, and what was chosen."""
    fast = torch.compile(module, dynamic=False, options=options)
    counters.clear()
    began = time.time()
    result, code = run_and_get_code(fast, x)
    result[0, 0].item()  # it waits for the GPU
    seconds, code = time.time() - began, "\n".join(code)
    triton, library = len(re.findall(r"triton_tem_\w+\.run\(", code)), len(re.findall(r"extern_kernels\.\w+\(", code))
    found = {"programs": counters["inductor"]["select_algorithm_num_precompiles"], "chosen": f"{triton}, {library}"}
    return {"seconds": seconds, "error": error_of(result, right), "us": microseconds(lambda: fast(x)), **found}


def tune_part(out: Out, end: float, way: str, model: str) -> None:
    """Launches the kernel for keys that it never saw, tuned by Triton or by a model."""
    torch.eye(64, device=DEVICE) @ torch.eye(64, device=DEVICE)
    DRY or triton.runtime.driver.active.get_current_target()  # both start before the clock does
    bench, before = {"do_bench": short_bench} if DRY else {}, 0
    if way == "model":
        kernel = seqtune.triton.autotune(model, key=["M", "N", "K"], kernel=KERNEL, device=note_device(out), **bench)(matmul_kernel)
    else:
        kernel = triton.autotune(configs(), ["M", "N", "K"], **bench)(matmul_kernel)
    for m, n, k in UNSEEN:
        with out.trying(f"{way}, {m} x {n} x {k}"):
            a, b = torch.randn((m, k), device=DEVICE).half(), torch.randn((k, n), device=DEVICE).half()
            began = time.time()
            c = product(kernel, a, b)
            c[0, 0].item()  # it waits for the GPU
            seconds, best = time.time() - began, kernel.best_config
            measured = kernel.measured - before if way == "model" else len(CONFIGS)
            before = getattr(kernel, "measured", 0)
            grid, values = (triton.cdiv(m, best.kwargs["BLOCK_M"]), triton.cdiv(n, best.kwargs["BLOCK_N"])), best.all_kwargs()
            found = {"seconds": seconds, "measured": measured, "error": error_of(c, a.float() @ b.float()), "config": str(best)}
            size = (m, n, k)
            us = microseconds(lambda a=a, b=b, c=c, grid=grid, values=values, size=size: matmul_kernel[grid](a, b, c, *size, **values))
            out.note(part="tuned", way=way, problem=f"{m} x {n} x {k}", us=us, library=microseconds(lambda a=a, b=b: a @ b), **found)


def table(records: list[dict], columns: dict[str, str]) -> list[str]:
    """Markdown of the records' values under these names."""
    shown = {"seconds": "{:.2f}", "us": "{:.1f}", "library": "{:.1f}", "error": "{:.1e}"}
    rows = [[shown.get(name, "{}").format(r[name]) if name in r else "" for name in columns] for r in records]
    return ["", *("| " + " | ".join(row) + " |" for row in [columns.values(), ["---"] * len(columns), *rows])] if records else []


def report(out: Out) -> str:
    """The records so far, as Markdown."""
    lines = [f"Measured on {record['name']}." for record in out.read(part="device")]
    ways = [{**record, "way": WAYS.get(record["way"], "PyTorch without a compiler")} for record in out.read(part="way")]
    columns = {"rows": "rows", "way": "chosen by", "seconds": "first call, s", "us": "run, us", "error": "error"}
    columns |= {"programs": "programs compiled", "chosen": "Triton, library", "asked": "asked, answered"}
    lines += table(sorted(ways, key=lambda record: -record["rows"]), columns)
    columns = {"problem": "problem", "way": "configs of", "seconds": "first result, s", "measured": "measured", "us": "run, us"}
    columns |= {"library": "library, us", "error": "error", "config": "config"}
    lines += table(sorted(out.read(part="tuned"), key=lambda record: record["problem"]), columns)
    return "\n".join([*lines, "", *out.failures()]).rstrip() + "\n"


def live(out: Out, end: float, models: dict[str, str]) -> None:
    parts: list[tuple[float, tuple]] = []  # each with how long it takes beside the others
    if "inductor" in models:
        parts += [(weight, ("way", way, models["inductor"])) for way, weight in zip(WAYS, (1.0, 1.5, 1.5, 3.0))]
    if "triton" in models:
        parts += [(1.0, ("tune", "model", models["triton"])), (2.5, ("tune", "Triton", models["triton"]))]
    for at, (weight, args) in enumerate(parts):
        most = left(end) - 1
        share = min(most, 2 * most * weight / sum(weight for weight, _ in parts[at:]))
        if share > 1:
            Part(out, time.time() + share, *args).finish()
        (out.folder / "torch.md").write_text(report(out))
    print(report(out), end="")


def main(words: list[str]) -> None:
    if words[:1] == ["_part"]:
        _, verb, folder, moment, part, *rest = words
        out, end = Out(folder, verb), float(moment)
        torch.manual_seed(1)
        signal.alarm(max(1, int(left(end)) + 5))  # of a part whose parent was killed
        with out.trying(" ".join([part, *rest[:1]])):
            {"mm": mm_part, "triton": triton_part, "way": way_part, "tune": tune_part}[part](out, end, *rest)
    elif len(words) > 2 and words[0] in ("prepare", "collect", "live"):
        verb, folder, seconds, *rest = words
        out, end = Out(folder, verb), time.time() + float(seconds)
        if verb == "live":
            live(out, end, {name.removeprefix("--"): str(Path(model).resolve()) for name, model in zip(rest[::2], rest[1::2])})
        else:
            prepare(out, end) if verb == "prepare" else collect(out, end, rest or ["triton", "mm"])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--dry"])
