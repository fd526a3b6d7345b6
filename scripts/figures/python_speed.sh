#!/usr/bin/env bash
# 1,000 problems of gemm in one call from Python, and the same by the command line: milliseconds of both, the best of several turns taken in
# turns. The command line's time is that of a file of 1,000 problems less that of a file of one, so that starting and loading do not count.
#
#   scripts/figures/python_speed.sh [THREADS]     1 where none is given
set -euo pipefail
cd "$(dirname "$0")/../.."
threads=${1:-1}
cargo build --quiet --release
wheel=$(scripts/release/wheel.sh release)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$wheel"
"$work/venv/bin/python" - "$threads" "$work" <<'PY'
import random, subprocess, sys, time

import seqtune

threads, work = int(sys.argv[1]), sys.argv[2]
draw = random.Random(1)
problems = [f"M={draw.randint(1, 2048)},N={draw.randint(1, 2048)},K={draw.randint(1, 2048)}" for _ in range(1000)]
for name, some in (("many", problems), ("one", problems[:1])):
    with open(f"{work}/{name}.txt", "w") as file:
        file.write("\n".join(some) + "\n")


def seconds(call):
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def program(name):
    words = ["predict", "models/gemm-cpu", "gemm", f"{work}/{name}.txt", "--device", "epyc", "--top", "5", "--threads", str(threads), "--json"]
    with open(f"{work}/{name}.out", "w") as out:
        subprocess.run(["target/release/seqtune", *words], check=True, stdout=out)


predictor = seqtune.Predictor("models/gemm-cpu", "gemm", device="epyc")
python, line, one = [], [], []
for _ in range(7):
    python.append(seconds(lambda: predictor.predict(problems, top=5, threads=threads)))
    line.append(seconds(lambda: program("many")))
    one.append(seconds(lambda: program("one")))
command = min(line) - min(one)
print(f"{threads} threads, 1,000 problems, top 5, width 20")
print(f"  Python, one call          {1e3 * min(python):8.1f} ms")
print(f"  command line              {1e3 * command:8.1f} ms, and {1e3 * min(one):.1f} ms to start, load and answer one")
print(f"  Python to command line    {min(python) / command:8.3f}")
PY
