#!/usr/bin/env python3
"""Why the kernels of examples/triton-article take as long as they do, computed: docs/triton-article.md.

    scripts/triton_article.py count [FILE]     compiles them by Triton for GPUs that are not there, and counts what the machine code does
    scripts/triton_article.py table            the verdicts, of the counts that are committed; needs no Triton
    scripts/triton_article.py check            whether the page has what `table` prints
    scripts/triton_article.py cpu FOLDER       best times of sweeps on a processor, and verdicts by its measured peaks

`count` walks through the machine code (SASS by NVIDIA's tool that comes with Triton, AMD's assembly) as one warp does, which executes in order and
waits for what it reads. Branches that leave out masked loads are not taken. A loop is gone through as often as the sums need.
"""

import json
import math
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "examples/triton-article"
COUNTS, MEASURED, PAGE = FOLDER / "counts.json", FOLDER / "h200.jsonl", ROOT / "docs/triton-article.md"
SIZE = (4096, 6144, 8192)  # M, N, K: the article's, inferred
SECTOR = 32  # bytes that a cache moves at least

# What descriptions of devices do not state. Bytes are a clock's: `line` of a unit's first cache and shared memory, `cache` of the whole last-level
# cache. `near` counts the caches before it, of which each reads a row of A once. Latencies are clocks, rounded from published measurements.
VENDORS = {
    "NVIDIA": {
        "line": 128, "cache": 5120, "near": None, "schedulers": 4, "warps": 64, "programs": 32,
        "latency": {"shared": 30, "cache": 270, "dram": 650, "shuffle": 24, "barrier": 30, "arithmetic": 4},
    },
    "AMD": {
        "line": 64, "cache": 8192, "near": 8, "schedulers": 4, "warps": 32, "programs": 16,
        "latency": {"shared": 64, "cache": 480, "dram": 750, "shuffle": 8, "barrier": 30, "arithmetic": 4},
    },
}  # fmt: skip
# TFLOP/s of TF32, dense: makers' data sheets
TF32 = {"H200": 494.7, "H100": 494.7, "A100": 156.0, "MI300X": 653.7}
DEVICES = ("H200", "A100", "MI300X")
PRINTED = (261.942, 1.5741)  # ms and TFLOP/s that the article prints, of which SIZE is inferred


def devices(names=DEVICES):
    with open(ROOT / "kernels/devices.toml", "rb") as file:
        known = {device["name"]: device for device in tomllib.load(file)["device"]}
    return {name: known[name] for name in names}


# --- the machine code ---------------------------------------------------------------------------------------------------------------------------


class Instruction:
    """One of the machine code: its label or address, what it is called, its operands, whether it is never executed."""

    def __init__(self, at, name, operands, never=False, guard=""):
        self.at, self.name, self.operands, self.never, self.guard = at, name, operands, never, guard


def of_sass(text):
    """Instructions, and the place of each address."""
    found = []
    for address, guard, name, rest in re.findall(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@(\S+)\s+)?([A-Z][\w.]*)\s*([^;]*);", text, re.M):
        operands = [word.strip() for word in rest.split(",")] if rest.strip() else []
        found.append(Instruction(int(address, 16), name, operands, guard == "!PT", guard))
    return found, {one.at: at for at, one in enumerate(found)}


def of_amdgcn(text):
    found, places = [], {}
    for line in text[text.index(".Lfunc_begin0:") : text.index(".Lfunc_end0:")].splitlines():
        if label := re.match(r"(\.LBB\w+):", line):
            places[label[1]] = len(found)
        elif match := re.match(r"\t((?:[svd]_|ds_|global_|buffer_|flat_|scratch_)\w+)\s*([^;]*)", line):
            operands = [word.strip() for word in match[2].split(",")] if match[2].strip() else []
            found.append(Instruction(len(found), match[1], operands))
    return found, places


def target(one, places):
    """Where a branch goes; None for what is no branch, or ends a program."""
    if one.name == "BRA":
        return places[int(re.search(r"0x([0-9a-f]+)", one.operands[-1])[1], 16)]
    if one.name.startswith(("s_branch", "s_cbranch")):
        return places[one.operands[0]]
    return None


def unconditional(one):
    return one.name == "s_branch" or (one.name == "BRA" and not one.guard)


