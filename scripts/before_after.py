#!/usr/bin/env python3
"""Two models judged on the same sweep, problem by problem.

usage: scripts/before_after.py BEFORE.json AFTER.json    what `seqtune evaluate MODEL SWEEP --json` prints
"""
import json
import statistics
import sys

if len(sys.argv) != 3:
    sys.exit(__doc__.strip())
reports = []
for path in sys.argv[1:]:
    with open(path) as file:
        reports.append(json.load(file))
if reports[0]["data"] != reports[1]["data"]:
    sys.exit("before_after.py: the reports are of different data; judge both models on the same sweep")
print("Share of the best measured speed in percent:\n")
print("| model | first choice | best of 3 | of 5 | of 10 |\n|---|---|---|---|---|")
for name, report in zip(["before", "after"], reports):
    row = report["rows"][0]
    shares = (row[key] for key in ["mean", "best_of_3", "best_of_5", "best_of_10"])
    print(f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + " |")
before, after = (dict(report["problems"]) for report in reports)
differences = [100 * (after[problem] - before[problem]) for problem in before]
error = statistics.stdev(differences) / len(differences) ** 0.5
print(f"\nFirst choice, after less before: {statistics.mean(differences):+.1f} ± {error:.1f} over {len(differences)} problems.")
