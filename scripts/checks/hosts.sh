#!/usr/bin/env bash
# Compares the answers of the shipped models between processors that qemu-user emulates: with AVX2 and fused products, and with neither.
#
#   scripts/checks/hosts.sh [SEQTUNE]     the program, target/debug/seqtune where none is named
#
# It asks models of every kind for 300 problems in all, as JSON, with one thread and with several, and one problem at a time; all must be the
# same bytes. It needs qemu-x86_64 of Debian's package qemu-user, and says how to install it where it is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$(realpath "${1:-target/debug/seqtune}")
qemu=$(command -v qemu-x86_64 || command -v qemu-x86_64-static || true)
[ -n "$qemu" ] || { echo "skipped: qemu-x86_64 is not here; \`apt-get install qemu-user\` installs it"; [ -z "${CI:-}" ]; exit; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# models, with a problem whose place % takes a drawn size
cat >"$work/models" <<'EOF'
gemm-cpu auto epyc M=%,N=%,K=%
gemm-cpu best epyc M=%,N=%,K=%,transB=T
gemm-h200 auto H200 M=%,N=%,K=%
softmax-cpu auto epyc rows=%,columns=%
conv2d-h200 auto H200 N=1,C=%,H=28,W=28,K=%,R=3,S=3,pad_h=1,pad_w=1
gemm_tc-h200 auto H200 M=%,N=%,K=%
EOF
RANDOM=1
while read -r model quality device form; do
    for ((i = 0; i < 50; ++i)); do
        problem=
        for ((at = 0; at < ${#form}; ++at)); do
            character=${form:at:1}
            [ "$character" != % ] || character=$((1 + RANDOM % 4096))
            problem+=$character
        done
        echo "$problem"
    done >"$work/$model-$quality.problems"
    echo "models/$model --quality $quality --device $device $model-$quality" >>"$work/asked"
done <"$work/models"

# asks all models by a way to run the program, into a file
answers() {
    local into=$1 threads=$2 model rest name
    shift 2
    while read -r model rest; do
        name=${rest##* } rest=${rest% *}
        # shellcheck disable=SC2086
        "$@" "$program" predict "$model" "$work/$name.problems" $rest --top 3 --json --threads "$threads" 2>"$work/log" \
            || { tail -3 "$work/log" >&2; exit 1; }
    done <"$work/asked" >"$into"
}
answers "$work/here" 1
lines=$(wc -l <"$work/here")
[ "$lines" = 300 ] || { echo "hosts: $lines answers instead of 300" >&2; exit 1; }
status=0
compare() {
    local what=$1 differ
    differ=$(comm -13 <(sort "$work/here") <(sort "$work/there") | wc -l)
    echo "hosts: $what: $differ of $lines answers differ"
    [ "$differ" = 0 ] || status=1
}
answers "$work/there" 4
compare "four threads"
# one problem at a time
while read -r model rest; do
    name=${rest##* } rest=${rest% *}
    head -5 "$work/$name.problems" | while read -r problem; do
        # shellcheck disable=SC2086
        "$program" predict "$model" "$problem" $rest --top 3 --json 2>/dev/null
    done
done <"$work/asked" >"$work/single"
differ=$(comm -13 <(sort "$work/here") <(sort "$work/single") | wc -l)
echo "hosts: one problem at a time: $differ of $(wc -l <"$work/single") answers differ"
[ "$differ" = 0 ] || status=1
for cpu in Haswell Nehalem; do
    answers "$work/there" 1 "$qemu" -cpu "$cpu"
    compare "an emulated $cpu ($([ $cpu = Haswell ] && echo "AVX2 and FMA" || echo "neither AVX nor FMA"))"
done
exit $status
