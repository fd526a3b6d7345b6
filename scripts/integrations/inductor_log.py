#!/usr/bin/env python3
"""Turns what Inductor prints with max_autotune_gemm into AutoHeuristic's form, for `seqtune import autoheuristic`.

usage: scripts/integrations/inductor_log.py [--strict] LOG... > mm.txt

Inductor prints the ten fastest choices of each product (`AUTOTUNE mm(…)`), AutoHeuristic keeps all; of a product that a file of
AutoHeuristic among the LOGs holds, that file's times are taken, and what it says of the GPU. Without one the import needs `--device`, as a log does
not name the GPU. Only products in half precision are read. A LOG may be compressed (.gz, .bz2, .xz), have tags of ranks before its lines, and lines of
other programs between them. What is left out is counted on standard error, or refused with --strict; docs/integrations/inductor.md lists it.
"""

import bz2
import gzip
import lzma
import re
import sys
from collections import namedtuple

PACKED = {b"\x1f\x8b": gzip, b"BZh": bz2, b"\xfd7zXZ": lzma}
MOST_BYTES = 1 << 30  # of a file, unpacked

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# what torchrun, PyTorch's log and srun write before a line of one process
RANK = re.compile(r"^\s*(?:\[(?:rank|default)?(\d+)\](?:<\w+>)?:|(\d+): )")
HEAD = re.compile(r"AUTOTUNE (\w+)\((.*)\)\s*$")
STRIDES = re.compile(r"\bstrides: (.*)$")
DTYPES = re.compile(r"\bdtypes: (.*)$")
CHOICE = re.compile(r"(?:^|\s)(\w[\w.:]*) ([-+\w.]+) ms\s+\S+%(.*)$")
END = re.compile(r"AUTOTUNE benchmarking takes")
PLAIN = re.compile(r"triton_mm_\d+$")
LIBRARY = re.compile(r"(?:aten::|extern_)?mm$")
# what a choice needs, and what AutoHeuristic's form has no word for: the values that Inductor gives it everywhere
NEEDED = ("BLOCK_M", "BLOCK_K", "BLOCK_N", "num_stages", "num_warps")
USUAL = {"GROUP_M": "8", "num_consumer_groups": "0", "num_buffers_warp_spec": "0"}
CONTEXT = 12  # columns that tell the product

# of no GPU, so that an import without --device is refused
FIRST = (
    '{"shared_memory": 0, "device_capa": [0, 0], "name": "mm", "numerical_features": ["m", "k", "n", "mat1_stride_0", "mat1_stride_1", '
    '"mat2_stride_0", "mat2_stride_1"], "categorical_features": ["mat1_dtype", "mat2_dtype", "mat1_iscontig", "mat2_iscontig", "using_tf32"]}'
)
COLUMNS = "m,k,n,mat1_dtype,mat2_dtype,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_iscontig,mat2_iscontig,using_tf32,choice,feedback"


def refuse(why: str):
    """Ends the program: the files are not what it reads."""
    print(f"inductor_log.py: {why}", file=sys.stderr)
    sys.exit(2)


class LeftOut:
    """What is not read, by reason, with the first of each."""

    def __init__(self):
        self.reasons = {}

    def add(self, what: str, why: str, place: str) -> None:
        count, first = self.reasons.get((what, why), (0, place))
        self.reasons[what, why] = count + 1, first

    def tell(self, strict: bool) -> None:
        lines = [f"left out, {count} {what}{'' if count == 1 else 's'}: {why}, first: {place}" for (what, why), (count, place) in self.reasons.items()]
        if strict and lines:
            refuse(f"--strict: {lines[0]}")
        for line in lines:
            print(f"inductor_log.py: {line}", file=sys.stderr)


class Open:
    """A product whose choices are being read."""

    def __init__(self, op: str, shapes: str, place: str):
        self.op, self.shapes, self.place = op, shapes, place
        self.strides = self.dtypes = None
        self.choices = []

    def context(self):
        """AutoHeuristic's columns of the product, or why it is none: context, reason."""
        if self.op != "mm":
            return None, f"it is no `mm`, the only product that is read, but `{self.op}`"
        shapes = re.fullmatch(r"(\d+)x(\d+), (\d+)x(\d+)", self.shapes)
        if not shapes or shapes[2] != shapes[3]:
            return None, "its sizes are not written as MxK, KxN"
        if self.strides is None or self.dtypes is None:
            return None, "it has no strides and dtypes, which an older PyTorch does not print"
        strides = re.fullmatch(r"\[(\d+), (\d+)\], \[(\d+), (\d+)\]", self.strides)
        if not strides:
            return None, "its strides are not written as two pairs"
        dtypes = self.dtypes.split(", ")
        if len(dtypes) != 2 or dtypes[0] != dtypes[1] or dtypes[0] not in ("torch.float16", "torch.bfloat16"):
            return None, "its matrices are not both in float16 or both in bfloat16"
        m, k, _, n = shapes.groups()
        s0, s1, t0, t1 = strides.groups()
        # of rows that follow one another, or of one row
        contiguous = [stride == "1" and other == size for stride, other, size in ((s1, s0, k), (t1, t0, n))]
        return ",".join([m, k, n, *dtypes, s0, s1, t0, t1, *map(str, contiguous), "not_float_32"]), ""


Line = namedtuple("Line", "name time rest place")


def number(text: str):
    """Milliseconds as AutoHeuristic writes them, `inf` for a choice that failed; `None` of what is no time."""
    try:
        value = float(text)
    except ValueError:
        return None
    return text if value > 0 else None


