#!/usr/bin/env bash
# Draws README's picture from the shipped model and sweep: the same on every machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
cargo build --release
target/release/seqtune evaluate models/gemm-cpu datasets/gemm/cpu-epyc-2c.sqt --quality best --curve docs/results/predicted-or-searched.svg
