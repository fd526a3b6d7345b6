#!/usr/bin/env bash
# Kernel Tuner refuses a lambda as a restriction where another lambda stands on the same line of the script.
#
# Versions    kernel_tuner 1.5.0 from PyPI, with gcc for a kernel in C
# Behaviour   A lambda among the restrictions is found again in the text of the script, and all lambdas of its lines are taken for restrictions. With
#             another one on the line, such as a metric's, their number is another than that of the restrictions: tune_kernel raises ValueError, which
#             speaks of mixing lambdas and strings. One without arguments beside it raises IndexError.
# One would   guess that a function that is passed is called.
# Seen        on lines of their own: 3 configs; beside a metric's lambda: ValueError; inside a lambda without arguments: IndexError
# Remedy      give restrictions as strings, or define each as a function of a name.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check kernel_tuner==1.5.0
cd "$work"
cat > tune.py <<'PY'
import numpy
from kernel_tuner import tune_kernel

SOURCE = 'extern "C" float wait(int n) { return n + tile; }'


def tuned(**more):
    try:
        results, _ = tune_kernel("wait", SOURCE, 1, [numpy.int32(1)], {"tile": [1, 2, 4, 8]}, lang="C", quiet=True, verbose=False, **more)
        return f"{len(results)} configs"
    except Exception as error:
        return type(error).__name__


def call(function):
    return function()


apart = tuned(
    restrictions=[lambda p: p["tile"] > 1],
    metrics={"rate": lambda p: 1 / p["time"]},
)
beside = tuned(restrictions=[lambda p: p["tile"] > 1], metrics={"rate": lambda p: 1 / p["time"]})
inside = call(lambda: tuned(restrictions=[lambda p: p["tile"] > 1]))
print(f"apart: {apart}; beside: {beside}; inside: {inside}")
assert (apart, beside, inside) == ("3 configs", "ValueError", "IndexError"), "the behaviour changed"
PY
"$work/venv/bin/python" -W ignore tune.py
