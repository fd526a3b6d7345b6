#!/usr/bin/env bash
# Kernel Tuner's random_sample measures a tenth of the space and ends, however much time is left.
#
# Versions    kernel_tuner 1.5.0 from PyPI, with gcc for a kernel in C
# Behaviour   strategy_options={"time_limit": 300} with strategy="random_sample" is an upper limit only: a tenth of the space is drawn first
#             (the option `fraction`, 0.1), and the run ends when these configs are measured. max_fevals replaces the fraction, time_limit does not.
# One would   guess that it goes on until the time is up or all is measured, as max_fevals is used up.
# Seen        of 40 configs within 300 s: 4, in a few seconds; with max_fevals 40 or fraction 1: 40
# Remedy      add "fraction": 1.0 to the time limit.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check kernel_tuner==1.5.0
cd "$work"
"$work/venv/bin/python" -W ignore - <<'PY'
import time
import numpy
from kernel_tuner import tune_kernel

SOURCE = 'extern "C" float wait(int n) { return n + a; }'

def count(**options):
    began = time.monotonic()
    results, _ = tune_kernel(
        "wait", SOURCE, 1, [numpy.int32(1)], {"a": list(range(40))}, lang="C", strategy="random_sample", strategy_options=options, quiet=True
    )
    print(f"{options}: {len(results)} of 40 configs in {time.monotonic() - began:.0f} s")
    return len(results), time.monotonic() - began < 250

seen = [count(time_limit=300), count(time_limit=300, max_fevals=40), count(time_limit=300, fraction=1.0)]
assert seen == [(4, True), (40, True), (40, True)], "the behaviour changed"
PY
