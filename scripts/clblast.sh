#!/usr/bin/env bash
# Tunes CLBlast's matrix product by size on this machine's first OpenCL device: its own tuner over 220 sizes, a model, 30 sizes that were held
# out, judged by the tuner and through the library itself. Needs Debian's clblast-utils, libclblast-dev and ocl-icd-opencl-dev. Takes half an
# hour; leave the machine alone meanwhile. Called again, it goes on where it was.
# usage: scripts/clblast.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/clblast}
mkdir -p "$out"
program=${SEQTUNE:-target/release/seqtune}
[ -n "${SEQTUNE:-}" ] || cargo build --release
kernel=xgemm_direct held_out=datasets/problems/clblast_held_out.txt

scripts/clblast_tune.sh $kernel datasets/problems/clblast.txt "$out/$kernel" 5
# what is held out is tuned twice: by the first time the best config is known, by the second what each is worth
scripts/clblast_tune.sh $kernel $held_out "$out/held_out" 60
scripts/clblast_tune.sh $kernel $held_out "$out/held_out_again" 60
# CLBlast's own rule: one tuning at this size serves all
echo "M=256,N=256,K=256" > "$out/once.txt"
scripts/clblast_tune.sh $kernel "$out/once.txt" "$out/once" 60

"$program" import clblast "$out/$kernel"/*.json -o "$out/$kernel.sqt" --overwrite
[ -e "$out/model/model.safetensors" ] || "$program" train "$out/$kernel.sqt" -o "$out/model" --epochs 40 --members 3
"$program" predict "$out/model" $kernel $held_out --top 5 --json > "$out/predicted.jsonl"
"$program" export clblast "$out/model" $held_out -o "$out/table.h" --overwrite
cc -O2 -I "$out" examples/clblast.c -o "$out/clblast_times" -lclblast -lOpenCL -lm
once=$(scripts/clblast_figures.py once "$out")
# shellcheck disable=SC2086 # a word for each parameter
[ -s "$out/library.txt" ] || "$out/clblast_times" $once > "$out/library.txt"
scripts/clblast_figures.py table "$out" | tee "$out/figures.md"
scripts/put_figures.py clblast.sh "$out/figures.md" docs/clblast.md
