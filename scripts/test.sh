#!/usr/bin/env bash
# Sets up what is missing, runs all tests, and counts what was skipped and why. Words behind it go to cargo test.
set -euo pipefail
cd "$(dirname "$0")/.."
began=$SECONDS
scripts/setup.sh
# each package's tests run in its own folder: what setup.sh fetched is named for them
[ ! -d .nvrtc ] || export SEQTUNE_NVRTC=${SEQTUNE_NVRTC:-$PWD/.nvrtc}
[ ! -e .lightgbm/lib_lightgbm.so ] || export SEQTUNE_LIGHTGBM=${SEQTUNE_LIGHTGBM:-$PWD/.lightgbm/lib_lightgbm.so}
# what a later edit would save costs a fresh build a third more
export CARGO_INCREMENTAL=${CARGO_INCREMENTAL:-0}
output=$(mktemp)
trap 'rm -f "$output"' EXIT
# one test binary after the other; within one, OpenCL measuring and libtorch share the cores
set +e
cargo test --workspace --no-fail-fast "$@" -- --show-output 2>&1 | tee "$output" | grep -av -e '^$' -e '^successes:' -e '^    [a-z_:0-9]*$'
status=${PIPESTATUS[0]}
set -e
passed=$(sed -n 's/^test result: .* \([0-9]*\) passed.*/\1/p' "$output" | awk '{n += $1} END {print n + 0}')
failed=$(sed -n 's/^test result: .* \([0-9]*\) failed.*/\1/p' "$output" | awk '{n += $1} END {print n + 0}')
skipped=$(grep -ac '^skipped:' "$output" || true)
printf '\n%s tests passed, %s failed, %s skipped, in %d s\n' "${passed:-0}" "${failed:-0}" "$skipped" $((SECONDS - began))
sed -n 's/^skipped: //p' "$output" | sort | uniq -c | sort -rn | sed 's/^ *\([0-9]*\) /  \1 x /'
exit $status
