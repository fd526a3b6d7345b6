"""The bad and extreme inputs of scripts/bad_inputs.py, by class. Each is of a kind; what is given is made here, of small files."""

import bz2
import gzip
import hashlib
import json
import lzma
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

#: Clears the screen, turns text around, hides some, rings, and begins a line of its own.
HOSTILE = {
    "an escape sequence": "a\x1b[2Jb",
    "an order of C1": "a\x9b31mb",
    "text turned around": "a\u202eb",
    "text that is hidden": "a\u200b\U000e0041b",
    "a line of its own": "a\r\nseqtune: all is well",
    "a bell": "a\x07b",
}

#: A program whose time is printed by a script, and what a sweep of it needs.
HEAD = """name = 'mine'
meaning = 'mine'
field = [{ name = 'n', kind = 'size', min = 1, max = 9, shape = true, meaning = 'size' }]
parameter = [{ name = 'A', values = [1, 2], default = 1, meaning = 'one' }]
"""
SWEEP = ["sweep", "k", "--problems", "n=4", "--exhaustive", "-o", "j.jsonl"]
FAKE = ["sweep", "gemm", "--device", "fake", "--sample", "12", "-o", "j.jsonl", "--problems", "M=64,N=64,K=64", "M=100,N=7,K=3"]
VEC = """name = 'vec'
meaning = 'z = x + y'
field = [{ name = 'n', kind = 'size', min = 1, max = 1000000000, shape = true, meaning = 'elements' }]
parameter = [{ name = 'block', values = [32, 64, 128, 256], default = 128, meaning = 'threads' }]
work = { flops = 'n', bytes = '12 * n' }
"""
CONVOLUTION = "64-56-56-1x1-64-56-56-32-0x0-1x1-1x1-0-NCHW-FP32-F"
PARAMETERS = "1,16,1,64,2,1,1,2"


class Unmade(Exception):
    """What a case is made of could not be made by this build."""


@dataclass
class Case:
    """One input: the words of a command, the files that it finds, and what is to come of it."""

    kind: str
    what: str
    words: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    status: tuple = (2,)
    #: Files that the command may change or leave.
    changes: tuple = ()
    #: More that is to hold where it is served: a fault in words, or nothing.
    check: Callable = None
    #: What is done before the command, with the program itself.
    run: Callable = None
    environment: dict = field(default_factory=dict)

    def place(self, folder):
        for name, given in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(given):
                given(path)
            else:
                path.write_bytes(given if isinstance(given, bytes) else given.encode("utf-8", "surrogateescape"))


def made(program, folder, *words, environment=None):
    """Runs the program for what a case needs."""
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, env={**os.environ, **(environment or {})}, timeout=120)
    if done.returncode:
        raise Unmade(f"{' '.join(words[:3])}: {done.stderr.strip()[-200:]}")
    return done.stdout


def cases(root):
    """All inputs."""
    toy = root / "src/predict/toy"
    for part in (texts, sizes, checks, names, others_files, children, endless, others_values, others_merged, others_parts, others_kinds):
        yield from part(toy)


# Text from outside


def journal(change, name="j.jsonl"):
    """A sweep's journal whose head, and whose records, were changed."""

    def run(program, folder):
        made(program, folder, *FAKE, environment={"SEQTUNE_FAKE": "faults"})
        lines = [json.loads(line) for line in (folder / "j.jsonl").read_text().splitlines()]
        lines = change(lines) or lines
        (folder / "j.jsonl").unlink()
        os.makedirs(os.path.dirname(folder / name) or folder, exist_ok=True)
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
        return ""

    return run


def head(*keys, value):
    """Changes a value in a journal's first line."""

    def change(lines):
        place = lines[0]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def sealed(change):
    """A model whose description was changed, with the right checksum."""

    def run(path, tensors=None):
        bytes_ = path.read_bytes()
        length = struct.unpack("<Q", bytes_[:8])[0]
        header = json.loads(bytes_[8 : 8 + length])
        meta = header["__metadata__"]
        meta["seqtune"] = json.dumps(change(json.loads(meta["seqtune"])), separators=(",", ":"))
        meta["sha256"] = "0" * 64
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        text += b" " * (-len(text) % 8)
        whole = struct.pack("<Q", len(text)) + text + bytes_[8 + length :]
        at = whole.index(b'"sha256":"') + 10
        sum_ = hashlib.sha256(whole[:at] + whole[at + 64 :]).hexdigest().encode()
        path.write_bytes(whole[:at] + sum_ + whole[at + 64 :])

    return run


def model(toy, change):
    """The toy model, changed."""

    def place(path):
        path.mkdir(exist_ok=True)
        shutil.copy(toy / "model/model.safetensors", path / "model.safetensors")
        sealed(change)(path / "model.safetensors")

    return place


def with_value(value, *keys):
    def change(description):
        place = description
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        return description

    return change


def compiles(_, folder):
    """That an exported header is right C++."""
    (folder / "main.cpp").write_text('#include <climits>\n#include <cmath>\n#include <cstdio>\n#include "o.h"\nint injected() { return 0; }\nint main() { return injected(); }\n')
    done = subprocess.run(["c++", "-std=c++17", "-I.", "-fsyntax-only", "-w", "main.cpp"], cwd=folder, capture_output=True, text=True)
    return f"odd: {done.stderr.splitlines()[0][:120]}" if done.returncode else ""


def toml(text):
    """A string of TOML."""
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text) + '"'


def texts(toy):
    kind = "text from outside"
    kernel = {"toy/kernel.toml": (toy / "kernel.toml").read_bytes()}
    verbs = [["check", "j.jsonl"], ["check", "j.jsonl", "--json"], ["status", "."], ["convert", "j.jsonl", "-o", "o.sqt"]]
    for key in (("command",), ("tool",), ("date",), ("device", "vendor"), ("device", "architecture"), ("device", "source"), ("device", "driver")):
        for name, text in HOSTILE.items():
            for words in verbs if name == "an escape sequence" else verbs[:1]:
                yield Case(kind, f"{words[0]}: {name} in a journal's {key[-1]}", words, run=journal(head(*key, value=text)), status=(0, 2))
    for name, text in HOSTILE.items():
        file = f"x{text}.jsonl"
        for words in (["check", file], ["status", "."], ["export", "csv", file, "-o", "o.csv"], ["merge", file, "-o", "o.sqt"]):
            yield Case(kind, f"{words[0]}: {name} in a file's name", words, run=journal(lambda lines: lines, file), status=(0, 2))
        yield Case(kind, f"check: {name} in the kernel's name of a journal", ["check", "j.jsonl"], run=journal(head("kernel", value=text)), status=(2,))
        for key in ("date", "tool", "command"):
            yield Case(kind, f"check: {name} in a model's {key}", ["check", "m"], {"m": model(toy, with_value(text, key))}, status=(0, 2))
        for words in (["check", "m"], ["predict", "m", "toy", "M=64"]):
            files = {"m": model(toy, with_value(text, "devices", 0, "name")), **kernel}
            yield Case(kind, f"{words[0]}: {name} in the name of a model's device", words, files, status=(2,))
        for place in ("meaning = 'mine'", "name = 'A'", "meaning = 'size'"):
            changed = HEAD.replace(place, f"{place.split(' = ')[0]} = {toml(text)}", 1) + "[run]\ncommand = ['true']\ntime = 'wall'\n"
            for words in (["check", "k"], ["space", "k", "n=4", "--device", "H200"]):
                yield Case(kind, f"{words[0]}: {name} in {place.split(' = ')[0]} of a kernel", words, {"k/kernel.toml": changed}, status=(0, 2))
        script = f"printf '%s\\n' {json.dumps(text, ensure_ascii=False)}\nexit 1\n".encode()
        table = HEAD + "[run]\ncommand = ['sh', '{kernel}/s.sh']\nfiles = ['s.sh']\ntime = { pattern = 'time ([0-9.]+)' }\n"
        yield Case(kind, f"sweep: {name} in what a program prints", SWEEP, {"k/kernel.toml": table, "k/s.sh": script}, (0, 1, 3), ("j.jsonl",))
        device = f"[[device]]\nname = {toml(text)}\nlimits = {{ is_cpu = 0.0 }}\n"
        for words in (["check", "d.toml"], ["devices", "d.toml"], ["space", "toy", "M=64", "--device", "d.toml"]):
            if words[0] != "devices":
                yield Case(kind, f"{words[0]}: {name} in a device's name", words, {"d.toml": device, **kernel}, (2,))
    header = ["export", "header", "m", "M=64", "M=128", "--kernel", "toy", "--samples", "30", "-o", "o.h"]
    for name in ("A100 */ int injected; /*", "A100 */ #error x", "A100 \\", "A100 ??/", 'A100 " + "', "A100 // \\"):
        files = {"m": model(toy, with_value(name, "devices", 0, "name")), **kernel}
        yield Case(kind, f"export header: a device called `{name}`", header, files, (0, 2), ("o.h",), compiles)
    for name in ("_", "1st", "a b", "seqtune", "NULL", "INT_MAX"):
        device = (toy.parent.parent.parent / "kernels/devices.toml").read_text().split("[[device]]")[1].replace("name = \"H200\"", f"name = {json.dumps(name)}")
        words = ["export", "header", "m", "M=64", "--kernel", "toy", "--samples", "30", "-o", "o.h", "--device", "d.toml"]
        yield Case(kind, f"export header: --device of a device called `{name}`", words, {"m": model(toy, lambda d: d), "d.toml": "[[device]]" + device, **kernel}, (0, 2), ("o.h",), compiles)
    # a parameter, a field or a label called like a macro, a word or a type of C
    source = "kernel void entry(global float* y) {}"
    for name in ("float", "int", "entry", "kernel", "global", "half", "__global", "defined", "NULL"):
        text = HEAD.replace("name = 'A'", f"name = '{name}'") + CL_TABLES
        yield Case(kind, f"check: parameter `{name}` of an OpenCL kernel", ["check", "k"], {"k/kernel.toml": text, "k/x.cl": source}, (2,) if name in ("float", "int", "entry") else (0, 2))


