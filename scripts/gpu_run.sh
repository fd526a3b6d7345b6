#!/usr/bin/env bash
# Everything that a machine with a GPU is to do, in one call, with a program built elsewhere: no Rust and no network are needed, only
# the driver, NVRTC, and libtorch (of a CUDA toolkit and of Python's torch 2.11.0, or where LD_LIBRARY_PATH and SEQTUNE_NVRTC say).
# Lists the devices, runs the GPU tests (a program gpu_tests beside BIN: cargo test --release --test gpu --no-run makes it), goes on with
# the sweeps of datasets/problems for as long as is given, meters energy on
# a part of them, and validates the shipped models. Results are packed into OUT every two minutes, so that a run that is stopped loses little; journals
# are kept in WORK (gpu_work), so that the next call goes on.
# usage: scripts/gpu_run.sh BIN OUT [MINUTES]
set -uo pipefail
bin=$(realpath "${1:?usage: scripts/gpu_run.sh BIN OUT [MINUTES]}")
out=${2:?usage: scripts/gpu_run.sh BIN OUT [MINUTES]}
minutes=${3:-9}
mkdir -p "$out" && out=$(realpath "$out")
cd "$(dirname "$0")/.."
work=${WORK:-gpu_work} device=${DEVICE:-cuda:0}
mkdir -p "$work"
began=$SECONDS
left() { echo $((minutes * 60 - (SECONDS - began))); }
say() { printf '== %s (%d s gone)\n' "$*" $((SECONDS - began)) | tee -a "$out/log.txt" >&2; }
try() { "$@" >> "$out/log.txt" 2>&1 || say "failed with $?: $*"; }

packages=$(python3 -c 'import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec("torch").origin).parent.parent)' 2>/dev/null)
if [ -n "$packages" ]; then
    export LD_LIBRARY_PATH=$packages/torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    # the vendor's libraries, which validate measures beside the predictions
    for folder in "$packages"/nvidia/*/lib; do [ -d "$folder" ] && LD_LIBRARY_PATH+=:$folder; done
    : "${SEQTUNE_NVRTC:=$(dirname "$(find "$packages" -name 'libnvrtc.so*' 2>/dev/null | sort | head -n 1)" 2>/dev/null)}"
    export SEQTUNE_NVRTC
fi

# Packs a journal into OUT.
# The form is by the end of the name.
pack() { [ -e "$work/$1.jsonl" ] && try "$bin" convert "$work/$1.jsonl" -o "$out/$1.new.sqt" --overwrite && mv -f "$out/$1.new.sqt" "$out/$1.sqt"; }

# Goes on with a sweep until its end or until so many seconds are gone, packing as it goes: NAME SECONDS ARGUMENTS...
sweep() {
    local name=$1 until=$((SECONDS + $2)) told
    shift 2
    while [ $((until - SECONDS)) -gt 5 ]; do
        local budget=$((until - SECONDS))
        [ "$budget" -le 120 ] || budget=120
        told=$("$bin" sweep "$@" --device "$device" --budget "${budget}s" -o "$work/$name.jsonl" 2>> "$out/log.txt") || { say "sweep $name failed: $told"; break; }
        printf '%s: %s\n' "$name" "$told" >> "$out/sweeps.txt"
        pack "$name"
        # nothing was measured: it is complete
        case $told in *": 0 measured now"*) break ;; esac
    done
    say "swept $name"
}

say "devices"
"$bin" devices > "$out/devices.txt" 2>&1 || { say "the program does not run: see devices.txt"; exit 1; }
"$bin" devices --json > "$out/devices.json" 2>> "$out/log.txt"
grep -q "^  $device" "$out/devices.txt" || { say "$device does not open: see devices.txt"; exit 1; }

say "tests"
tests=$(dirname "$bin")/gpu_tests
if [ -s "$work/tests.txt" ]; then
    say "tests ran before"
elif [ -x "$tests" ]; then
    SEQTUNE_BIN=$bin timeout "$(($(left) > 240 ? 240 : $(left)))" "$tests" --nocapture --test-threads 1 > "$work/tests.txt" 2>&1 || say "tests failed or were stopped: see tests.txt"
else
    say "no tests: $tests is missing"
fi
[ -s "$work/tests.txt" ] && cp "$work/tests.txt" "$out/"

sed 's/,dtype=f16/,dtype=bf16/' datasets/problems/gemm_gpu.txt > "$work/gemm_tc.txt"
rest=$(left)
sweep gemm $((rest * 35 / 100)) gemm --problems datasets/problems/gemm_gpu.txt --sample 110
[ "${device%%:*}" = cuda ] && sweep gemm_tc $((rest * 20 / 100)) gemm_tc --problems "$work/gemm_tc.txt" --sample 110
sweep conv2d $((rest * 20 / 100)) conv2d --problems datasets/problems/conv2d_gpu.txt --sample 110
# 40 shapes over the list, 12 configs each
awk '!/^#/ && NR % 8 == 2' datasets/problems/gemm_gpu.txt | head -n 42 > "$work/energy.txt"
sweep gemm_energy $(($(left) * 75 / 100)) gemm --problems "$work/energy.txt" --sample 12 --energy

say "validation"
for kernel in gemm gemm_tc conv2d; do
    problems=datasets/problems/${kernel}_gpu.txt
    [ "$kernel" = gemm_tc ] && problems=$work/gemm_tc.txt
    for model in models/*; do
        [ -e "$model/model.safetensors" ] && "$bin" predict "$model" "$kernel" "$(grep -v '^#' "$problems" | head -n 1)" --device "$device" > /dev/null 2>&1 || continue
        { grep -v '^#' "$problems" | awk 'NR % 40 == 7'; [ "$kernel" = conv2d ] || echo M=4096,N=4096,K=4096; } > "$work/validate.txt"
        timeout "$(($(left) > 20 ? $(left) : 20))" "$bin" validate "$model" "$kernel" "$work/validate.txt" --top 8 --device "$device" \
            > "$out/validate_$(basename "$model")_$kernel.md" 2>> "$out/log.txt" || say "validation of $model stopped"
    done
done
for name in gemm gemm_tc conv2d gemm_energy; do pack "$name"; done
say "done"
