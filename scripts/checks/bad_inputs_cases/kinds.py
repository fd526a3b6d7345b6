"""Files of other tools that are read wrongly: what is merged, and the kind of a file."""

import bz2
import gzip
import json
import lzma

from .case import CONVOLUTION, Case, FAKE, MIOPEN, PARAMETERS, ROW, SCHEMA, VEC, database, journal
from .others import cache, clblast, from_cache, microseconds


def others_merged(_):
    kind = "things merged"
    one, again = cache([(32, "0.5"), (64, "0.25")]), cache([(128, "0.5")])
    yield from_cache(None, files={"a.json": one, "b.json": cache([(128, "0.5")], kernel="other")}, status=(2,), what="files of two kernels", kind=kind)
    yield from_cache(None, files={"a.json": one, "b.json": cache([(128, "0.5")], "NVIDIA A100")}, status=(2,), what="files of two devices", kind=kind)
    yield from_cache(
        None,
        files={"a.json": one, "b.json": cache([(128, "0.5")], "NVIDIA A100")},
        status=(2,),
        more=("--device", "T4"),
        what="files of two devices, one of them named",
        kind=kind,
    )
    yield from_cache(one, status=(2,), more=("--device", "H100"), what="--device names another one than the file", kind=kind)
    yield from_cache(None, [500, 250], files={"a.json": one, "b.json": one}, what="one file twice", kind=kind)
    yield from_cache(None, [500, 250, 500], files={"a.json": one, "b.json": again}, what="two parts of one sweep", kind=kind)
    add = VEC.replace("vec", "add").replace("block", "BLOCK_SIZE").replace("[32, 64, 128, 256]", "[1024, 4096]").replace("default = 128", "default = 1024")
    entry = lambda block, ms, **more: [{"kwargs": {"BLOCK_SIZE": block}, "num_warps": 4, "num_ctas": 1, "num_stages": 3, **more}, [ms] * 3]
    triton = lambda *entries: json.dumps({"key": [1048576, "torch.float32"], "configs_timings": list(entries)})
    words = ["import", "triton", "add_kernel.autotune.json", "--kernel", "k", "--device", "H100", "-o", "o.jsonl"]
    yield Case(
        kind,
        "import triton: files of two kernels",
        ["import", "triton", "fwd.autotune.json", "bwd.autotune.json", *words[3:]],
        {"fwd.autotune.json": triton(entry(1024, 0.5)), "bwd.autotune.json": triton(entry(1024, 1.5)), "k/kernel.toml": add},
    )
    for key, value in (("ir_override", "x.ttgir"), ("num_consumer_groups", 2), ("ubtune_cfg", {"a": True}), ("maxnreg", 64), ("num_ctas", 2)):
        yield Case(
            kind,
            f"import triton: configs that differ in {key} alone",
            words,
            {"add_kernel.autotune.json": triton(entry(1024, 0.5), entry(1024, 0.05, **{key: value}), entry(4096, 0.25)), "k/kernel.toml": add},
            (0,),
            check=microseconds([500, 250]),
        )
    for left, right in (("gfx908", 120), ("gfx906", 64)):
        schema = SCHEMA.replace("params TEXT", "params TEXT, arch TEXT, num_cu INT")
        config, _ = ROW.split("\n")
        rows = (
            f"{config} INSERT INTO perf_db VALUES (1, 'ConvAsm1x1U', 1, '{PARAMETERS}', 'gfx906', 60), (2, 'ConvAsm1x1U', 1, '{PARAMETERS}', '{left}', {right})"
        )
        yield Case(
            kind,
            f"import miopen: rows of {left} with {right} units among those of gfx906 with 60",
            ["import", "miopen", "gfx906_60.db", "-o", "out"],
            {"gfx906_60.db": database(schema, rows)},
            (0,),
            check=told("another device"),
        )
    yield Case(
        kind,
        "import miopen: --device names another one than the file",
        ["import", "miopen", "gfx906_60.db.txt", "--device", "MI300X", "-o", "out"],
        {"gfx906_60.db.txt": f"{CONVOLUTION}=ConvAsm1x1U:{PARAMETERS}\n"},
    )
    config = "WGD=8,MDIMCD=8,NDIMCD=8,MDIMAD=8,NDIMBD=8,KWID=2,VWMD=1,VWND=1,PADA=1,PADB=1"
    yield Case(
        kind,
        "import clblast: two devices",
        ["import", "clblast", "a.json", "b.json", "-o", "o.jsonl"],
        {"a.json": clblast([(config, 0.5)]), "b.json": clblast([(config, 0.7)], "NVIDIA GeForce RTX 3090")},
    )
    for key, value in (("arg_m", "64,c=a"), ("arg_m", "64,precision=16")):
        yield Case(
            kind, f"import clblast: {key} is `{value}`", ["import", "clblast", "a.json", "-o", "o.jsonl"], {"a.json": clblast([(config, 0.5)], **{key: value})}
        )
    yield Case(
        kind,
        "import clblast: the kernel of another tuner",
        ["import", "clblast", "a.json", "b.json", "-o", "o.jsonl"],
        {"a.json": clblast([(config, 0.5)]), "b.json": clblast([(config, 0.7)], kernel_family="xdot_1")},
    )


