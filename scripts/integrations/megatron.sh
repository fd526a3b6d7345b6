#!/usr/bin/env bash
# Writes a table of Triton configs for Megatron-Core and lets Megatron-Core's own code find its rows, without a GPU.
#
#   scripts/integrations/megatron.sh [CHECKOUT]     CHECKOUT: a clone of NVIDIA/Megatron-LM; default: the two files are fetched from GitHub
#
# Needs target/debug/seqtune or SEQTUNE_BIN. Downloads Triton 3.6.0 (190 MB).
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit ;; esac
program=${SEQTUNE_BIN:-target/debug/seqtune}
# table.py and selection.py as of 19 August 2026
commit=aa181755493343562e1ed6748497139aaef0aef5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checkout=${1:-$work/megatron}
if [ $# = 0 ]; then
    git init --quiet --bare "$checkout"
    git -C "$checkout" fetch --quiet --depth 1 --filter=blob:none https://github.com/NVIDIA/Megatron-LM.git $commit
fi
mkdir -p "$work/packages/megatron/core/tuning"
for file in table.py selection.py; do
    git -C "$checkout" show "$commit:megatron/core/tuning/$file" >"$work/packages/megatron/core/tuning/$file"
done
python3 -m pip install --quiet --disable-pip-version-check --no-deps --target "$work/packages" triton==3.6.0
export PYTHONPATH=$work/packages
python3 scripts/integrations/megatron_check.py record "$work"
"$program" export table models/triton_mm-h200 --for megatron --from "$work"/rec.rank*.json --candidates "$work/candidates.json" --triton 3.6.0 \
    --function _triton_mm_kernel --device H200 -o "$work/tables"
python3 scripts/integrations/megatron_check.py pinned "$work"
