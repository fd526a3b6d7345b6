#!/usr/bin/env bash
# Draws README's picture from the shipped model and sweep: the same on every machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune-lab
target/release/seqtune-lab curve models/gemm-cpu datasets/gemm/cpu-epyc-2c.sqt --quality best -o docs/results/predicted-or-searched.svg
