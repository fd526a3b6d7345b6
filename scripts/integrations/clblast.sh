#!/usr/bin/env bash
# Tunes CLBlast's matrix product by size on this machine's first OpenCL device: its own tuners over 220 sizes for each of its two kernels, models of
# both and of the choice between them, 30 sizes that were held out, judged by the tuners and through the library itself. Needs Debian's
# clblast-utils, libclblast-dev and ocl-icd-opencl-dev. Takes two hours; leave the machine alone meanwhile. Called again, it goes on where it was.
# usage: scripts/integrations/clblast.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-target/clblast}
mkdir -p "$out"
program=${SEQTUNE:-target/release/seqtune}
[ -n "${SEQTUNE:-}" ] || cargo build --release -p seqtune -p seqtune-train
problems=datasets/problems/clblast
declare -A once=([xgemm_direct]=256 [xgemm]=512)

# the indirect kernel has 578 configs: one of four of them, the same for all sizes, teaches; all are tried where it is judged
scripts/integrations/clblast_tune.sh xgemm ${problems}_padded.txt "$out/xgemm" 5 4
scripts/integrations/clblast_tune.sh xgemm_direct $problems.txt "$out/xgemm_direct" 10
for kernel in xgemm_direct xgemm; do
    # CLBlast's own rule: one tuning at one size serves all
    echo "M=${once[$kernel]},N=${once[$kernel]},K=${once[$kernel]}" > "$out/once.txt"
    scripts/integrations/clblast_tune.sh $kernel "$out/once.txt" "$out/${kernel}_once" 3
done
scripts/integrations/clblast_tune.sh xgemm_direct ${problems}_held_out.txt "$out/xgemm_direct_held_out" 60
scripts/integrations/clblast_tune.sh xgemm ${problems}_padded_held_out.txt "$out/xgemm_held_out" 5

learn() { # KERNEL FILE...
    local kernel=$1
    shift
    [ -e "$out/models/$kernel/model.safetensors" ] && return
    "$program" import clblast "$@" -o "$out/$kernel.sqt" --overwrite
    "$program" train "$out/$kernel.sqt" -o "$out/models/$kernel" --epochs 40 --members 3
}
ask() { # NAME PROBLEMS: of both kernels, the indirect one for whole tiles
    "$program" predict "$out/models" xgemm_direct "$2" --top 5 --json > "$out/$1_xgemm_direct.jsonl"
    scripts/integrations/clblast_figures.py pad "$2" | "$program" predict "$out/models" xgemm - --top 5 --json > "$out/$1_xgemm.jsonl"
}
for kernel in xgemm_direct xgemm; do learn $kernel "$out/$kernel"/*.json; done

# which way is the quicker one is learned from 80 of the sizes, through the library, with the parameters that are predicted
grep '^M=' $problems.txt | head -n 80 > "$out/ways.txt"
ask ways "$out/ways.txt"
scripts/integrations/clblast_figures.py ways "$out"
scripts/integrations/clblast_library.py "$out/ways.jsonl" "$out/ways_times.jsonl" 2
scripts/integrations/clblast_figures.py routine "$out"
learn gemm_routine "$out/routine"/*.json

ask predicted ${problems}_held_out.txt
"$program" predict "$out/models" gemm_routine ${problems}_held_out.txt --json > "$out/predicted_gemm_routine.jsonl"
scripts/integrations/clblast_figures.py jobs "$out"
scripts/integrations/clblast_library.py "$out/jobs.jsonl" "$out/times.jsonl" 9
scripts/integrations/clblast_figures.py table "$out" | tee "$out/figures.md"
scripts/figures/put_figures.py clblast.sh "$out/figures.md" docs/results/tables/clblast.md

# the table that a program includes
"$program" export clblast "$out/models" ${problems}_held_out.txt -o "$out/table.h" --overwrite
cc -O2 -I "$out" examples/clblast.c -o "$out/clblast_times" -lclblast -lOpenCL -lm
"$out/clblast_times"