CL_TABLES = """[[argument]]
name = 'y'
kind = 'out'
length = '1'
element = '4'
[program]
file = 'x.cl'
entry = 'entry'
global = ['1']
local = []
[reference]
file = 'x.cl'
entry = 'entry'
global = ['1']
local = []
[work]
flops = '1'
bytes = '1'
"""

# Sizes that are believed


def zeros(size, pack):
    """A file of packed spaces."""

    def place(path):
        with pack(path) as file:
            for _ in range(size >> 20):
                file.write(b" " * (1 << 20))

    return place


class Zlib:
    """A packed dataset's frame around what zlib packs."""

    def __init__(self, path):
        self.file, self.packer = open(path, "wb"), zlib.compressobj(1)
        self.file.write(b"SEQTUNE2")

    def __enter__(self):
        return self

    def write(self, data):
        self.file.write(self.packer.compress(data))

    def __exit__(self, *_):
        self.file.write(self.packer.flush())
        self.file.close()


def tree_bomb(toy):
    """A model with a tensor of trees that unpacks without end."""

    def place(path):
        path.mkdir(exist_ok=True)
        bytes_ = (toy / "model/model.safetensors").read_bytes()
        length = struct.unpack("<Q", bytes_[:8])[0]
        header, data = json.loads(bytes_[8 : 8 + length]), bytes_[8 + length :]
        packer = zlib.compressobj(1)
        bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(3 << 10)) + packer.flush()
        header.pop("trees", None)
        end = max(part["data_offsets"][1] for name, part in header.items() if name != "__metadata__")
        header["trees"] = {"dtype": "U8", "shape": [len(bomb)], "data_offsets": [end, end + len(bomb)]}
        header["__metadata__"]["sha256"] = "0" * 64
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        whole = struct.pack("<Q", len(text)) + text + data[:end] + bomb
        at = whole.index(b'"sha256":"') + 10
        sum_ = hashlib.sha256(whole[:at] + whole[at + 64 :]).hexdigest().encode()
        (path / "model.safetensors").write_bytes(whole[:at] + sum_ + whole[at + 64 :])

    return place


