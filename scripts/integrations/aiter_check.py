"""Asks AITER's own code for a row of a table: aiter_check.py PACKAGES TABLE KERNEL COMPUTE_UNITS M,N,K.

Two of its functions are taken whole from the installed package: the one that looks up a config when a product is called, and the one that tells
which compiled kernel serves each shape when the kernels are built. All else of the package (torch, GPUs) is a stand-in.
"""

import ast
import functools
import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd


def taken(path: Path, names: set, space: dict) -> dict:
    """The functions and assignments of these names of a file, in a space of stand-ins."""
    tree = ast.parse(path.read_text())

    def is_wanted(node) -> bool:
        if isinstance(node, ast.FunctionDef):
            return node.name in names
        return isinstance(node, ast.Assign) and any(getattr(target, "id", None) in names for target in node.targets)

    tree.body = [node for node in tree.body if is_wanted(node)]
    exec(compile(tree, str(path), "exec"), space)
    return space


def main() -> int:
    packages, table, kernel, units, shape = sys.argv[1:]
    m, n, k = (int(size) for size in shape.split(","))
    quiet = SimpleNamespace(info=print)
    # AITER rounds M up where a shape has no row; a row that was made for the shape itself has to be found before that
    space = {
        "functools": functools, "pd": pd, "logger": quiet, "AITER_LOG_TUNED_CONFIG": False, "get_cu_num": lambda: int(units),
        "get_padded_m": lambda m, n, k, gl: -1,
    }
    found = taken(Path(packages) / "aiter/ops/gemm_op_a8w8.py", {"_CKGEMM_CONFIG_CACHE", "get_CKGEMM_config"}, space)["get_CKGEMM_config"](m, n, k, table)
    if found is None:
        return 1
    source = Path(packages) / "aiter_meta/csrc" / f"ck_{kernel}"
    spec = importlib.util.spec_from_file_location("common", source / f"{kernel}_common.py")
    common = importlib.util.module_from_spec(spec)
    sys.modules["common"] = common
    spec.loader.exec_module(common)
    gpu = SimpleNamespace(
        is_available=lambda: True, current_device=lambda: 0,
        get_device_properties=lambda device: SimpleNamespace(multi_processor_count=int(units)),
    )
    space = {
        "pd": pd, "os": os, "torch": SimpleNamespace(cuda=gpu), "kernels_list": common.kernels_list,
        "default_kernels_dict": dict(common.default_kernels_dict),
    }
    compiled = taken(source / "gen_instances.py", {"get_tune_dict"}, space)["get_tune_dict"](table)
    name = compiled[(m, n, k)].name
    same = name == found["kernelName"]
    print(f"AITER: M={m},N={n},K={k} on {units} compute units: number {found['kernelId']}, {name}{'' if same else ', NOT the kernel that the row names'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
