#!/usr/bin/env python3
"""A double of MIOpenDriver, for tests only: what it prints has the form of the real one, its times are made up."""
import os
import pathlib
import sys

user = pathlib.Path(os.environ["MIOPEN_USER_DB_PATH"])
solver = os.environ["MIOPEN_DEBUG_FIND_ONLY_SOLVER"]
name = "gfx942130.HIP.3_3_0_double"
if os.environ["MIOPEN_DEBUG_DISABLE_FIND_DB"] == "0":
    (user / f"{name}.ufdb.txt").write_text("")
rows = user / f"{name}.udb.txt"
known = rows.exists() and solver in rows.read_text()
if os.environ["MIOPEN_FIND_ENFORCE"] == "3" and not known:
    with open(rows, "a") as out:
        out.write(f"key={solver}:searched\n")
    known = True
system = pathlib.Path(os.environ["MIOPEN_SYSTEM_DB_PATH"])
ms = 0.5 if known and "tuned" in str(user) else 0.625 if known else 1.0 if any(system.glob("*")) else 2.0
direction = sys.argv[sys.argv.index("-F") + 1]
if "-n" in sys.argv and sys.argv[sys.argv.index("-n") + 1] == "13":
    sys.exit("MIOpen Error: no such luck")
words = {"1": "Forward", "2": "Backward Data", "4": "Backward Weights"}[direction]
print(f"MIOpen {words} Conv. Algorithm: 5, Solution: 137/{solver}\nGPU Kernel Time {words} Conv. Elapsed: {ms:.6f} ms (average)")
