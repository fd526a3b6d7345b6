#!/usr/bin/env bash
# Evaluates the shipped small decoders of MIOpen's solvers beside the networks that they were distilled from, and writes
# the table into docs/results.md. Takes ten minutes on two cores.
# usage: scripts/miopen_distilled.sh FOLDER [NETWORKS]    FOLDER: as of scripts/miopen.sh, which leaves the networks in
#                                                         target/miopen/whole
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/miopen_distilled.sh FOLDER [NETWORKS]}")
networks=${2:-target/miopen/whole}
cd "$(dirname "$0")/.."
[ -d "$networks" ] || { echo "miopen_distilled.sh: $networks is missing: scripts/miopen.sh trains the networks" >&2; exit 1; }
cargo build --release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target/release/seqtune import miopen "$databases"/gfx906_60.db.bz2 "$databases"/gfx900_56.db.bz2 \
    --find-db "$databases"/gfx906_60.HIP.fdb.txt.bz2 -o "$work/tuned" > /dev/null
target/release/seqtune evaluate models/miopen "$work/tuned" --device gfx906_60 --no-trees --beside "$networks" > "$work/all.md"
sed -n '/^Beside another model:/,/less the model beside:/p' "$work/all.md" | tail -n +3 > "$work/table.md"
printf '\n%s MB in %s files; the networks have %s MB.\n' "$(du -cm models/miopen/*/*.safetensors | tail -1 | cut -f 1)" \
    "$(ls models/miopen/*/*.safetensors | wc -l)" "$(du -cm "$networks"/*/*.safetensors | tail -1 | cut -f 1)" >> "$work/table.md"
scripts/put_figures.py miopen_distilled.sh "$work/table.md" docs/results.md
cat "$work/table.md"
