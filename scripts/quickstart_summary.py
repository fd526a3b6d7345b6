#!/usr/bin/env python3
"""What the quickstart found, in five lines, and what to type next.

usage: scripts/quickstart_summary.py FOLDER SECONDS
"""
import json
import math
import pathlib
import sys

folder, seconds = pathlib.Path(sys.argv[1]), int(sys.argv[2])
answers = [json.loads(line) for line in (folder / "validation.jsonl").read_text().splitlines()]
records = sum(1 for _ in (folder / "gemm.jsonl").open()) - 1


def mean(values):
    values = [v for v in values if v is not None]
    return 100 * sum(values) / len(values) if values else math.nan


def ratio(a, b):
    return a / b if a and b else None


first = [a["predictions"][0]["measured_us"] for a in answers]
top = [min((p["measured_us"] for p in a["predictions"] if p["measured_us"]), default=None) for a in answers]
faster = [ratio(a["default_us"], us) for a, us in zip(answers, first)]
faster = [x for x in faster if x]
speed_up = math.exp(sum(map(math.log, faster)) / len(faster)) if faster else math.nan
print(f"""
{records} measurements of gemm on {answers[0]["device"]} made a model in {seconds // 60} min {seconds % 60} s, builds included.
On {len(answers)} sizes that it never saw, its first choice is {speed_up:.2f} times as fast as the kernel's default.
It reaches {mean(ratio(a["best_us"], us) for a, us in zip(answers, first)):.0f} % of the best that was found; the best of its first 5, {mean(ratio(a["best_us"], us) for a, us in zip(answers, top)):.0f} %.
12 random configs per size reach {mean(ratio(a["best_us"], a["search_us"]) for a in answers):.0f} %.
The comparison as a plot: {folder}/validation.svg; sweep and model: {folder}/gemm.sqt, {folder}/model.

Next: target/release/seqtune predict {folder}/model gemm M=1000,N=700,K=300 --top 3""")
