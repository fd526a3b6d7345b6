#!/usr/bin/env python3
"""What Kernel Tuner's strategies measure, in their order, for `seqtune-lab tuners --orders`.

usage: kernel_tuner_orders.py CACHES GAMES OUT FIRST STRATEGY...

CACHES is what `seqtune export kernel-tuner` wrote, a cache file for each problem; GAMES what `seqtune-lab tuners --json` wrote, which names the unseen
problems of each seed. Of each cache the FIRST configs are kept, as by `tuners --first`. OUT gets a line for each strategy, problem and seed. A
strategy sees nothing but what it has measured, so that its order serves every budget: where the seconds are spent, it ends.
"""
import json
import multiprocessing
import os
import sys
import warnings

from kernel_tuner_compare import replay_quietly

warnings.simplefilter("ignore")
MOST = 60  # percent of a problem's configs that are measured at most


def played(job):
    """The configs that a strategy measures of a problem, each once; a sentence where it fails."""
    strategy, path, problem, seed = job
    with open(path) as file:
        cache = json.load(file)
    names = cache["tune_params_keys"]
    # some strategies never end where they are to find each config of a small space
    options = {"max_fevals": MOST * len(cache["cache"]) // 100}
    results = replay_quietly(path, seed, strategy=strategy, strategy_options=options)
    if isinstance(results, str):
        return results
    texts = [",".join(f"{name}={result[name]}" for name in names) for result in results]
    return {"name": f"`{strategy}` of Kernel Tuner's package", "seed": seed, "problem": problem, "configs": list(dict.fromkeys(texts))}


def shorten(caches, first):
    """Keeps the first configs of each cache."""
    for path in os.listdir(caches):
        path = os.path.join(caches, path)
        with open(path) as file:
            cache = json.load(file)
        cache["cache"] = dict(list(cache["cache"].items())[:first])
        with open(path, "w") as file:
            json.dump(cache, file)


def names(stem, parts):
    """Whether a file's name is made of some of a problem's fields, in their order."""
    for part in parts:
        if stem == part or stem.startswith(part + "_"):
            stem = stem[len(part) + 1 :]
    return not stem


def path_of(problem, caches):
    """The cache of a problem: files are named after its fields, without those that have their defaults."""
    parts = [part.replace("=", "") for part in problem.split(",")]
    stems = [path[: -len(".json")] for path in os.listdir(caches)]
    return os.path.join(caches, max((stem for stem in stems if names(stem, parts)), key=len) + ".json")


def main():
    caches, games, out, first, *strategies = sys.argv[1:]
    shorten(caches, int(first))
    with open(games) as file:
        games = json.load(file)["played"]
    unseen = {(game["seed"], choice["problem"]) for game in games for choice in game["choices"]}
    jobs = [(strategy, path_of(problem, caches), problem, seed) for strategy in strategies for seed, problem in sorted(unseen)]
    failed = 0
    with multiprocessing.get_context("spawn").Pool() as pool, open(out, "w") as file:
        for at, (job, line) in enumerate(zip(jobs, pool.imap(played, jobs, chunksize=4))):
            if isinstance(line, str):
                failed += 1
                print(f"{job[0]}, {job[2]}, seed {job[3]}: {line}", file=sys.stderr)
            else:
                print(json.dumps(line), file=file)
            if at % 50 == 49:
                print(f"{at + 1} of {len(jobs)} played", file=sys.stderr)
    print(f"{len(jobs) - failed} orders, {failed} failed")


if __name__ == "__main__":
    main()