def written(line: Line):
    """What AutoHeuristic calls a choice, what else its line says, and its time; or why it is left out, as one word."""
    time = number(line.time)
    if time is None:
        return None, None, "its time is no number above 0"
    if LIBRARY.match(line.name):
        return "extern_mm", "", time
    if not PLAIN.match(line.name):
        return None, None, f"it is of another template, `{re.sub('_?[0-9]+$', '', line.name)}`"
    of = dict(re.findall(r"(\w+)=('[^']*'|[^\s,]+)(?:,|\s*$)", line.rest))
    if any(not of.get(name, "").isdecimal() for name in NEEDED) or line.rest.count("'") % 2:
        return None, None, "its line is cut off"
    unusual = [name for name, usual in USUAL.items() if of.get(name, usual) != usual]
    if unusual:
        return None, None, f"it has another {unusual[0]} than {USUAL[unusual[0]]}, which kernel triton_mm has no parameter for"
    tile = "_".join(f"BLOCK-{axis}={of[f'BLOCK_{axis}']}" for axis in "MKN")
    other = ",".join(f"{name}={value}" for name, value in sorted(of.items()) if name not in NEEDED)
    return f"type=triton_{tile}_numstages={of['num_stages']}_numwarps={of['num_warps']}", other, time


def closed(product: Open, kept: dict, left_out: LeftOut) -> None:
    """Keeps the choices of a product."""
    context, why = product.context()
    if context is None:
        left_out.add("product", why, product.place)
        return
    found, others = {}, {}
    for line in product.choices:
        name, other, time = written(line)
        if name is None:
            left_out.add("choice", time, line.place)
        elif others.setdefault(name, other) != other:
            left_out.add("choice", "it differs from a quicker one of its product in what kernel triton_mm has no parameter for", line.place)
        else:
            found[name] = time
    if not found:
        left_out.add("product", "none of its choices is whole", product.place)
        return
    if context in kept:
        left_out.add("product", "it is printed again later, and the newest counts", product.place)
    kept[context] = found


def printed(path: str, text: str, kept: dict, left_out: LeftOut) -> int:
    """Reads the products of a log into `kept`; gives how many there are."""
    products, of_rank = 0, {}
    for at, line in enumerate(text.splitlines(), 1):
        line, place = ESCAPE.sub("", line).rstrip(), f"{path}, line {at}"
        rank = RANK.match(line)
        key, line = (rank[1] or rank[2], line[rank.end() :]) if rank else (None, line)
        product = of_rank.get(key)
        if head := HEAD.search(line):
            if product:
                closed(product, kept, left_out)
            of_rank[key] = Open(head[1], head[2], place)
            products += 1
        elif product is None:
            continue
        elif END.search(line):
            closed(of_rank.pop(key), kept, left_out)
        elif found := STRIDES.search(line):
            product.strides = product.strides or found[1]
        elif found := DTYPES.search(line):
            product.dtypes = product.dtypes or found[1]
        elif found := CHOICE.search(line):
            product.choices.append(Line(found[1], found[2], found[3], place))
    for product in of_rank.values():
        closed(product, kept, left_out)
    return products


def text_of(path: str) -> str:
    """The text of a file, unpacked."""
    try:
        with open(path, "rb") as file:
            magic = file.read(6)
        packed = next((module for start, module in PACKED.items() if magic.startswith(start)), None)
        with packed.open(path) if packed else open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except EOFError:
        refuse(f"{path}: its packed data are cut off; fetch it again")
    except (OSError, lzma.LZMAError) as error:
        refuse(f"{path}: {getattr(error, 'strerror', None) or error}")
    if len(data) > MOST_BYTES:
        refuse(f"{path}: has more than {MOST_BYTES >> 20} MB; keep what Inductor prints alone")
    if data[:4] in (b"PK\x03\x04", b"\x28\xb5\x2f\xfd"):
        refuse(f"{path}: is a {'zip' if data[:2] == b'PK' else 'zstd'} archive; unpack it first")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # PowerShell redirects so
        return data.decode("utf-16", errors="replace")
    return data.decode(errors="replace").removeprefix("\ufeff")


def main(words: list[str]) -> None:
    strict, paths = "--strict" in words, [word for word in words if word != "--strict"]
    if not paths or any(path.startswith("--") for path in paths):
        print(__doc__.strip(), file=sys.stdout if {"-h", "--help"} & set(words) else sys.stderr)
        sys.exit(0 if {"-h", "--help"} & set(words) else 2)
    first, of, kept, whole, left_out, products = FIRST, None, {}, {}, LeftOut(), 0
    for path in paths:
        text = text_of(path)
        if not text.startswith("{"):
            products += printed(path, text, kept, left_out)
            continue
        head, *lines = text.splitlines()
        if lines[:1] != [COLUMNS]:
            refuse(f"{path}: is no file of AutoHeuristic of mm: its second line is not {COLUMNS}")
        if of and head != first:
            refuse(f"{path}: is of another GPU or kernel than {of}; make a file for each")
        first, of = head, path
        for at, line in enumerate(lines[1:], 3):
            cells = line.split(",")
            if len(cells) == CONTEXT + 2:
                whole.setdefault(",".join(cells[:CONTEXT]), []).append(tuple(cells[CONTEXT:]))
            elif line:
                left_out.add("row", f"it has {len(cells)} cells and not {CONTEXT + 2}", f"{path}, line {at}")
    if not kept and not whole:
        left_out.tell(False)
        refuse(
            "no product of the logs can be read"
            if products
            else "no log holds `AUTOTUNE mm(…)` of products in half precision; run with max_autotune_gemm, and keep what it prints to standard error"
        )
    left_out.tell(strict)
    print(first, COLUMNS, sep="\n")
    for context, choices in {**kept, **whole}.items():
        # measured twice, the last time counts
        for name, time in dict(choices).items():
            print(context, name, time, sep=",")


if __name__ == "__main__":
    main(sys.argv[1:])
