#!/usr/bin/env bash
# Runs one of CLBlast's own tuners over problems, a result file each; those that are there are left. Its first part alone is run: the configs
# that it tries for every size, or one of FRACTION of them. Needs Debian's clblast-utils and an OpenCL device.
# usage: scripts/integrations/clblast_tune.sh TUNER PROBLEMS FOLDER [RUNS [FRACTION]]      e.g. xgemm_direct datasets/problems/clblast.txt target/clblast/xgemm_direct
set -euo pipefail
tuner=$1 problems=$(realpath "$2") out=$3 runs=${4:-5} fraction=${5:-1}
command -v "clblast_tuner_$tuner" >/dev/null || { echo "clblast: clblast_tuner_$tuner is missing: apt-get install clblast-utils" >&2; exit 3; }
mkdir -p "$out"
out=$(realpath "$out")
count=$(grep -c '^M=' "$problems")
done=0
grep '^M=' "$problems" | while IFS== read -r _ m n k; do
    m=${m%%,*} n=${n%%,*}
    done=$((done + 1))
    file=$out/M=$m,N=$n,K=$k.json
    [ ! -s "$file" ] || continue
    part=$(mktemp -d)
    # it goes on with parts of a random choice, which are different configs for each size: it is ended where the first part is written
    (cd "$part" && exec "clblast_tuner_$tuner" -precision 32 -m "$m" -n "$n" -k "$k" -runs "$runs" -fraction "$fraction" > log 2>&1 < /dev/null) &
    job=$!
    result=$part/clblast_${tuner}_1_32.json
    while [ ! -s "$result" ] && kill -0 "$job" 2>/dev/null; do sleep 0.05; done
    sleep 0.05
    kill "$job" 2>/dev/null || true
    # it aborts at its second part where a size is too small for that, which is not asked for
    { wait "$job" || true; } 2>/dev/null
    if [ -s "$result" ]; then mv "$result" "$file"; else echo "clblast: no result for M=$m,N=$n,K=$k: $(tail -n 1 "$part/log")" >&2; fi
    rm -rf "$part"
    [ $((done % 20)) != 0 ] || echo "clblast: $tuner, $done of $count sizes" >&2
done
