#!/usr/bin/env bash
# Kernel Tuner takes two configs for one where values of parameters hold commas.
#
# Versions    kernel_tuner 1.5.0 from PyPI, with gcc for a kernel in C
# Behaviour   A config is known by its values, joined by commas: in the cache file, in the cache of a run, and in a strategy's own. Of the
#             parameters a = "1,2" or "1" and b = "3" or "2,3" the configs ("1,2", "3") and ("1", "2,3") have the same key. The second one is not
#             measured: it gets the record of the first one, with the first one's values.
# One would   guess that configs are told apart by their values.
# Seen        4 configs; 3 entries in the cache file
# Remedy      number such values, or name them without commas.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check kernel_tuner==1.5.0
cd "$work"
"$work/venv/bin/python" -W ignore - <<'PY'
import json
import numpy
from kernel_tuner import tune_kernel

SOURCE = """
extern "C" float wait(int n) {
    float list[] = {a, b};
    return n + sizeof(list);
}
"""
results, _ = tune_kernel(
    "wait", SOURCE, 1, [numpy.int32(1)], {"a": ["1,2", "1"], "b": ["3", "2,3"]}, lang="C", cache="cache.json", quiet=True, verbose=False
)
with open("cache.json") as file:
    text = file.read()
entries = json.loads(text)["cache"]
print(f"{len(results)} results; {len(entries)} entries: {sorted(entries)}")
assert len(entries) == 3 and "1,2,3" in entries, "the behaviour changed"
PY
