#!/usr/bin/env python3
"""Prints the main rows of cross-validations side by side, a column each; columns of the document that no report is of stay as they are.

usage: scripts/figures/folds_table.py DOCUMENT REPORT.json...
"""
import json
import sys

from put_figures import cells, section

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
SURENESS = {
    "first choices that are the best": "best",
    "expected calibration error of the first choice": "calibration_error",
    "what chance alone would make it, were the probabilities true": "error_by_chance",
    "marked unsure": "unsure",
    "unmarked first choices that lose more than 10 %": "lossy_sure",
}
LESS = {
    "predict": ["LightGBM, regression", "LightGBM, lambdarank", "seqtune, networks alone"],
    "distilled": ["LightGBM, regression", "LightGBM, lambdarank", "seqtune, as predict"],
}


def regrets(row):
    if row is None:
        return "-"
    one, two, three, five = (100 * regret for regret in row["regret"])
    return f"{one:.2f} ± {100 * row['error']:.2f} / {two:.2f} / {three:.3f} / {five:.3f}"


def margins(row, less):
    if row is None or row[less] is None:
        return "-"
    return " / ".join(f"{100 * mean:+.3f} ± {100 * error:.3f}" for mean, error in row[less])


def column_of(report):
    """Cells of a report by the names of their rows."""
    rows = {row["method"]: row for row in report["rows"]}
    column = {"method": f"{report['kernel']}, {report['problems']} problems"}
    for method in METHODS:
        name = "**seqtune, as `predict`**" if method == "seqtune, as predict" else method
        column[name] = regrets(rows.get(method))
    for ours, others in LESS.items():
        for method in others:
            name = method.removeprefix("seqtune, ").removeprefix("as ")
            name = ("`predict`" if ours == "predict" else ours) + " less " + name
            column[name] = margins(rows.get(method), f"{ours}_less")
    sure = report["sureness"]
    for name, key in SURENESS.items():
        column[name] = f"{100 * sure[key]:.1f}" if sure and sure[key] is not None else "-"
    return column


def columns_of(document):
    """Columns of the table that the document has, by the kernels that they are of."""
    rows = [cells(line) for line in section("folds.sh", document) if line.startswith("| ")]
    columns = [{row[0]: row[at] for row in rows} for at in range(1, len(rows[0]))]
    return {column["method"].split(",")[0]: column for column in columns}


document, *paths = sys.argv[1:]
reports = []
for path in paths:
    with open(path) as file:
        reports.append(json.load(file))
# some data have no default, some no library of the vendor
everywhere = [method for method in METHODS if method not in ("kernel default", "the vendor's library")]
unknown = [m for m in everywhere if not any(m == row["method"] for report in reports for row in report["rows"])]
if unknown:
    sys.exit(f"folds_table.py: no report has the rows {unknown}; are they named otherwise now?")
columns = columns_of(document)
columns.update({report["kernel"]: column_of(report) for report in reports})
for at, name in enumerate(column_of(reports[0])):
    print(f"| {name} | " + " | ".join(column.get(name, "-") for column in columns.values()) + " |")
    if at == 0:
        print("|---" * (len(columns) + 1) + "|")
