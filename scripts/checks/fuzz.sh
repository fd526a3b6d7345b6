#!/usr/bin/env bash
# Fuzzes readers by cargo-fuzz, which has to be installed (cargo install cargo-fuzz) and needs nightly Rust.
#
#   scripts/checks/fuzz.sh SECONDS [TARGET...]
#
# Each target runs so long, all of them without a name. Corpora and findings go to $WORK (fuzz_work).
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:?usage: scripts/checks/fuzz.sh SECONDS [TARGET...]}
shift
work=$(realpath -m "${WORK:-fuzz_work}")
SEQTUNE_FUZZ_CORPUS="$work" cargo test --quiet --test fuzz
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <(sed -n 's/^    ("\([a-z0-9_]*\)", .*/\1/p' tests/fuzz/targets.rs)
CARGO_TARGET_DIR="$PWD/target/fuzz" cargo +nightly fuzz build --fuzz-dir tests/fuzz reader
for target in "${targets[@]}"; do
    echo "== $target, $seconds s"
    mkdir -p "$work/found/$target"
    SEQTUNE_FUZZ_TARGET=$target CARGO_TARGET_DIR="$PWD/target/fuzz" cargo +nightly fuzz run --fuzz-dir tests/fuzz reader \
        "$work/$target" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=100000 \
        -artifact_prefix="$work/found/$target/" -print_final_stats=1 -verbosity=0
done
