#!/usr/bin/env bash
# Proves docs/integrations/helion.md with Helion 1.2 itself, on the CPU: registers the backend, lets Helion write functions from made-up times, and runs them.
#
#   scripts/integrations/helion.sh
#
# Needs `cargo build --release`, `cargo build --release -p seqtune-train`, and 6 GB of disk for PyTorch (2.5 GB to fetch), kept under
# target/torch.
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/integrations/torch_environment.sh
[ -x target/release/seqtune-train ] || { echo "helion.sh: build the trainer first: cargo build --release -p seqtune-train" >&2; exit 1; }
# Helion 1.5.1 does not import on PyTorch 2.11
torch_environment helion==1.2.0 packaging
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$torch_python" scripts/integrations/helion_check.py "$PWD/target/release/seqtune" "$work"
