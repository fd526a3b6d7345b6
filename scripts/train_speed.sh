#!/usr/bin/env bash
# Measures the duration of training on 400,000 records: the shipped sweep of gemm, repeated with shifted sizes until it has
# so many. The times stay as they were, so the model is worth nothing; the duration is that of real data. Prints the
# figures that docs/results.md states. Takes about 25 minutes on two cores; leave the machine alone meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release -p seqtune -p seqtune-train
seqtune=target/release/seqtune work=target/train_speed
rm -rf "$work"
mkdir -p "$work"
"$seqtune" convert datasets/gemm/cpu-xeon-2c.sqt -o "$work/sweep.jsonl" > /dev/null
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
