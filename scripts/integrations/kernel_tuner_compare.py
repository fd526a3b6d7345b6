#!/usr/bin/env python3
"""Kernel Tuner's strategies with and without predictions, on a replayed sweep of problems that the model never saw.

usage: kernel_tuner_compare.py CACHES MODEL FIGURES PLOT [PROBLEMS] [SEEDS]

CACHES is what `seqtune export kernel-tuner` wrote: a cache file for each problem. Each strategy of Kernel Tuner replays PROBLEMS of the model's
test part, SEEDS times, by itself and behind the ten configs that are predicted first. FIGURES gets the table, PLOT the picture.
"""
import glob
import multiprocessing
import os
import statistics
import sys
import warnings

warnings.simplefilter("ignore")
COUNTS = [1, 2, 3, 5, 10, 15, 20, 30]
BUDGET = COUNTS[-1]
TOP = 10


def strategies():
    from kernel_tuner.interface import strategy_map

    return list(strategy_map)


def shares(results, cache):
    """The share of the best time in the cache that the best of the first so many different configs reaches."""
    names = cache["tune_params_keys"]
    best = min(entry["time"] for entry in cache["cache"].values() if "time" in entry)
    seen, times = set(), []
    for result in results:
        key = tuple(result[name] for name in names)
        if "__error__" in result or key in seen:
            continue
        seen.add(key)
        times.append(result["time"])
    return [best / min(times[:count]) if times else 0.0 for count in COUNTS]


def replay_quietly(path, seed, **options):
    """Results of a replay by the draws of this seed; a sentence where the strategy fails."""
    import contextlib
    import io
    import random

    import numpy
    from seqtune.kernel_tuner import replay

    random.seed(seed)
    numpy.random.seed(seed)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return replay(path, seed=seed, quiet=True, **options)[0]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def replayed(job):
    """Shares of one replay; a sentence where the strategy fails."""
    import json

    import seqtune
    from seqtune.kernel_tuner import Strategy

    name, mine, path, model, seed = job
    # brute force goes through all and takes no limit: its first results are as many
    options = {} if name == "brute_force" else {"max_fevals": BUDGET}
    then = None if name == "seqtune" else name
    if mine:
        # the strategy is given what its own options may not hold
        strategy = Strategy(seqtune.Model(model), "gemm", problem=whole_problem(path), top=BUDGET if then is None else TOP, then=then)
    else:
        strategy = name
    results = replay_quietly(path, seed, strategy=strategy, strategy_options=options)
    if isinstance(results, str):
        return results
    with open(path) as file:
        return shares(results, json.load(file))


def whole_problem(path):
    """The problem with its layouts: `seqtune export kernel-tuner` names the file after it."""
    import re

    stem = os.path.basename(path)[: -len(".json")]
    return ",".join(re.sub(r"^(transA|transB|dtype|alpha|beta|[MNK])", r"\1=", part) for part in stem.split("_"))


def main():
    caches, model, figures, plot = sys.argv[1:5]
    count, seeds = (int(word) for word in (sys.argv[5:] + ["12", "3"][len(sys.argv) - 5 :])[:2])
    import seqtune

    predictor = seqtune.Predictor(model, "gemm")
    held_out = [path for path in sorted(glob.glob(f"{caches}/*.json")) if predictor.part(whole_problem(path)) == "test"]
    chosen = held_out[:: max(len(held_out) // count, 1)][:count]
    names = strategies()
    keys = [("seqtune", True)] + [(name, mine) for name in names for mine in (False, True)]
    jobs = [(name, mine, path, model, seed) for name, mine in keys for path in chosen for seed in range(1, seeds + 1)]
    found, failed = {}, {}
    with multiprocessing.get_context("spawn").Pool(max(os.cpu_count() or 1, 1)) as pool:
        for job, outcome in zip(jobs, pool.imap(replayed, jobs, chunksize=8)):
            (failed if isinstance(outcome, str) else found).setdefault(job[:2], []).append(outcome)
    means = {key: [statistics.fmean(column) for column in zip(*rows)] for key, rows in found.items() if len(rows) * 2 > len(chosen) * seeds}
    with open(figures, "w") as file:
        file.write(table(means, failed, names, len(chosen), seeds, len(held_out)))
    draw(means, names, plot, len(chosen))


def table(means, failed, names, problems, seeds, held_out):
    shown = [1, 5, 10, 30]
    percent = lambda key: [f"{100 * means[key][COUNTS.index(n)]:.1f}" for n in shown] if key in means else ["fails"] + [""] * 3
    text = [
        f"Share of the best measured speed after so many measurements, in percent: mean over {problems} of {held_out} problems that the model",
        f"never saw, {seeds} seeds each, 100 swept configs each. Right: the same strategy behind {TOP} predicted configs.",
        "",
        "| strategy | alone: 1 | 5 | 10 | 30 | with seqtune: 1 | 5 | 10 | 30 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in sorted(names, key=lambda name: -means.get((name, True), [0.0])[-1]):
        text.append("| " + " | ".join([f"`{name}`", *percent((name, False)), *percent((name, True))]) + " |")
    both = [name for name in names if (name, False) in means and (name, True) in means]
    mean = lambda mine: [f"{100 * statistics.fmean(means[name, mine][COUNTS.index(n)] for name in both):.1f}" for n in shown]
    text.append("| " + " | ".join([f"**mean of {len(both)}**", *mean(False), *mean(True)]) + " |")
    text.append("| " + " | ".join(["predicted order alone", "", "", "", "", *percent(("seqtune", True))]) + " |")
    for (name, mine), why in sorted(failed.items()):
        with_us = " behind predictions" if mine else ""
        text += ["", f"`{name}`{with_us} failed {len(why)} times: {sorted(why)[0][:160]}"]
    return "\n".join(text) + "\n"


def draw(means, names, path, problems):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "seqtune", "svg.fonttype": "none", "font.size": 10})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.2, 4.4))
    both = [name for name in names if (name, False) in means and (name, True) in means]
    places = range(len(COUNTS))
    for mine, colour, label in ((False, "#b5651d", "alone"), (True, "#1f6f8b", f"behind {TOP} predicted configs")):
        for name in both:
            axes.plot(places, [100 * share for share in means[name, mine]], color=colour, alpha=0.35, linewidth=0.9)
        mean = [100 * statistics.fmean(means[name, mine][at] for name in both) for at in places]
        axes.plot(places, mean, color=colour, linewidth=2.6, marker="o", markersize=4, label=f"mean of {len(both)} strategies, {label}")
    axes.set_xticks(list(places), [str(count) for count in COUNTS])
    axes.set_ylim(0, 102)
    axes.set_xlabel("measurements")
    axes.set_ylabel("share of the best measured speed (%)")
    axes.set_title(f"Kernel Tuner's strategies on gemm, {problems} held-out problems, a CPU", fontsize=10.5)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": "scripts/integrations/kernel_tuner.sh"})


if __name__ == "__main__":
    main()
