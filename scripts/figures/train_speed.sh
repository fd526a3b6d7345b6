#!/usr/bin/env bash
# Measures the updates a second of training on the shipped sweep of gemm, beside those of the same network in eager PyTorch
# (scripts/figures/torch_speed.py, which gets PyTorch from pip where TORCH_PYTHON names no interpreter that has it), one thread each.
# Measures then the duration of training on 400,000 records: the same sweep, repeated with shifted sizes until it has so many.
# The times stay as they were, so the model is worth nothing; the duration is that of real data. Prints the figures that
# docs/results/speed.md states. Takes about 20 minutes on two cores; leave the machine alone meanwhile. "updates" alone stops before
# the 400,000 records.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-train
seqtune=target/release/seqtune work=target/train_speed
rm -rf "$work"
mkdir -p "$work"
python=${TORCH_PYTHON:-target/torch/bin/python}
if [ ! -x "$(command -v "$python")" ]; then
    python3 -m venv target/torch
    target/torch/bin/pip install -q torch==2.11.0 numpy
    python=target/torch/bin/python
fi
"$python" scripts/figures/torch_speed.py cargo bench -q -p seqtune-train --bench updates -- 56
[ "${1:-}" = updates ] && exit
"$seqtune" export dataset datasets/gemm/cpu-xeon-2c.sqt -o "$work/sweep.jsonl" > /dev/null
python3 - "$work/sweep.jsonl" "$work/large.jsonl" <<'PY'
import re, sys
with open(sys.argv[1]) as file:
    head, *records = file.readlines()
with open(sys.argv[2], "w") as large:
    large.write(head)
    left, shift = 400_000, 0
    while left > 0:
        for record in records[:left]:
            large.write(re.sub(r"\b([MNK])=(\d+)", lambda m: f"{m[1]}={int(m[2]) + shift}", record))
        left, shift = left - len(records), shift + 1
PY
python3 - "$seqtune" "$work" <<'PY'
import json, resource, subprocess, sys, time
began = time.monotonic()
command = [sys.argv[1], "train", f"{sys.argv[2]}/large.jsonl", "-o", f"{sys.argv[2]}/model", "--json"]
model = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
seconds, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
processor = (used.ru_utime + used.ru_stime) / 60
print(f"training on 400,000 records: {seconds / 60:.1f} minutes, {processor:.1f} of one core, {used.ru_maxrss / 2**20:.1f} GB of memory")
print(json.dumps((model if isinstance(model, dict) else model[0])["settings"]))
PY
