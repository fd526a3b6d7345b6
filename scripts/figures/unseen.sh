#!/usr/bin/env bash
# Leaves each of four GPUs out of some of MIOpen's solvers, and tells how true probabilities are there, as lowered for a device that
# a model never saw, and whether sets that are to hold the tuned config with 90 % do so; both after `calibrate` on twenty of its
# problems too. One network each, eight passes. Writes the table into docs/results/tables/unseen-gpus.md. Takes about half an hour on two cores. Works
# in target/unseen, where the networks stay.
# usage: scripts/figures/unseen.sh FOLDER    FOLDER: as of scripts/data/miopen.sh
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/figures/unseen.sh FOLDER}")
cd "$(dirname "$0")/../.."
cargo build --release -p seqtune -p seqtune-train
export seqtune=target/release/seqtune
export work=target/unseen
mkdir -p "$work"
source scripts/data/miopen_tuned.sh
import_tuned "$work" "$databases"
# the one solver of the MI300X of which another device has many records
winograd=(ConvBinWinogradRxSf2x3)
solvers=(ConvHipImplicitGemmV4R4WrW ConvHipImplicitGemmV4R4Fwd ConvHipImplicitGemmV4R1Fwd ConvHipImplicitGemmBwdDataV1R1 ConvOclBwdWrW2 ConvOclDirectFwd)
devices=(MI50 RX_Vega_56 RX_6800_XT)
splits() {
    for device in "${devices[@]}"; do for solver in "${solvers[@]}"; do echo "$device $solver"; done; done
    for solver in "${winograd[@]}"; do echo "MI300X $solver"; done
}
leave_out() { # DEVICE SOLVER
    export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1
    local others=()
    [ ! -e "$work/$1/$2/model.safetensors" ] || return 0
    for file in "$work"/tuned/*-"$2".sqt; do
        [ "$(basename "$file")" = "$1-$2.sqt" ] || others+=("$file")
    done
    "$seqtune" train "${others[@]}" -o "$work/$1/$2" --members 1 --epochs 8 --json > /dev/null 2> "$work/$1-$2.log" || { cat "$work/$1-$2.log" >&2; exit 1; }
}
export -f leave_out
splits | xargs -P "$(nproc)" -L 1 bash -euc 'leave_out "$1" "$2"' -
python3 - "$seqtune" "$work" "${devices[@]}" MI300X > "$work/table.part" <<'PY'
import json, pathlib, random, re, shutil, subprocess, sys

seqtune, work, *devices = sys.argv[1:]
work = pathlib.Path(work)

def run(*words):
    return subprocess.run([seqtune, *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

def judged(models, name, *more):
    """What is said of all first choices and sets, in percent; sizes of sets in configs."""
    data = [work / "tuned" / f"{name}-{model.name}.sqt" for model in models.iterdir()]
    text = run("evaluate", "model", models, *data, "--device", name.replace("_", " "), "--lightgbm=off", *more)
    said = re.search(r"within ([\d.]+) % \(.* over all (\d+) problems; by chance alone ([\d.]+) %\): right in ([\d.]+) %", text).groups()
    hold = re.search(r"do so in ([\d.]+) % of the problems; half of them have (\d+) ", text).groups()
    return dict(zip(("error", "problems", "chance", "right", "hold", "size"), said + hold))

print("| device left out | problems | right | error as stated | lowered | after 20 problems | refined | by chance | sets of 90 % hold | after 20 problems | refined | right, refined |")
print("|---" * 12 + "|")
for name in devices:
    stated, before = judged(work / name, name, "--raw-probabilities"), judged(work / name, name)
    calibrated, refined = work / "calibrated" / name, work / "refined" / name
    for folder in (calibrated, refined):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(work / name, calibrated)
    for model in (work / name).iterdir():
        # of the shapes to learn from
        data, few = work / "tuned" / f"{name}-{model.name}.sqt", work / "few.jsonl"
        run("export", "dataset", data, "-o", work / "all.jsonl", "--overwrite")
        head, *rows = (work / "all.jsonl").read_text().splitlines()
        random.Random(7).shuffle(rows)
        few.write_text("\n".join([head, *rows[:20]]) + "\n")
        run("calibrate", calibrated / model.name, few)
        others = [file for file in (work / "tuned").glob(f"*-{model.name}.sqt") if file != data]
        run("train", *others, few, "--fine-tune", model, "-o", refined / model.name)
    after, learned = judged(calibrated, name), judged(refined, name)
    sets = " | ".join(f"{said['hold']} of {said['size']}" for said in (before, after, learned))
    errors = " | ".join(said["error"] for said in (stated, before, after, learned))
    print(f"| {name.replace('_', ' ')} | {before['problems']} | {before['right']} | {errors} | {before['chance']} | {sets} | {learned['right']} |", flush=True)
PY
mv "$work/table.part" "$work/table.md"
cat "$work/table.md"
scripts/figures/put_figures.py unseen.sh "$work/table.md" docs/results/tables/unseen-gpus.md
