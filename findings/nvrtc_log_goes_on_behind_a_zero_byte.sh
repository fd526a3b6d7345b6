#!/usr/bin/env bash
# The log of NVRTC has a zero byte in its middle, with the reason of a failure behind it.
#
# Versions    nvidia-cuda-nvrtc 13.0.88 from PyPI, on x86-64 Linux; no GPU is needed
# Behaviour   A kernel that declares 64 KiB of shared memory is refused by the assembler for sm_89. The log says so in a sentence with both numbers.
#             With --ptxas-options=-v the resources of the kernel come first, then a zero byte, then that sentence. nvrtcGetProgramLogSize counts
#             all of it. Read as a string of C, the log tells what a program needs that does not exist, and no reason.
#             For sm_90a the same kernel compiles.
# One would   guess that a log is one string, which ends at its first zero byte.
# Seen        plain: 1 part with the reason; verbose: 2 parts, the reason in the second; sm_90a: compiles
# Remedy      read as many bytes as the size says, and take zero bytes for ends of parts.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --target "$work/nvrtc" nvidia-cuda-nvrtc==13.0.88
python3 - "$work/nvrtc" <<'PY'
import ctypes, pathlib, sys

folder = next(path.parent for path in pathlib.Path(sys.argv[1]).rglob("libnvrtc-builtins.so*"))
ctypes.CDLL(str(next(folder.glob("libnvrtc-builtins.so*"))), mode=ctypes.RTLD_GLOBAL)
nvrtc = ctypes.CDLL(str(next(path for path in folder.glob("libnvrtc.so*") if ".alt." not in path.name)))
SOURCE = b"""extern "C" __global__ void turn(float *p)
{
    __shared__ float t[16384];
    t[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = t[threadIdx.x ^ 1];
}
"""

def compiled(*options):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"turn.cu", 0, None, None) == 0
    words = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    code = nvrtc.nvrtcCompileProgram(program, len(options), words)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return code == 0, [part for part in log.raw.decode().split("\0") if part]

REASON = "uses too much shared data (0x10000 bytes, 0xc000 max)"
plain, verbose = compiled("--gpu-architecture=sm_89"), compiled("--gpu-architecture=sm_89", "--ptxas-options=-v")
hopper = compiled("--gpu-architecture=sm_90a")
print(f"plain: {plain}\nverbose: {verbose}\nsm_90a: {hopper[0]}")
assert not plain[0] and len(plain[1]) == 1 and REASON in plain[1][0], "the behaviour changed"
assert not verbose[0] and len(verbose[1]) == 2 and REASON not in verbose[1][0] and REASON in verbose[1][1], "the behaviour changed"
assert hopper[0], "the behaviour changed"
PY
