#!/usr/bin/env python3
"""Why the kernels of examples/triton-article take as long as they do, computed: examples/triton-article/README.md.

    scripts/figures/triton_article.py count [FILE]     compiles them by Triton for GPUs that are not there, and counts what the machine code does
    scripts/figures/triton_article.py table            the verdicts, of the counts that are committed; needs no Triton
    scripts/figures/triton_article.py check            whether the page has what `table` prints
    scripts/figures/triton_article.py cpu FOLDER       best times of sweeps on a processor, and verdicts by its measured peaks

`count` walks through the machine code (SASS by NVIDIA's tool that comes with Triton, AMD's assembly) as one warp does, which executes in order and
waits for what it reads. Branches that leave out masked loads are not taken. A loop is gone through as often as the sums need.
"""

import json
import math
import re
import sys
import tempfile
import tomllib
from pathlib import Path

from put_figures import section
from triton_machine_code import FOLDER, ROOT, SECTOR, SIZE, VENDORS, count_one, devices

COUNTS, MEASURED, PAGE = FOLDER / "counts.json", FOLDER / "h200.jsonl", ROOT / "docs/results/tables/triton-article.md"
# TFLOP/s of TF32, dense: makers' data sheets
TF32 = {"H200": 494.7, "H100": 494.7, "A100": 156.0, "MI300X": 653.7}
PRINTED = (261.942, 1.5741)  # ms and TFLOP/s that the article prints, of which SIZE is inferred


def count(path_):
    import contextlib
    import os

    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
    sys.path.insert(0, str(FOLDER))
    import kernels
    import triton

    found = {"triton": triton.__version__, "size": SIZE, "kernels": {}}
    for device in devices().values():
        for name in kernels.LAUNCHES:
            with contextlib.redirect_stdout(sys.stderr):
                found["kernels"].setdefault(name, {})[device["architecture"]] = count_one(name, device)
    text = "{\n" + f'"triton": "{found["triton"]}", "size": {list(SIZE)},\n"kernels": {{\n'
    rows = {name: ",\n".join(f'  "{architecture}": {json.dumps(one)}' for architecture, one in by.items()) for name, by in found["kernels"].items()}
    text += ",\n".join(f'"{name}": {{\n{row}\n}}' for name, row in rows.items())
    Path(path_).write_text(text + "\n}}\n")


VERDICTS = {"DRAM": "memory", "cache": "memory", "L1": "memory", "issue": "compute", "arithmetic": "compute", "latency": "latency"}


