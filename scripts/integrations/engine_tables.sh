#!/usr/bin/env bash
# Learns from the tables that vLLM and SGLang ship, writes those that a log misses, and lets the engines' own code find them.
#
#   scripts/integrations/engine_tables.sh [FOLDER]      FOLDER keeps datasets and the model; default: a temporary one
#
# Needs target/debug/seqtune or SEQTUNE_BIN, and seqtune-train beside it. Downloads 342 MB (vllm 0.33.0, sglang 0.5.9), without what they need.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit ;; esac
program=${SEQTUNE_BIN:-target/debug/seqtune}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${1:-$work/made}
mkdir -p "$folder"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" vllm==0.33.0 sglang==0.5.9
for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work/packages"; done
# the newest Triton first, and vLLM's, which name none, last
versions=$(ls -d "$work"/packages/sglang/srt/layers/moe/fused_moe_triton/configs/triton_* | sort -rV)
tables=$(for version in $versions; do ls "$version"/*.json; done; ls "$work"/packages/vllm/model_executor/layers/fused_moe/configs/*.json)
[ -d "$folder/data" ] || echo "$tables" | tr '\n' '\0' | xargs -0 "$program" import tables -o "$folder/data"
[ -d "$folder/model" ] || "$program" train "$folder"/data/*.sqt -o "$folder/model"
"$program" evaluate model "$folder/model" "$folder"/data/*.sqt
device=NVIDIA_H100_80GB_HBM3
for blocks in '' ',dtype=fp8_w8a8,block_shape=[128,128]'; do
    echo "WARNING [fused_moe.py] Using default MoE config. Performance might be sub-optimal! Config file not found at /srv/configs/E=24,N=1344,device_name=$device$blocks.json"
done >"$work/log"
"$program" export table "$folder/model" --for vllm --from "$work/log" -o "$work/vllm"
"$program" export table "$folder/model" --for sglang --triton 3.5.1 --from "$work/log" -o "$work/sglang"
for engine in vllm sglang; do
    python3 scripts/integrations/engine_tables.py "$work/packages" $engine "$work/$engine" $device 24,1344,,, 24,1344,fp8_w8a8,128,128
done
python3 scripts/integrations/measure_moe_check.py "$work/packages"
