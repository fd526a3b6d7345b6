#!/usr/bin/env python3
"""Prints the main rows of cross-validations side by side: a column each.

usage: scripts/folds_table.py REPORT.json...
"""
import json
import sys

METHODS = [
    "kernel default",
    "best on average",
    "nearest neighbour",
    "LightGBM, regression",
    "LightGBM, lambdarank",
    "seqtune, distilled",
    "seqtune, likelihood alone",
    "seqtune, re-ranker alone",
    "seqtune, networks alone",
    "seqtune, its trees alone",
    "seqtune, as predict",
    "the vendor's library",
]


def regrets(row):
    if row is None:
        return "-"
    one, two, three, five = (100 * regret for regret in row["regret"])
    return f"{one:.2f} ± {100 * row['error']:.2f} / {two:.2f} / {three:.3f} / {five:.3f}"


def margins(row, less):
    if row is None or row[less] is None:
        return "-"
    return " / ".join(f"{100 * mean:+.3f} ± {100 * error:.3f}" for mean, error in row[less])


reports = []
for path in sys.argv[1:]:
    with open(path) as file:
        reports.append(json.load(file))
rows = [{row["method"]: row for row in report["rows"]} for report in reports]
# the vendor's library is not in all data
unknown = [method for method in METHODS[:-1] if not any(method in of for of in rows)]
if unknown:
    sys.exit(f"folds_table.py: no report has the rows {unknown}; are they named otherwise now?")
print("| method | " + " | ".join(f"{r['kernel']}, {r['problems']} problems" for r in reports) + " |")
print("|---" * (len(reports) + 1) + "|")
for method in METHODS:
    name = "**seqtune, as `predict`**" if method == "seqtune, as predict" else method
    print(f"| {name} | " + " | ".join(regrets(of.get(method)) for of in rows) + " |")
for method in ["LightGBM, regression", "LightGBM, lambdarank", "seqtune, networks alone"]:
    name = method.removeprefix("seqtune, ")
    print(f"| `predict` less {name} | " + " | ".join(margins(of.get(method), "predict_less") for of in rows) + " |")
for method in ["LightGBM, regression", "LightGBM, lambdarank", "seqtune, as predict"]:
    name = method.removeprefix("seqtune, as ")
    print(f"| distilled less {name} | " + " | ".join(margins(of.get(method), "distilled_less") for of in rows) + " |")
sure = [report["sureness"] for report in reports]
percent = lambda share: "-" if share is None else f"{100 * share:.1f}"
for name, key in [
    ("first choices that are the best", "best"),
    ("expected calibration error of the first choice", "calibration_error"),
    ("what chance alone would make it, were the probabilities true", "error_by_chance"),
    ("marked unsure", "unsure"),
    ("unmarked first choices that lose more than 10 %", "lossy_sure"),
]:
    print(f"| {name} | " + " | ".join(percent(s and s[key]) for s in sure) + " |")
