#!/usr/bin/env bash
# Triton prints a whole program to standard output where NVIDIA's assembler refuses it.
#
# Versions    Triton 3.6.0 from PyPI, Python 3.10 to 3.14 on x86-64 Linux; no GPU is needed
# Behaviour   triton.compile of a kernel that needs more registers than maxnreg raises PTXASError, whose text has the assembler's sentences and a
#             command. Before that it prints the same and the program's text in PTX, some hundred lines, to standard output, not to standard error.
# One would   guess that an error that is raised prints nothing, or nothing where a script writes its results.
# Seen        PTXASError; more than 100 lines on standard output, .version among them
# Remedy      send the file descriptor 1 elsewhere while it compiles; sys.stdout alone suffices where nothing was printed by C++.
#
# Fetches 190 MB into a temporary folder, which is removed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check triton==3.6.0
cat > "$work/few.py" <<'PY'
import sys
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left, right = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(left, right))


types = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "constexpr", "N": "constexpr", "K": "constexpr"}
source = ASTSource(fn=product, signature=types, constexprs={(3,): 64, (4,): 64, (5,): 16})
try:
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4, "maxnreg": 16})
except Exception as error:
    print(type(error).__name__, file=sys.stderr)
PY
TRITON_CACHE_DIR=$work/cache "$work/venv/bin/python" "$work/few.py" > "$work/out" 2> "$work/err"
lines=$(wc -l < "$work/out")
echo "raised: $(tail -1 "$work/err"); $lines lines on standard output"
[ "$(tail -1 "$work/err")" = PTXASError ] && [ "$lines" -gt 100 ] && grep -q '^\.version' "$work/out" || { echo "the behaviour changed" >&2; exit 1; }
