#!/usr/bin/env bash
# Sets up what is missing and runs all tests.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
# one test binary after the other; within one, OpenCL measuring and libtorch share the cores
cargo test "$@"
