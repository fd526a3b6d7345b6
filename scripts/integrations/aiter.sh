#!/usr/bin/env bash
# Learns from the tuned tables that AITER ships, adds the rows that a log misses, and lets AITER's own code find them, without a GPU.
#
#   scripts/integrations/aiter.sh [FOLDER]      FOLDER keeps datasets and models; default: a temporary one
#
# Needs target/debug/seqtune or SEQTUNE_BIN, and seqtune-train beside it. Downloads AITER (40 MB), and pandas for its code.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,6s/^# \{0,1\}//p' "$0" && exit ;; esac
program=${SEQTUNE_BIN:-target/debug/seqtune}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=${1:-$work/made}
mkdir -p "$folder"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" amd-aiter==0.1.7.post2.dev18
python3 -m zipfile -e "$work"/amd_aiter-*.whl "$work/packages"
python3 -m pip install --quiet --disable-pip-version-check --target "$work/python" pandas==2.3.3
configs=$work/packages/aiter/configs
# kernel, table, device and its compute units, a shape that the table lacks
while read -r kernel table device units shape; do
    data=$folder/$kernel-$device.sqt model=$folder/$kernel-$device
    [ -e "$data" ] || "$program" import aiter "$configs/$table.csv" "$configs"/model_configs/"$table"*.csv --kernel $kernel --device $device -o "$data" 2>/dev/null \
        || "$program" import aiter "$configs/$table.csv" --kernel $kernel --device $device -o "$data"
    [ -d "$model" ] || "$program" train "$data" --kernel $kernel -o "$model"
    "$program" evaluate model "$model" "$data" --kernel $kernel
    IFS=, read -r m n k <<<"$shape"
    echo "[aiter] shape is M:$m, N:$n, K:$k, not found tuned config in /srv/$table.csv, will use default config!" >"$work/log"
    "$program" export table "$model" --for aiter --kernel $kernel --device $device --from "$work/log" --extend "$configs/$table.csv" \
        -o "$work/$kernel-$device.csv"
    PYTHONPATH=$work/python python3 scripts/integrations/aiter_check.py "$work/packages" "$work/$kernel-$device.csv" $kernel $units "$shape"
done <<'END'
gemm_a8w8_blockscale a8w8_blockscale_tuned_gemm MI300X 304 24,2304,7168
gemm_a8w8_blockscale a8w8_blockscale_tuned_gemm MI355X 256 24,2304,7168
gemm_a8w8 a8w8_tuned_gemm MI355X 256 24,2304,7168
END