def path(code, places, trips):
    """The instructions that are executed, in order.

    >>> code = [(0, "@P0", "BRA 0x30"), (16, "", "FADD R0, R0, R1"), (32, "", "BRA 0x60"), (48, "", "LDG.E R1, [R2]")]
    >>> code += [(64, "", "FFMA R0, R1, R1, R0"), (80, "@P1", "BRA 0x30"), (96, "", "STG.E [R2], R0"), (112, "", "EXIT"), (128, "", "BRA 0x80")]
    >>> code, places = of_sass("\\n".join(f"  /*{at:04x}*/ {guard} {what} ;" for at, guard, what in code))
    >>> [one.name for one in path(code, places, 2)]
    ['BRA', 'LDG.E', 'FFMA', 'BRA', 'LDG.E', 'FFMA', 'BRA', 'STG.E', 'EXIT']
    """
    at, rounds, way_out = 0, trips, None
    while at < len(code):
        one = code[at]
        to = target(one, places)
        yield one
        if one.name in ("EXIT", "s_endpgm") and not one.guard:
            return
        if to is None:
            at += 1
        elif to <= at:  # the loop's end
            rounds -= 1
            at = to if rounds > 0 else (way_out if unconditional(one) else at + 1)
            if at is None:
                return  # an endless loop behind the end
        elif unconditional(one):
            at = to
        elif target(code[to - 1], places) is not None and unconditional(code[to - 1]) and target(code[to - 1], places) >= to:
            at = to  # what is between is for sums of no products
        else:
            way_out = to
            at += 1


def multiply_adds(name, lanes):
    """Of an instruction of one warp; of a warp group's instruction, its quarter.

    >>> [multiply_adds(name, 32) for name in ("FFMA", "HGMMA.64x64x8.F32.TF32", "HMMA.1688.F32.TF32", "FADD")]
    [32, 8192, 1024, 0]
    >>> [multiply_adds(name, 64) for name in ("v_fmac_f32_e32", "v_mfma_f32_32x32x2_f32", "v_mfma_f32_32x32x4_xf32", "v_add_f32_e32")]
    [64, 2048, 4096, 0]
    """
    if match := re.fullmatch(r"HGMMA\.(\d+)x(\d+)x(\d+)\..*", name):
        return math.prod(map(int, match.groups())) // 4
    if name.startswith("HMMA.1688"):
        return 16 * 8 * 8
    if match := re.match(r"v_mfma_f32_(\d+)x(\d+)x(\d+)_?x?f32", name):
        return math.prod(map(int, match.groups()))
    if re.match(r"FFMA|FMUL|v_fmac?_f32|v_mul_f32", name):
        return lanes
    if re.match(r"v_pk_(fma|mul)_f32", name):
        return 2 * lanes
    return 0