def told(words):
    return lambda answer, _: "" if words in answer.out + answer.err else f"silent: it does not say `{words}`"


def others_kinds(_):
    kind = "the kind of a file"
    one = f"{CONVOLUTION}=ConvAsm1x1U:{PARAMETERS}\n"
    newer = f"{CONVOLUTION}=ConvAsm1x1U:0.5,0,miopenConvolutionFwdAlgoDirect\n"
    older = f"{CONVOLUTION}=miopenConvolutionFwdAlgoDirect:ConvAsm1x1U,0.5,0,x,<unused>\n"
    miopen = lambda *words: ["import", "miopen", *words, "-o", "out"]
    yield Case(kind, "import miopen: a find database in place of a performance database", miopen("gfx906_60.HIP.fdb.txt"), {"gfx906_60.HIP.fdb.txt": newer})
    yield Case(kind, "import miopen: an older find database", miopen("gfx906_60.cd.fdb.txt"), {"gfx906_60.cd.fdb.txt": older})
    yield Case(
        kind,
        "import miopen --find-db: a performance database",
        miopen("gfx906_60.db.txt", "--find-db", "gfx906_60.b.db.txt"),
        {"gfx906_60.db.txt": one, "gfx906_60.b.db.txt": one},
    )
    yield Case(
        kind,
        "import miopen --find-db: one of SQLite",
        miopen("gfx906_60.db.txt", "--find-db", "gfx906_60.b.db"),
        {"gfx906_60.db.txt": one, "gfx906_60.b.db": database(SCHEMA, ROW)},
    )
    yield Case(kind, "import miopen: a database in WAL mode", miopen("gfx906_60.db"), {"gfx906_60.db": database("PRAGMA journal_mode=WAL", SCHEMA, ROW)}, (0,))
    yield Case(kind, "import miopen: a database without perf_db", miopen("gfx906_60.db"), {"gfx906_60.db": database("CREATE TABLE kern_db (id INT)")})
    for solver in ("miopen/ConvAsm1x1U", "ConvAsm1x1U/", "../ConvAsm1x1U", "./kernels/miopen/ConvAsm1x1U", "Conv Asm", "", "gemm", "/etc/passwd"):
        text = one.replace("ConvAsm1x1U", solver)
        yield Case(kind, f"import miopen: a solver called `{solver}`", miopen("gfx906_60.db.txt"), {"gfx906_60.db.txt": text})
    export = ["export", "miopen", MIOPEN, "n.txt", "--device", "MI50", "-o", "u.txt"]
    driver = "MIOpenDriver conv -n 8 -c 64 -H 28 -W 28 -k 64 -y 1 -x 1 -F 1"
    for line in (
        driver.replace("Driver", "Driver.exe"),
        f'"./bin/{driver}"',
        f"  '{driver}',",
        f"MIOPEN_FIND_MODE=1 {driver} 2>&1 | tee log",
        f"{driver}\r",
        driver.replace("MIOpenDriver", "C:\\rocm\\bin\\MIOpenDriver.exe"),
    ):
        yield Case(kind, f"export miopen: `{line}`", export, {"n.txt": line + "\n"}, (0,))
    ktt = {
        "Metadata": {"Device": "NVIDIA T4", "TimeUnit": "Microseconds"},
        "Results": [
            {"Configuration": [{"Name": "block", "Value": 32, "ValueType": "UnsignedInt"}], "KernelName": "vec", "Status": "Ok", "TotalDuration": 96.5}
        ],
    }
    for verb in ("kernel-tuner", "t4"):
        yield Case(
            kind,
            f"import {verb}: KTT's own JSON",
            ["import", verb, "k.json", "--kernel", "k", "--problem", "n=1000", "--device", "T4", "-o", "o.sqt"],
            {"k.json": json.dumps(ktt), "k/kernel.toml": VEC},
        )
    yield Case(
        kind,
        "import ktt: KTT's own JSON",
        ["import", "ktt", "k.json", "--kernel", "k", "--problem", "n=1000", "-o", "o.jsonl"],
        {"k.json": json.dumps(ktt), "k/kernel.toml": VEC},
        (0,),
        check=microseconds([96.5]),
    )
    whole = cache([(32, "0.5")]).encode()
    for ending, pack in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        # read, or named with the way to unpack it
        case = from_cache(pack(whole), None, what=f"packed by {ending}", kind=kind, status=(0, 2), name=f"c.json.{ending}")
        case.check = microseconds([500])
        yield case
    for name in ("x.csv", "x.parquet", "x.json"):
        yield Case(kind, f"convert -o {name}", ["export", "dataset", "j.jsonl", "-o", name], run=journal(lambda lines: lines))
        yield Case(kind, f"sweep -o {name}", [*FAKE[:7], name, *FAKE[8:]])
    yield Case(
        kind,
        "import kernel-tuner -o x.jsonl is a journal",
        ["import", "kernel-tuner", "c.json", "--kernel", "k", "-o", "x.jsonl"],
        {"c.json": whole, "k/kernel.toml": VEC},
        (0,),
        check=lambda _, folder: "" if (folder / "x.jsonl").read_bytes()[:1] == b"{" else "silent: a packed file of a journal's name",
    )
