#!/usr/bin/env bash
# Everything that a machine with a GPU is to do, in one call, with a program built elsewhere: no Rust and no network are needed, only
# the driver and NVRTC (of a CUDA toolkit, of the wheels beside Python's torch 2.11.0, or where LD_LIBRARY_PATH and SEQTUNE_NVRTC say).
# Lists the devices and does the PARTS that are named, each for its share of the time:
#   tests     the GPU tests (a program gpu_tests beside BIN: cargo test --release --test gpu --no-run makes it)
#   gemm, gemm_tc, gemm_wg, conv2d   goes on with the sweep of datasets/problems, products beside the vendor's library; the last HELD_OUT (40) products
#             and half as many convolutions of each list are left out. Programs of the parts after the first are compiled on idle cores
#   gemm_more, conv2d_more   the same with datasets/problems/KERNEL_gpu_more.txt, into a journal of its own
#   gemm_guided, gemm_more_guided, ...   goes on in the same journal with what the first model of MODELS that predicts the kernel holds
#             best, GUIDED (40) configs of each problem on average, of GUIDED_POOL configs that problems share, where it is set
#   library   goes on with sweeps of the other kernels that have a list datasets/problems/NAME_gpu.txt, LIBRARY (40) configs of each problem, the last
#             20 left out; packed together in library.tar
#   best      BEST (400) configs of one large product and 60 that models choose, beside the vendor's library
#   energy    meters 12 configs of each of 40 products, and those of three once more, in windows of ENERGY_WINDOW (2) seconds
#   validate  measures what the shipped models (MODELS) predict for the problems that were left out, beside SEARCH (60) random configs, and keeps it
#   validate_library   the same for the other kernels' lists, LIVE (5) problems of each beside 20 random configs
#   validate_energy   meters four predictions of the first model of `gemm` that knows energy, and 8 random configs, of 12 of these products
# OUT gets a report and the packed results, at most eight files with one that is being written, anew every minute, so that a run that is
# stopped loses little; journals are kept in WORK (gpu_work), so that the next call goes on. On another machine the packed files of the last call serve as well, in WORK.
# A sweep measures CONFIGS of each problem (110) from pools of POOL (220), so that few programs are compiled; `seqtune sweep --compile-only`
# makes them beforehand where there is no GPU (CACHE names the folder that SEQTUNE_CACHE then was).
# usage: [PARTS="tests gemm"] [DEVICE=cuda:0] [CONFIGS=110] scripts/gpu_run.sh BIN OUT [MINUTES]
set -uo pipefail
bin=$(realpath "${1:?usage: scripts/gpu_run.sh BIN OUT [MINUTES]}")
out=${2:?usage: scripts/gpu_run.sh BIN OUT [MINUTES]}
limit=$(awk -v minutes="${3:-9}" 'BEGIN { print int(60 * minutes) }')
[ "$limit" -gt 0 ] || { echo "MINUTES is a number above 0, not \`${3:-}\`" >&2; exit 2; }
mkdir -p "$out" && out=$(realpath "$out")
cd "$(dirname "$0")/.."
work=${WORK:-gpu_work} device=${DEVICE:-cuda:0} configs=${CONFIGS:-110} pool=${POOL:-220} held_out=${HELD_OUT:-40}
models=${MODELS:-models/*} search=${SEARCH:-60} guided=${GUIDED:-40} best=${BEST:-400} window=${ENERGY_WINDOW:-2} listed=${LIBRARY:-40} live=${LIVE:-5}
[ -z "${CACHE:-}" ] || export SEQTUNE_CACHE=$CACHE
read -ra parts <<< "${PARTS:-tests gemm gemm_tc conv2d best energy validate}"
declare -A weight=([tests]=8 [gemm]=35 [gemm_tc]=20 [gemm_wg]=20 [conv2d]=20 [gemm_more]=25 [conv2d_more]=20 [library]=40 [best]=20 [energy]=50 [validate]=28
    [validate_energy]=15 [validate_library]=12)
for part in gemm gemm_tc gemm_wg conv2d gemm_more conv2d_more; do weight[${part}_guided]=${weight[$part]}; done
for part in "${parts[@]}"; do
    [ -n "${weight[$part]:-}" ] || { echo "no part \`$part\`: name some of ${!weight[*]}" >&2; exit 2; }
done
mkdir -p "$work"
large=M=4096,N=4096,K=4096
began=$SECONDS
left() { echo $((limit - (SECONDS - began))); }
# What there is to read, in one file.
publish() { cat "$work/report.txt" "$work/log.txt" > "$out/report.txt" 2> /dev/null; }
say() {
    printf '== %s (%d s gone)\n' "$*" $((SECONDS - began)) | tee -a "$work/log.txt" >&2
    publish
}
# Seconds of the parts that are left which the first of them gets.
share() {
    local sum=0 part
    for part in "${parts[@]}"; do sum=$((sum + weight[$part])); done
    echo $(($(left) * weight[${parts[0]}] / sum))
}
try() { "$@" >> "$work/log.txt" 2>&1 || { say "failed with $?: $*"; return 1; }; }

packages=$(python3 -c 'import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec("torch").origin).parent.parent)' 2>/dev/null)
if [ -n "$packages" ]; then
    export LD_LIBRARY_PATH=$packages/torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    # the vendor's libraries, which validate measures beside the predictions
    for folder in "$packages"/nvidia/*/lib; do [ -d "$folder" ] && LD_LIBRARY_PATH+=:$folder; done
    : "${SEQTUNE_NVRTC:=$(dirname "$(find "$packages" -name 'libnvrtc.so*' 2>/dev/null | sort | head -n 1)" 2>/dev/null)}"
    export SEQTUNE_NVRTC
fi

# Packs a journal into OUT, those of `library` together. The form is by the end of the name.
pack() {
    local to=$out
    case $1 in library/*) to=$work ;; esac
    [ -e "$work/$1.jsonl" ] && try "$bin" export dataset "$work/$1.jsonl" -o "$to/$1.sqt" --overwrite
    [ "$to" = "$out" ] || tar -C "$work/library" -cf "$out/library.tar" $(cd "$work/library" && ls ./*.sqt 2> /dev/null)
    publish
}

# Goes on with a sweep until its end or until so many seconds are gone, packing as it goes: NAME SECONDS ARGUMENTS...
sweep() {
    local name=$1 until=$((SECONDS + $2)) seconds next argument
    shift 2
    [ -e "$work/$name.jsonl" ] || [ ! -e "$work/$name.sqt" ] || try "$bin" export dataset "$work/$name.sqt" -o "$work/$name.jsonl"
    while seconds=$((until - SECONDS)) && [ $seconds -gt 5 ]; do
        # a batch that was begun is finished; what hangs beyond that is ended
        timeout $((seconds + 120)) "$bin" sweep "$@" --verbose --device "$device" --budget "${seconds}s" -o "$work/$name.jsonl" \
            > "$work/told.txt" 2> "$work/said.txt" &
        running=$! next=$((SECONDS + 60))
        while kill -0 "$running" 2> /dev/null; do
            sleep 1
            [ $SECONDS -lt $next ] || { pack "$name" && next=$((SECONDS + 60)); }
        done
        if wait "$running"; then
            printf '%s: %s\n' "$name" "$(cat "$work/told.txt")" >> "$work/report.txt"
            cat "$work/said.txt" >> "$work/log.txt"
            break
        fi
        say "sweep $name failed: $(tail -n 1 "$work/said.txt")"
        if grep -q "was begun with" "$work/said.txt"; then
            # on another device, or by another version: kept, and begun anew
            mv "$work/$name.jsonl" "$work/$name.$(date +%s).old"
        elif grep -q -e "--library:" "$work/said.txt"; then
            say "the vendor's library is left out"
            beside=()
            for argument; do shift; [ "$argument" = --library ] || set -- "$@" "$argument"; done
        else
            break
        fi
    done
    running=
    pack "$name"
    say "swept $name"
}
running= ahead=
stop_ahead() { [ -z "$ahead" ] || { pkill -P "$ahead"; kill "$ahead"; } 2> /dev/null; ahead=; }
trap '[ -z "$running" ] || kill "$running"; stop_ahead' EXIT
trap 'exit 143' TERM INT

: > "$work/report.txt"
: > "$work/log.txt"
say "devices"
"$bin" devices > "$work/report.txt" 2>&1 || { say "the program does not run: see report.txt"; exit 1; }
grep -q "^  $device" "$work/report.txt" || { say "$device does not open: see report.txt"; exit 1; }

run_tests() {
    local tests limit=$(($(share) > 60 ? $(share) : 60)) code=0
    tests=$(dirname "$bin")/gpu_tests
    [ -s "$work/tests.txt" ] && { say "tests ran before"; return; }
    [ -x "$tests" ] || { say "no tests: $tests is missing"; return; }
    SEQTUNE_BIN=$bin timeout "$limit" "$tests" --nocapture --test-threads 1 > "$work/tests.part" 2>&1 || code=$?
    cat "$work/tests.part" >> "$work/report.txt"
    mv "$work/tests.part" "$work/tests.txt"
    [ $code = 0 ] || say "tests failed or were stopped ($code): see report.txt"
}

# Whether a folder holds a model that predicts here: MODEL KERNEL PROBLEM [OPTION...]
predicts() { [ -e "$1/model.safetensors" ] && "$bin" predict "$@" --device "$device" > /dev/null 2>&1; }

# The other kernels that have a list of problems for a GPU.
listed_kernels() {
    local list
    for list in datasets/problems/*_gpu.txt; do
        list=$(basename "$list" _gpu.txt)
        case $list in gemm | conv2d | gemm_wg) ;; *) echo "$list" ;; esac
    done | xargs
}

# Sweeps of these, one after the other, each for its share of the seconds: SECONDS
library() {
    local until=$((SECONDS + $1)) names name product
    read -ra names <<< "$(listed_kernels)"
    mkdir -p "$work/library"
    while [ ${#names[@]} -gt 0 ]; do
        name=${names[0]}
        divide "library/$name" 20 "datasets/problems/${name}_gpu.txt"
        product=()
        ! grep -q '^\[library' "kernels/$name/kernel.toml" 2> /dev/null || product=("${beside[@]}")
        sweep "library/$name" $(((until - SECONDS) / ${#names[@]})) "$name" --problems "$work/library/$name.txt" \
            --sample "$listed" --pool 150 --private-share 0 "${product[@]}"
        names=("${names[@]:1}")
    done
}

# The first of MODELS that predicts the problems of a list here: KERNEL LIST [OPTION...]
model_of() {
    local model
    [ -s "$work/$2.txt" ] || return 1
    for model in $models; do
        ! predicts "$model" "$1" "$(head -n 1 "$work/$2.txt")" "${@:3}" || { echo "$model"; return; }
    done
    return 1
}

# What a model holds best for the problems of a list, into its journal: LIST SECONDS
guide() {
    local kernel=${1%_more} model library=()
    [ "$kernel" = conv2d ] || library=("${beside[@]}")
    model=$(model_of "$kernel" "$1") || { say "no model of $kernel guides"; return; }
    sweep "$1" "$2" "$kernel" --problems "$work/$1.txt" --guided "$model" "${promising[@]}" "${library[@]}"
}

# Random configs of the large product, then those that models think best: KERNEL SECONDS
search() {
    local model seconds=$2
    sweep "$1_best" $((seconds * 2 / 3)) "$1" --problems "$large" --sample "$best" "${beside[@]}"
    for model in $models; do
        predicts "$model" "$1" "$large" && sweep "$1_best" $((seconds / 3)) "$1" --problems "$large" --guided "$model" --sample 60 "${beside[@]}"
    done
}

# Compiles the programs of the sweeps that come after the first part, on idle cores.
compile_ahead() {
    local part list model chosen
    for part in "${parts[@]:1}"; do
        list=${part%_guided} chosen=("${sampled[@]}")
        [ -e "$work/$list.txt" ] || continue
        if [ "$part" != "$list" ]; then
            model=$(model_of "${list%_more}" "$list") || continue
            chosen=(--guided "$model" "${promising[@]}")
        fi
        nice -n 19 "$bin" sweep "${list%_more}" --problems "$work/$list.txt" "${chosen[@]}" --compile-only --device "$device" >> "$work/ahead.txt" 2>&1
    done
}

validate_energy() {
    local model
    model=$(model_of gemm gemm_energy_held_out --objective energy) || { say "no model of gemm knows energy"; return; }
    printf '\nvalidation of %s on gemm by energy\n\n' "$model" >> "$work/report.txt"
    timeout $(($1 + 30)) "$bin" validate "$model" gemm "$work/gemm_energy_held_out.txt" --objective energy --energy-window "$window" --top 4 \
        --random 8 --no-confirm --device "$device" --budget "$1s" --record "$work/validated_energy.jsonl" \
        >> "$work/report.txt" 2>> "$work/log.txt" || say "validation by energy stopped"
    pack validated_energy
}

# Measures predictions for the lists of some kernels, each for its share of the seconds, and keeps what was measured: SECONDS SEARCH KEPT KERNEL...
validate() {
    local kernel model until=$((SECONDS + $1)) search=$2 kept=$3 pairs=() budget
    for kernel in "${@:4}"; do
        model=$(model_of "$kernel" "${kernel}_held_out") && pairs+=("$kernel $model")
    done
    while [ ${#pairs[@]} -gt 0 ]; do
        read -r kernel model <<< "${pairs[0]}"
        budget=$(((until - SECONDS - 5) / ${#pairs[@]})) pairs=("${pairs[@]:1}")
        [ "$budget" -ge 2 ] || { say "no time is left to validate $model on $kernel"; continue; }
        printf '\nvalidation of %s on %s\n\n' "$model" "$kernel" >> "$work/report.txt"
        # a problem that was begun is finished; what hangs beyond that is ended
        timeout $((budget + 20)) "$bin" validate "$model" "$kernel" "$work/${kernel}_held_out.txt" --top 8 --random "$search" --no-confirm --device "$device" \
            --budget "${budget}s" --record "$work/$kept$kernel.jsonl" >> "$work/report.txt" 2>> "$work/log.txt" || say "validation of $model on $kernel stopped"
        pack "$kept$kernel"
    done
}

sampled=(--sample "$configs" --pool "$pool" --private-share 0)
promising=(--sample "$guided" ${GUIDED_POOL:+--pool "$GUIDED_POOL"})
# products are measured beside the vendor's library where one works through the device's API
beside=()
[ "${device%%:*}" = cuda ] && beside=(--library)
# The list of a kernel without its last ones, which validate takes: KERNEL LEFT-OUT LIST
divide() {
    grep -v '^#' "$3" | head -n "-$2" > "$work/$1.txt"
    grep -v '^#' "$3" | tail -n "$2" > "$work/$1_held_out.txt"
}
divide gemm "$held_out" datasets/problems/gemm_gpu.txt
sed 's/,dtype=f16/,dtype=bf16/' datasets/problems/gemm_gpu.txt > "$work/matrix.txt"
divide gemm_tc "$held_out" "$work/matrix.txt"
[ ! -e datasets/problems/gemm_wg_gpu.txt ] || divide gemm_wg_own $((held_out / 2)) datasets/problems/gemm_wg_gpu.txt
# products of the other list follow, as f16 and bf16
divide gemm_wg_more "$held_out" "$work/matrix.txt"
cat "$work"/gemm_wg_{own,more}.txt > "$work/gemm_wg.txt" 2> /dev/null
paste -d '\n' "$work"/gemm_wg_{own,more}_held_out.txt 2> /dev/null | grep . > "$work/gemm_wg_held_out.txt"
awk 'NR % 10 < 3' "$work/gemm_held_out.txt" | head -n 12 > "$work/gemm_energy_held_out.txt"
[ ! -e datasets/problems/conv2d_gpu.txt ] || divide conv2d $((held_out / 2)) datasets/problems/conv2d_gpu.txt
for kernel in gemm conv2d; do
    [ ! -e datasets/problems/${kernel}_gpu_more.txt ] || divide ${kernel}_more 0 datasets/problems/${kernel}_gpu_more.txt
done
for kernel in $(listed_kernels); do
    grep -v '^#' "datasets/problems/${kernel}_gpu.txt" | tail -n 20 | head -n "$live" > "$work/${kernel}_held_out.txt"
done
# 40 shapes over the list, 12 configs each
awk 'NR % 7 == 2' "$work/gemm.txt" | head -n 40 > "$work/energy.txt"
awk 'NR % 16 == 3' "$work/energy.txt" > "$work/energy_again.txt"
compile_ahead &
ahead=$!
while [ ${#parts[@]} -gt 0 ]; do
    part=${parts[0]} seconds=$(share)
    say "$part, $seconds s"
    case $part in
    tests) run_tests ;;
    gemm | gemm_more) sweep "$part" "$seconds" gemm --problems "$work/$part.txt" "${sampled[@]}" "${beside[@]}" ;;
    conv2d | conv2d_more) sweep "$part" "$seconds" conv2d --problems "$work/$part.txt" "${sampled[@]}" ;;
    library) library "$seconds" ;;
    *_guided) guide "${part%_guided}" "$seconds" ;;
    energy)
        metered=(--sample 12 --pool "$pool" --private-share 0 --energy --energy-window "$window")
        sweep gemm_energy $((seconds * 9 / 10)) gemm --problems "$work/energy.txt" "${metered[@]}"
        sweep gemm_energy_again $((seconds / 10)) gemm --problems "$work/energy_again.txt" "${metered[@]}"
        ;;
    validate) validate "$seconds" "$search" validated_ conv2d gemm_tc gemm_wg gemm ;;
    validate_library) mkdir -p "$work/library" && validate "$seconds" 20 library/validated_ $(listed_kernels) ;;
    validate_energy) validate_energy "$seconds" ;;
    gemm_tc | gemm_wg) [ "${device%%:*}" = cuda ] && sweep "$part" "$seconds" "$part" --problems "$work/$part.txt" "${sampled[@]}" "${beside[@]}" ;;
    best)
        search gemm $((seconds / 2))
        [ "${device%%:*}" = cuda ] && search gemm_tc $((seconds / 2))
        ;;
    esac
    parts=("${parts[@]:1}")
done
for journal in "$work"/*.jsonl "$work"/library/*.jsonl; do
    [ -e "$journal" ] && journal=${journal#"$work"/} && pack "${journal%.jsonl}"
done
say "done"
