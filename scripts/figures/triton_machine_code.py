"""Counts what the machine code of the kernels of examples/triton-article does: SASS by NVIDIA's tool that comes with Triton, AMD's assembly.

It is walked through as one warp does, which executes in order and waits for what it reads. Branches that leave out masked loads are not
taken. A loop is gone through as often as the sums need.
"""

import math
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/triton-article"
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
DEVICES = ("H200", "A100", "MI300X")


def devices(names=DEVICES):
    with open(ROOT / "kernels/devices.toml", "rb") as file:
        known = {device["name"]: device for device in tomllib.load(file)["device"]}
    return {name: known[name] for name in names}


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
