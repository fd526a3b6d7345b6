#!/usr/bin/env python3
"""Measures what the models of the library's kernels choose in the whole space, beside the best config that the sweep found for the same problem.

usage: scripts/figures/library_live.py [SEQTUNE] [COUNT] [KERNEL...]     the program [default: target/release/seqtune], problems of each kernel [6]

Problems are those that training held out, spread over their number; on a quiet machine. A share above 100 % is faster than the best of the sweep.
"""
import json
import statistics
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from library_table import kernels as with_model, sweeps_of


def answer(*words):
    return subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def best_swept(program, kernel):
    """By problem, as a set of pairs without those that are defaults: the config that the sweep found best."""
    with open(f"kernels/{kernel}/kernel.toml", "rb") as file:
        defaults = {(f["name"], str(f["default"])) for f in tomllib.load(file)["field"] if "default" in f}
    records, best = [], {}
    with tempfile.TemporaryDirectory() as folder:
        for sweep in sweeps_of(kernel):
            answer(program, "export", "dataset", sweep, "-o", f"{folder}/sweep.jsonl", "--overwrite")
            records += [json.loads(line) for line in Path(folder, "sweep.jsonl").read_text().splitlines()[1:]]
    for record in records:
        if "Measured" in record["outcome"]:
            problem = frozenset(tuple(pair.split("=")) for pair in record["problem"].split(",")) - defaults
            found = (statistics.median(record["outcome"]["Measured"]["samples_us"]), record["config"])
            best[problem] = min(best.get(problem, found), found)
    return {problem: config for problem, (_, config) in best.items()}


def judged(program, kernel, count):
    """Shares of the best swept config's speed, measured in the same moments: the first choice, the best of five, the default."""
    model = f"models/{kernel}-cpu"
    report = json.loads(answer(program, "evaluate", "model", model, *sweeps_of(kernel), "--json"))
    problems = sorted(problem for problem, _ in report["problems"])
    best = best_swept(program, kernel)
    for at in range(count):
        problem = problems[at * len(problems) // count]
        beside = best[frozenset(tuple(pair.split("=")) for pair in problem.split(","))]
        words = ["validate", model, kernel, problem, "--top", 5, "--also", beside, "--device", "opencl:0", "--no-confirm", "--json"]
        done = json.loads(answer(program, *words))
        times = [p["measured_us"] or float("inf") for p in done["predictions"]]
        known = dict(zip((p["config"] for p in done["predictions"]), times)).get(beside)
        # one that is predicted too is measured once, among the predictions
        known = known or done["beside"][0]["measured_us"]
        yield known / times[0], known / min(times), known / done["default_us"] if done["default_us"] else float("nan")


def main(program="target/release/seqtune", count="6", *kernels):
    print("| kernel | problems | first choice, mean % | lowest % | best of 5, mean % | default % |\n|---|---|---|---|---|---|")
    for kernel in kernels or with_model():
        first, five, default = zip(*judged(program, kernel, int(count)))
        shown = [statistics.mean(first), min(first), statistics.mean(five), statistics.mean(x for x in default if x == x)]
        print(f"| {kernel} | {count} | " + " | ".join(f"{100 * x:.1f}" for x in shown) + " |", flush=True)


main(*sys.argv[1:])
