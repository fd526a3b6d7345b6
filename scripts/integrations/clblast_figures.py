#!/usr/bin/env python3
"""Jobs and figures of scripts/integrations/clblast.sh, from the files in its folder.

pad FILE        prints the products of whole tiles that the indirect kernel computes for those of a list
ways FOLDER     writes ways.jsonl: products whose two ways, direct and indirect, the library times, with predicted and with tuned-once parameters
routine FOLDER  writes routine/*.json: those times as results of a tuner, from which the choice of the way is learned
jobs FOLDER     writes jobs.jsonl: what the library times of the sizes that were held out
table FOLDER    prints the figures
"""
import collections
import json
import math
import pathlib
import re
import statistics
import sys

DIRECT, INDIRECT = 1 << 20, 0
KERNELS = {"xgemm_direct": "XgemmDirect", "xgemm": "Xgemm"}
# the sizes at which CLBlast's rule tunes once: its default for the direct kernel; for the other that is 1024, which takes half an hour on two cores
ONCE = {"xgemm_direct": (256, 256, 256), "xgemm": (512, 512, 512)}


def padded(size):
    """The product that CLBlast's indirect kernel computes: its tuner takes whole tiles alone."""
    m, n, k = size
    return (-(-m // 64) * 64, -(-n // 64) * 64, -(-k // 32) * 32)


def of(kernel, size):
    return size if kernel == "xgemm_direct" else padded(size)


def size_of(text):
    return tuple(int(x) for x in re.findall(r"[MNK]=(\d+)", text))


def line_of(size):
    return "M={},N={},K={}".format(*size)


def tuned(path):
    """Milliseconds by config, for each size of a folder of results."""
    found = {}
    for file in sorted(path.glob("*.json")):
        rows = json.loads(file.read_text())["results"]
        config = lambda row: tuple(sorted((k, v) for k, v in row["parameters"].items() if k != "PRECISION"))
        found[size_of(file.stem)] = {config(row): max(row["time"], 5e-4) for row in rows}
    return found


def predicted(path):
    answers = {}
    for line in path.read_text().splitlines():
        answer = json.loads(line)
        config = lambda p: tuple(sorted((k, int(v)) for k, v in (pair.split("=") for pair in p["config"].split(","))))
        answers[size_of(answer["problem"])] = [config(p) for p in answer["predictions"]]
    return answers


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def library(path):
    """Microseconds by variant, for each size: the median of the rounds."""
    found = collections.defaultdict(dict)
    for line in lines(path):
        found[tuple(line["size"])][line["variant"]] = statistics.median(line["us"])
    return found


def best(found):
    return min(found, key=found.get)


def mean(values):
    values = list(values)
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0
    return f"{100 * statistics.mean(values):.1f} ± {100 * error:.1f} | {100 * min(values):.1f}"


def variant(direct, indirect, way):
    """Overrides of all three kernels, since those of the last variant stay."""
    return {"XgemmDirect": dict(direct), "Xgemm": dict(indirect), "GemmRoutine": {"XGEMM_MIN_INDIRECT_SIZE": way}}


def by_limit(limit, size):
    """The way that CLBlast takes for a size."""
    return "direct" if math.prod(size) < limit**3 else "indirect"


def of_five(answers, found):
    """The one of the first five predictions that a tuning found to be the fastest."""
    return min((config for config in answers[:5] if config in found), key=found.get)


class Case:
    def __init__(self, out):
        self.out = out
        self.once = {k: best(tuned(out / f"{k}_once")[size]) for k, size in ONCE.items()}

    def answers(self, name):
        return {k: predicted(self.out / f"{name}_{k}.jsonl") for k in KERNELS}

    def both_ways(self, name, chosen):
        """Variants NAME_direct and NAME_indirect with the config that `chosen` gives for a kernel. The kernel that is not run has always the same
        parameters: every new pair is a program to compile, for seconds."""
        return {
            f"{name}_direct": variant(chosen("xgemm_direct"), self.once["xgemm"], DIRECT),
            f"{name}_indirect": variant(self.once["xgemm_direct"], chosen("xgemm"), INDIRECT),
        }

    def single(self, kernel):
        """The config that is best on average over the sizes that were swept, by the geometric mean of its share, of those that nine tenths of them
        have; and of how many."""
        swept = tuned(self.out / kernel)
        counts = collections.Counter(c for found in swept.values() for c in found)
        usual = [c for c, count in counts.items() if count >= 0.9 * len(swept)]
        average = {c: statistics.mean(math.log(min(f.values()) / f[c]) for f in swept.values() if c in f) for c in usual}
        return max(average, key=average.get), len(usual)

    def threshold(self):
        """The size below which all products go the direct way, CLBlast's rule, that takes least time in all for tuned-once parameters."""
        found = library(self.out / "ways_times.jsonl")

        def loss(limit):
            return sum(math.log(t[f"once_{by_limit(limit, s)}"] / min(t["once_direct"], t["once_indirect"])) for s, t in found.items())

        return min([0, DIRECT, *(round(math.prod(size) ** (1 / 3)) for size in found)], key=loss)


def ways(case):
    answers = case.answers("ways")
    write = []
    for size in answers["xgemm_direct"]:
        first = case.both_ways("first", lambda k: answers[k][of(k, size)][0])
        write.append({"size": size, "variants": first | case.both_ways("once", case.once.get)})
    (case.out / "ways.jsonl").write_text("".join(json.dumps(job) + "\n" for job in write))


def routine(case):
    device = json.loads(next((case.out / "xgemm").glob("*.json")).read_text())
    (case.out / "routine").mkdir(exist_ok=True)
    for (m, n, k), times in library(case.out / "ways_times.jsonl").items():
        rows = [
            {"kernel": "routine", "time": times[f"first_{name}"] / 1e3, "parameters": {"XGEMM_MIN_INDIRECT_SIZE": way}}
            for name, way in (("direct", DIRECT), ("indirect", INDIRECT))
        ]
        file = device | {"kernel_family": "gemm_routine", "arg_m": str(m), "arg_n": str(n), "arg_k": str(k), "results": rows}
        (case.out / "routine" / f"{line_of((m, n, k))}.json").write_text(json.dumps(file))


def jobs(case):
    answers = case.answers("predicted")
    tunings = {k: tuned(case.out / f"{k}_held_out") for k in KERNELS}
    single = {k: case.single(k)[0] for k in KERNELS}
    write = []
    for size in answers["xgemm_direct"]:
        variants = {"shipped": {}}
        variants |= case.both_ways("once", case.once.get)
        variants |= case.both_ways("single", single.get)
        variants |= case.both_ways("first", lambda k: answers[k][of(k, size)][0])
        variants |= case.both_ways("five", lambda k: of_five(answers[k][of(k, size)], tunings[k][of(k, size)]))
        variants |= case.both_ways("best", lambda k: best(tunings[k][of(k, size)]))
        write.append({"size": size, "variants": variants})
    (case.out / "jobs.jsonl").write_text("".join(json.dumps(job) + "\n" for job in write))


def by_tuner(case):
    answers = case.answers("predicted")
    print("| | mean | worst |\n|---|---|---|")
    for kernel in KERNELS:
        swept, held = len(list((case.out / kernel).glob("*.json"))), tuned(case.out / f"{kernel}_held_out")
        single, usual = case.single(kernel)
        sizes = [s for s in answers[kernel] if s in held]
        share = lambda s, config: min(held[s].values()) / held[s][config] if config in held[s] else 0.0
        print(f"| **`{kernel}`**: {swept} sizes swept, {len(sizes)} held out | | |")
        print(f"| tuned once, at {' x '.join(map(str, ONCE[kernel]))} | {mean(share(s, case.once[kernel]) for s in sizes)} |")
        print(f"| the best single config of {usual}, over all swept sizes | {mean(share(s, single) for s in sizes)} |")
        print(f"| predicted, first choice | {mean(share(s, answers[kernel][s][0]) for s in sizes)} |")
        print(f"| predicted, best of 5 | {mean(share(s, of_five(answers[kernel][s], held[s])) for s in sizes)} |")


def through_library(case):
    times = library(case.out / "times.jsonl")
    errors = max(line["error"] for line in lines(case.out / "times.jsonl"))
    chosen = {size: dict(answer[0])["XGEMM_MIN_INDIRECT_SIZE"] for size, answer in predicted(case.out / "predicted_gemm_routine.jsonl").items()}
    limit = case.threshold()
    way = lambda size: "direct" if chosen[size] == DIRECT else "indirect"
    rule = lambda size: by_limit(limit, size)
    quicker = lambda size, name: min(times[size][f"{name}_direct"], times[size][f"{name}_indirect"])
    rows = {
        "the library as it ships": lambda s: times[s]["shipped"],
        f"tuned once; direct below {limit}^3, the best such limit of the measured sizes": lambda s: times[s][f"once_{rule(s)}"],
        "tuned once; the quicker way": lambda s: quicker(s, "once"),
        "the best single config of each kernel over all swept sizes; the quicker way": lambda s: quicker(s, "single"),
        "**predicted: parameters of both kernels, and the way**": lambda s: times[s][f"first_{way(s)}"],
        "predicted; the quicker way": lambda s: quicker(s, "first"),
        "best of 5 predictions of each kernel by the tuner; the quicker way": lambda s: quicker(s, "five"),
        "the tuner's best of all configs of that size; the quicker way": lambda s: quicker(s, "best"),
    }
    print(f"\nThrough the library, {len(times)} products that were held out: share of the best measured, percent.\n")
    print("| | mean | worst |\n|---|---|---|")
    for name, time in rows.items():
        print(f"| {name} | {mean(min(times[s].values()) / time(s) for s in times)} |")
    right = sum(times[s][f"first_{way(s)}"] == quicker(s, "first") for s in times)
    by_rule = sum(times[s][f"first_{rule(s)}"] == quicker(s, "first") for s in times)
    direct = sum(times[s]["first_direct"] == quicker(s, "first") for s in times)
    ratio = lambda name: statistics.geometric_mean(times[s][name] / times[s][f"first_{way(s)}"] for s in times)
    once = statistics.geometric_mean(times[s][f"once_{rule(s)}"] / times[s][f"first_{way(s)}"] for s in times)
    print(f"\nThe quicker way is predicted for {right} of {len(times)} products; CLBlast's rule finds it for {by_rule}; the direct way is the quicker one for {direct}.")
    print(f"Predictions are {ratio('shipped'):.2f} times as fast as the library as it ships, {once:.2f} times as fast as tuned once (geometric means).")
    kernels = [statistics.geometric_mean(times[s][f"once_{w}"] / times[s][f"first_{w}"] for s in times) for w in ("direct", "indirect")]
    print(f"Of that the parameters bring {kernels[0]:.2f} times on the direct way and {kernels[1]:.2f} times on the indirect one.")
    calls = [f / 1e6 for line in lines(case.out / "ways_times.jsonl") for f in line["first_us"]]
    print(f"The first product after parameters are set took {max(calls):.1f} s at most, where they were new, and {1e3 * statistics.median(calls):.1f} ms in the median.")
    print(f"Entries differ from sums in double precision by {errors:.1g} for each term at most.")


def main(verb, path):
    if verb == "pad":
        wanted = [padded(size_of(line)) for line in path.read_text().splitlines() if line.startswith("M=")]
        print("\n".join(map(line_of, dict.fromkeys(wanted))))
        return
    case = Case(path)
    if verb == "table":
        print("By the tuner: share of the speed of each size's best config, percent.\n")
        by_tuner(case)
        through_library(case)
    else:
        {"ways": ways, "routine": routine, "jobs": jobs}[verb](case)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
