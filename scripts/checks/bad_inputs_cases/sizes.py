"""Sizes from outside are believed."""

import bz2
import gzip
import json
import zlib

from .case import Case, FAKE, HEAD, Unmade, VEC, made, model, opened, seal


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
        header, data = opened(toy / "model/model.safetensors")
        packer = zlib.compressobj(1)
        bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(3 << 10)) + packer.flush()
        header.pop("trees", None)
        end = max(part["data_offsets"][1] for name, part in header.items() if name != "__metadata__")
        header["trees"] = {"dtype": "U8", "shape": [len(bomb)], "data_offsets": [end, end + len(bomb)]}
        seal(path / "model.safetensors", header, data[:end] + bomb)

    return place


def sizes(toy):
    kind = "sizes from outside"
    vec, out = {"k/kernel.toml": VEC}, ["-o", "o.sqt"]
    toml = {"toy/kernel.toml": (toy / "kernel.toml").read_bytes()}
    gz = lambda path: gzip.open(path, "wb", compresslevel=1)
    yield Case(kind, "predict: trees of 3 GB", ["predict", "m", "toy", "M=64"], {"m": tree_bomb(toy), **toml})
    yield Case(kind, "check: trees of 3 GB", ["check", "m"], {"m": tree_bomb(toy)})
    for words in (["export", "csv", "d.sqt", "-o", "o.csv"], ["check", "d.sqt"], ["sweep", "merge", "d.sqt", *out], ["sweep", "status", "d.sqt"]):
        status = (0, 2) if words[0] == "status" else (2,)
        yield Case(kind, f"{words[0]}: a dataset of 3 GB", words, {"d.sqt": zeros(3 << 30, Zlib)}, status)
    for verb, name in (
        ("kernel-tuner", "c.json.gz"),
        ("t4", "c.json.gz"),
        ("ktt", "c.json.gz"),
        ("triton", "x.autotune.json.gz"),
        ("clblast", "c.json.gz"),
        ("autoheuristic", "a.txt.gz"),
    ):
        words = [
            "import",
            verb,
            name,
            *([] if verb in ("clblast", "autoheuristic") else ["--kernel", "k"]),
            *(["--problem", "n=64"] if verb in ("t4", "ktt") else []),
            "--device",
            "H200",
            *out,
        ]
        yield Case(kind, f"import {verb}: 3 GB, packed by gzip", words, {name: zeros(3 << 30, gz), **vec})
    for pack, ending in ((gz, "gz"), (lambda p: bz2.open(p, "wb", 1), "bz2")):
        size = 3 << 30 if ending == "gz" else 256 << 20
        yield Case(
            kind,
            f"import miopen: {size >> 20} MB, packed by {ending}",
            ["import", "miopen", f"gfx906_60.db.txt.{ending}", "-o", "out"],
            {f"gfx906_60.db.txt.{ending}": zeros(size, pack)},
        )

    def shard(index, of):
        def change(lines):
            shards = [place for place in nested(lines[0]) if "index" in place and "of" in place]
            if not shards:
                raise Unmade(f"no shard in {json.dumps(lines[0])[:200]}")
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

    for index, of in (
        (0, 2),
        (3, 2),
        (1, 0),
        (0, 0),
        (1, 100_001),
        (1, 1 << 40),
        (1 << 40, 1 << 40),
        (1, (1 << 64) - 1),
        ((1 << 64) - 1, (1 << 64) - 1),
        (1, 1 << 32),
    ):
        for words in (
            ["check", "j.1-of-2.jsonl"],
            ["sweep", "merge", "j.1-of-2.jsonl", "-o", "o.sqt", "--partial"],
            ["sweep", "status", "."],
            ["export", "dataset", "j.1-of-2.jsonl", "-o", "o.sqt"],
        ):
            yield Case(kind, f"{words[0]}: shard {index} of {of}", words, run=sharded(index, of), status=(0,) if words[0] == "status" else (2,))
    for words in (
        ["--shard", "1/1099511627776"],
        ["--shard", "0/2"],
        ["--shard", "3/2"],
        ["--shard", "1/0"],
        ["--sample", "1000001"],
        ["--sample", "18446744073709551615"],
        ["--pool", "18446744073709551615"],
        ["--sample", "-1"],
        ["--sample", "1e3"],
        ["--timeout", "1e300s"],
        ["--timeout", "-1s"],
        ["--timeout", "nan"],
    ):
        base = [word for word in FAKE if word not in ("--sample", "12")] if "--sample" in words else FAKE
        yield Case(kind, f"sweep {' '.join(words)}", [*base, *words])
    yield Case(
        kind,
        "sweep of matrices of 16 GB each",
        ["sweep", "gemm", "--device", "fake", "--problems", "M=65536,N=65536,K=65536", "--sample", "2", "-o", "j.jsonl"],
        status=(0, 1, 2),
        changes=("j.jsonl",),
    )
    many = "".join(f"M={n},N=64,K=64\n" for n in range(1, 1001))
    yield Case(
        kind,
        "sweep: a plan of 1,000 million configs",
        ["sweep", "gemm", "--device", "fake", "--problems", "p.txt", "--sample", "1000000", "-o", "j.jsonl"],
        {"p.txt": many},
    )
    predict = ["predict", "m", "toy", "M=64"]
    fixed = {"m": model(toy, lambda d: d), **toml}
    for words in (
        ["--top", "0"],
        ["--top", "10001"],
        ["--top", "18446744073709551616"],
        ["--width", "0"],
        ["--width", "10001"],
        ["--width", "-1"],
        ["--threads", "100000"],
        ["--cover", "1.5"],
        ["--cover", "nan"],
        ["--cover", "-1"],
    ):
        yield Case(kind, f"predict {' '.join(words)}", [*predict, *words], fixed)
    for problem in (
        "M=99999999999999999999",
        "M=9223372036854775808",
        "M=-1",
        "M=0",
        "M=1e3",
        "M=0x40",
        "M=64.5",
        "M=",
        "M",
        "=64",
        "M=64,M=64",
        "M=64,Q=1",
        "",
        ",",
    ):
        yield Case(kind, f"predict {problem or 'of nothing'}", ["predict", "m", "toy", problem], fixed)
    for words in (
        ["--range", "M=1..9223372036854775808"],
        ["--range", "M=9..1"],
        ["--range", "M=1..2", "--range", "M=3..4"],
        ["--samples", "18446744073709551615"],
        ["--samples", "0"],
        ["--range", "Q=1..2"],
    ):
        yield Case(kind, f"export header {' '.join(words)}", ["export", "header", "m", "M=64", "--kernel", "toy", "-o", "o.h", *words], fixed)
    for what, values in (
        ("129 parameters", "parameters"),
        ("a value beyond 2^53", "value"),
        ("a name of 65 letters", "name"),
        ("an expression of 20,000 parts", "expression"),
        ("an expression of depth 1,000", "depth"),
        ("5 MB of text", "text"),
        ("321 values", "values"),
    ):
        text = HEAD
        if values == "parameters":
            text = HEAD.replace(
                "parameter = [", "parameter = [" + "".join(f"{{ name = 'p{n}', values = [1], default = 1, meaning = 'x' }}, " for n in range(129))
            )
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
