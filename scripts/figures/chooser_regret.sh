#!/usr/bin/env bash
# Simulates problems whose predictions are off as the chooser assumes, and writes the mean regret beside the stated one into docs/results/tables/chooser-regret.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cargo test --quiet -p seqtune-choose --lib simulation -- --nocapture --test-threads 1 > "$work/out.txt"
{
    echo '| configs | calls | regret | stated | closed form | always the first |'
    echo '|---|---|---|---|---|---|'
    sed -n 's/.*row: //p' "$work/out.txt"
    echo
    sed -n 's/.*note: //p' "$work/out.txt"
} > "$work/figures.md"
cat "$work/figures.md"
scripts/figures/put_figures.py chooser_regret.sh "$work/figures.md" docs/results/tables/chooser-regret.md
