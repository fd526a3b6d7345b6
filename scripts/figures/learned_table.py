#!/usr/bin/env python3
"""What learning a little of a device is worth: models judged on the same sweep before and after, a row for each.

usage: scripts/figures/learned_table.py 'BEFORE.json AFTER.json...'...    a group for each device: what `seqtune evaluate model MODEL SWEEP --all-problems --json` prints

The last part of a file's name is how many configs of each of the sizes had been learned: epyc-10.json.
"""
import json
import pathlib
import statistics
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__.strip())
print("Share of the best measured speed in percent, before and after learning configs of 30 sizes of the device; other sizes judge:\n")
print("| device | sizes | configs learned | first choice | best of 3 | of 5 | of 10 | first choice, more than before |\n|---|---|---|---|---|---|---|---|")
for group in sys.argv[1:]:
    before = None
    for path in map(pathlib.Path, group.split()):
        report = json.loads(path.read_text())
        problems = dict(report["problems"])
        if before is None:
            before = problems
        if before.keys() != problems.keys():
            sys.exit(f"learned_table.py: {path} is of other problems than {group.split()[0]}; judge both models on the same sweep")
        differences = [100 * (problems[problem] - before[problem]) for problem in before]
        error = statistics.stdev(differences) / len(differences) ** 0.5
        more = "" if problems is before else f"{statistics.mean(differences):+.1f} ± {error:.1f}"
        row = report["rows"][0]
        shares = " | ".join(f"{100 * row[key]:.1f}" for key in ["mean", "best_of_3", "best_of_5", "best_of_10"])
        print(f"| {report['devices'][0]} | {len(problems)} | {path.stem.split('-')[-1]} | {shares} | {more} |")
