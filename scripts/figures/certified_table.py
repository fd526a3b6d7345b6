#!/usr/bin/env python3
"""What certified rows were worth when they were measured a second time.

usage: scripts/figures/certified_table.py FOLDER    of NAME-first.json and NAME-second.json, which `seqtune validate --certify` wrote
"""
import json
import pathlib
import statistics
import sys



def line(name, rows, known):
    """Prints a row of the table."""
    saved = 100 * statistics.median(-row["difference"] for row, _ in known)
    slower = 100 * sum(again["difference"] > 0 for _, again in known) / len(known)
    surely = 100 * sum(again["interval"][0] > 0 for _, again in known) / len(known)
    print(f"| {name} | {len(rows)} | {len(known)} | {saved:.1f} | {slower:.1f} | {surely:.1f} |")


if len(sys.argv) != 2:
    sys.exit(__doc__.strip())
print("| kernel | rows | certified | time of certified rows below that of the best single config, median, % (more is better) | certified rows slower in the second run, % "
      "(less is better) | slower with 95 % confidence, % |")
print("|---|---|---|---|---|---|")
all_rows, all_known, device = [], [], set()
for path in sorted(pathlib.Path(sys.argv[1]).glob("*-first.json")):
    first = json.loads(path.read_text())
    second = {row["problem"]: row for row in json.loads(path.with_name(path.name.replace("first", "second")).read_text())["rows"]}
    known = [(row, second[row["problem"]]) for row in first["rows"] if row["certified"] and row["problem"] in second]
    if any(row["predicted"] != again["predicted"] for row, again in known):
        sys.exit(f"certified_table.py: {path}: the second run measured other configs")
    device.add(first["device"])
    all_rows += first["rows"]
    all_known += known
    line(first["kernel"], first["rows"], known)
line("all", all_rows, all_known)
uncertain = sum(not row["certified"] for row in all_rows)
print(f"\n{uncertain} rows keep the single config. Measured on {' and '.join(sorted(device))}; {all_known[0][0]['n']} repetitions of each pair.")
