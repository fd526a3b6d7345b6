#!/usr/bin/env bash
# Certifies rows against the best single config on this machine's processor, measures the certified ones a second time, and writes what came of both
# into docs/results/tables/certified.md. Takes about five minutes on two quiet cores. Works in target/certified: called again, it goes on;
# to begin anew, delete that folder.
# usage: scripts/figures/certified.sh [PROBLEMS]    PROBLEMS: so many of each kernel, the last of its list, which no model learned from [default: 36]
set -euo pipefail
cd "$(dirname "$0")/../.."
count=${1:-36}
seqtune=${SEQTUNE:-target/release/seqtune}
[ -n "${SEQTUNE:-}" ] || cargo build --release -p seqtune
work=target/certified
mkdir -p "$work"
for kernel in softmax transpose gemv; do
    tail -n "$count" "datasets/problems/$kernel.txt" >"$work/$kernel.txt"
    # against the one config that serves a sample of sizes best, which is far better than the kernel's default
    against=$("$seqtune" select "models/$kernel-cpu" --kernel "$kernel" --problems "datasets/problems/$kernel.txt" --configs 1 --device epyc --json \
        | python3 -c 'import json, sys; print(json.load(sys.stdin)["configs"][0]["config"])')
    ask=("$seqtune" validate "models/$kernel-cpu" "$kernel" "$work/$kernel.txt" --device opencl:0 --no-confirm --overwrite --against "$against")
    [ -e "$work/$kernel-first.json" ] || "${ask[@]}" --top 5 --certify "$work/$kernel-first.json" >/dev/null
    [ -e "$work/$kernel-second.json" ] || "${ask[@]}" --top 1 --certify "$work/$kernel-second.json" --certified "$work/$kernel-first.json" >/dev/null
done
scripts/figures/certified_table.py "$work" >"$work/table.md"
scripts/figures/put_figures.py certified.sh "$work/table.md" docs/results/tables/certified.md
cat "$work/table.md"
