#!/usr/bin/env python3
"""Figures of scripts/clblast.sh.

once FOLDER   prints the parameters that a tuning at one size gives, in the order of the kernel
table FOLDER  prints the table: held-out sizes by the tuner, and through the library
"""
import collections
import json
import math
import pathlib
import re
import statistics
import sys

ORDER = "WGD MDIMCD NDIMCD MDIMAD NDIMBD KWID VWMD VWND PADA PADB".split()


def times(path):
    """Milliseconds by config, of a tuner's result."""
    rows = json.loads(path.read_text())["results"]
    return {tuple(row["parameters"][name] for name in ORDER): max(row["time"], 5e-4) for row in rows}


def folder(path):
    found = {}
    for file in sorted(path.glob("*.json")):
        size = tuple(int(x) for x in re.findall(r"\d+", file.stem))
        found[size] = times(file)
    return found


def best(found):
    return min(found, key=found.get)


def config_of(text):
    pairs = dict(pair.split("=") for pair in text.split(","))
    return tuple(int(pairs[name]) for name in ORDER)


def mean(values):
    values = list(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0
    return f"{100 * statistics.mean(values):.1f} ± {100 * error:.1f} | {100 * min(values):.1f}"


out = pathlib.Path(sys.argv[2])
once = best(folder(out / "once")[(256, 256, 256)])
if sys.argv[1] == "once":
    print(*once)
    sys.exit()

swept, first, second = (folder(out / name) for name in ("xgemm_direct", "held_out", "held_out_again"))
predicted = {}
for line in (out / "predicted.jsonl").read_text().splitlines():
    answer = json.loads(line)
    size = tuple(int(x) for x in re.findall(r"[MNK]=(\d+)", answer["problem"]))
    predicted[size] = [config_of(p["config"]) for p in answer["predictions"]]
# the config that is best on average over the sizes that were swept, by the geometric mean of its share, of those that nine tenths of the sizes have
counts = collections.Counter(c for found in swept.values() for c in found)
usual = [c for c, count in counts.items() if count >= 0.9 * len(swept)]
average = {c: statistics.mean(math.log(min(f.values()) / f[c]) for f in swept.values() if c in f) for c in usual}
single = max(average, key=average.get)

sizes = [s for s in predicted if s in first and s in second]
def share(size, config):
    """Share of the best speed of the second tuning."""
    found = second[size]
    return min(found.values()) / found[config] if config in found else 0.0


def chosen(size, count):
    """Of the first predictions the one that the first tuning measured as the fastest."""
    known = [c for c in predicted[size][:count] if c in first[size]]
    return min(known, key=first[size].get)


print(f"{len(swept)} sizes swept, {len(sizes)} held out; {len(usual)} configs that at least nine tenths of them have. Share of the speed of each size's best config, percent,")
print("by a second tuning of the held-out sizes.\n")
print("| rule | mean | worst |\n|---|---|---|")
print(f"| tuned once, at 256 x 256 x 256: CLBlast's rule | {mean(share(s, once) for s in sizes)} |")
print(f"| the best single config of all swept sizes | {mean(share(s, single) for s in sizes)} |")
print(f"| predicted, first choice | {mean(share(s, predicted[s][0]) for s in sizes)} |")
print(f"| predicted, best of 5 by a first tuning | {mean(share(s, chosen(s, 5)) for s in sizes)} |")
print(f"| the best of a first tuning of that size: what measuring everything brings | {mean(share(s, best(first[s])) for s in sizes)} |")

rows = [line.split() for line in (out / "library.txt").read_text().splitlines()]
ratios = [float(before) / float(after) for _, _, _, before, after, _ in rows]
worst = max(float(row[5]) for row in rows)
print(f"\nThrough the library, {len(rows)} products: predicted parameters are {statistics.geometric_mean(ratios):.2f} times as fast as those tuned once")
print(f"(geometric mean; {min(ratios):.2f} to {max(ratios):.2f}; faster for {sum(r > 1 for r in ratios)}). Results differ by {worst:.1g} at most.")
