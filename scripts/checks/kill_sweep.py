#!/usr/bin/env python3
"""Kills a sweep with SIGKILL ten times at random moments and compares its records with an undisturbed one's.

    scripts/checks/kill_sweep.py [DEVICE]      DEVICE as `seqtune sweep --device` takes it; default: live

Prints whether both hold the same problems and configs, and exits with 1 where they do not.
"""
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

device = sys.argv[1] if len(sys.argv) > 1 else "live"
seqtune = pathlib.Path(__file__).resolve().parents[2] / "target" / "release" / "seqtune"
problems = ["M=64,N=64,K=64", "M=100,N=70,K=30", "M=1,N=512,K=256", "M=200,N=300,K=100", "M=384,N=384,K=384"]


def command(path):
    return [seqtune, "sweep", "gemm", "--device", device, "--problems", *problems, "--sample", "40", "--pool", "45", "-o", path]


def records(path):
    lines = [json.loads(line) for line in open(path)][1:]
    keys = [(r["problem"], r["config"], next(iter(r["outcome"]))) for r in lines]
    assert len(keys) == len(set(keys)), "a config was measured twice"
    return set(keys)


rng = random.Random(1)
with tempfile.TemporaryDirectory() as folder:
    calm, killed = f"{folder}/calm.jsonl", f"{folder}/killed.jsonl"
    subprocess.run(command(calm), check=True, capture_output=True)
    kills = 0
    for _ in range(10):
        child = subprocess.Popen(command(killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 4.0))
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            kills += 1
        child.wait()
    subprocess.run(command(killed), check=True, capture_output=True)
    same = records(calm) == records(killed)
    print(f"{device}: {len(records(calm))} records undisturbed, {len(records(killed))} after {kills} kills: {'the same set' if same else 'DIFFERENT'}")
    sys.exit(not same)
