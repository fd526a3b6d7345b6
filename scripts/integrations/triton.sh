#!/usr/bin/env bash
# Proves docs/integrations/triton.md with Triton itself, without a GPU: compiles for GPUs that are not there, reads files that its autotuner wrote, trains a
# throwaway model of them, and launches a kernel in Triton's interpreter with what the model predicts.
#
#   scripts/integrations/triton.sh [VERSION...]     of Triton [default: 3.6.0 3.9.0]
#
# Needs `cargo build --release`, `cargo build --release -p seqtune-train`, and 6 GB of disk for PyTorch (2.5 GB to fetch), kept under
# target/torch.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/integrations/torch_environment.sh
program=$PWD/target/release/seqtune
[ -x target/release/seqtune-train ] || { echo "triton.sh: build the trainer first: cargo build --release -p seqtune-train" >&2; exit 1; }
versions=("$@")
[ $# -gt 0 ] || versions=(3.6.0 3.9.0)
torch_environment
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for version in "${versions[@]}"; do
    # beside the one that PyTorch wants
    other=target/triton-$version
    [ -d "$other" ] || "$torch_python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$other" "triton==$version"
    export PYTHONPATH=$PWD/$other TRITON_CACHE_DIR=$work/cache-$version PYTHONWARNINGS=ignore
    mkdir -p "$work/$version"
    "$torch_python" scripts/integrations/triton_check.py judge
    "$torch_python" scripts/integrations/triton_check.py cache "$work/$version"
    "$program" import triton "$work/$version"/*.autotune.json --kernel examples/triton --device A100 --key M,N,K,dtype -o "$work/$version.sqt"
    if [ ! -d "$work/model" ]; then
        nice "$program" train "$work/$version.sqt" --kernel examples/triton -o "$work/model" --epochs 6 --members 1 --pseudo-labels 0 2> "$work/train.log" \
            || { cat "$work/train.log" >&2; exit 1; }
    fi
    TRITON_INTERPRET=1 "$torch_python" scripts/integrations/triton_check.py launch "$work/model"
done
echo "triton: all holds"
