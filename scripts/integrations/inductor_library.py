"""Tells how often the vendor's library beats the first choice, where the model is sure and where it is not: inductor_library.py MODEL DATA.csv.

All problems of the data, learned ones too, as `seqtune export csv` writes them with their measured times.
"""

import csv
import math
import sys

import seqtune

model, path = seqtune.Model(sys.argv[1]), sys.argv[2]
predictor = seqtune.Predictor(model, "triton_mm", model.devices[0])
fields, parameters = list(predictor.kernel.fields), list(predictor.kernel.parameters)
times: dict = {}
library: dict = {}
with open(path, newline="") as file:
    for row in csv.DictReader(file):
        problem = tuple(row[name] for name in fields)
        if row["outcome"] == "measured" and row["library_us"]:
            times.setdefault(problem, {})[tuple(int(row[name]) for name in parameters)] = float(row["median_us"])
            library[problem] = float(row["library_us"])
problems = [dict(zip(fields, problem)) for problem in times]
answers = {True: [], False: []}
for measured, theirs, [best] in zip(times.values(), library.values(), predictor.predict(problems, top=1, threads=2)):
    first = measured.get(tuple(best.config[name] for name in parameters))
    if first is not None:
        answers[best.unsure].append(first / theirs)
for unsure, ratios in answers.items():
    if ratios:
        faster = sum(ratio > 1 for ratio in ratios) / len(ratios)
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(
            f"{'unsure' if unsure else 'sure'} and measured, {len(ratios)} products: the library is faster in {100 * faster:.0f} %, "
            f"the first choice takes {mean:.2f} times as long (geometric mean)"
        )
