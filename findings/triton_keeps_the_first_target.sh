#!/usr/bin/env bash
# What Triton compiles for a second kind of GPU in one process depends on the first.
#
# Versions    Triton 3.6.0 from PyPI, Python 3.10 to 3.14 on x86-64 Linux; no GPU is needed
# Behaviour   triton.compile takes a target. The conversions of 8-bit floats that a target has are looked up once in a process: a kernel that
#             loads fp8e5 compiles for an A100 (sm_80) and for an H100 (sm_90), each alone, and for an A100 not after an H100.
# One would   guess that a call with a target of its own depends on nothing that was compiled before.
# Seen        sm_80: compiles; sm_90: compiles; sm_80 then sm_90: compiles, compiles; sm_90 then sm_80: compiles, does not
# Remedy      a process for each target.
#
# Fetches 190 MB into a temporary folder, which is removed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.6.0
cat > "$work/load.py" <<'PY'
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

@triton.jit
def widen(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n).to(tl.float32), mask=at < n)

for architecture in map(int, sys.argv[1:]):
    source = ASTSource(fn=widen, signature={"x": "*fp8e5", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}, constexprs={(3,): 256})
    try:
        triton.compile(source, target=GPUTarget("cuda", architecture, 32), options={"num_warps": 4})
        print("compiles", end=" ")
    except Exception:
        print("fails", end=" ")
PY
seen() { # ARCHITECTURE...    with a cache of its own
    local cache=$work/cache$RANDOM
    TRITON_CACHE_DIR=$cache "$work/venv/bin/python" "$work/load.py" "$@" 2>/dev/null | grep -oE '(compiles|fails) ' | tr -d '\n'
}
found="80: $(seen 80)/ 90: $(seen 90)/ 80 90: $(seen 80 90)/ 90 80: $(seen 90 80)"
echo "$found"
[ "$found" = "80: compiles / 90: compiles / 80 90: compiles compiles / 90 80: compiles fails " ] || { echo "the behaviour changed" >&2; exit 1; }
