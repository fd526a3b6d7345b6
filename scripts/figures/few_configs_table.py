#!/usr/bin/env python3
"""Tables of few configs and of rows for a changing size, from what `seqtune-lab selection --json` and `breakpoints --json` printed.

usage: scripts/figures/few_configs_table.py FOLDER    of selection-NAME.json and breakpoints-NAME.json
"""
import json
import pathlib
import statistics
import sys

METHODS = {
    "Predicted": "seqtune, sizes known, none measured",
    "PredictedTree": "the same set, chosen by its tree",
    "Measured": "set and tree from measured sizes",
    "Winners": "most frequent winners, tree from measured sizes",
    "Medoids": "k-medoids of measured sizes",
    "Oracle": "oracle",
}


def reports(folder, kind):
    """Reports by name."""
    return {path.stem[len(kind) + 1 :]: json.loads(path.read_text()) for path in sorted(folder.glob(f"{kind}-*.json"))}


def selection(found):
    """Two tables: the mean over sweeps, and each sweep at 4 configs."""
    sizes = sorted({result["configs"] for report in found.values() for result in report["results"]})
    # a sweep with fewer candidates than the largest set has no column there
    whole = {name: report for name, report in found.items() if report["candidates"] >= sizes[-1]}
    print(f"Speed lost in percent, mean over {len(whole)} sweeps of at least {sizes[-1]} candidates / mean of their ninth deciles (less is better):\n")
    print("| way | " + " | ".join(f"{size} config{'s' * (size > 1)}" for size in sizes) + " |")
    print("|---" * (1 + len(sizes)) + "|")
    for method, words in METHODS.items():
        cells = []
        for size in sizes:
            own = [r for report in whole.values() for r in report["results"] if r["method"] == method and r["configs"] == size]
            mean = lambda key: 100 * statistics.mean(r[key] for r in own)
            cells.append(f"{mean('mean'):.1f} / {mean('p90'):.1f}")
        print(f"| {words} | " + " | ".join(cells) + " |")
    print("\nSpeed lost in percent with 4 configs, on average (less is better):\n")
    print("| sweep | held-out problems | candidates | " + " | ".join(METHODS.values()) + " |")
    print("|---" * (3 + len(METHODS)) + "|")
    for name, report in found.items():
        own = {r["method"]: 100 * r["mean"] for r in report["results"] if r["configs"] == 4}
        cells = " | ".join(f"{own[method]:.1f}" if method in own else "-" for method in METHODS)
        print(f"| {name} | {report['problems']} | {report['candidates']} | {cells} |")


def method(result):
    """Name and bound of a method."""
    own = result["method"]
    return next(iter(own.items())) if isinstance(own, dict) else (own, None)


def breakpoints(found):
    """Rows that lose no more than powers of two, and whether stated losses hold."""
    print("\nRows of a line: speed lost in percent on average / at worst (less is better):\n")
    print("| sweep | field | problems | powers of two | fewest rows that lose no more at worst | fewest that lose no more on average either | "
          "stated loss is exceeded in % of the problems |")
    print("|---|---|---|---|---|---|---|")
    by_worst, by_both, problems, exceeded = [], [], 0, 0.0
    for name, report in found.items():
        results = {method(result): result for result in report["results"]}
        powers = results[("PowersOfTwo", None)]
        rows = [r for (kind, _), r in results.items() if kind == "Rows"]
        worst = min((r for r in rows if r["worst"] <= powers["worst"]), key=lambda r: r["rows"], default=None)
        both = min((r for r in rows if r["worst"] <= powers["worst"] and r["mean"] <= powers["mean"]), key=lambda r: r["rows"], default=None)
        shown = lambda r: f"{r['rows']:.1f}: {100 * r['mean']:.1f} / {100 * r['worst']:.1f}" if r else "none"
        by_worst.append(worst["rows"] / powers["rows"] if worst else float("inf"))
        by_both.append(both["rows"] / powers["rows"] if both else float("inf"))
        over = [r["exceeded"] for r in rows if r["exceeded"] is not None]
        if over:
            problems += powers["problems"]
            exceeded += powers["problems"] * statistics.mean(over)
        told = f"{100 * statistics.mean(over):.1f}" if over else "-"
        print(f"| {name} | {report['field']} | {powers['problems']} | {shown(powers)} | {shown(worst)} | {shown(both)} | {told} |")
    half = lambda shares: sum(share <= 0.5 for share in shares)
    print(f"\nHalf the rows of powers of two, or fewer, lose no more at worst in {half(by_worst)} of {len(found)} sweeps (median share of the rows: "
          f"{100 * statistics.median(by_worst):.0f} %), and on average too in {half(by_both)} (median: {100 * statistics.median(by_both):.0f} %). "
          f"Stated losses were exceeded in {100 * exceeded / problems:.1f} % of {problems} problems.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    place = pathlib.Path(sys.argv[1])
    selection(reports(place, "selection"))
    breakpoints(reports(place, "breakpoints"))