def sizes(toy):
    kind = "sizes from outside"
    vec, out = {"k/kernel.toml": VEC}, ["-o", "o.sqt"]
    toml = {"toy/kernel.toml": (toy / "kernel.toml").read_bytes()}
    gz = lambda path: gzip.open(path, "wb", compresslevel=1)
    yield Case(kind, "predict: trees of 3 GB", ["predict", "m", "toy", "M=64"], {"m": tree_bomb(toy), **toml})
    yield Case(kind, "check: trees of 3 GB", ["check", "m"], {"m": tree_bomb(toy)})
    for words in (["export", "csv", "d.sqt", "-o", "o.csv"], ["check", "d.sqt"], ["merge", "d.sqt", *out], ["status", "d.sqt"]):
        status = (0, 2) if words[0] == "status" else (2,)
        yield Case(kind, f"{words[0]}: a dataset of 3 GB", words, {"d.sqt": zeros(3 << 30, Zlib)}, status)
    for verb, name in (("kernel-tuner", "c.json.gz"), ("t4", "c.json.gz"), ("ktt", "c.json.gz"), ("triton", "x.autotune.json.gz"), ("clblast", "c.json.gz"), ("autoheuristic", "a.txt.gz")):
        words = ["import", verb, name, *([] if verb in ("clblast", "autoheuristic") else ["--kernel", "k"]), *(["--problem", "n=64"] if verb in ("t4", "ktt") else []), "--device", "H200", *out]
        yield Case(kind, f"import {verb}: 3 GB, packed by gzip", words, {name: zeros(3 << 30, gz), **vec})
    for pack, ending in ((gz, "gz"), (lambda p: bz2.open(p, "wb", 1), "bz2")):
        size = 3 << 30 if ending == "gz" else 256 << 20
        yield Case(kind, f"import miopen: {size >> 20} MB, packed by {ending}", ["import", "miopen", f"gfx906_60.db.txt.{ending}", "-o", "out"], {f"gfx906_60.db.txt.{ending}": zeros(size, pack)})

    def shard(index, of):
        def change(lines):
            found = json.dumps(lines[0])
            lines[0]["recipe" if "recipe" in lines[0] else "provenance"] = lines[0].get("recipe", lines[0].get("provenance"))
            shards = [place for place in nested(lines[0]) if "index" in place and "of" in place]
            if not shards:
                raise Unmade(f"no shard in {found[:200]}")
            shards[0]["index"], shards[0]["of"] = index, of

        return change

    def sharded(index, of):
        def run(program, folder):
            made(program, folder, *FAKE, "--shard", "1/2")
            text = (folder / "j.1-of-2.jsonl").read_text().splitlines()
            lines = [json.loads(line) for line in text]
            shard(index, of)(lines)
            (folder / "j.1-of-2.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
            return ""

        return run

    for index, of in ((0, 2), (3, 2), (1, 0), (0, 0), (1, 100_001), (1, 1 << 40), (1 << 40, 1 << 40), (1, (1 << 64) - 1), ((1 << 64) - 1, (1 << 64) - 1), (1, 1 << 32)):
        for words in (["check", "j.1-of-2.jsonl"], ["merge", "j.1-of-2.jsonl", "-o", "o.sqt", "--partial"], ["status", "."], ["convert", "j.1-of-2.jsonl", "-o", "o.sqt"]):
            yield Case(kind, f"{words[0]}: shard {index} of {of}", words, run=sharded(index, of), status=(0,) if words[0] == "status" else (2,))
    for words in (
        ["--shard", "1/1099511627776"], ["--shard", "0/2"], ["--shard", "3/2"], ["--shard", "1/0"], ["--sample", "1000001"], ["--sample", "18446744073709551615"],
        ["--pool", "18446744073709551615"], ["--sample", "-1"], ["--sample", "1e3"], ["--timeout", "1e300s"], ["--timeout", "-1s"], ["--timeout", "nan"],
    ):
        base = [word for word in FAKE if word not in ("--sample", "12")] if "--sample" in words else FAKE
        yield Case(kind, f"sweep {' '.join(words)}", [*base, *words])
    yield Case(kind, "sweep of matrices of 16 GB each", ["sweep", "gemm", "--device", "fake", "--problems", "M=65536,N=65536,K=65536", "--sample", "2", "-o", "j.jsonl"], status=(0, 1, 2), changes=("j.jsonl",))
    many = "".join(f"M={n},N=64,K=64\n" for n in range(1, 1001))
    yield Case(kind, "sweep: a plan of 1,000 million configs", ["sweep", "gemm", "--device", "fake", "--problems", "p.txt", "--sample", "1000000", "-o", "j.jsonl"], {"p.txt": many})
    predict = ["predict", "m", "toy", "M=64"]
    fixed = {"m": model(toy, lambda d: d), **toml}
    for words in (["--top", "0"], ["--top", "10001"], ["--top", "18446744073709551616"], ["--width", "0"], ["--width", "10001"], ["--width", "-1"], ["--threads", "100000"], ["--cover", "1.5"], ["--cover", "nan"], ["--cover", "-1"]):
        yield Case(kind, f"predict {' '.join(words)}", [*predict, *words], fixed)
    for problem in ("M=99999999999999999999", "M=9223372036854775808", "M=-1", "M=0", "M=1e3", "M=0x40", "M=64.5", "M=", "M", "=64", "M=64,M=64", "M=64,Q=1", "", ","):
        yield Case(kind, f"predict {problem or 'of nothing'}", ["predict", "m", "toy", problem], fixed)
    for words in (["--range", "M=1..9223372036854775808"], ["--range", "M=9..1"], ["--range", "M=1..2", "--range", "M=3..4"], ["--samples", "18446744073709551615"], ["--samples", "0"], ["--range", "Q=1..2"]):
        yield Case(kind, f"export header {' '.join(words)}", ["export", "header", "m", "M=64", "--kernel", "toy", "-o", "o.h", *words], fixed)
    for what, values in (("129 parameters", "parameters"), ("a value beyond 2^53", "value"), ("a name of 65 letters", "name"), ("an expression of 20,000 parts", "expression"), ("an expression of depth 1,000", "depth"), ("5 MB of text", "text"), ("321 values", "values")):
        text = HEAD
        if values == "parameters":
            text = HEAD.replace("parameter = [", "parameter = [" + "".join(f"{{ name = 'p{n}', values = [1], default = 1, meaning = 'x' }}, " for n in range(129)))
        elif values == "value":
            text = HEAD.replace("[1, 2]", "[1, 9007199254740993]")
        elif values == "name":
            text = HEAD.replace("'A'", f"'{'A' * 65}'")
        elif values == "expression":
            text = HEAD + f"constraint = [{{ expr = '{'A + ' * 20_000}A > 0', reason = 'x' }}]\n"
        elif values == "depth":
            text = HEAD + f"constraint = [{{ expr = '{'(' * 1000}A{')' * 1000} > 0', reason = 'x' }}]\n"
        elif values == "text":
            text = HEAD + "# " + "x" * (5 << 20) + "\n"
        else:
            text = HEAD.replace("[1, 2]", str(list(range(1, 322))))
        yield Case(kind, f"check: {what}", ["check", "k"], {"k/kernel.toml": text + "[run]\ncommand = ['true']\ntime = 'wall'\n"})


def nested(value):
    """Every table in a value of JSON."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from nested(part)


# What `check` and `init` accept


def checks(toy):
    kind = "check and init"
    for table in (
        "time = { pattern = '(' }", "time = { pattern = '(a{1000}){1000}' }", "time = { pattern = '(?<=x)(5)' }", "time = { pattern = '(?P<x>a)(?P<x>b)' }",
        "time = { pattern = 'time: 5' }", "time = 'wall'\nright = '[z-a]'", "time = 'wall'\nwrong = '[z-a]'", "time = 'wall'\nwrong = '\\'", "time = { pattern = '*' }",
        "time = 'wall'\njoules = { pattern = 'x' }", "time = 'wall'\ncounter = { misses = { pattern = '*' } }", "time = 'wall'\ncores = '3-'",
        "time = 'wall'\nbuild = ['true']\nsetup = ['{build}']", "time = 'wall'\nenvironment = { X = '{build}' }", "time = 'wall'\ncores = '{build}'",
        "time = 'wall'\nenvironment = { 'A=B' = '1' }", "time = 'wall'\ntimeout = -1", "time = 'wall'\nsamples = 0", "time = { pattern = 'x ([0-9]+)', unit = 'h' }",
        "time = 'wall'\nsetup = ['{q}']",
    ):
        files = {"k/kernel.toml": HEAD + f"[run]\ncommand = ['true']\n{table}\n"}
        for words in (["check", "k"], ["space", "k", "n=4", "--device", "H200"], SWEEP):
            yield Case(kind, f"{words[0]}: [run] {table.splitlines()[-1]}", words, files)
    base = ["init", "p", "--command", "echo {n} {tile}", "--field", "n=1..10", "--parameter", "tile=1,2"]
    for words in (
        ["--time", "("], ["--time", "(?P<x>a)(?P<x>b)"], ["--time", "time"], ["--time", "(?<=x)(5)"], ["--right", "(a{1000}){1000}"], ["--right", "\\"], ["--wrong", "[z-a]"],
        ["--parameter", "n=1,2"], ["--field", "work=1..2"], ["--field", "a\x1b[31mb=1..2"], ["--environment", "=x"], ["--field", "n=1..2"], ["--parameter", "tile=3"],
        ["--parameter", "a=1,1"], ["--parameter", "a="], ["--field", "z=9..1"], ["--field", "z=x..y"], ["--field", "seed=1..2"], ["--parameter", "time=1,2", "--field", "time=1..2"],
        ["--build", "make"], ["--parameter", "max_group_items=1,2"],
    ):
        yield Case(kind, f"init {' '.join(words)}", [*base, *words])
    for command in ("echo {build}", "a 'b", "a {q}", ""):
        yield Case(kind, f"init --command {command or 'nothing'}", ["init", "p", "--command", command, "--field", "n=1..9", "--parameter", "A=1,2"])
    device = lambda name, more="": f"[[device]]\nname = '{name}'\n{more}\nlimits = {{ is_cpu = 0.0 }}\n"
    for what, text in (
        ("twice", device("one") + device("one")), ("twice but for case", device("one") + device("ONE")), ("its name as an alias", device("one", "aliases = ['two']") + device("two")),
        ("NaN", "[[device]]\nname = 'x'\nlimits = { local_memory = nan }\n"), ("a limit below 0", "[[device]]\nname = 'x'\nlimits = { local_memory = -1.0 }\n"),
        ("a limit unknown", "[[device]]\nname = 'x'\nlimits = { lokal = 1.0 }\n"),
    ):
        for words in (["check", "d.toml"], ["space", "gemm", "M=64,N=64,K=64", "--device", "d.toml"]):
            yield Case(kind, f"{words[0]}: a device, {what}", words, {"d.toml": text})
    text = HEAD + CL_TABLES
    for what, changed in (("no output", text.replace("'out'", "'in'")), ("an output of ints", text.replace("kind = 'out'", "kind = 'int'\nvalue = '1'")), ("no element", text.replace("element = '4'", "element = '0'"))):
        yield Case(kind, f"check: arguments with {what}", ["check", "k"], {"k/kernel.toml": changed, "k/x.cl": "kernel void entry(global float* y) {}"})
    parameter = lambda name: f"[[parameter]]\nname = '{name}'\nvalues = [1, 2]\ndefault = 1\nmeaning = 'one'\n"
    field_ = lambda name: f"[[field]]\nname = '{name}'\nkind = 'choice'\nlabels = ['a', 'b']\ncompiled = true\nmeaning = 'one'\n"
    run = "[run]\ncommand = ['true']\ntime = 'wall'\n"
    for name, parts in (
        ("mine", field_("A") + parameter("A")), ("mine", field_("A") + field_("A") + parameter("B")), ("mine", parameter("A") + parameter("A")), ("mine", parameter("local_memory")),
        ("mine", field_("is_cpu") + parameter("A")), ("mine", field_("seed") + parameter("A")), ("-mine", parameter("A")), ("--help", parameter("A")), ("../mine", parameter("A")),
        ("a b", parameter("A")), ("", parameter("A")), ("mine", parameter("A b")), ("mine", parameter("1A")), ("mine", parameter("")),
    ):
        text = f"name = '{name}'\nmeaning = 'mine'\n{parts}{run}"
        for words in (["check", "k"], ["sweep", "k", "--problems", "n=4", "--exhaustive", "-o", "j.jsonl"]):
            yield Case(kind, f"{words[0]}: names that are none, or of two things", words, {"k/kernel.toml": text})


# Names that collide

COLUMNS = ("outcome", "detail", "median_us", "quartile1_us", "quartile3_us", "samples", "joules", "registers", "local_bytes", "library_us", "time", "times", "invalidity", "n_field", "timestamp", "objectives")


def swept(name, field_name="n", labels=None):
    """A sweep of a program with a parameter of this name."""
    text = HEAD.replace("name = 'A'", f"name = '{name}'").replace("name = 'n'", f"name = '{field_name}'")

    def run(program, folder):
        (folder / "k").mkdir(exist_ok=True)
        (folder / "k/kernel.toml").write_text(text + "[run]\ncommand = ['true']\ntime = 'wall'\nsamples = 3\n")
        made(program, folder, "sweep", "k", "--problems", f"{field_name}=4", f"{field_name}=5", "--exhaustive", "-o", "j.jsonl")
        return ""

    return run


def one_of_each(name):
    def check(_, folder):
        columns = (folder / "o.csv").read_text().splitlines()[0].split(",")
        twice = {column for column in columns if columns.count(column) > 1}
        return f"silent: column {min(twice)} is there twice" if twice else ""

    return check


def comes_back(answer, folder):
    """That Kernel Tuner's caches, imported again, hold both configs of both problems."""
    files = sorted(str(path.relative_to(folder)) for path in (folder / "caches").glob("*.json"))
    done = subprocess.run([PROGRAM[0], "import", "kernel-tuner", *files, "--kernel", "k", "--device", "live", "-o", "b.jsonl"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        return f"badly: what was exported is not imported again: {done.stderr.strip()[-120:]}"
    found = len(records(folder, "b.jsonl"))
    return "" if found == 4 else f"silent: {found} of 4 records come back"


#: The build that is tried, for checks that ask it again.
PROGRAM = [None]


def records(folder, name):
    """The records of a dataset in any form."""
    path = folder / name
    if path.is_file() and path.read_bytes()[:1] == b"S":
        made(PROGRAM[0], folder, "convert", name, "-o", "converted.jsonl")
        path = folder / "converted.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def names(toy):
    kind = "names that collide"
    for name in COLUMNS:
        yield Case(kind, f"export csv: a parameter called {name}", ["export", "csv", "j.jsonl", "--kernel", "k", "-o", "o.csv"], run=swept(name), status=(0,), check=one_of_each(name))
        yield Case(kind, f"export kernel-tuner: a parameter called {name}", ["export", "kernel-tuner", "j.jsonl", "--kernel", "k", "-o", "caches"], run=swept(name), status=(0,), check=comes_back)
        if name != "n_field":
            yield Case(kind, f"export csv: a field called {name}", ["export", "csv", "j.jsonl", "--kernel", "k", "-o", "o.csv"], run=swept("A", name), status=(0,), check=one_of_each(name))
    labels = ("A+1", "A-1", "A_1")
    text = HEAD.replace("}]\nparameter", "}, { name = 'c', kind = 'choice', labels = ['A+1', 'A-1', 'A_1'], meaning = 'x' }]\nparameter", 1)

    def three(program, folder):
        (folder / "k").mkdir(exist_ok=True)
        (folder / "k/kernel.toml").write_text(text + "[run]\ncommand = ['true']\ntime = 'wall'\nsamples = 3\n")
        made(program, folder, "sweep", "k", "--problems", *(f"n=4,c={label}" for label in labels), "--exhaustive", "-o", "j.jsonl")
        return ""

    def three_files(_, folder):
        found = len(list((folder / "caches").glob("*.json")))
        return "" if found == 3 else f"silent: {found} files of 3 problems"

    yield Case(kind, "export kernel-tuner: problems whose names make one file", ["export", "kernel-tuner", "j.jsonl", "--kernel", "k", "-o", "caches"], run=three, status=(0,), check=three_files)

    def other(program, folder):
        swept("A")(program, folder)
        (folder / "other").mkdir()
        (folder / "other/kernel.toml").write_text((folder / "k/kernel.toml").read_text().replace("[1, 2]", "[1, 2, 4]"))
        return ""

    for form in ("csv", "parquet", "kernel-tuner", "t4"):
        yield Case(kind, f"export {form}: by another version of the kernel", ["export", form, "j.jsonl", "--kernel", "other", "-o", f"o.{form}"], run=other)
        yield Case(kind, f"export {form}: by a kernel of another name", ["export", form, "j.jsonl", "--kernel", "v", "-o", f"o.{form}"], {"v/kernel.toml": VEC}, run=swept("A"))
    for words in (["space", "gemm", "M=64,M=64,N=64,K=64", "--device", "H200"], ["space", "gemm", "M=64,N=64,K=64,N=32", "--device", "H200"], ["predict", "m", "toy", "M=64,M=32"]):
        yield Case(kind, f"{words[0]}: a field given twice", words, {"m": model(toy, lambda d: d), "toy/kernel.toml": (toy / "kernel.toml").read_bytes()})

    def devices(program, folder):
        for shard in ("1/2", "2/2"):
            made(program, folder, *FAKE, "--shard", shard)
        for file, name in (("j.1-of-2.jsonl", "A 1"), ("j.2-of-2.jsonl", "A-1")):
            lines = (folder / file).read_text().splitlines()
            first = json.loads(lines[0])
            first["device"]["name"] = name
            (folder / file).write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
        return ""

    yield Case(kind, "merge --by-device: devices whose names make one file", ["merge", "j.1-of-2.jsonl", "j.2-of-2.jsonl", "-o", "o.sqt", "--by-device", "--partial"], run=devices)


# Files of others


def others_files(_):
    kind = "files of others"

    def beside(path):
        path.write_text("remember the milk")

    def link(path):
        (path.parent / "note.txt").write_text("remember the milk")
        path.symlink_to("note.txt")

    def folder_(path):
        path.mkdir()

    made_data = journal(lambda lines: lines, "d.jsonl")
    writers = (
        ["convert", "d.jsonl", "-o"], ["export", "csv", "d.jsonl", "-o"], ["export", "parquet", "d.jsonl", "-o"], ["export", "t4", "d.jsonl", "-o"], ["merge", "d.jsonl", "-o"],
    )
    for words in writers:
        for what, place in (("a note", beside), ("a link to a note", link), ("a folder", folder_)):
            for more in ([], ["--overwrite"]):
                yield Case(kind, f"{' '.join(words[:2])} over {what} {' '.join(more)}", [*words, "x", *more], {"x": place}, run=made_data)
        yield Case(kind, f"{' '.join(words[:2])} over what is read", [*words, "d.jsonl", "--overwrite"], run=made_data, status=(0, 2) if words[0] == "convert" else (2,), changes=("d.jsonl",) if words[0] == "convert" else ())
        yield Case(kind, f"{' '.join(words[:2])} into no folder", [*words, "none/x.sqt"], run=made_data, status=(0, 1, 2))
    for output in ("..", ".", "in/..", "in", "note.txt"):
        files = {"in": folder_, "note.txt": beside}
        yield Case(kind, f"sweep --shard 1/2 -o {output}", [*FAKE[:7], output, *FAKE[8:], "--shard", "1/2"], files, (2,) if output != "note.txt" else (0, 2), ("note.1-of-2.txt", "note.txt.1-of-2.jsonl"))
        if output != "note.txt":
            yield Case(kind, f"sweep -o {output}", [*FAKE[:7], output, *FAKE[8:]], files)
    yield Case(kind, "sweep -o over a note", [*FAKE[:7], "x", *FAKE[8:]], {"x": beside})
    yield Case(kind, "sweep -o over a link to a note", [*FAKE[:7], "x", *FAKE[8:]], {"x": link})
    for name in ("distilled.safetensors", "model.safetensors"):
        for what, place in (("a note", beside), ("a link to a note", link)):
            yield Case(kind, f"train: {name} is {what}", ["train", "d.jsonl", "-o", "m", "--epochs", "1"], {f"m/{name}": place}, run=made_data, status=(2, 3))
    yield Case(kind, "init into a folder with a kernel.toml", ["init", "k", "--command", "a {n} {A}", "--field", "n=1..9", "--parameter", "A=1,2"], {"k/kernel.toml": "# mine"})
    yield Case(kind, "init into a folder whose kernel.toml is a link", ["init", "k", "--command", "a {n} {A}", "--field", "n=1..9", "--parameter", "A=1,2"], {"k/kernel.toml": link})


# Children that stay

SCRIPTS = {
    "a child": "sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; wait",
    "a child that takes no signal": "trap '' HUP INT QUIT TERM; (trap '' HUP INT QUIT TERM; exec sleep 600) & echo $! >> {pids}; echo $$ >> {pids}; wait; sleep 600",
    "a daemon": "(setsid sh -c 'echo $$ >> {pids}; exec sleep 600' > /dev/null 2>&1 &); sleep 600",
    "a daemon without an environment": "(env -i $(command -v setsid) sh -c 'echo $$ >> {pids}; exec sleep 600' > /dev/null 2>&1 &); sleep 600",
    "a daemon's child": "(setsid sh -c 'sleep 600 & echo $! >> {pids}; wait' > /dev/null 2>&1 &); sleep 600",
}


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(") ", 1)[1][0] not in "ZX"
    except (OSError, IndexError):
        return False


def ended_by(number, script):
    """Starts a sweep, ends it by a signal, and looks for what goes on."""

    def run(program, folder):
        pids = folder / "pids"
        (folder / "k/s.sh").write_text(script.replace("{pids}", str(pids)) + "\n")
        ready = lambda: signal.pthread_sigmask(signal.SIG_SETMASK, [])
        child = subprocess.Popen([program, *SWEEP], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=ready)
        began = time.monotonic()
        while not (pids.is_file() and pids.read_text().strip()) and time.monotonic() < began + 20:
            time.sleep(0.01)
        time.sleep(0.2)
        child.send_signal(number)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return "hangs: after the signal"
        # what holds it is given ten seconds
        found = [int(line) for line in pids.read_text().split()] if pids.is_file() else []
        began = time.monotonic()
        while any(map(is_running, found)) and time.monotonic() < began + 10:
            time.sleep(0.05)
        left = [process for process in found if is_running(process)]
        for process in left:
            os.kill(process, signal.SIGKILL)
        return "odd: left running" if left else ("badly: the program was never started" if not found else "")

    return run


def children(_):
    kind = "children that stay"
    table = HEAD + "[run]\ncommand = ['sh', '{kernel}/s.sh']\nfiles = ['s.sh']\ntime = 'wall'\ntimeout = 600\n"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGKILL):
        for what, script in SCRIPTS.items():
            yield Case(kind, f"{number.name} while {what} runs", files={"k/kernel.toml": table, "k/s.sh": ""}, run=ended_by(number, script))


# What has no end


def pipe(path):
    os.mkfifo(path)


def endless(toy):
    kind = "hangs"
    view = "CREATE VIEW perf_db AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id, 'ConvAsm1x1U' AS solver, 1 AS config, '1' AS params FROM n"
    for what, statements in (("perf_db", [SCHEMA, "DROP TABLE perf_db", view]), ("config", [SCHEMA, "ALTER TABLE config RENAME TO other", "CREATE VIEW config AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"])):
        yield Case(kind, f"import miopen: {what} is a view without end", ["import", "miopen", "gfx906_60.db", "-o", "out"], {"gfx906_60.db": database(*statements)})
    words = " ".join(f"word{n}" for n in range(1_000_000))
    for name, source in (("a million words", words), ("a million macros", "".join(f"#define M{n} {n}\n" for n in range(200_000))), ("a line of 10 MB", "int x = " + "1 + " * 2_500_000 + "1;")):
        for ending in ("cl", "cu"):
            yield Case(kind, f"init: a source of {name} ({ending})", ["init", "p", "--source", f"s.{ending}", "--field", "n=1..9", "--parameter", "A=1,2"], {f"p/s.{ending}": source}, (0, 2), check=lambda *_: "")
    long = HEAD + "[run]\ncommand = ['sh', '{kernel}/s.sh', '{A}']\nfiles = ['s.sh']\nsamples = 2\ntime = { pattern = 'took ([0-9.]+) s' }\n"
    for what, more, script in (
        ("200,000 lines with a time", "", 'yes "took 0.001 s" | head -n 200000\n'),
        ("4 MB that may each begin a match", "wrong = '[0-7][0-9a-f]{4000}[^0-9a-f\\s]'\n", "od -An -v -tx1 /dev/urandom | tr -d ' \\n' | head -c 4000000; echo; echo took 0.001 s\n"),
        ("a line of 100 MB", "", "head -c 100000000 /dev/zero | tr '\\0' x; echo; echo took 0.001 s\n"),
        ("output without end", "timeout = 3\n", "yes took\n"),
    ):
        yield Case(kind, f"sweep: a program prints {what}", SWEEP, {"k/kernel.toml": long + more, "k/s.sh": script}, (0, 1, 3), ("j.jsonl",))
    served = """import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    while asked["config"]["A"] == 2:
        print(json.dumps({"id": asked["id"] - 1, "time_ms": 1}), flush=True)
    print(json.dumps({"id": asked["id"], "time_ms": 1}), flush=True)
"""
    table = HEAD + "[run]\ncommand = ['python3', '{kernel}/s.py']\nfiles = ['s.py']\nserve = true\ntimeout = 5\nsamples = 2\n"
    yield Case(kind, "sweep: old answers without end", SWEEP, {"k/kernel.toml": table, "k/s.py": served}, (0, 1, 3), ("j.jsonl",))
    toml = {"toy/kernel.toml": (toy / "kernel.toml").read_bytes(), "m": model(toy, lambda d: d)}
    for what, place in (("a pipe that nobody writes", pipe), ("/dev/zero", lambda path: path.symlink_to("/dev/zero"))):
        for words in (
            ["check", "x"], ["convert", "x", "-o", "o.sqt"], ["export", "csv", "x", "-o", "o.csv"], ["status", "x"], ["predict", "m", "x", "M=64"], ["predict", "x", "toy", "M=64"],
            ["space", "toy", "M=64", "--device", "x"], ["import", "kernel-tuner", "x", "--kernel", "toy", "-o", "o.sqt"], ["import", "miopen", "x", "-o", "out"], ["import", "clblast", "x", "-o", "o.sqt"],
            ["sweep", "gemm", "--device", "fake", "--problems", "x", "--sample", "3", "-o", "j.jsonl"], ["sweep", "gemm", "--device", "fake", "--problems", "M=64,N=64,K=64", "--sample", "3", "-o", "x"],
            ["export", "miopen", "x", "x", "-o", "u.txt"], ["init", ".", "--source", "x", "--field", "n=1..9", "--parameter", "A=1,2"], ["predict", "m", "toy", "x"],
        ):
            yield Case(kind, f"{' '.join(words[:2])}: {what}", words, {"x": place, **toml}, (0, 2) if words[0] == "status" else (2,))

    def locked(program, folder):
        made(program, folder, *FAKE)
        for name in ("j.jsonl.lock", ".j.jsonl.lock"):
            if not (folder / name).exists():
                os.mkfifo(folder / name)
        return ""

    yield Case(kind, "sweep: its lock is a pipe", FAKE, run=locked, status=(0, 2))


SIZES = "batchsize in_channels in_h in_w out_channels fil_h fil_w pad_h pad_w conv_stride_h conv_stride_w dilation_h dilation_w group_count in_d fil_d pad_d conv_stride_d dilation_d"
SCHEMA = f"""CREATE TABLE config (id INTEGER PRIMARY KEY, layout TEXT, data_type TEXT, direction TEXT, spatial_dim INT, bias INT, {", ".join(name + " INT" for name in SIZES.split())});
CREATE TABLE perf_db (id INTEGER PRIMARY KEY, solver TEXT, config INTEGER, params TEXT);"""
ROW = """INSERT INTO config VALUES (1, 'NCHW', 'FP32', 'F', 2, 0, 32, 64, 56, 56, 64, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1);
INSERT INTO perf_db (solver, config, params) VALUES ('ConvAsm1x1U', 1, '1,16,1,64,2,1,1,2');"""


def database(*statements):
    def place(path):
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.executescript(statement)
        connection.close()

    return place


# Files of other tools: values


def cache(entries, device="NVIDIA T4", kernel="vec", **more):
    """A cache file of Kernel Tuner's, of blocks and their times as they are written."""
    inner = ", ".join(f'"{block}": {{"block": {block}, "time": {time_}{more_}}}' for block, time_, *rest in entries for more_ in ["".join(rest)])
    extra = "".join(f', "{key}": {json.dumps(value)}' for key, value in more.items())
    return f'{{"device_name": "{device}", "kernel_name": "{kernel}", "problem_size": 1000, "tune_params_keys": ["block"]{extra}, "cache": {{{inner}}}}}'


def t4(values, unit=None, objective="time", timeunit=None):
    results = [
        {
            "timestamp": "2024-01-01 00:00:00 UTC", "configuration": {"block": block}, "objectives": [objective], "invalidity": "correct", "correctness": 1,
            "times": {"compilation_time": 9.0, "runtimes": [value], "framework": 1.0, "search_algorithm": 1.0, "validation": 1.0},
            "measurements": [{"name": objective, "value": value, **({"unit": unit} if unit is not None else {})}],
        }
        for block, value in values
    ]
    return json.dumps({"schema_version": "1.0.0", **({"metadata": {"timeunit": timeunit}} if timeunit else {}), "results": results})


def microseconds(expected, name="o.jsonl"):
    """That the records' first samples are these, in microseconds; None for a config that failed."""

    def check(_, folder):
        found = [record["outcome"].get("Measured", {}).get("samples_us", [None])[0] if isinstance(record["outcome"], dict) else None for record in records(folder, name)]
        right = len(found) == len(expected) and all(a is None and b is None or None not in (a, b) and abs(a - b) <= 1e-4 * b for a, b in zip(found, expected))
        return "" if right else f"silent: read as {found}, which is {expected}"

    return check


def from_cache(text, expected=None, more=(), files=None, status=(0,), what="", kind="values of others", name="c.json"):
    words = ["import", "kernel-tuner", *(files or {name: text}), "--kernel", "k", "-o", "o.jsonl", *more]
    return Case(kind, f"import kernel-tuner: {what}", words, {**(files or {name: text}), "k/kernel.toml": VEC}, status, check=microseconds(expected) if expected else None)


def others_values(_):
    kind = "values of others"
    for unit, factor in (("Microseconds", 1), ("microseconds", 1), ("milliseconds", 1e3), ("miliseconds", 1e3), ("ms", 1e3), ("us", 1), ("seconds", 1e6), ("s", 1e6), ("nanoseconds", 1e-3), ("ns", 1e-3), ("", None), ("parsecs", None), ("hours", None), ("GFLOP/s", None)):
        words = ["import", "t4", "t.json", "--kernel", "k", "--problem", "n=1000", "--device", "H200", "-o", "o.jsonl"]
        values = [(32, 96.5), (64, 61.25)]
        expected = factor and [value * factor for _, value in values]
        status = (0,) if factor else (2,) if unit else (0, 2)
        yield Case(kind, f"import t4: a measurement in {unit or 'no unit'}", words, {"t.json": t4(values, unit), "k/kernel.toml": VEC}, status, check=microseconds(expected) if expected else None)
        if unit not in ("", "GFLOP/s"):
            yield Case(kind, f"import t4: a file in {unit}", words, {"t.json": t4(values, None, timeunit=unit), "k/kernel.toml": VEC}, status, check=microseconds(expected) if expected else None)
    for objective in ("GFLOP/s", "power", "ps_energy", "registers"):
        words = ["import", "t4", "t.json", "--kernel", "k", "--problem", "n=1000", "--device", "H200", "-o", "o.jsonl"]
        text = json.loads(t4([(32, 96.5)], None, objective))
        for result in text["results"]:
            result["times"].pop("runtimes")
        yield Case(kind, f"import t4: the objective is {objective}", words, {"t.json": json.dumps(text), "k/kernel.toml": VEC}, (2,))
    good = [(32, "0.5"), (64, "0.25"), (128, "1.0")]
    for value in ("NaN", "Infinity", "-Infinity"):
        yield from_cache(cache([*good, (256, "0.125", f', "GFLOP/s": {value}')]), [500, 250, 1000, 125], what=f"{value} in a metric that is not read")
        yield from_cache(cache([*good, (256, value)]), [500, 250, 1000], what=f"a time of {value}")
    for value, us in (("0", None), ("-1", None), ("1e300", "failed"), ("1e15", None), ("null", None), ('"RuntimeFailedConfig"', "failed"), ('"CompilationFailedConfig"', "failed"), ('"InvalidConfig"', "failed")):
        yield from_cache(cache([*good, (256, value)]), [500, 250, 1000] + ([None] if us else []), what=f"a time of {value}")
    yield from_cache(cache([(32, "0.5", ', "times": [0.75, 0.5]'), (64, "0.25", ', "times": 0.25'), (128, "1.0", ', "times": []')]), [500, 250, 1000], what="one time in place of a list")
    for value in ('"0.5"', "[0.5]"):
        yield from_cache(cache([*good, (256, value)]), [500, 250, 1000, 500], what=f"a time of {value}")
    switch = "name = 'vec'\nmeaning = 'x'\nfield = [{ name = 'n', kind = 'size', min = 1, max = 1000000, shape = true, meaning = 'e' }]\nparameter = [{ name = 'on', labels = ['False', 'True'], default = 'False', meaning = 's' }]\nwork = { flops = 'n', bytes = 'n' }\n"
    for off, on in (("false", "true"), ('"False"', '"True"')):
        text = f'{{"device_name": "NVIDIA T4", "kernel_name": "vec", "problem_size": 1000, "tune_params_keys": ["on"], "cache": {{"a": {{"on": {off}, "time": 0.5}}, "b": {{"on": {on}, "time": 0.25}}}}}}'
        case = from_cache(text, [500, 250], what=f"values {off} and {on}")
        case.files["k/kernel.toml"] = switch
        yield case
    for value in ("64.0", '"64"', "6.4e1"):
        yield from_cache(cache([(32, "0.5")]).replace('"block": 32', f'"block": {value}'), [500], what=f"a value of {value}")
    for value in ("64.5", "null", '"big"', "[64]", "true", "65"):
        yield from_cache(cache([*good, (256, "0.125")]).replace('"block": 256', f'"block": {value}'), [500, 250, 1000], what=f"a value of {value}")
    # the numbers that a program prints
    run = HEAD.replace("[1, 2]", "[1]") + "[run]\ncommand = ['sh', '{kernel}/s.sh']\nfiles = ['s.sh']\nsamples = 2\ntime = { pattern = 'time: ([0-9.]+)', unit = 'ms' }\n"
    for printed, us in (("1.8 ms", 1800), ("1,8 ms", None), ("1.8E-03 ms", None), ("1.8e+00 ms", None), ("1,238.5 ms", None), ("1.8 us", None), ("18446744073709.2 ms", None), ("0.000 ms", None), ("1.8.2 ms", None), ("1_800 ms", None)):
        yield Case(kind, f"sweep: a program prints `time: {printed}`", SWEEP, {"k/kernel.toml": run, "k/s.sh": f"echo 'time: {printed}'\n"}, (0,) if us else (0, 1, 3), ("j.jsonl",), microseconds([us], "j.jsonl"))
    # CLBlast's clock
    one, two = ("WGD=8,MDIMCD=8,NDIMCD=8,MDIMAD=8,NDIMBD=8,KWID=2,VWMD=1,VWND=1,PADA=1,PADB=1", "WGD=32,MDIMCD=16,NDIMCD=8,MDIMAD=16,NDIMBD=8,KWID=2,VWMD=2,VWND=4,PADA=1,PADB=1")
    for times, expected in (((0.412, 0.0), [412]), ((0.004, 0.0), [4, 0.5]), ((0.412, -1), [412]), ((0.412, 1e12), [412])):
        yield Case(kind, f"import clblast: times of {times} ms", ["import", "clblast", "c.json", "-o", "o.jsonl"], {"c.json": clblast(list(zip((one, two), times)))}, (0,), check=microseconds(expected))


def clblast(rows, device="A processor", **more):
    results = [{"kernel": "XgemmDirectTN", "time": ms, "parameters": {**{k: int(v) for k, v in (pair.split("=") for pair in config.split(","))}, "PRECISION": 32}} for config, ms in rows]
    base = {"kernel_family": "xgemm_direct_1", "precision": "32", "arg_m": "64", "arg_n": "96", "arg_k": "64", "arg_alpha": "2.00", "device": device, "device_vendor": "A maker", "device_type": "CPU", "device_core_clock": "2500", "device_compute_units": "4", "platform_version": "OpenCL 3.0"}
    return json.dumps({**base, **more, "results": results})


# Files of other tools: what is merged


def others_merged(_):
    kind = "things merged"
    one, again = cache([(32, "0.5"), (64, "0.25")]), cache([(128, "0.5")])
    yield from_cache(None, files={"a.json": one, "b.json": cache([(128, "0.5")], kernel="other")}, status=(2,), what="files of two kernels", kind=kind)
    yield from_cache(None, files={"a.json": one, "b.json": cache([(128, "0.5")], "NVIDIA A100")}, status=(2,), what="files of two devices", kind=kind)
    yield from_cache(None, files={"a.json": one, "b.json": cache([(128, "0.5")], "NVIDIA A100")}, status=(2,), more=("--device", "T4"), what="files of two devices, one of them named", kind=kind)
    yield from_cache(one, status=(2,), more=("--device", "H100"), what="--device names another one than the file", kind=kind)
    yield from_cache(None, [500, 250], files={"a.json": one, "b.json": one}, what="one file twice", kind=kind)
    yield from_cache(None, [500, 250, 500], files={"a.json": one, "b.json": again}, what="two parts of one sweep", kind=kind)
    add = VEC.replace("vec", "add").replace("block", "BLOCK_SIZE").replace("[32, 64, 128, 256]", "[1024, 4096]").replace("default = 128", "default = 1024")
    entry = lambda block, ms, **more: [{"kwargs": {"BLOCK_SIZE": block}, "num_warps": 4, "num_ctas": 1, "num_stages": 3, **more}, [ms] * 3]
    triton = lambda *entries: json.dumps({"key": [1048576, "torch.float32"], "configs_timings": list(entries)})
    words = ["import", "triton", "add_kernel.autotune.json", "--kernel", "k", "--device", "H100", "-o", "o.jsonl"]
    yield Case(kind, "import triton: files of two kernels", ["import", "triton", "fwd.autotune.json", "bwd.autotune.json", *words[3:]], {"fwd.autotune.json": triton(entry(1024, 0.5)), "bwd.autotune.json": triton(entry(1024, 1.5)), "k/kernel.toml": add})
    for key, value in (("ir_override", "x.ttgir"), ("num_consumer_groups", 2), ("ubtune_cfg", {"a": True}), ("maxnreg", 64), ("num_ctas", 2)):
        yield Case(kind, f"import triton: configs that differ in {key} alone", words, {"add_kernel.autotune.json": triton(entry(1024, 0.5), entry(1024, 0.05, **{key: value}), entry(4096, 0.25)), "k/kernel.toml": add}, (0,), check=microseconds([500, 250]))
    for left, right in (("gfx908", 120), ("gfx906", 64)):
        schema = SCHEMA.replace("params TEXT", "params TEXT, arch TEXT, num_cu INT")
        config, _ = ROW.split("\n")
        rows = f"{config} INSERT INTO perf_db VALUES (1, 'ConvAsm1x1U', 1, '{PARAMETERS}', 'gfx906', 60), (2, 'ConvAsm1x1U', 1, '{PARAMETERS}', '{left}', {right})"
        yield Case(kind, f"import miopen: rows of {left} with {right} units among those of gfx906 with 60", ["import", "miopen", "gfx906_60.db", "-o", "out"], {"gfx906_60.db": database(schema, rows)}, (0,), check=told("another device"))
    yield Case(kind, "import miopen: --device names another one than the file", ["import", "miopen", "gfx906_60.db.txt", "--device", "MI300X", "-o", "out"], {"gfx906_60.db.txt": f"{CONVOLUTION}=ConvAsm1x1U:{PARAMETERS}\n"})
    config = "WGD=8,MDIMCD=8,NDIMCD=8,MDIMAD=8,NDIMBD=8,KWID=2,VWMD=1,VWND=1,PADA=1,PADB=1"
    yield Case(kind, "import clblast: two devices", ["import", "clblast", "a.json", "b.json", "-o", "o.jsonl"], {"a.json": clblast([(config, 0.5)]), "b.json": clblast([(config, 0.7)], "NVIDIA GeForce RTX 3090")})
    for key, value in (("arg_m", "64,c=a"), ("arg_m", "64,precision=16")):
        yield Case(kind, f"import clblast: {key} is `{value}`", ["import", "clblast", "a.json", "-o", "o.jsonl"], {"a.json": clblast([(config, 0.5)], **{key: value})})
    yield Case(kind, "import clblast: the kernel of another tuner", ["import", "clblast", "a.json", "b.json", "-o", "o.jsonl"], {"a.json": clblast([(config, 0.5)]), "b.json": clblast([(config, 0.7)], kernel_family="xdot_1")})


def told(words):
    return lambda answer, _: "" if words in answer.out + answer.err else f"silent: it does not say `{words}`"


# Files of other tools: one bad part


def others_parts(_):
    kind = "one bad part"
    whole = cache([(32, "0.5"), (64, "0.25"), (128, "1.0")])
    for back in (1, 3, 6, 9, 14):
        yield from_cache(whole[:-back], [500, 250] if back > 2 else [500, 250, 1000], what=f"cut {back} bytes before its end", kind=kind)
        yield from_cache(whole[:-back], status=(2,) if back > 2 else (0, 2), more=("--strict",), what=f"cut {back} bytes before its end, --strict", kind=kind)
    yield from_cache(whole[:-2] + ",", [500, 250, 1000], what="open, as a running tuner leaves it", kind=kind)
    for name, text in (("nothing", ""), ("no JSON", "nothing"), ("another thing", "[1, 2]"), ("binary", b"\x00\xff\xfe"), ("an empty object", "{}")):
        yield from_cache(None, [500, 250, 1000], files={"a.json": whole, "b.json": text}, what=f"one file of two is {name}", kind=kind)
        yield from_cache(text, status=(2,), what=f"the only file is {name}", kind=kind)
    yield Case(kind, "import kernel-tuner: one file of two is missing", ["import", "kernel-tuner", "a.json", "none.json", "--kernel", "k", "-o", "o.jsonl"], {"a.json": whole, "k/kernel.toml": VEC}, (0,), check=microseconds([500, 250, 1000]))
    driver = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1"
    export = ["export", "miopen", "ConvAsm1x1U", "n.txt", "--device", "MI50", "-o", "u.txt"]
    for line in ("MIOpenDriver pool -n 4", "MIOpenDriver conv -n 4 -c 32 -H 80 -W 80 -k 1 -m trans -F 1", "MIOpenDriver convfp8 -n 16 -c 64 -H 28 -W 28 -k 128 -F 1", "some other words of a log", "MIOpenDriver conv -n 1 -n 2 -F 1"):
        yield Case(kind, f"export miopen: a line `{line}` among others", [*export[:2], str(MIOPEN[0]), *export[3:]], {"n.txt": f"{driver}\n{line}\n{driver.replace('-n 8', '-n 16')}\n"}, (0,))
        yield Case(kind, f"export miopen: nothing but `{line}`", [*export[:2], str(MIOPEN[0]), *export[3:]], {"n.txt": f"{line}\n"})


#: A shipped model of a solver of MIOpen's.
MIOPEN = [Path(__file__).resolve().parent.parent / "models/miopen/ConvAsm1x1U"]


# Files of other tools: their kind


def others_kinds(_):
    kind = "the kind of a file"
    one = f"{CONVOLUTION}=ConvAsm1x1U:{PARAMETERS}\n"
    newer = f"{CONVOLUTION}=ConvAsm1x1U:0.5,0,miopenConvolutionFwdAlgoDirect\n"
    older = f"{CONVOLUTION}=miopenConvolutionFwdAlgoDirect:ConvAsm1x1U,0.5,0,x,<unused>\n"
    miopen = lambda *words: ["import", "miopen", *words, "-o", "out"]
    yield Case(kind, "import miopen: a find database in place of a performance database", miopen("gfx906_60.HIP.fdb.txt"), {"gfx906_60.HIP.fdb.txt": newer})
    yield Case(kind, "import miopen: an older find database", miopen("gfx906_60.cd.fdb.txt"), {"gfx906_60.cd.fdb.txt": older})
    yield Case(kind, "import miopen --find-db: a performance database", miopen("gfx906_60.db.txt", "--find-db", "gfx906_60.b.db.txt"), {"gfx906_60.db.txt": one, "gfx906_60.b.db.txt": one})
    yield Case(kind, "import miopen --find-db: one of SQLite", miopen("gfx906_60.db.txt", "--find-db", "gfx906_60.b.db"), {"gfx906_60.db.txt": one, "gfx906_60.b.db": database(SCHEMA, ROW)})
    yield Case(kind, "import miopen: a database in WAL mode", miopen("gfx906_60.db"), {"gfx906_60.db": database("PRAGMA journal_mode=WAL", SCHEMA, ROW)}, (0,))
    yield Case(kind, "import miopen: a database without perf_db", miopen("gfx906_60.db"), {"gfx906_60.db": database("CREATE TABLE kern_db (id INT)")})
    for solver in ("miopen/ConvAsm1x1U", "ConvAsm1x1U/", "../ConvAsm1x1U", "./kernels/miopen/ConvAsm1x1U", "Conv Asm", "", "gemm", "/etc/passwd"):
        text = one.replace("ConvAsm1x1U", solver)
        yield Case(kind, f"import miopen: a solver called `{solver}`", miopen("gfx906_60.db.txt"), {"gfx906_60.db.txt": text})
    export = ["export", "miopen", str(MIOPEN[0]), "n.txt", "--device", "MI50", "-o", "u.txt"]
    driver = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1"
    for line in (driver.replace("Driver", "Driver.exe"), f'"./bin/{driver}"', f"  '{driver}',", driver.replace(" 1", '" 1').replace("-F", '"-F').replace('"" ', '" ') if False else f"MIOPEN_FIND_MODE=1 {driver} 2>&1 | tee log", f"{driver}\r", driver.replace("MIOpenDriver", "C:\\rocm\\bin\\MIOpenDriver.exe")):
        yield Case(kind, f"export miopen: `{line}`", export, {"n.txt": line + "\n"}, (0,))
    ktt = {"Metadata": {"Device": "NVIDIA T4", "TimeUnit": "Microseconds"}, "Results": [{"Configuration": [{"Name": "block", "Value": 32, "ValueType": "UnsignedInt"}], "KernelName": "vec", "Status": "Ok", "TotalDuration": 96.5}]}
    for verb in ("kernel-tuner", "t4"):
        yield Case(kind, f"import {verb}: KTT's own JSON", ["import", verb, "k.json", "--kernel", "k", "--problem", "n=1000", "--device", "T4", "-o", "o.sqt"], {"k.json": json.dumps(ktt), "k/kernel.toml": VEC})
    yield Case(kind, "import ktt: KTT's own JSON", ["import", "ktt", "k.json", "--kernel", "k", "--problem", "n=1000", "-o", "o.jsonl"], {"k.json": json.dumps(ktt), "k/kernel.toml": VEC}, (0,), check=microseconds([96.5]))
    whole = cache([(32, "0.5")]).encode()
    for ending, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        # read, or named with the way to unpack it
        case = from_cache(pack(whole), None, what=f"packed by {ending}", kind=kind, status=(0, 2), name=f"c.json.{ending}")
        case.run = None
        case.check = microseconds([500])
        case.named = ending
        yield case
    for name, verb in (("x.csv", "csv"), ("x.parquet", "parquet"), ("x.json", "t4")):
        yield Case(kind, f"convert -o {name}", ["convert", "j.jsonl", "-o", name], run=journal(lambda lines: lines))
        yield Case(kind, f"sweep -o {name}", [*FAKE[:7], name, *FAKE[8:]])
    yield Case(kind, "import kernel-tuner -o x.jsonl is a journal", ["import", "kernel-tuner", "c.json", "--kernel", "k", "-o", "x.jsonl"], {"c.json": whole, "k/kernel.toml": VEC}, (0,), check=lambda _, folder: "" if (folder / "x.jsonl").read_bytes()[:1] == b"{" else "silent: a packed file of a journal's name")
