#!/usr/bin/env bash
# Measures the shipped model of gemm and the speed of the program, and writes the figures into docs/results.md.
# Takes about five minutes; leave the machine alone meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release
seqtune=target/release/seqtune
model=models/gemm-cpu data=datasets/gemm/cpu-epyc-2c.sqt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$seqtune" evaluate "$model" "$data" --plot "$model/evaluation.svg" > "$work/evaluate.md"
"$seqtune" bench "$model" gemm > "$work/bench.txt"
python3 - "$seqtune" "$model" > "$work/start.txt" <<'PY'
import statistics, subprocess, sys, time
times = []
for _ in range(11):
    began = time.perf_counter()
    subprocess.run([sys.argv[1], "predict", sys.argv[2], "gemm", "M=512,N=512,K=512"], check=True, capture_output=True)
    times.append(time.perf_counter() - began)
print(f"process start to first answer: {statistics.median(times):.2f} s median of {len(times)}")
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
scripts/put_figures.py figures.sh "$work/figures.md" docs/results.md
