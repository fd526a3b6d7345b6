#!/usr/bin/env python3
"""Parts of tuned datasets, and how good models of them are: what scripts/figures/economy.sh calls.

usage: scripts/figures/economy.py part ALL.jsonl NAME PERCENT...          writes NAME-PERCENT.jsonl, each part within the next larger one
       scripts/figures/economy.py judge SEQTUNE FOLDER CURVE.svg DEVICE-SOLVER...
"""
import json
import pathlib
import random
import subprocess
import sys

from curve import draw

PERCENTS = [1, 3, 10, 30, 100]


def part(path, name, percents):
    head, *rows = pathlib.Path(path).read_text().splitlines()
    random.Random(1).shuffle(rows)
    for percent in percents:
        few = rows[: max(1, round(len(rows) * int(percent) / 100))]
        pathlib.Path(f"{name}-{percent}.jsonl").write_text("\n".join([head, *few]) + "\n")


def judged(seqtune, model, data, device):
    """Shares of held-out problems whose tuned config is the first choice and among the first 5, and nats."""
    words = [seqtune, "evaluate", "model", model, data, "--device", device, "--lightgbm=off", "--json"]
    report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)[0]
    row = report["rows"][0]
    return 100 * row["exact"][0], 100 * row["exact"][1], row["nats"]


def judge(seqtune, folder, picture, cases):
    folder = pathlib.Path(folder)
    curves = []
    print("| device, solver | other records | " + " | ".join(f"{percent} %" for percent in PERCENTS) + " |\n" + "|---" * (len(PERCENTS) + 2) + "|", flush=True)
    for case in cases:
        device, solver = case.split("-", 1)
        device = device.replace("_", " ")
        records = [sum(1 for _ in open(folder / f"{case}-{percent}.jsonl")) - 1 for percent in PERCENTS]
        for kind in ("alone", "others"):
            models = [folder / f"{case}-{percent}-{kind}" for percent in PERCENTS]
            if not models[0].exists():
                continue
            found = [judged(seqtune, model, folder / "tuned" / f"{case}.sqt", device) for model in models]
            beside = 0
            if kind == "others":
                lines = (folder / "import.txt").read_text().splitlines()
                named = [line.split() for line in lines if line.startswith("  ") and line.split()[-1] == solver]
                beside = sum(int(words[0]) for words in named if " ".join(words[1:-1]) != device)
            cells = [f"{n}: {first:.1f} / {five:.1f}, {nats:.2f}" for n, (first, five, nats) in zip(records, found)]
            print(f"| {device}, {solver} | {beside or '-'} | " + " | ".join(cells) + " |")
            name = solver.removeprefix("Conv").removeprefix("HipImplicitGemm") + (", with others" if beside else "")
            curves.append((name, [five / 100 for _, five, _ in found], records))
    ticks = [10, 30, 100, 300, 1000, 3000, 10000, 30000, 100000]
    draw(picture, curves, ticks, "tuned records of the device", "tuned config among the first 5, share of held-out problems")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["part", path, name, *percents]:
            part(path, name, percents)
        case ["judge", seqtune, folder, picture, *cases]:
            judge(seqtune, folder, picture, cases)
        case _:
            sys.exit(__doc__)
