#!/usr/bin/env bash
# Imports MIOpen's databases, trains models/miopen with the default settings, judges it beside LightGBM, and writes the figures
# into models/miopen/README.md and README.md. Takes about an hour on two cores; leave the machine alone meanwhile.
# usage: scripts/miopen.sh FOLDER [--keep]    FOLDER: of gfx906_60.db.bz2, gfx900_56.db.bz2, gfx906_60.HIP.fdb.txt.bz2
#                                             --keep: judges the model that is there instead of training it again
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/miopen.sh FOLDER [--keep]}")
keep=${2:-}
cd "$(dirname "$0")/.."
cargo build --release
seqtune=target/release/seqtune model=models/miopen
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$seqtune" import miopen "$databases"/gfx906_60.db.bz2 "$databases"/gfx900_56.db.bz2 \
    --find-db "$databases"/gfx906_60.HIP.fdb.txt.bz2 -o "$work/tuned" > "$work/import.txt"
if [ "$keep" != --keep ]; then
    rm -f "$model"/model.safetensors "$model"/checkpoint-*.safetensors
    python3 - "$seqtune" "$work/tuned" "$model" > "$work/training.txt" <<'PY'
import resource, subprocess, sys, time
began = time.monotonic()
subprocess.run([sys.argv[1], "train", sys.argv[2], "-o", sys.argv[3]], check=True, stdout=subprocess.DEVNULL)
minutes = (time.monotonic() - began) / 60
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
print(f"Training took {minutes:.0f} minutes and at most {memory:.1f} GB of memory.")
PY
    cp "$work/training.txt" "$model/training.txt"
fi
"$seqtune" evaluate "$model" "$work/tuned" --device gfx906_60 > "$work/evaluate.md"
{
    cat "$work/evaluate.md"
    echo
    cat "$model/training.txt"
} > "$work/figures.md"
cat "$work/figures.md"
python3 - "$work/figures.md" "$model/README.md" <<'PY'
import re, sys
figures = open(sys.argv[1]).read().strip()
path = sys.argv[2]
text = open(path).read()
pattern = re.compile(r"(<!-- figures: scripts/miopen.sh -->\n).*?(\n<!-- end of figures -->)", re.S)
new, n = pattern.subn(lambda m: m.group(1) + figures + m.group(2), text)
assert n == 1, f"{path} has no figures section"
open(path, "w").write(new)
PY
