#!/usr/bin/env bash
# Leaves each of three GPUs out of some of MIOpen's solvers, and tells how true probabilities are there: as lowered for a device that
# a model never saw, and after `calibrate` on twenty of its problems. One network each, eight passes. Writes the table into
# docs/results.md. Takes about ten minutes on two cores.
# usage: scripts/unseen.sh FOLDER    FOLDER: as of scripts/miopen.sh
set -euo pipefail
databases=$(realpath "${1:?usage: scripts/unseen.sh FOLDER}")
cd "$(dirname "$0")/.."
cargo build --release -p seqtune -p seqtune-train
export seqtune=target/release/seqtune
work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT
"$seqtune" import miopen "$databases"/{gfx906_60,gfx900_56,gfx1030_36}.db.bz2 -o "$work/tuned" > /dev/null
solvers=(ConvHipImplicitGemmV4R4WrW ConvHipImplicitGemmV4R4Fwd ConvHipImplicitGemmV4R1Fwd ConvHipImplicitGemmBwdDataV1R1 ConvOclBwdWrW2 ConvOclDirectFwd)
devices=(MI50 RX_Vega_56 RX_6800_XT)
leave_out() { # DEVICE SOLVER
    export OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1
    local others=()
    for file in "$work"/tuned/*-"$2".sqt; do
        [ "$(basename "$file")" = "$1-$2.sqt" ] || others+=("$file")
    done
    "$seqtune" train "${others[@]}" -o "$work/$1/$2" --members 1 --epochs 8 --json > /dev/null 2> "$work/$1-$2.log" || { cat "$work/$1-$2.log" >&2; exit 1; }
}
export -f leave_out
for device in "${devices[@]}"; do
    for solver in "${solvers[@]}"; do echo "$device $solver"; done
done | xargs -P "$(nproc)" -L 1 bash -euc 'leave_out "$1" "$2"' -
python3 - "$seqtune" "$work" "${devices[@]}" > "$work/table.md" <<'PY'
import json, pathlib, random, re, subprocess, sys

seqtune, work, *devices = sys.argv[1:]
work = pathlib.Path(work)

def run(*words):
    return subprocess.run([seqtune, *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

def judged(models, device):
    """Share right and said of all first choices, and what the program says of them: calibration error, and that by chance; in percent."""
    data = [work / "tuned" / f"{device}-{model.name}.sqt" for model in models.iterdir()]
    firsts = [first for report in json.loads(run("evaluate", models, *data, "--no-trees", "--json")) for first in report["firsts"]]
    mean = lambda name: 100 * sum(first[name] for first in firsts) / len(firsts)
    errors = re.search(r"within ([\d.]+) % \(.* by chance alone ([\d.]+) %", run("evaluate", models, *data, "--no-trees"))
    return len(firsts), mean("best"), mean("probability"), *map(float, errors.groups())

print("| device left out | problems | right | said | calibration error | after 20 problems | by chance |\n|---|---|---|---|---|---|---|")
for device in devices:
    models = work / device
    problems, right, said, error, chance = judged(models, device)
    for model in models.iterdir():
        # of the shapes to learn from
        data, few = work / "tuned" / f"{device}-{model.name}.sqt", work / "few.jsonl"
        run("convert", data, "-o", work / "all.jsonl", "--overwrite")
        head, *rows = (work / "all.jsonl").read_text().splitlines()
        random.Random(7).shuffle(rows)
        few.write_text("\n".join([head, *rows[:20]]) + "\n")
        run("calibrate", model, few)
    after = judged(models, device)[3]
    print(f"| {device.replace('_', ' ')} | {problems} | {right:.1f} | {said:.1f} | {error:.1f} | {after:.1f} | {chance:.1f} |")
PY
cat "$work/table.md"
scripts/put_figures.py unseen.sh "$work/table.md" docs/results.md
