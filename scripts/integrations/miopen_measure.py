#!/usr/bin/env python3
"""Measures predicted parameters through MIOpen itself, beside AMD's: for whoever has an AMD GPU with ROCm 6.2 or newer.

usage: scripts/integrations/miopen_measure.py NETWORK.txt [--out FOLDER] [--device MI300X] [--solver NAMES] [--rounds 3] [--no-search] [--dry-run]
                                 [--driver MIOpenDriver] [--system FOLDER] [--seqtune PROGRAM] [--models models/miopen]

NETWORK.txt holds MIOpenDriver commands, as MIOPEN_ENABLE_LOGGING_CMD=1 writes them. Every solver that seqtune predicts is forced in turn,
with parameters from five sources: `tuned` (searched here, by MIOpen), `seqtune` (predicted), `amd` (its database, and its predictor
where that has no row), `predictor` (AMD's predictor alone) and `default` (neither). Rounds are interleaved, a program each. Every
time is written into FOLDER/times.jsonl at once: called again, it goes on. Ends with a table: by solver the mean share of the tuned speed.
--dry-run writes the predicted database and prints every command, and runs none.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shlex
import signal
import statistics
import subprocess
import sys
from collections import defaultdict

SOURCES = ["tuned", "seqtune", "amd", "predictor", "default"]
#: value of MIOpenDriver's -F by direction of a database's key
DIRECTIONS = {"F": "1", "B": "2", "W": "4"}
TIME = re.compile(r"GPU Kernel Time (?:Forward|Backward Data|Backward Weights) Conv\. Elapsed: ([\d.]+) ms")
SOLUTION = re.compile(r"Conv\. Algorithm: \d+, Solution: \d+/(\w+)")


def words():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("network")
    parser.add_argument("--out", default="miopen-measured", type=pathlib.Path)
    parser.add_argument("--device", default="MI300X")
    parser.add_argument("--solver", default="")
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--no-search", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--driver", default="/opt/rocm/bin/MIOpenDriver")
    parser.add_argument("--system", default="/opt/rocm/share/miopen/db", type=pathlib.Path)
    parser.add_argument("--seqtune", default="target/release/seqtune")
    parser.add_argument("--models", default="models/miopen")
    if {"-h", "--help"} & set(sys.argv):
        print(__doc__)
        sys.exit()
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ask = parser.parse_args()
    if ask.rounds < 1:
        sys.exit(f"miopen_measure.py: --rounds {ask.rounds}: at least one round is measured")
    return ask


def predicted(ask, command):
    """Rows of a database, one for each direction of a command: direction, solvers, row."""
    export = [ask.seqtune, "export", "miopen", ask.models, "-", "-o", ask.out / "one.udb.txt", "--overwrite", "--device", ask.device]
    export += ["--solver", ask.solver] if ask.solver else []
    try:
        done = subprocess.run([str(word) for word in export], input=command + "\n", capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"miopen_measure.py: {ask.seqtune}: {error.strerror}; build it (cargo build --release), or name it with --seqtune")
    # what is wrong with the command alone leaves the others to be measured
    if done.returncode and not ("line 1" in done.stderr or "none of the convolutions" in done.stderr):
        sys.exit(f"miopen_measure.py: {done.stderr.strip()}")
    if done.returncode:
        print(f"left out: `{command}`: {done.stderr.strip()}", file=sys.stderr)
        return
    rows = (ask.out / "one.udb.txt").read_text().splitlines()
    (ask.out / "one.udb.txt").unlink()
    for row in rows:
        key, entries = row.split("=", 1)
        yield key[-1], [entry.split(":")[0] for entry in entries.split(";")], row


def run_of(ask, command, direction, solver, source):
    """Environment and words of a run: one solver, with the parameters of a source."""
    system = {"tuned": "empty", "seqtune": "empty", "predictor": "predictor", "default": "empty"}.get(source)
    environment = {
        "MIOPEN_USER_DB_PATH": ask.out / "user" / source,
        "MIOPEN_SYSTEM_DB_PATH": ask.out / "system" / system if system else ask.system,
        "MIOPEN_FIND_MODE": "1",
        # what was found before chooses nothing here
        "MIOPEN_DEBUG_DISABLE_FIND_DB": "1",
        "MIOPEN_DEBUG_FIND_ONLY_SOLVER": solver,
        # 3 searches where no row is, 1 never
        "MIOPEN_FIND_ENFORCE": "3" if source == "tuned" else "1",
    }
    # of Windows, quoted, or with what a shell takes behind it
    options = re.split(r"MIOpenDriver(?:\.exe)?", command, maxsplit=1)[1]
    options = re.split(r"\s(?:[|;&<>]|2>)", re.sub("[\"'`,]", " ", options), maxsplit=1)[0]
    options = re.sub(r"\s(-[FtVi]|--forw|--time|--verify|--iter)[\s=]+\d+", "", options)
    return {k: str(v) for k, v in environment.items()}, [ask.driver, *shlex.split(options), "-F", DIRECTIONS[direction], "-t", "1", "-V", "0", "-i", "50"]


def start(environment, run):
    try:
        done = subprocess.run(run, env={**os.environ, **environment}, capture_output=True, text=True, timeout=3600)
    except FileNotFoundError:
        sys.exit(f"miopen_measure.py: {run[0]}: no such program; name MIOpen's with --driver")
    except subprocess.TimeoutExpired:
        return None, "took more than an hour"
    solution, time = SOLUTION.search(done.stdout), TIME.search(done.stdout)
    if done.returncode or not time:
        return None, (done.stderr.strip().splitlines() or ["it printed no time"])[-1][:200]
    if solution and solution[1] != environment["MIOPEN_DEBUG_FIND_ONLY_SOLVER"]:
        return None, f"{solution[1]} ran instead"
    return float(time[1]), None


def prepare(ask, plan):
    """Folders of databases by source; gives the name of the user's database, which has MIOpen's version in it."""
    for source in SOURCES:
        (ask.out / "user" / source).mkdir(parents=True, exist_ok=True)
    for system in ("empty", "predictor"):
        (ask.out / "system" / system).mkdir(parents=True, exist_ok=True)
    for model in ask.system.glob("*.model") if ask.system.is_dir() else ():
        link = ask.out / "system" / "predictor" / model.name
        link.exists() or link.symlink_to(model)
    name = "DEVICE.HIP.VERSION.udb.txt"
    if not ask.dry_run:
        # a find database that a run leaves says the name
        environment, run = run_of(ask, plan[0][0], plan[0][1], plan[0][2], "default")
        environment |= {"MIOPEN_USER_DB_PATH": str(ask.out / "user" / "name"), "MIOPEN_DEBUG_DISABLE_FIND_DB": "0"}
        (ask.out / "user" / "name").mkdir(exist_ok=True)
        _, failed = start(environment, run)
        found = sorted((ask.out / "user" / "name").glob("*.ufdb.txt"))
        if not found:
            sys.exit(f"miopen_measure.py: MIOpen left no .ufdb.txt, whose name its databases need: {failed or 'is it older than ROCm 6.2?'}")
        name = found[0].name.replace(".ufdb.txt", ".udb.txt")
    return ask.out / "user" / "seqtune" / name


def table(times, failed):
    """By solver, the mean share of the tuned speed by source, over convolutions."""
    medians = {key: statistics.median(ms) for key, ms in times.items()}
    shares, counts = defaultdict(list), defaultdict(set)
    for (command, direction, solver, source), ms in medians.items():
        best = medians.get((command, direction, solver, "tuned"))
        if best:
            shares[solver, source].append(best / ms)
            counts[solver].add((command, direction))
    geometric = lambda values: math.exp(statistics.mean(map(math.log, values)))
    print("| solver | convolutions | " + " | ".join(SOURCES[1:]) + " |\n" + "|---" * (len(SOURCES) + 1) + "|")
    for solver in sorted(counts):
        cells = [f"{100 * geometric(shares[solver, s]):.1f}" if shares[solver, s] else "-" for s in SOURCES[1:]]
        print(f"| {solver} | {len(counts[solver])} | " + " | ".join(cells) + " |")
    print(f"\nShare of the speed of what MIOpen's search found here, in percent, geometric mean. {failed} runs failed.")


def known(journal):
    """Times that were measured before: which run, milliseconds. A last line that was cut off by a kill is removed."""
    text = journal.read_text() if journal.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        journal.write_text(whole)
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = json.loads(line)
            yield record["of"], float(record["ms"])
        except (ValueError, KeyError, TypeError):
            sys.exit(f"miopen_measure.py: {journal}: line {number} is damaged; remove it, and its run is measured again")


def main():
    ask = words()
    sources = [source for source in SOURCES if source != "tuned" or not ask.no_search]
    try:
        lines = pathlib.Path(ask.network).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no text"
        sys.exit(f"miopen_measure.py: {ask.network}: {why}; name a file of MIOpenDriver commands, as MIOPEN_ENABLE_LOGGING_CMD=1 writes them")
    commands = [line.strip() for line in lines if "MIOpenDriver" in line]
    if not commands:
        sys.exit(f"miopen_measure.py: {ask.network} holds no MIOpenDriver command; MIOPEN_ENABLE_LOGGING_CMD=1 writes them")
    try:
        ask.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sys.exit(f"miopen_measure.py: --out {ask.out}: {error.strerror}; name a folder that can be written")
    rows = [(command, *row) for command in commands for row in predicted(ask, command)]
    plan = [(command, direction, solver) for command, direction, solvers, _ in rows for solver in solvers]
    if not plan:
        sys.exit(f"miopen_measure.py: {ask.network}: no command could be predicted")
    database = prepare(ask, plan)
    database.write_text("".join(row + "\n" for *_, row in rows))
    journal = ask.out / "times.jsonl"
    times, failed = defaultdict(list), 0
    for of, ms in known(journal):
        times[tuple(of)].append(ms)
    wanted = [(at, *of, source) for at in range(ask.rounds) for of in plan for source in sources]
    print(f"{len(wanted)} runs of {len(plan)} pairs of convolution and solver; predictions in {database}", file=sys.stderr)
    for done, (at, *of) in enumerate(wanted):
        environment, run = run_of(ask, *of)
        if ask.dry_run:
            print(" ".join(f"{k}={shlex.quote(v)}" for k, v in environment.items()), shlex.join(run))
            continue
        if len(times[tuple(of)]) > at:
            continue
        ms, why = start(environment, run)
        if ms is None:
            failed += 1
            print(f"{of[2]}, {of[3]}: {why}: {of[0]}", file=sys.stderr)
            continue
        times[tuple(of)].append(ms)
        with open(journal, "a") as out:
            out.write(json.dumps({"of": of, "ms": ms}) + "\n")
        print(f"{done + 1} of {len(wanted)}", end="\r", file=sys.stderr)
    if not ask.dry_run:
        table({key: ms for key, ms in times.items() if ms}, failed)


if __name__ == "__main__":
    # as any program ends whose reader has gone
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
