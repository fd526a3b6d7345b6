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
        cells = " | ".join(f"{own[method]:.1f}" for method in METHODS)
        print(f"| {name} | {report['problems']} | {report['candidates']} | {cells} |")


def method(result):
    """Name and bound of a method."""
    own = result["method"]
    return next(iter(own.items())) if isinstance(own, dict) else (own, None)


def breakpoints(found):
    """Rows that lose no more than powers of two, and whether stated losses hold."""
    print("\nRows of a line, and speed lost in percent on average / at worst (less is better):\n")
    print("| sweep | field | problems | powers of two | fewest rows that lose no more, on average and at worst | share of the rows | stated loss is exceeded in % of the problems |")
    print("|---|---|---|---|---|---|---|")
    shares, problems, exceeded = [], 0, 0.0
    for name, report in found.items():
        results = {method(result): result for result in report["results"]}
        powers = results[("PowersOfTwo", None)]
        ours = [r for (kind, _), r in results.items() if kind == "Rows" and r["mean"] <= powers["mean"] and r["worst"] <= powers["worst"]]
        shown = lambda r: f"{r['rows']:.1f}: {100 * r['mean']:.1f} / {100 * r['worst']:.1f}"
        best = min(ours, key=lambda r: r["rows"], default=None)
        stated = [r for (kind, _), r in results.items() if kind == "Rows" and r["exceeded"] is not None]
        over = statistics.mean(r["exceeded"] for r in stated) if stated else None
        if over is not None:
            problems += powers["problems"]
            exceeded += powers["problems"] * over
        if best:
            shares.append(best["rows"] / powers["rows"])
        print(f"| {name} | {report['field']} | {powers['problems']} | {shown(powers)} | {shown(best) if best else 'none'} | "
              f"{f'{100 * shares[-1]:.0f} %' if best else '-'} | {'-' if over is None else f'{100 * over:.1f}'} |")
    if shares and problems:
        print(f"\nRows needed, median over {len(shares)} of {len(found)} sweeps: {100 * statistics.median(shares):.0f} % of the powers of two. "
              f"Stated losses were exceeded in {100 * exceeded / problems:.1f} % of {problems} problems.")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    place = pathlib.Path(sys.argv[1])
    selection(reports(place, "selection"))
    breakpoints(reports(place, "breakpoints"))
