#!/usr/bin/env bash
# Measures the shipped model of gemm, the whole one, and the speed of the program, and writes the figures into docs/results/tables/gemm-cpu.md.
# Takes about five minutes; leave the machine alone meanwhile.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release
seqtune=target/release/seqtune
model=models/gemm-cpu data=datasets/gemm/cpu-epyc-2c.sqt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$seqtune" evaluate model "$model" "$data" --quality best --plot "$model/evaluation.svg" > "$work/evaluate.md"
"$seqtune" evaluate speed "$model" gemm --device epyc --quality best > "$work/bench.txt"
python3 - "$seqtune" "$model" > "$work/start.txt" <<'PY'
import os, statistics, subprocess, sys, time
times, peaks = [], []
for _ in range(31):
    began = time.perf_counter()
    child = subprocess.Popen([sys.argv[1], "predict", sys.argv[2], "gemm", "M=300,N=200,K=100", "--device", "epyc", "--quality", "best"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    times.append(1e3 * (time.perf_counter() - began))
    assert status == 0
    peaks.append(usage.ru_maxrss / 1024)
print(f"process start to answer: {statistics.median(times):.0f} ms median, {min(times):.0f} ms least of {len(times)}; {max(peaks):.0f} MiB at most")
PY
{
    sed -n '/^|/p' "$work/evaluate.md"
    echo
    sed -n '1,2p' "$work/evaluate.md"
    sed -n '/^First choices/p;/^Marked unsure/p' "$work/evaluate.md"
    echo
    echo '```'
    cat "$work/bench.txt" "$work/start.txt"
    echo '```'
} > "$work/figures.md"
cat "$work/evaluate.md" "$work/bench.txt" "$work/start.txt"
scripts/figures/put_figures.py figures.sh "$work/figures.md" docs/results/tables/gemm-cpu.md