def width(name):
    """Bytes of a lane, of a load or a store.

    >>> [width(name) for name in ("LDG.E", "LDG.E.128", "LDS.64", "LDSM.16.M88.4", "global_load_dword", "buffer_load_dwordx4", "ds_read2_b32")]
    [4, 16, 8, 16, 4, 16, 8]
    """
    if match := re.search(r"\.(32|64|128)\b|dword(?:x([234]))?$|_b(32|64|96|128)\b|_x?f32$", name):
        bits, words, ds = match[1], match[2], match[3]
        return (int(bits or ds) // 8 if bits or ds else 4 * int(words or 1)) * (2 if "2_b" in name or "2st64" in name else 1)
    return 16 if name.startswith("LDSM") else 4  # four 8 x 8 matrices


def kind(name):
    for what, pattern in {
        "load": r"LDG(\.|$)|LDGSTS|global_load|buffer_load",
        "store": r"STG|global_store|buffer_store",
        "shared load": r"LDS(\.|$)|LDSM|ds_read",
        "shared store": r"STS|ds_write",
        "shuffle": r"SHFL|v_\w+_dpp|ds_bpermute|ds_swizzle|v_readlane|v_permlane",
        "barrier": r"BAR\.|s_barrier",
    }.items():
        if re.match(pattern, name):
            return what
    return ""


def registers(word):
    """Of an operand: ('R', 4) and those behind it."""
    found = []
    for file, first, pair in re.findall(r"\b(UR|R|UP|P)(\d+)(\.64)?", word):
        found += [(file, int(first) + more) for more in range(2 if pair else 1)]
    for file, first, last in re.findall(r"\b([vsa])\[(\d+):(\d+)\]", word):
        found += [(file, at) for at in range(int(first), int(last) + 1)]
    found += [(file, int(at)) for file, at in re.findall(r"\b([vsa])(\d+)\b", word)]
    return found + [("vcc", 0)] * ("vcc" in word)


def written(one):
    """What an instruction writes, and what it reads."""
    name, words = one.name, one.operands
    what = kind(name)
    if what in ("store", "shared store", "barrier") or name.startswith("LDGSTS") or not words:
        extra = []
        if what in ("store", "shared store") and name[0].isupper():  # the data are as many registers as the width has
            extra = [(file, at + more) for file, at in registers(words[-1])[:1] for more in range(width(name) // 4)]
        return [], [r for word in words for r in registers(word)] + extra
    results = 1 if not name.startswith(("SHFL", "ISETP", "FSETP", "PLOP3")) else 2
    while name[0].isupper() and results < len(words) and re.fullmatch(r"U?P\d", words[results]):
        results += 1
    to = [r for word in words[:results] for r in registers(word)]
    if to and name[0].isupper() and to[0][0] in ("R", "UR"):
        more = width(name) // 4 if what else 2 if re.search(r"WIDE|CS2R|\.64", name) else 1
        to += [(to[0][0], to[0][1] + at) for at in range(1, more)]
    if name.startswith("v_cmp") and name.endswith("e32"):
        to.append(("vcc", 0))
    reads = [r for word in words[results:] for r in registers(word)] + registers(one.guard)
    return to, reads + (to if re.match(r"v_fmac", name) else [])


def walk(code, places, trips, lanes, latency, far):
    """Clocks of a warp that is alone, whose loads take `far` clocks."""
    amd = lanes == 64
    ready, clock, copies, open_copies, products = {}, 0.0, [], 0.0, []
    known = {}
    for one in path(code, places, trips):
        if one.never:
            continue
        name = one.name
        if one.at not in known:
            known[one.at] = (*written(one), kind(name), multiply_adds(name, lanes))
        to, reads, what, macs = known[one.at]
        matrix = name.startswith(("HGMMA", "HMMA", "v_mfma"))
        if not name.startswith("HGMMA"):
            clock = max([clock, *(ready.get(r, 0.0) for r in reads)])
        takes = 4 if amd and name.startswith("v_") else 1
        if name.startswith("LDGSTS"):
            open_copies = clock + far
        elif name == "LDGDEPBAR":
            copies.append(open_copies)
        elif name.startswith("DEPBAR.LE"):
            left = int(one.operands[1], 16)
            clock = max([clock, *copies[: len(copies) - left]])
        elif name.startswith("HGMMA"):  # 1,024 products a clock of a unit, in order
            products.append(max(products[-1] if products else 0.0, clock) + 4 * macs / 1024)
        elif name.startswith("WARPGROUP.DEPBAR"):
            left = int(one.operands[-1], 16)
            clock = max([clock, *products[: len(products) - left]])
        delay = latency["arithmetic"]
        if what == "load":
            delay = far
        elif what in ("shared load", "shuffle", "barrier"):
            delay = latency[what.split()[0]]
        elif matrix:
            delay = macs / (32 if "xf32" not in name else 128) if amd else 33
        elif name.startswith(("S2", "LDC", "ULDC", "s_load")):
            delay = latency["shared"]
        for r in to:
            ready[r] = clock + delay
        clock += delay if what == "barrier" else takes
    return clock


def loop_trips(code, places, lanes, warps, needed):
    """How often the loop is gone through, so that the program has the products that it needs: a whole number, or the count is wrong."""
    def macs(trips):
        return warps * sum(multiply_adds(one.name, lanes) for one in path(code, places, trips) if not one.never)

    once, twice = macs(1), macs(2)
    if once == twice == needed:
        return 1
    trips = 1 + (needed - once) / (twice - once) if twice > once else 0
    if trips < 1 or trips != int(trips):
        raise SystemExit(f"the products of the machine code do not come to {needed}: {once} in one trip, {twice} in two")
    return int(trips)


def share_of_shared(ttgir, tile):
    """Bytes that a warp's loads of tiles from shared memory move for each that its lanes get: lanes that read one place read it once, and a load of
    16 bytes a lane takes a clock at least. By the layout of the sums; 1 where matrix instructions compute them."""
    size = f"{tile['BLOCK_M']}x{tile['BLOCK_N']}"
    layout = re.search(rf"tt\.dot .*-> tensor<{size}xf32, (#blocked\d*)>", ttgir)
    if not layout:
        return 1.0
    found = re.search(rf"{layout[1]} = .*threadsPerWarp = \[(\d+), (\d+)\], warpsPerCTA = \[(\d+), (\d+)\]", ttgir)
    lanes_m, lanes_n, warps_m, warps_n = map(int, found.groups())
    rows, columns = tile["BLOCK_M"] / (lanes_m * warps_m), tile["BLOCK_N"] / (lanes_n * warps_n)  # of a lane
    clocks = rows * max(1.0, lanes_m * 16 / 128) + columns * max(1.0, lanes_n * 16 / 128)
    return clocks / ((rows + columns) * 32 * 16 / 128)


def count_one(name, device):
    """What one program of a kernel does on a device's architecture."""
    sys.path.insert(0, str(FOLDER))
    import kernels
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel, _, warps, stages = kernels.LAUNCHES[name]
    constants = kernels.constants_of(name, SIZE[2])
    names = kernel.arg_names
    types = {n: "constexpr" if n in constants else "*fp32" if n.islower() else "i32" for n in names}
    hints = {(at,): [["tt.divisibility", 16]] for at, n in enumerate(names) if n not in constants}
    nvidia = device["vendor"] == "NVIDIA"
    where = GPUTarget("cuda", int(device["architecture"][3:]), 32) if nvidia else GPUTarget("hip", device["architecture"], 64)
    source = ASTSource(fn=kernel, signature=types, constexprs={(names.index(n),): v for n, v in constants.items()}, attrs=hints)
    done = triton.compile(source, target=where, options={"num_warps": warps, "num_stages": stages})
    lanes = where.warp_size
    if nvidia:
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(done.asm["cubin"])
            file.flush()
            tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
            both = [tool, "-sass", "--dump-resource-usage", file.name]
            said = subprocess.run(both, capture_output=True, text=True, check=True).stdout
        code, places = of_sass(said)
        used = int(re.search(r"REG:(\d+)", said)[1])
    else:
        code, places = of_amdgcn(done.asm["amdgcn"])
        used = int(re.search(r"\.vgpr_count:\s*(\d+)", done.asm["amdgcn"])[1])
    tile = (constants.get("BLOCK_M", 1), constants.get("BLOCK_N", 1))
    trips = loop_trips(code, places, lanes, warps, tile[0] * tile[1] * SIZE[2])
    executed = [one for one in path(code, places, trips) if not one.never]
    # what a kernel alone strides over: the loads of one element by `naive`, which are of a column of B
    stride = {4: 4 * SIZE[1]} if name == "naive" else {}
    moved = {what: 0.0 for what in ("load", "shared")}
    shares = share_of_shared(done.asm["ttgir"], constants) if "BLOCK_M" in constants else 1.0
    times, lines = {}, 0.0
    for one in executed:
        what = kind(one.name)
        times[what] = times.get(what, 0) + 1
        if what == "load":
            moved["load"] += lanes * width(one.name)
            lines += lanes * min(1.0, stride.get(width(one.name), 16) / 128)
            if one.name.startswith("LDGSTS"):
                moved["shared"] += lanes * width(one.name)
        elif what.startswith("shared"):
            moved["shared"] += lanes * width(one.name) * (shares if what == "shared load" and nvidia else 1)
        elif one.name.startswith("HGMMA"):  # reads 64 x 8 and 8 x 64 elements by itself; a quarter is the warp's
            moved["shared"] += 4 * (64 * 8 + 8 * 64) / 4
    latency = VENDORS[device["vendor"]]["latency"]
    return {
        "warps": warps,
        "registers": used,
        "shared": done.metadata.shared,
        "trips": trips,
        "tile": tile,
        "instructions": len(executed),
        "vector": sum(one.name.startswith("v_") and "mfma" not in one.name for one in executed),
        "loads": times.get("load", 0),
        "shared_accesses": times.get("shared load", 0) + times.get("shared store", 0),
        "arithmetic": sum(multiply_adds(one.name, lanes) > 0 for one in executed),
        "loaded_bytes": moved["load"],
        "lines": lines,
        "shared_bytes": moved["shared"],
        "bypasses": any("BYPASS" in one.name for one in executed),
        "chain": {level: round(walk(code, places, trips, lanes, latency, latency[level])) for level in ("cache", "dram")},
    }


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


# --- verdicts -----------------------------------------------------------------------------------------------------------------------------------

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
    page = PAGE.read_text()
    shown = re.search(r"<!-- figures: scripts/triton_article.py -->\n(.*?)<!-- end of figures -->", page, re.S)
    if not shown or shown[1].strip() != table().strip():
        sys.exit("docs/triton-article.md does not show what scripts/triton_article.py prints")
    print("triton_article: the page shows what is computed")


def cpu(folder):
    """Of NAME.jsonl, and of what `validate` said of the peaks, gemm.md: docs/measuring.md has the rule."""
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
