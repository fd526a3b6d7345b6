#!/usr/bin/env bash
# Tuned for another version of Triton, two of three rows of SGLang's tables for mixtures of experts have another config.
#
# Versions    sglang 0.5.9 from PyPI, its wheel alone
# Behaviour   The package has tables of tuned configs by version of Triton (3.1.0 to 3.5.1). Where one shape on one GPU has tables for several
#             versions, a row of the earlier one seldom is the row of the later one. SGLang reads a table of another version where its own is
#             missing.
# One would   guess that the best tile of a product is a matter of the shape and the GPU, so that most rows stay.
# Seen        320 rows stand in tables of an earlier and a later version; 101 have the same config
# Remedy      tune, or learn, for the version that runs; judge a predictor of such configs beside this agreement.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$work" sglang==0.5.9
cd "$work"
"$work/venv/bin/python" - <<'PY'
import glob, json, zipfile

tables = {}
wheel = zipfile.ZipFile(glob.glob("sglang-*.whl")[0])
for path in sorted(wheel.namelist()):
    if "/fused_moe_triton/configs/triton_" in path and path.endswith(".json"):
        version, name = path.split("/")[-2:]
        tables.setdefault(name, {})[tuple(int(part) for part in version.split("_")[1:])] = json.loads(wheel.read(path))
rows = same = 0
for versions in tables.values():
    ordered = [table for _, table in sorted(versions.items())]
    for before, after in zip(ordered, ordered[1:]):
        both = set(before) & set(after)
        rows += len(both)
        same += sum(before[row] == after[row] for row in both)
print(f"{rows} rows stand in tables of an earlier and a later version; {same} have the same config")
assert (rows, same) == (320, 101), "the behaviour changed"
PY
