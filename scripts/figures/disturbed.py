#!/usr/bin/env python3
"""How far a sweep can be trusted that was made while the machine was busy, judged by two quiet ones of the same configs.

usage: scripts/figures/disturbed.py FOLDER                  compares FOLDER/quiet-1.jsonl, quiet-2.jsonl and busy.jsonl
       scripts/figures/disturbed.py --burn SECONDS [SEED]   keeps one or both cores busy at times, SECONDS each on average, until it is ended
"""
import json
import math
import multiprocessing
import random
import statistics
import sys
import time


def burn(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def medians(path):
    """By problem and config the median time in microseconds."""
    found = {}
    with open(path) as file:
        for record in map(json.loads, file):
            measured = record.get("outcome", {}).get("Measured")
            if measured:
                found.setdefault(record["problem"], {})[record["config"]] = statistics.median(measured["samples_us"])
    return found


def compare(sweep, truth):
    """Share lost by the best of `sweep`, and scatter of the logarithm of times, among configs within twice the best."""
    lost, scatter = [], []
    for problem, times in truth.items():
        best = min(times.values())
        said = {config: us for config, us in sweep[problem].items() if config in times}
        lost.append(1 - best / times[min(said, key=said.get)])
        good = [math.log(said[c] / times[c]) for c in said if times[c] < 2 * best]
        scatter.append(statistics.pstdev(good))
    error = statistics.stdev(lost) / len(lost) ** 0.5
    return 100 * statistics.mean(lost), 100 * error, 100 * statistics.mean(scatter)


if sys.argv[1:2] == ["--burn"] and len(sys.argv) in (3, 4):
    scale, draw = float(sys.argv[2]), random.Random(sys.argv[3] if len(sys.argv) == 4 else "1")
    while True:
        time.sleep(draw.expovariate(1 / scale))
        seconds = draw.expovariate(1 / scale)
        busy = [multiprocessing.Process(target=burn, args=(seconds,)) for _ in range(draw.choice([1, 2, 2]))]
        for process in busy:
            process.start()
        for process in busy:
            process.join()
elif len(sys.argv) == 2:
    sweeps = {name: medians(f"{sys.argv[1]}/{name}.jsonl") for name in ["quiet-1", "quiet-2", "busy"]}
    one, two = sweeps["quiet-1"], sweeps["quiet-2"]
    both = {p: {c: math.sqrt(us * two[p][c]) for c, us in one[p].items() if c in two[p]} for p in one}
    print("| sweep | judged by | its best loses, % | ± | scatter of times, % |\n|---|---|---|---|---|")
    for name, truth, by in [("quiet-1", two, "quiet-2"), ("quiet-2", one, "quiet-1"), ("busy", both, "both quiet ones")]:
        lost, error, scatter = compare(sweeps[name], truth)
        print(f"| {name} | {by} | {lost:.1f} | {error:.1f} | {scatter:.1f} |")
else:
    sys.exit(__doc__.strip())
