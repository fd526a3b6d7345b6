"""What the inputs of scripts/checks/bad_inputs.py have in common: a case, and what cases are made of."""

import hashlib
import json
import os
import sqlite3
import struct
import subprocess
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
#: A shipped model of a solver of MIOpen's, and what its databases hold.
MIOPEN = str(Path(__file__).resolve().parents[2] / "models/miopen/ConvAsm1x1U")
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


def opened(path):
    """Header and tensors of a model's file."""
    whole = path.read_bytes()
    length = struct.unpack("<Q", whole[:8])[0]
    return json.loads(whole[8 : 8 + length]), whole[8 + length :]


def seal(path, header, tensors):
    """Writes a model's file with the right checksum."""
    header["__metadata__"]["sha256"] = "0" * 64
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    whole = struct.pack("<Q", len(text)) + text + tensors
    at = whole.index(b'"sha256":"') + 10
    checksum = hashlib.sha256(whole[:at] + whole[at + 64 :]).hexdigest().encode()
    path.write_bytes(whole[:at] + checksum + whole[at + 64 :])


def model(toy, change):
    """The toy model, changed."""

    def place(path):
        path.mkdir(exist_ok=True)
        header, tensors = opened(toy / "model/model.safetensors")
        meta = header["__metadata__"]
        meta["seqtune"] = json.dumps(change(json.loads(meta["seqtune"])), separators=(",", ":"))
        seal(path / "model.safetensors", header, tensors)

    return place


def with_value(value, *keys):
    def change(description):
        place = description
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value
        return description

    return change


def toml(text):
    """A string of TOML."""
    return '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08X}" for c in text) + '"'


#: The build that is tried, for checks that ask it again.
PROGRAM = [None]


def records(folder, name):
    """The records of a dataset in any form."""
    path = folder / name
    if path.is_file() and path.read_bytes()[:1] == b"S":
        made(PROGRAM[0], folder, "export", "dataset", name, "-o", "converted.jsonl")
        path = folder / "converted.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


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
