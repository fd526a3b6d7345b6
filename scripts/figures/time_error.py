#!/usr/bin/env python3
"""Prints by which factor the predicted times of a model's first choices are off, where a dataset has these measured.

usage: scripts/figures/time_error.py MODEL DATASET [SEQTUNE]     the program [default: target/release/seqtune]
"""
import json
import statistics
import subprocess
import sys
import tempfile


def ask(command, **given):
    """What the program answers; where it refuses, it has said why."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **given)
    except OSError as error:
        sys.exit(f"time_error.py: {command[0]}: {error.strerror}; build it (cargo build --release), or name it behind the dataset")
    return done.stdout if done.returncode == 0 else sys.exit(done.returncode)


def records(program, dataset):
    """Header and records of a dataset."""
    with tempfile.TemporaryDirectory() as folder:
        ask([program, "export", "dataset", dataset, "-o", f"{folder}/sweep.jsonl"])
        with open(f"{folder}/sweep.jsonl") as file:
            header, *lines = map(json.loads, file)
    return header, lines


def main(model, dataset, program="target/release/seqtune"):
    header, lines = records(program, dataset)
    measured = {}
    for line in lines:
        if "Measured" in line["outcome"]:
            measured[line["problem"], line["config"]] = statistics.median(line["outcome"]["Measured"]["samples_us"])
    problems = list(dict.fromkeys(problem for problem, _ in measured))
    command = [program, "predict", model, header["kernel"], "-", "--json", "--device", header["device"]["name"]]
    said = ask(command, input="\n".join(problems))
    factors = []
    for answer in map(json.loads, said.splitlines()):
        first = answer["predictions"][0]
        us = measured.get((answer["problem"], first["config"]))
        if us:
            factors.append(max(first["predicted_us"] / us, us / first["predicted_us"]))
    factors.sort()
    if not factors:
        sys.exit(f"{dataset}: of {len(problems)} problems no first choice of {model} was measured")
    print(f"{len(problems)} problems, {len(factors)} first choices measured: predicted times are off by a factor of {statistics.median(factors):.2f} in the median, "
          f"{factors[int(0.9 * len(factors))]:.2f} at the 90th percentile.")  # fmt: skip


if len(sys.argv) not in (3, 4):
    print(__doc__.strip(), file=sys.stderr)
    sys.exit(2)
main(*sys.argv[1:])
