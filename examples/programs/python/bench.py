"""Sums of the columns of a table: answers requests of `seqtune sweep`, a line of JSON each.

{"id": 1, "problem": {"rows": 100, "columns": 10}, "config": {"block": 16, "order": "rows", "store": "list"},
 "samples": 3, "seed": 1}  ->  {"id": 1, "times_ms": [0.1, 0.1, 0.1], "counters": {"blocks": 7}}
"""

import array
import json
import random
import sys
import time


def table_of(problem, store, seed):
    draw = random.Random(seed)
    kind = (lambda row: array.array("d", row)) if store == "array" else list
    return [kind([draw.random() for _ in range(problem["columns"])]) for _ in range(problem["rows"])]


def sums(table, config):
    columns = len(table[0])
    total = [0.0] * columns
    for begin in range(0, len(table), config["block"]):
        part = table[begin : begin + config["block"]]
        if config["order"] == "rows":
            for row in part:
                for column in range(columns):
                    total[column] += row[column]
        else:
            for column in range(columns):
                total[column] += sum(row[column] for row in part)
    return total


def answer(request, tables):
    problem, config = request["problem"], request["config"]
    key = (json.dumps(problem), config["store"], request["seed"])
    if key not in tables:
        tables.clear()
        tables[key] = table_of(problem, config["store"], request["seed"])
    table = tables[key]
    times = []
    for _ in range(request["samples"]):
        began = time.perf_counter()
        found = sums(table, config)
        times.append(1e3 * (time.perf_counter() - began))
    expected = [sum(column) for column in zip(*table)]
    worst = max(abs(a - b) for a, b in zip(found, expected))
    if worst > 1e-6 * problem["rows"]:
        return {"invalid": "correctness", "why": f"a sum is off by {worst:.3g}"}
    return {"times_ms": times, "counters": {"blocks": -(-problem["rows"] // config["block"])}}


tables = {}
for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps({"id": request["id"], **answer(request, tables)}), flush=True)
