#!/usr/bin/env bash
# seqtune inside Kernel Tuner 1.5, with the real package in an environment of its own (414 MB to fetch): its tests, its simulation mode on our
# sweep, live on an OpenCL device, and its strategies with and without predictions. Writes docs/results/tables/kernel-tuner.md and docs/integrations/kernel-tuner.svg.
#
#   scripts/integrations/kernel_tuner.sh [test] [live] [compare [PROBLEMS SEEDS]] [speed]     test and live where nothing is named; compare takes half an hour,
#   and speed 15 to 40 minutes, on a quiet machine
set -euo pipefail
cd "$(dirname "$0")/../.."
parts=${1:-test live}
[ $# -lt 1 ] || shift
problems=${1:-12} seeds=${2:-3}
cargo build --quiet --release
wheel=$(scripts/release/wheel.sh release)
venv=target/kernel-tuner
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import kernel_tuner, pyopencl' 2>/dev/null; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'kernel_tuner==1.5.0' pyopencl scikit-optimize pyatf matplotlib
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seqtune=$PWD/target/release/seqtune

for part in $parts; do
    case $part in
        test)
            "$seqtune" export kernel-tuner datasets/gemm/cpu-epyc-2c.sqt --problem M=1008,N=30,K=672 -o "$work/cache.json"
            SEQTUNE_CACHE=$work/cache.json SEQTUNE=$seqtune "$venv/bin/python" -W ignore -m unittest discover -s src/python/tests -p 'test_kernel_tuner.py'
            "$venv/bin/python" -m doctest -o NORMALIZE_WHITESPACE src/python/seqtune/kernel_tuner/describe.py
            ;;
        live)
            "$venv/bin/python" -W ignore scripts/integrations/kernel_tuner_live.py "$work" "$seqtune"
            ;;
        compare)
            "$seqtune" export kernel-tuner datasets/gemm/cpu-epyc-2c.sqt -o "$work/caches"
            "$venv/bin/python" scripts/integrations/kernel_tuner_compare.py "$work/caches" models/gemm-cpu "$work/table.md" docs/integrations/kernel-tuner.svg "$problems" "$seeds"
            cat "$work/table.md"
            scripts/figures/put_figures.py kernel_tuner.sh "$work/table.md" docs/results/tables/kernel-tuner.md
            ;;
        speed)
            "$venv/bin/python" -W ignore scripts/integrations/kernel_tuner_speed.py "$work" "$seqtune" 3
            ;;
        *)
            echo "kernel_tuner: there is no part \`$part\`: name test, live, compare or speed" >&2
            exit 2
            ;;
    esac
done
