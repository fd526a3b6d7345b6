#!/usr/bin/env bash
# Measures what choosing at run time is worth, live, on this machine's first OpenCL device: a stream of matrix products under six strategies,
# and a limit that drops in the middle. Writes docs/results/tables/chooser.md and docs/integrations/chooser.svg.
# Takes up to ten minutes the first time, most of them compilation; leave the machine alone meanwhile. Called again, programs come from the
# driver's cache, and what compiling them cost from FOLDER/costs.json.
# usage: scripts/figures/chooser.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-chooser}
mkdir -p "$out"
# compiled here for the first time, so that what compiling costs is not read from an earlier use
export SEQTUNE_CACHE=$PWD/$out/cache
cargo build --release --example chooser
target/release/examples/chooser "$out" > "$out/chooser.md"
cat "$out/chooser.md"
scripts/figures/put_figures.py chooser.sh "$out/chooser.md" docs/results/tables/chooser.md
cp "$out/chooser.svg" docs/integrations/chooser.svg