def judged(name, one, device, size):
    """Least times of a kernel on a device by each of its roofs, in ms, and what they are made of."""
    m, n, k = size
    limits, vendor = device["limits"], VENDORS[device["vendor"]]
    nvidia = device["vendor"] == "NVIDIA"
    lanes, units, clock = int(limits["sub_group"]), int(limits["compute_units"]), limits["clock_mhz"] * 1e6
    tile_m, tile_n = one["tile"]
    across, down = math.ceil(n / tile_n), math.ceil(m / tile_m)
    programs = across * down
    warps = programs * one["warps"]
    # how many programs a unit holds at once
    if nvidia:
        taken = one["warps"] * math.ceil(one["registers"] / 8) * 8 * lanes
        room = limits["group_registers"] // taken
        room = min(room, (limits["local_memory_opt_in"] + 1024) // (one["shared"] + 1024))
    else:
        room = vendor["schedulers"] * (512 // (math.ceil(one["registers"] / 8) * 8)) // one["warps"]
        room = min(room, limits["local_memory"] // one["shared"])
    resident = int(min(room, vendor["warps"] // one["warps"], vendor["programs"]))
    # bytes: of a program from the last-level cache, in whole sectors where elements lie apart
    left, right = 4 * tile_m * k, (SECTOR if name == "naive" else 4) * tile_n * k
    a, b, c = 4 * m * k, 4 * k * n, 4 * m * n
    near = vendor["near"] or units
    # programs of a row of C run side by side; what a near cache holds of A it reads once, unless loads go past it
    from_a = left * programs if one["bypasses"] else min(left * programs, left * down * near)
    cache_bytes = from_a + right * programs + c
    # rows of tiles in flight read B together; a B that the cache does not hold comes anew for the next
    at_once = max(1.0, min(down, units * resident / across))
    passes = down / at_once if b > limits["cache_bytes"] else 1.0
    dram_bytes = a + b * passes + c
    level = "dram" if b > limits["cache_bytes"] else "cache"
    shared, lines = one["shared_bytes"] / 128, one["lines"] * 128 / vendor["line"]  # clocks of a warp; NVIDIA's have one pipe for both
    near_time = warps * (shared + lines if nvidia else max(shared, lines)) / (units * clock)
    # an AMD unit issues a vector instruction in four clocks, others beside it
    slots = one["instructions"] if nvidia else 4 * one["vector"]
    peak = TF32[device["name"]] * 1e12 if "tf32" in name else limits["f32_gflops"] * 1e9
    chain = one["chain"][level]
    bounds = {
        "DRAM": dram_bytes / (limits["bandwidth_gbs"] * 1e9),
        "cache": cache_bytes / (vendor["cache"] * clock),
        "L1": near_time,
        "issue": warps * slots / (vendor["schedulers"] * units * clock),
        "arithmetic": 2 * m * n * k / peak,
        "latency": math.ceil(programs / (units * resident)) * chain / clock,
    }
    bound = max(bounds, key=bounds.get)
    flops = 2 * m * n * k
    throughput = max(time for what, time in bounds.items() if what != "latency")
    return {
        "bounds": {what: 1e3 * time for what, time in bounds.items()},
        "bound": bound,
        "verdict": f"{VERDICTS[bound]}-bound",
        "intensity": [flops / (warps * one["loaded_bytes"]), flops / cache_bytes, flops / dram_bytes],
        "in_flight": resident * one["warps"],
        "needed": warps / units * chain / clock / throughput,
    }


def number(x):
    return f"{x:.0f}" if x >= 99.5 else f"{x:.1f}" if x >= 9.95 else f"{x:.2f}"


def table():
    counts = json.loads(COUNTS.read_text())
    size = tuple(counts["size"])
    lines = [
        "| a warp's machine code (sm_90) | instructions | loads | shared memory | multiply-adds | alone, clocks | programs x warps | registers |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, by in counts["kernels"].items():
        one = by["sm_90"]
        programs = math.ceil(size[0] / one["tile"][0]) * math.ceil(size[1] / one["tile"][1])
        lines.append(
            f"| {name} | {one['instructions']:,} | {one['loads']:,} | {one['shared_accesses']:,} | {one['arithmetic']:,} "
            f"| {one['chain']['dram']:,} | {programs:,} x {one['warps']} | {one['registers']} |"
        )
    lines += [
        "",
        "| kernel | device | DRAM | cache | L1, shared | issue | arithmetic | latency | warps a unit: in flight, needed | verdict |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    intensities = []
    for name, by in counts["kernels"].items():
        for device in devices().values():
            found = judged(name, by[device["architecture"]], device, size)
            cells = [f"**{number(t)}**" if what == found["bound"] else number(t) for what, t in found["bounds"].items()]
            flight = f"{found['in_flight']}, {number(found['needed'])}"
            lines.append(f"| {name} | {device['name']} | {' | '.join(cells)} | {flight} | {found['verdict']} |")
            if device["name"] == "H200":
                intensities.append((name, found))
    measured = {}
    if MEASURED.exists():
        for line in MEASURED.read_text().splitlines():
            one = json.loads(line)
            if "ms" in one and (one.get("M"), one.get("N"), one.get("K")) == size:
                measured[one["kernel"]] = one
    lines += [
        "",
        "| kernel, H200 | flop / byte: loaded | from the cache | from DRAM | least time, ms | most TFLOP/s | measured, ms | TFLOP/s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, found in intensities:
        time = found["bounds"][found["bound"]]
        live = measured.get(name)
        intensity = " | ".join(map(number, found["intensity"]))
        seen = f"{number(live['ms'])} | {number(live['tflops'])}" if live else " | "
        lines.append(f"| {name} | {intensity} | {number(time)} | {number(2e-9 * math.prod(size) / time)} | {seen} |")
    milliseconds, rate = PRINTED
    by = counts["kernels"]["transposed"]
    least = [(name, judged("transposed", by[one["architecture"]], one, size)["bounds"]) for name, one in devices(("H200", "H100", "A100")).items()]
    lines += [
        "",
        f"The article's {milliseconds} ms at {rate} TFLOP/s are {milliseconds * rate * 1e9:.4e} operations; 2 x {' x '.join(map(str, size))} are "
        f"{2 * math.prod(size):.4e}.",
        f"Least time of `transposed` there: {', '.join(f'{number(max(bounds.values()))} ms on {name}' for name, bounds in least)}.",
    ]
    return "\n".join(lines) + "\n"


def check():
    import doctest

    if doctest.testmod().failed:
        sys.exit(1)
    if "\n".join(section("triton_article.py", PAGE)).strip() != table().strip():
        sys.exit("docs/results/tables/triton-article.md does not show what scripts/figures/triton_article.py prints")
    print("triton_article: the page shows what is computed")


def cpu(folder):
    """Of NAME.jsonl, and of what `validate` said of the peaks, gemm.md: docs/internals/measuring.md has the rule."""
    said = (Path(folder) / "gemm.md").read_text()
    found = re.search(r"Peak here: ([\d.,]+) GFLOP/s.*?, ([\d.,]+) GB/s from memory(?:, ([\d.,]+) GB/s within ([\d.,]+) MB)?", said)
    flops, memory, cache, within = (float(word.replace(",", "")) if word else None for word in found.groups())
    print(f"Peaks: {flops:.0f} GFLOP/s, {memory:.0f} GB/s from memory" + (f", {cache:.0f} GB/s within {within:.0f} MB." if cache else "."))
    print("\n| kernel | M = N = K | configs | best ms | GFLOP/s | default / best | worst / best | of peak | of bandwidth | verdict | best config |")
    print("|" + "---|" * 11)
    for name in ("naive", "transposed", "tiled"):
        header, *records = map(json.loads, (Path(folder) / f"{name}.jsonl").read_text().splitlines())
        by = {}
        for record in records:
            if measured := record["outcome"].get("Measured"):
                samples = sorted(measured["samples_us"])
                by.setdefault(record["problem"], {})[record["config"]] = samples[len(samples) // 2] / 1e3
        with open(FOLDER / name / "kernel.toml", "rb") as file:
            default = ",".join(f"{one['name']}={one['default']}" for one in tomllib.load(file)["parameter"])
        for problem, times in by.items():
            n = int(re.search(r"M=(\d+)", problem)[1])
            best = min(times, key=times.get)
            least = 12 * n * n
            bandwidth = cache if cache and 2 * least <= header["device"]["limits"]["cache_bytes"] else memory
            work, moved = 2e-6 * n**3 / times[best] / flops, 1e-6 * least / times[best] / bandwidth
            verdict = "latency-bound" if max(work, moved) < 0.4 else "compute-bound" if work >= moved else "memory-bound"
            least_most = [times.get(default, math.nan) / times[best], max(times.values()) / times[best]]
            cells = [name, n, len(times), *map(number, [times[best], 2e-6 * n**3 / times[best], *least_most])]
            print(f"| {' | '.join(map(str, cells))} | {work:.1%} | {moved:.1%} | {verdict} | {best} |")


if __name__ == "__main__":
    verb, *rest = sys.argv[1:] or [""]
    if verb == "count":
        count(rest[0] if rest else COUNTS)
    elif verb == "table":
        sys.stdout.write(table())
    elif verb == "check":
        check()
    elif verb == "cpu" and rest:
        cpu(rest[0])
    else:
        sys.exit(__doc__)
