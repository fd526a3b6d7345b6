# Sourced by the scripts that prove something with PyTorch, Triton or Helion: an environment under target/torch with versions that are known to work.

torch_python=$PWD/target/torch/bin/python
# of NumPy 2.4 and newer Triton 3.6's interpreter runs no loop over a size
torch_packages=(torch==2.11.0 triton==3.6.0 'numpy<2.4')

# Makes the environment, where it is missing; further packages are named as arguments.
torch_alone() {
    if [ ! -x "$torch_python" ]; then
        python3 -m venv target/torch
        echo "fetching PyTorch 2.11.0 (2.5 GB) into target/torch" >&2
    fi
    "$torch_python" -m pip install --quiet --disable-pip-version-check "${torch_packages[@]}" "$@"
}

# The same, with a new wheel of seqtune. SEQTUNE_WHEEL names a wheel that is there.
torch_environment() {
    torch_alone "$@"
    local wheel=${SEQTUNE_WHEEL:-$(scripts/release/wheel.sh dev)}
    "$torch_python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$wheel"
}
