#!/usr/bin/env bash
# Leaves each of four GPUs out of some of MIOpen's solvers, and tells how true probabilities are there, as lowered for a device that
# a model never saw, and whether sets that are to hold the tuned config with 90 % do so; both after `calibrate` on twenty of its
# problems too. One network each, eight passes. Writes the table into docs/results.md. Takes about half an hour on two cores. Works
# in target/unseen, where the networks stay.
# usage: scripts/unseen.sh FOLDER    FOLDER: as of scripts/miopen.sh
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/unseen.sh FOLDER}")
cd "$(dirname "$0")/.."
cargo build --release -p seqtune -p seqtune-train
export seqtune=target/release/seqtune
export work=target/unseen
mkdir -p "$work"
if [ ! -e "$work/import.txt" ]; then
    "$seqtune" import miopen "$databases"/{gfx906_60,gfx900_56,gfx1030_36}.db.bz2 "$databases"/gfx942130_2024-12.db.txt.bz2 -o "$work/tuned" > "$work/import.part"
    mv "$work/import.part" "$work/import.txt"
fi
# of the MI300X others know the Winograd solvers only, and these know little of the RX 6800 XT
winograd=(ConvBinWinogradRxSf2x3 ConvBinWinogradRxSf3x2)
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
python3 - "$seqtune" "$work" "${devices[@]}" MI300X > "$work/table.md" <<'PY'
import json, pathlib, random, re, shutil, subprocess, sys

seqtune, work, *devices = sys.argv[1:]
work = pathlib.Path(work)

def run(*words):
    return subprocess.run([seqtune, *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

def judged(models, device):
    """What is said of all first choices and sets, in percent; sizes of sets in configs."""
    data = [work / "tuned" / f"{device}-{model.name}.sqt" for model in models.iterdir()]
    firsts = [first for report in json.loads(run("evaluate", models, *data, "--no-trees", "--json")) for first in report["firsts"]]
    mean = lambda name: 100 * sum(first[name] for first in firsts) / len(firsts)
    text = run("evaluate", models, *data, "--no-trees")
    error, chance = re.search(r"within ([\d.]+) % \(.* by chance alone ([\d.]+) %", text).groups()
    hold, size = re.search(r"do so in ([\d.]+) % of the problems; half of them have (\d+) ", text).groups()
    return {"n": len(firsts), "right": mean("best"), "said": mean("probability"), "error": error, "chance": chance, "hold": hold, "size": size}

print("| device left out | problems | right | said | calibration error | after 20 problems | by chance | sets of 90 % hold | size | after 20 problems | size |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
for device in devices:
    before = judged(work / device, device)
    models = work / "calibrated" / device
    shutil.rmtree(models, ignore_errors=True)
    shutil.copytree(work / device, models)
    for model in models.iterdir():
        # of the shapes to learn from
        data, few = work / "tuned" / f"{device}-{model.name}.sqt", work / "few.jsonl"
        run("convert", data, "-o", work / "all.jsonl", "--overwrite")
        head, *rows = (work / "all.jsonl").read_text().splitlines()
        random.Random(7).shuffle(rows)
        few.write_text("\n".join([head, *rows[:20]]) + "\n")
        run("calibrate", model, few)
    after = judged(models, device)
    print(f"| {device.replace('_', ' ')} | {before['n']} | {before['right']:.1f} | {before['said']:.1f} | {before['error']} | {after['error']} | {before['chance']} "
          f"| {before['hold']} | {before['size']} | {after['hold']} | {after['size']} |")
PY
cat "$work/table.md"
scripts/put_figures.py unseen.sh "$work/table.md" docs/results.md
