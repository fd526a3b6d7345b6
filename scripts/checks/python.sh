#!/usr/bin/env bash
# Tests the Python package as a user gets it: builds the wheel, installs it into a fresh environment, and runs there its tests, the
# examples of its documentation and, where mypy can be installed, the check of its types.
#
#   scripts/checks/python.sh [WHEEL]     a wheel that is there, instead of one of the dev profile
set -euo pipefail
cd "$(dirname "$0")/../.."
began=$SECONDS
wheel=${1:-$(scripts/release/wheel.sh dev)}
wheel=$(realpath "$wheel")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
python=$work/venv/bin/python
pip() { "$python" -m pip --disable-pip-version-check "$@"; }
echo "python: $("$python" --version), $(basename "$wheel"), built within $((SECONDS - began)) s" >&2
pip install --quiet --no-deps "$wheel"
root=$PWD
cd "$work"

# first without NumPy and pandas: they are optional
"$python" -m unittest discover -s "$root/src/python/tests" -t "$root/src/python/tests"
if pip install --quiet numpy pandas >"$work/pip.log" 2>&1; then
    "$python" -m unittest discover -s "$root/src/python/tests" -t "$root/src/python/tests" -p 'test_frames.py'
else
    echo "skipped: NumPy and pandas cannot be installed here; it takes a way to PyPI"
fi
"$python" "$root/src/python/tests/documents.py" "$root"
if pip install --quiet mypy >"$work/pip.log" 2>&1; then
    # other tools have no types, or are not installed here
    others=(--disable-error-code import-untyped --disable-error-code import-not-found --allow-subclassing-any)
    "$python" -m mypy --strict --no-error-summary "${others[@]}" -p seqtune
    "$python" -m mypy --strict --no-error-summary "$root/src/python/tests/typed.py"
    "$python" -m mypy.stubtest --concise seqtune._seqtune
else
    echo "skipped: mypy cannot be installed here; it takes a way to PyPI"
fi
echo "python: all passed in $((SECONDS - began)) s"
