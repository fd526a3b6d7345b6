"""What a type checker has to accept, and infer: scripts/checks/python.sh runs mypy --strict on it."""

import pathlib

import seqtune


def first(path: pathlib.Path) -> dict[str, int]:
    predictor = seqtune.Predictor(path, kernel="gemm", device=seqtune.Device("H100"))
    best: seqtune.Prediction = predictor.predict("M=1,N=2,K=3", top=1)[0]
    time: float | None = best.time_us
    assert time is None or time > 0
    return best.config


def measure(problem: dict[str, object], config: dict[str, int]) -> float:
    return 1e-6 * config["MWG"]


def swept(kernel: seqtune.Kernel) -> float:
    done: seqtune.Sweep = seqtune.sweep(kernel, measure, [{"M": 1}], device="H100", journal="s.jsonl", sample=10)
    space = seqtune.Space(kernel, {"M": 1}, "H100")
    legal: bool = space.is_legal(next(iter(space)))
    return done.best()[2] if legal else 0.0
