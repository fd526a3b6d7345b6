#!/usr/bin/env python3
"""Measures the first choices of `seqtune-lab tuners` on this machine's device, where replays were of a sweep.

usage: rivals_live.py GAMES MODEL SECONDS [PROBLEMS] [SEQTUNE]

GAMES is what `seqtune-lab tuners --json` wrote. Of its first seed and of the budget SECONDS, the choices of all ways for PROBLEMS [default: 20] of the
unseen problems are measured, interleaved, by `seqtune validate` (MODEL is any model of the kernel: its first prediction is measured too, and counts
only as another config). Prints a table: what each way's first choice reaches of the fastest measured, here and by replay.
"""
import json
import statistics
import subprocess
import sys


def measured(program, model, kernel, problem, configs):
    """Microseconds of the configs that work, by config, and the fastest of all that was measured."""
    beside = [word for config in configs for word in ("--also", config)]
    command = [program, "validate", model, kernel, problem, "--top", "1", "--no-confirm", "--json", *beside]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"rivals_live: {problem}: {done.stderr.strip().splitlines()[-1]}")
    found = json.loads(done.stdout.splitlines()[-1])
    times = {entry["config"]: entry["measured_us"] for entry in found["beside"] + found["predictions"] if entry["measured_us"]}
    return times, min([*times.values(), found["default_us"] or float("inf")])


def main():
    games, model, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    program = sys.argv[5] if len(sys.argv) > 5 else "target/release/seqtune"
    with open(games) as file:
        report = json.load(file)
    seed = min(game["seed"] for game in report["played"])
    played = [game for game in report["played"] if game["seconds"] == seconds and game["seed"] == seed]
    unseen = [choice["problem"] for choice in played[0]["choices"]]
    chosen = unseen[:: max(len(unseen) // count, 1)][:count]
    here, replayed = {}, {}
    for at, problem in enumerate(chosen):
        choices = {game["rival"]: next(c for c in game["choices"] if c["problem"] == problem) for game in played}
        configs = list(dict.fromkeys(choice["config"] for choice in choices.values()))
        times, fastest = measured(program, model, report["kernel"], problem, configs)
        for rival, choice in choices.items():
            here.setdefault(rival, []).append(fastest / times[choice["config"]] if choice["config"] in times else 0.0)
            replayed.setdefault(rival, []).append(choice["share"])
        print(f"rivals_live: {at + 1} of {len(chosen)}", file=sys.stderr)
    print(f"{report['kernel']}, {seconds:.0f} s: first choices for {len(chosen)} unseen sizes, measured here, interleaved: mean share of the fastest that was")
    print("measured, in percent, with its standard error over sizes; beside it the share of the sweep's best by replay.\n")
    print("| tuned by | live | replayed |\n|---|---|---|")
    for rival, shares in sorted(here.items(), key=lambda pair: -statistics.fmean(pair[1])):
        error = statistics.stdev(shares) / len(shares) ** 0.5
        print(f"| {rival} | {100 * statistics.fmean(shares):.1f} ± {100 * error:.1f} | {100 * statistics.fmean(replayed[rival]):.1f} |")


if __name__ == "__main__":
    main()
