#!/usr/bin/env python3
"""Quality against measurements: curve.py CURVE.svg NAME=JOURNAL...

For each problem the best time found by the first k measurements of a journal, as a share of the best that any of the journals found; the
mean over problems, for k = 1, 2, 3, ... A journal's order is that of the sweep's plan. A problem that has fewer measurements keeps its best.
Prints a Markdown table, and draws the curves. Plain Python.
"""

import json
import math
import statistics
import sys

COUNTS = [1, 2, 3, 5, 10, 15, 20, 30, 50, 75, 100]
COLORS = ["#aaaaaa", "#1f77b4", "#2ca02c", "#d6781e", "#9467bd", "#d62728", "#17becf"]


def journal(path):
    """Times in microseconds by problem, in the order of measuring; infinite for a config that failed."""
    times = {}
    with open(path) as lines:
        next(lines)
        for line in lines:
            record = json.loads(line)
            measured = record["outcome"].get("Measured")
            time = statistics.median(measured["samples_us"]) if measured else math.inf
            times.setdefault(record["problem"], []).append(time)
    return times


def curve(times, best, problems, counts):
    """Mean share of the best speed after each count, and the measurements that a problem has on average up to there."""
    shares = [statistics.mean(best[p] / min(times[p][:k]) for p in problems) for k in counts]
    spent = [statistics.mean(min(k, len(times[p])) for p in problems) for k in counts]
    return shares, spent


def draw(path, curves, ticks, axis, title):
    """Curves of share against counts from the first of `ticks` to the last, on a logarithmic axis; each with its name and counts."""
    width, height, left, top, right, bottom = 760, 440, 60, 30, 20, 50
    x = lambda k: left + (width - left - right) * math.log(k / ticks[0]) / math.log(ticks[-1] / ticks[0])
    y = lambda s: top + (height - top - bottom) * (1 - s)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="13">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for share in [0, 0.2, 0.4, 0.6, 0.8, 1]:
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(share):.1f}" y2="{y(share):.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y(share) + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>')
    for k in ticks:
        parts.append(f'<text x="{x(k):.1f}" y="{height - bottom + 18}" text-anchor="middle">{k if k < 10000 else f"{k // 1000}k"}</text>')
    parts.append(f'<text x="{(left + width) / 2}" y="{height - 10}" text-anchor="middle">{axis}</text>')
    parts.append(f'<text x="{left}" y="18">{title}</text>')
    labels = []
    for (name, shares, spent), color in zip(curves, COLORS):
        points = " ".join(f"{x(max(k, ticks[0])):.1f},{y(s):.1f}" for k, s in zip(spent, shares))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        labels.append((x(spent[-1]), y(shares[-1]), name, color))
    # beside the end of each curve, and below it where there is no room; not over one another
    last = -math.inf
    for at, high, name, color in sorted(labels, key=lambda label: label[1]):
        beside = at + 120 < width
        last = max(high + (5 if beside else 18), last + 15)
        place = f'x="{at + 6:.1f}"' if beside else f'x="{at - 6:.1f}" text-anchor="end"'
        parts.append(f'<text {place} y="{last:.1f}" fill="{color}">{name}</text>')
    with open(path, "w") as out:
        out.write("\n".join(parts) + "\n</svg>\n")


def main():
    if len(sys.argv) < 3 or any("=" not in word for word in sys.argv[2:]):
        sys.exit(__doc__)
    journals = {word.split("=", 1)[0]: journal(word.split("=", 1)[1]) for word in sys.argv[2:]}
    problems = sorted(set.intersection(*(set(times) for times in journals.values())))
    best = {p: min(min(times[p]) for times in journals.values()) for p in problems}
    problems = [p for p in problems if math.isfinite(best[p])]
    most = max(len(times[p]) for times in journals.values() for p in problems)
    curves = [(name, *curve(times, best, problems, range(1, most + 1))) for name, times in journals.items()]
    print(f"{len(problems)} problems; mean share of the best speed found, in percent, by the first so many measurements of each problem.\n")
    counts = [k for k in COUNTS if k <= most]
    print("| sweep | " + " | ".join(map(str, counts)) + " | measured in all |\n|" + "---|" * (len(counts) + 2))
    for name, shares, _ in curves:
        cells = " | ".join(f"{100 * shares[k - 1]:.1f}" for k in counts)
        print(f"| {name} | {cells} | {sum(len(journals[name][p]) for p in problems)} |")
    draw(sys.argv[1], curves, [k for k in COUNTS if k < most] + [most], "measurements per problem", "share of the best speed found")


if __name__ == "__main__":
    main()
