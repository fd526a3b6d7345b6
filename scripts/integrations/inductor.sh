#!/usr/bin/env bash
# Proves docs/integrations/inductor.md with PyTorch 2.11 itself: lowers matrix products for an A100 that is not there, with a handler and with a table.
#
#   scripts/integrations/inductor.sh [AUTOHEURISTIC.zip]
#
# Trains a throwaway model of the file, or of made-up times; of a file it also tells how often the vendor's library is the faster one where the
# model is sure. Needs `cargo build --release`, `cargo build --release -p seqtune-train`, and 6 GB of disk for PyTorch (2.5 GB to fetch), kept
# under target/torch.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/integrations/torch_environment.sh
program=$PWD/target/release/seqtune
[ -x target/release/seqtune-train ] || { echo "inductor.sh: build the trainer first: cargo build --release -p seqtune-train" >&2; exit 1; }
torch_environment
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=${1:-}
if [ -z "$data" ]; then
    data=$work/mm.txt
    python3 scripts/integrations/inductor_invented.py > "$data"
fi
"$program" import autoheuristic "$data" -o "$work/mm.sqt"
nice "$program" train "$work/mm.sqt" -o "$work/model" --epochs 3 --members 1 --pseudo-labels 0 2> "$work/train.log" || { cat "$work/train.log" >&2; exit 1; }
if [ $# -gt 0 ]; then
    "$program" export csv "$work/mm.sqt" -o "$work/mm.csv"
    "$torch_python" scripts/integrations/inductor_library.py "$work/model" "$work/mm.csv"
fi
"$torch_python" scripts/integrations/inductor_check.py "$program" "$work/model" "$work"
