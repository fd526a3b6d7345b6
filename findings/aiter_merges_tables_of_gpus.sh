#!/usr/bin/env bash
# AITER merges tuned tables of several GPUs into one row per shape: that of the fastest GPU. Rows of all others are lost.
#
# Versions    amd-aiter 0.1.7.post2.dev18, pandas 2.3.3, Python 3.10 or newer on Linux
# Behaviour   A tuned table has rows for GPUs with different numbers of compute units (column cu_num), and a product looks its row up by cu_num, M,
#             N and K. Where several tables are read (the default, where the folder model_configs has one of the kind, or a variable
#             names several), update_config_files sorts all rows by time and keeps the first of each shape. Shapes are told apart by the
#             columns of the untuned table, which has no cu_num. So a GPU loses its row for each shape that a faster row of another GPU has.
# One would   guess that rows are told apart by all columns that they are looked up by.
# Seen        cu_num 80: 117 rows before, 0 after
#             cu_num 256: 613 rows before, 588 after
#             cu_num 304: 117 rows before, 28 after
# Remedy      name one table in the variable, in which the rows of all tables stand.
#
# Needs python3 with pip; nothing is installed outside a temporary folder. No GPU is asked.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip download --quiet --disable-pip-version-check --no-deps amd-aiter==0.1.7.post2.dev18
python3 -m zipfile -e amd_aiter-*.whl packages
python3 -m pip install --quiet --disable-pip-version-check --target python pandas==2.3.3 2>/dev/null
cat > merge.py <<'PY'
import ast
import os
import re
import sys

import pandas as pd

root = "packages"
tree = ast.parse(open(f"{root}/aiter/jit/core.py").read())
tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "update_config_files"]
# the merged table is written into /tmp: here into this folder
text = ast.unparse(tree).replace("/tmp/", "./merged-")
space = {"os": os, "re": re, "AITER_ROOT_DIR": root}
exec(compile(text, "core.py", "exec"), space)
kind = "a8w8_blockscale_tuned_gemm"
configs = f"{root}/aiter/configs"
files = [f"{configs}/{kind}.csv", f"{configs}/model_configs/{kind}_ds_v3.csv"]
before = pd.concat([pd.read_csv(file) for file in files])
after = pd.read_csv(space["update_config_files"](":".join(files), kind))
for units in sorted(before.cu_num.unique()):
    print(f"cu_num {units}: {(before.cu_num == units).sum()} rows before, {(after.cu_num == units).sum()} after")
PY
found=$(PYTHONPATH=$work/python python3 merge.py)
echo "$found"
[ "$found" = "cu_num 80: 117 rows before, 0 after
cu_num 256: 613 rows before, 588 after
cu_num 304: 117 rows before, 28 after" ]
