#!/usr/bin/env bash
# Imports MIOpen's databases, trains six networks for each solver with the default settings, distils them into
# models/miopen, evaluates these beside the networks and LightGBM, and writes the figures into models/miopen/README.md,
# docs/results.md and README's table. Takes about two hours on two cores; leave the machine alone meanwhile. Works in
# target/miopen, where the networks stay.
# usage: scripts/miopen.sh FOLDER [--keep]    FOLDER: of gfx906_60.db.bz2, gfx900_56.db.bz2, gfx906_60.HIP.fdb.txt.bz2
#                                             --keep: evaluates what is there instead of training and distilling it again
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/miopen.sh FOLDER [--keep]}")
keep=${2:-}
case $keep in '' | --keep) ;; *) echo "usage: scripts/miopen.sh FOLDER [--keep], not $keep" >&2; exit 2 ;; esac
cd "$(dirname "$0")/.."
cargo build --release -p seqtune -p seqtune-train
export seqtune=target/release/seqtune model=models/miopen work=target/miopen
mkdir -p "$work" "$model"
rm -rf "$work/tuned"
"$seqtune" import miopen "$databases"/gfx906_60.db.bz2 "$databases"/gfx900_56.db.bz2 \
    --find-db "$databases"/gfx906_60.HIP.fdb.txt.bz2 -o "$work/tuned" > "$work/import.txt"

distil() { # SOLVER; on one thread, beside another
    OMP_NUM_THREADS=1 "$seqtune" distil "$work/whole/$1" "$work"/tuned/*-"$1".sqt -o "$model/$1" --overwrite --json > "$work/$1.json"
}
export -f distil
if [ "$keep" != --keep ]; then
    rm -rf "$work/whole" "$model"/*/
    python3 - "$seqtune" "$work/tuned" "$work/whole" > "$work/training.txt" <<'PY'
import json, resource, subprocess, sys, time
began = time.monotonic()
trained = subprocess.run([sys.argv[1], "train", sys.argv[2], "-o", sys.argv[3], "--json"], check=True, stdout=subprocess.PIPE)
seconds = time.monotonic() - began
models = json.loads(trained.stdout)
memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
networks = sorted({model["members"] for model in models})
epochs = max(model["settings"]["epochs"] for model in models)
print(
    f"{len(models)} models of {' or '.join(map(str, networks))} networks. Training took {seconds / 60:.0f} minutes and at most {memory:.1f} GB of memory:"
    f" {seconds / epochs:.0f} s for an epoch of all networks of all solvers."
)
PY
    began=$SECONDS
    for folder in "$work"/whole/*/; do basename "$folder"; done | xargs -P "$(nproc)" -I{} bash -c 'distil {}'
    echo "Distillation took $(((SECONDS - began) / 60)) minutes." >> "$work/training.txt"
    cp "$work/training.txt" "$model/training.txt"
fi
beside=()
[ ! -d "$work/whole" ] || beside=(--beside "$work/whole")
"$seqtune" evaluate "$model" "$work/tuned" --device gfx906_60 "${beside[@]}" > "$work/evaluate.md"
cat > "$model/README.md" <<README
# miopen

Solvers of AMD's MIOpen on a Radeon VII / MI50 (gfx906_60) and a Vega 56 (gfx900_56): convolution in, the solver's
parameters out. One small decoder for each solver, distilled from six networks that learned from the tuned databases of
MIOpen's history (MIT licence; hashes in the metadata of each file), all with the default settings:

    seqtune import miopen gfx906_60.db.bz2 gfx900_56.db.bz2 --find-db gfx906_60.HIP.fdb.txt.bz2 -o tuned
    seqtune train tuned -o networks
    seqtune distil networks tuned -o models/miopen
    seqtune export miopen models/miopen network.txt -o gfx906_60.udb.txt

$(head -n 1 "$work/import.txt" | sed 's/^.*: //'). $(tr '\n' ' ' < "$model/training.txt")

The networks are not shipped (67 MB): \`--quality best\` asks them where you train them.

Evaluated by \`seqtune evaluate models/miopen tuned --device gfx906_60 --beside networks\` on the shapes held out (a tenth, by a stable hash;
none of them in training at any batch size, data type, direction or device). Written by scripts/miopen.sh.

$(cat "$work/evaluate.md")
README
scripts/miopen_table.py "$work/evaluate.md" > "$work/table.md"
scripts/put_figures.py miopen.sh "$work/table.md" docs/results.md
scripts/summary.py > /dev/null
cat "$model/README.md"
