#!/usr/bin/env bash
# Records in the shipped models what their first choices are worth on problems that nothing was learned from, and which sizes they learned from, of the
# shipped datasets: `predict` says so, and marks what is less sure. Weights stay as they are. Writes what all models tell into docs/results/tables/shipped-models.md. Takes
# some minutes on two cores.
#
#   scripts/figures/shown.sh [MODEL...]                  those of models/ that are named [default: all whose data are shipped]
#   scripts/figures/shown.sh --miopen FOLDER [SOLVER...] those of models/miopen, from MIOpen's databases (scripts/data/miopen.sh names them)
set -euo pipefail
cd "$(dirname "$0")/../.."
seqtune=${SEQTUNE:-target/release/seqtune}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${1:-}" = --miopen ]; then
    databases=$(realpath "${2:?shown.sh: name the folder of the databases}")
    shift 2
    source scripts/data/miopen_tuned.sh
    import_tuned "$work" "$databases" --find-db "$databases"/gfx906_60.HIP.fdb.txt.bz2
    solvers=("$@")
    [ $# -gt 0 ] || mapfile -t solvers < <(find models/miopen -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort)
    for solver in "${solvers[@]}"; do
        "$seqtune" calibrate --held-out-results "models/miopen/$solver" "$work"/tuned/*-"$solver".sqt
    done
    exit
fi
models=("$@")
[ $# -gt 0 ] || models=(models/*-cpu models/*-h200)

# MODEL FILE...: of its own data, and of others of the same kernels
record() {
    "$seqtune" calibrate --held-out-results "$@"
}

for model in "${models[@]}"; do
    model=models/$(basename "$model")
    case $(basename "$model") in
        gemm-h200)
            "$seqtune" sweep merge datasets/gemm/h200.sqt datasets/gemm/h200-later.sqt datasets/gemm/h200-more.sqt -o "$work/gemm.sqt" > /dev/null
            record "$model" "$work/gemm.sqt" datasets/gemm/h200-{energy,validated,validated-energy}.sqt
            ;;
        gemm_tc-h200) record "$model" datasets/gemm_tc/h200{,-more,-validated}.sqt ;;
        gemm_wg-h200) record "$model" datasets/gemm_wg/h200*.sqt ;;
        conv2d-h200)
            "$seqtune" sweep merge datasets/conv2d/h200.sqt datasets/conv2d/h200-more.sqt -o "$work/conv2d.sqt" > /dev/null
            record "$model" "$work/conv2d.sqt" datasets/conv2d/h200-validated.sqt
            ;;
        library-h200)
            sweeps=()
            for sweep in datasets/*/h200.sqt; do
                case $sweep in
                    # these have models of their own
                    */gemm/* | */gemm_tc/* | */gemm_wg/* | */conv2d/* | */triton_*) ;;
                    *) sweeps+=("$sweep") ;;
                esac
            done
            record "$model" "${sweeps[@]}"
            ;;
        triton_mm-h200) record "$model" datasets/triton_mm/h200.sqt ;;
        *-cpu)
            kernel=$(basename "$model" -cpu) files=()
            for file in "datasets/$kernel"/cpu-*.sqt; do
                # gemm's third sweep is of a processor that its model never saw
                [ "$file" = datasets/gemm/cpu-skylake-2c.sqt ] || files+=("$file")
            done
            record "$model" "${files[@]}"
            ;;
        *) echo "shown: the data of $model are not here" >&2 ;;
    esac
done

python3 - models/*/*.safetensors > "$work/table.md" <<'PY'
import json, struct, sys
print("| model | kernels | device | by | problems | first choice, % | 10th percentile, % | unsure below, % |")
print("|---|---|---|---|---|---|---|---|")
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        meta = json.loads(json.loads(file.read(length))["__metadata__"]["seqtune"])
    folder, form = path.split("/")[1:]
    name = folder + (", distilled" if form.startswith("distilled") else "")
    for shown in meta.get("shown", []):
        kernels = shown["kernels"][0] if len(shown["kernels"]) == 1 else f"{len(shown['kernels'])} others"
        how = "live" if shown["among"] == "legal" else "replay"
        device = shown["device"].rsplit("-", 1)[-1]
        print(f"| {name} | {kernels} | {device} | {shown['objective']} | {shown['problems']} ({shown['held_out']}, {how}) | "
              f"{100 * shown['mean']:.1f} | {100 * shown['p10']:.1f} | {100 * shown['least']:.1f} |")
PY
scripts/figures/put_figures.py shown.sh "$work/table.md" docs/results/tables/shipped-models.md
