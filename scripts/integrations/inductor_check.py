"""Holds what docs/integrations/inductor.md says against PyTorch itself, for an A100 that is not there: inductor_check.py SEQTUNE MODEL FOLDER.

SEQTUNE is the command line, MODEL one of triton_mm, FOLDER takes a table.
"""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import torch
import torch._inductor.choices as choices
import torch._inductor.config as config
from inductor_lowering import constants, lower, pretend, templates
from torch._inductor.lookup_table.choices import LookupTableChoices
from torch._inductor.virtualized import V

import seqtune
import seqtune.inductor

SHAPES = (1152, 2048), (2048, 1024)
PROBLEM = "m=1152,n=1024,k=2048"


def check(what: str, holds: bool, seen: object = "") -> None:
    print(f"{'ok  ' if holds else 'FAIL'} {what}{f': {seen}' if str(seen) else ''}")
    if not holds:
        sys.exit(1)


def product(a, b):
    return a @ b


def with_bias(bias, a, b):
    return torch.addmm(bias, a, b)


def tile(config: dict) -> str:
    return "triton " + "x".join(str(config[f"BLOCK_{axis}"]) for axis in "MNK")


def of_source(source: str, config: dict) -> bool:
    """Whether a program was written with a config."""
    named = {"numstages": "num_stages", "numwarps": "num_warps"}
    written = constants(source)
    return all(written.get(named.get(name, name)) == str(value) for name, value in config.items())


def cache_key() -> bytes:
    """What Inductor's cache knows of the handler."""
    if hasattr(choices, "inductor_choices_cache_key"):  # 2.15
        return pickle.dumps(choices.inductor_choices_cache_key(config.inductor_choices_class))
    return pickle.dumps(config.inductor_choices_class)


def handler(model: seqtune.Model) -> None:
    source, before = lower(product, *SHAPES)
    check("without seqtune Inductor measures", len(before) > 10, f"{len(before)} choices")
    strides = "mat1_stride_0=2048,mat1_stride_1=1,mat2_stride_0=1024,mat2_stride_1=1"
    [best] = seqtune.Predictor(model, "triton_mm", "A100").predict(f"{PROBLEM},{strides}", top=1)

    chooser = seqtune.inductor.install(model)
    source, seen = lower(product, *SHAPES)
    few = 2 if not best.unsure else 4
    check("with it the first choice and the library", len(seen) == few and "mm" in templates(seen), templates(seen))
    check("the program has exactly the predicted config", of_source(source, best.config), best.config)
    check("2048 is a multiple of BLOCK_K and EVEN_K says so", constants(source)["EVEN_K"] == "True")
    lower(product, *SHAPES)
    check("the model was asked once for two graphs of one product", chooser.asked == 1 and chooser.hits == 2)
    source, seen = lower(with_bias, (1024,), *SHAPES)
    check("addmm too, beside the library", "addmm" in templates(seen) and len(seen) < 6, templates(seen))
    source, seen = lower(product, (1152, 100), (100, 1024))
    check("100 is no multiple and EVEN_K says so", constants(source)["EVEN_K"] == "False", templates(seen))
    source, seen = lower(product, *SHAPES, symbolic=(2048,))
    check("of a size that may change nothing is taken to divide", constants(source)["EVEN_K"] == "False", templates(seen))
    source, seen = lower(product, *SHAPES, transposed=True)
    check("a transposed weight is another product", chooser.asked == 3, templates(seen))
    source, seen = lower(product, (4, 64, 64), (4, 64, 64))
    check("a batched product is left to Inductor", chooser.asked == 3 and len(seen) > 4, f"{len(seen)} choices")
    source, seen = lower(product, (16, 100000), (100000, 16))
    check("a long sum is left to Inductor", chooser.asked == 3 and "decompose_k" in templates(seen)[1], f"{len(seen)} choices")
    source, seen = lower(product, (64, 64), (64, 64), dtype=torch.float64)
    check("float64 is left to Inductor", chooser.asked == 3, f"{len(seen)} choices")

    first = cache_key()
    alone = seqtune.inductor.install(model, library="unsure", device="A100")
    check("another way to choose is another key of Inductor's cache", cache_key() != first)
    source, seen = lower(product, *SHAPES)
    check('library="unsure": a sure config stands alone', ("mm" in templates(seen)) == best.unsure, templates(seen))
    check("and was asked of its own model", alone.asked == 1)
    seqtune.inductor.uninstall()
    source, seen = lower(product, *SHAPES)
    check("uninstalled, Inductor measures what it did", len(seen) == len(before), f"{len(seen)} choices")


def table(program: str, model: str, folder: Path) -> None:
    def export(name: str, *options: str) -> dict:
        path = folder / name
        subprocess.run([program, "export", "inductor", model, *options, "-o", path], check=True)
        return json.loads(path.read_text())

    V.set_choices_handler(LookupTableChoices())
    config.lookup_table.table = export("table.json", PROBLEM)
    [entries] = config.lookup_table.table.values()
    source, seen = lower(product, *SHAPES)
    check("the table's key is Inductor's", len(seen) == len(entries), templates(seen))
    own = {name: str(value) for name, value in entries[0].items() if name != "template_id"}
    check("the program has exactly the entry's options", constants(source) == own, own)
    config.lookup_table.table = export("bias.json", PROBLEM, "--op", "addmm")
    source, seen = lower(with_bias, (1024,), *SHAPES)
    check("the key of addmm is Inductor's", 1 < len(seen) < 6 and "addmm" in templates(seen), templates(seen))
    config.lookup_table.table = export("weights.json", PROBLEM, "--layout", "nt", "--dtype", "bfloat16")
    source, seen = lower(product, *SHAPES, dtype=torch.bfloat16, transposed=True)
    check("so is that of a transposed bfloat16 weight", len(seen) in (2, 4), templates(seen))
    config.lookup_table.table = export("device.json", PROBLEM, "--device-key", "NVIDIA A100-SXM4-40GB")
    source, seen = lower(product, *SHAPES)
    check("and that of one device", len(seen) in (2, 4), templates(seen))
    config.lookup_table.table = export("other.json", PROBLEM, "--device-key", "NVIDIA H100")
    source, seen = lower(product, *SHAPES)
    check("another device's entries are not taken", len(seen) > 10, f"{len(seen)} choices")
    config.lookup_table.table = export("dynamic.json", PROBLEM, "--dynamic")
    source, seen = lower(product, *SHAPES, symbolic=(2048,))
    check("--dynamic is right for a size that changes", constants(source)["EVEN_K"] == "False" and len(seen) in (2, 4))
    config.lookup_table.table = None


if __name__ == "__main__":
    program, path, folder = sys.argv[1:]
    print(f"PyTorch {torch.__version__}, seqtune {seqtune.__version__}, a graphics card that is not there")
    pretend()
    handler(seqtune.Model(path))
    table(program, path, Path(folder))
    print("inductor: all holds")
