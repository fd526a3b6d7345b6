"""Asks the engines' own code for tables: the functions that name a table and read it, taken whole from the installed package.

engine_tables.py PACKAGES vllm|sglang FOLDER DEVICE_NAME E,N,DTYPE,BLOCK_N,BLOCK_K...

Prints for each shape whether the engine finds a table, and its rows. Everything else of the package (torch, GPUs, arguments) is a stand-in.
"""

import ast
import functools
import json
import os
import sys
import types
from pathlib import Path
from typing import Any

FILES = {
    "vllm": "vllm/model_executor/layers/fused_moe/fused_moe.py",
    "sglang": "sglang/srt/layers/moe/fused_moe_triton/fused_moe_triton_config.py",
}


class Quiet:
    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def reader(packages: Path, engine: str, folder: str, device_name: str):
    """``get_moe_configs`` of an engine, which looks in ``folder``."""
    path = packages / FILES[engine]
    wanted = {"get_config_file_name", "get_moe_configs"}
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    arguments = types.SimpleNamespace(enable_deterministic_inference=False)
    space = {
        "functools": functools, "json": json, "os": os, "Any": Any, "Optional": Any, "Dict": dict, "List": list, "logger": Quiet(),
        "get_device_name": lambda: device_name.replace("_", " "), "get_device_name_as_file_name": lambda: device_name,
        "envs": types.SimpleNamespace(VLLM_BATCH_INVARIANT=False, VLLM_TUNED_CONFIG_FOLDER=folder),
        "get_global_server_args": lambda: arguments, "triton": types.SimpleNamespace(__version__="3.5.1"), "__file__": str(path),
    }
    if engine == "sglang":
        space.update(Optional={str: Any, int: Any}, Dict={(int, Any): Any}, List={int: Any})
        os.environ["SGLANG_MOE_CONFIG_DIR"] = folder
    exec(compile(ast.unparse(ast.fix_missing_locations(strip(tree))), str(path), "exec"), space)
    return space["get_moe_configs"]


def strip(tree: ast.Module) -> ast.Module:
    """Without annotations, which name types that are not here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
    return tree


def main() -> int:
    packages, engine, folder, device_name, *shapes = sys.argv[1:]
    read = reader(Path(packages), engine, folder, device_name)
    missing = 0
    for shape in shapes:
        e, n, dtype, block_n, block_k = shape.split(",")
        found = read(int(e), int(n), dtype or None, int(block_n or 0), int(block_k or 0))
        missing += found is None
        told = "no table" if found is None else f"{len(found)} rows, of 64 tokens {json.dumps(found.get(64))}"
        print(f"{engine}: E={e},N={n},dtype={dtype or '-'},blocks={block_n or '-'}: {told}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
