#!/usr/bin/env bash
# Puts in place what seqtune builds and runs on, by part; all but slurm, chromium and qemu where none is named. Does nothing for what is there.
#
#   scripts/setup.sh [opencl] [libtorch] [lightgbm] [nvrtc] [amd] [slurm] [chromium] [qemu]
#
#   opencl     PoCL, the processor as an OpenCL device (43 MB): sweep, validate
#   libtorch   libtorch 2.11.0 for the CPU under .libtorch (540 MB to fetch, 500 MB kept): train, distil, evaluate folds
#   lightgbm   under .lightgbm (4 MB): the baseline of evaluate
#   nvrtc      NVIDIA's run-time compiler and CUDA's headers under .nvrtc (97 MB): programs for NVIDIA GPUs without one
#   amd        AMD's run-time compiler and clang 19 (70 MB): the same for AMD GPUs
#   slurm      Slurm (4 MB): the test of a sweep on a cluster of one node
#   chromium   Chromium and Node.js (130 MB): the tests of the page of docs/try, scripts/release/web.sh --test
#   qemu       qemu-user (13 MB): other processors, on which scripts/checks/hosts.sh compares answers
#
# SEQTUNE_TORCH_DIR names an existing torch 2.11.0 folder (with include/ and lib/) to use instead of a download.
set -euo pipefail
cd "$(dirname "$0")/.."
# ldconfig lies where only root looks
PATH=$PATH:/usr/sbin:/sbin

torch_version=2.11.0
lightgbm_version=4.6.0
nvrtc_version=13.0.88
cccl_version=13.0.85
say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

parts=("$@")
[ $# -gt 0 ] || parts=(opencl libtorch lightgbm nvrtc amd)
for part in "${parts[@]}"; do
    case $part in
        opencl | libtorch | lightgbm | nvrtc | amd | slurm | chromium | qemu) ;;
        *) fail "there is no part \`$part\`: name some of opencl, libtorch, lightgbm, nvrtc, amd, slurm, chromium, qemu" ;;
    esac
done
wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }

command -v cargo >/dev/null || fail "cargo is missing: install Rust 1.89 or newer (rustup.rs), then run this again"
command -v cc >/dev/null || fail "a C compiler is missing: install gcc, then run this again"
python_or_fail() { command -v python3 >/dev/null || fail "python3 is missing: install python3 and python3-pip, then run this again"; }

libtorch_ready() { [ "$(cat .libtorch/build-version 2>/dev/null)" = "$torch_version" ] && [ -e .libtorch/lib/libtorch_cpu.so ]; }

link_installed_torch() {
    local dir=${SEQTUNE_TORCH_DIR:-}
    if [ -z "$dir" ]; then
        # find_spec locates the package without importing it
        dir=$(python3 - "$torch_version" <<'PY'
import importlib.metadata, importlib.util, pathlib, sys
try:
    if importlib.metadata.version("torch").split("+")[0] == sys.argv[1]:
        print(pathlib.Path(importlib.util.find_spec("torch").origin).parent)
except Exception:
    pass
PY
)
    fi
    [ -n "$dir" ] && [ -e "$dir/lib/libtorch_cpu.so" ] && [ -d "$dir/include/torch" ] || return 1
    say "using the torch $torch_version in $dir"
    rm -rf .libtorch && mkdir .libtorch
    ln -s "$dir/include" .libtorch/include
    ln -s "$dir/lib" .libtorch/lib
    echo "$torch_version" > .libtorch/build-version
}

download_libtorch() {
    python3 -m pip --version >/dev/null 2>&1 || fail "pip is missing: install python3-pip, then run this again"
    local wheels platforms=() minor
    wheels=$(mktemp -d)
    trap 'rm -rf "${wheels:-}"; trap - RETURN' RETURN
    for minor in 28 27 26 25 24 17; do platforms+=(--platform "manylinux_2_${minor}_x86_64"); done
    say "downloading libtorch $torch_version (540 MB)"
    PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 --implementation cp \
        --abi cp311 --abi none "${platforms[@]}" --platform manylinux2014_x86_64 -d "$wheels" \
        "torch==$torch_version" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 \
        || fail "the download of torch $torch_version failed: see pip's message above"
    say "unpacking libtorch into .libtorch (500 MB)"
    rm -rf .libtorch .libtorch.part
    python3 - "$wheels" <<'PY'
import pathlib, shutil, sys, zipfile
# The CPU build needs these libraries and the headers; of CUDA only the two small ones that libtorch_cpu names.
wanted = {"libtorch_cpu.so", "libtorch.so", "libc10.so", "libgomp.so.1", "libcudart.so.13", "libcupti.so.13"}
root = pathlib.Path(".libtorch.part")
for wheel in pathlib.Path(sys.argv[1]).glob("*.whl"):
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            base = name.rsplit("/", 1)[-1]
            if name.startswith("torch/include/") and base:
                target = root / name[len("torch/"):]
            elif base in wanted and "/lib/" in name:
                target = root / "lib" / base
            else:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with z.open(name) as src, open(target, "wb") as dst:
                shutil.copyfileobj(src, dst)
missing = [n for n in sorted(wanted) if not (root / "lib" / n).exists()]
sys.exit(f"setup: the wheels lack {missing}" if missing else 0)
PY
    echo "$torch_version" > .libtorch.part/build-version
    mv .libtorch.part .libtorch
}

# Puts libraries of a package's wheel into FOLDER; where that fails, says what does not work without them, and goes on.
# fetch_libraries FOLDER PACKAGE VERSION SIZE WITHOUT LIBRARY...      `include` among the libraries is the folder of headers
fetch_libraries() {
    local folder=$1 package=$2 version=$3 size=$4 without=$5 wheels
    shift 5
    wheels=$(mktemp -d)
    trap 'rm -rf "${wheels:-}"; trap - RETURN' RETURN
    say "downloading $package $version ($size)"
    PIP_DISABLE_PIP_VERSION_CHECK=1 python3 -m pip download --quiet --no-deps --only-binary=:all: --python-version 3.11 \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2010_x86_64 -d "$wheels" "$package==$version" \
        || { say "the download of $package failed: $without"; return 0; }
    mkdir -p "$folder"
    python3 - "$wheels" "$folder" "$@" <<'PY'
import pathlib, shutil, sys, zipfile
wheels, folder, *wanted = sys.argv[1:]
for wheel in pathlib.Path(wheels).glob("*.whl"):
    with zipfile.ZipFile(wheel) as z:
        for name in z.namelist():
            base = name.rsplit("/", 1)[-1]
            if base in wanted:
                target = pathlib.Path(folder) / base
            elif "include" in wanted and "/include/" in name and base:
                target = pathlib.Path(folder) / "include" / name.split("/include/", 1)[1]
            else:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with z.open(name) as src, open(target, "wb") as dst:
                shutil.copyfileobj(src, dst)
PY
    echo "$version" > "$folder/version"
}

lightgbm_ready() { [ "$(cat .lightgbm/version 2>/dev/null)" = "$lightgbm_version" ] && [ -e .lightgbm/lib_lightgbm.so ]; }

nvrtc_ready() {
    { [ "$(cat .nvrtc/version 2>/dev/null)" = "$nvrtc_version" ] && [ -e .nvrtc/libnvrtc.so.13 ] && [ -e .nvrtc/include/crt/mma.h ] && [ -e .nvrtc/include/cccl/nv/target ]; } \
        || ldconfig -p | grep -q 'libnvrtc\.so' || ls /usr/local/cuda/lib64/libnvrtc.so* >/dev/null 2>&1
}

opencl_ready() { ls /etc/OpenCL/vendors/*.icd >/dev/null 2>&1 && ldconfig -p | grep -q 'libOpenCL\.so\.1'; }

# Installs packages of Debian's or Ubuntu's; who may not is told the command that an administrator types.
install() {
    local sudo=()
    if [ "$(id -u)" != 0 ]; then
        sudo -n true 2>/dev/null || { say "you may not install packages here; ask an administrator for: apt-get install $*"; return 1; }
        sudo=(sudo)
    fi
    command -v apt-get >/dev/null || { say "no apt-get here; install by hand: $*"; return 1; }
    "${sudo[@]}" apt-get update -qq >&2
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

install_qemu() {
    say "installing qemu-user (13 MB)"
    install qemu-user || fail "no qemu-x86_64: scripts/checks/hosts.sh compares no other processors"
}

install_pocl() {
    say "installing the OpenCL CPU device (PoCL, 43 MB)"
    install pocl-opencl-icd ocl-icd-libopencl1 || fail "no OpenCL device: sweep and validate need one; predict does not"
}

hip_ready() { ldconfig -p | grep -q 'libamdhip64\.so' || ls /opt/rocm/lib/libamdhip64.so* >/dev/null 2>&1; }
clang_ready() { [ -x /opt/rocm/llvm/bin/clang ] || { command -v clang-19 && command -v ld.lld-19; } >/dev/null 2>&1; }

install_amd() {
    local without="nothing is compiled for AMD GPUs without ROCm or clang 19 with lld 19"
    say "installing AMD's run-time compiler (HIP, 19 MB) and clang 19 (50 MB)"
    hip_ready || install libamdhip64-dev || say "HIP is not there: $without"
    clang_ready || install clang-19 lld-19 || say "clang 19 is not there: $without"
}

slurm_ready() { command -v slurmctld && command -v slurmd && command -v sbatch; } >/dev/null 2>&1

install_slurm() {
    say "installing Slurm (4 MB)"
    install slurmctld slurmd slurm-client || say "Slurm is not there: tests/measuring/cluster.rs is skipped"
}

chromium_ready() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null 2>&1
node_ready() { command -v node >/dev/null; }

install_chromium() {
    say "installing Chromium and Node.js (130 MB)"
    # what is there stays as it is: a newer Node.js of another origin goes before Debian's
    chromium_ready || install chromium || say "Chromium is not there: scripts/release/web.sh --test leaves the page out"
    node_ready || install nodejs || say "Node.js is not there: scripts/release/web.sh --test leaves the module out"
}

get_libtorch() {
    libtorch_ready && return
    command -v c++ >/dev/null || fail "a C++ compiler is missing: install g++, then run this again"
    python_or_fail
    link_installed_torch || download_libtorch
}

get_nvrtc() {
    nvrtc_ready && return
    python_or_fail
    { [ "$(cat .nvrtc/version 2>/dev/null)" = "$nvrtc_version" ] && [ -e .nvrtc/libnvrtc.so.13 ]; } \
        || fetch_libraries .nvrtc nvidia-cuda-nvrtc "$nvrtc_version" "90 MB" "nothing is compiled for NVIDIA GPUs without a CUDA toolkit" \
            libnvrtc.so.13 libnvrtc-builtins.so.13.0
    # cuda_fp16.h and its like, what mma.h includes, and CUDA's own standard library
    local without="kernels that include headers of CUDA's may not compile"
    fetch_libraries .nvrtc nvidia-cuda-cccl "$cccl_version" "3 MB" "$without" include
    fetch_libraries .nvrtc nvidia-cuda-runtime "$nvrtc_version" "2 MB" "$without" include
    fetch_libraries .nvrtc nvidia-cuda-crt "$nvrtc_version" "1 MB" "$without" include
    echo "$nvrtc_version" > .nvrtc/version
}

wants opencl && ! opencl_ready && install_pocl
wants libtorch && get_libtorch
wants lightgbm && ! lightgbm_ready && python_or_fail && fetch_libraries .lightgbm lightgbm "$lightgbm_version" "4 MB" \
    "\`evaluate\` of tuned datasets needs --lightgbm=off" lib_lightgbm.so
wants nvrtc && get_nvrtc
wants amd && ! { hip_ready && clang_ready; } && install_amd
wants slurm && ! slurm_ready && install_slurm
wants chromium && ! { chromium_ready && node_ready; } && install_chromium
wants qemu && ! command -v qemu-x86_64 >/dev/null && install_qemu
say "ready: ${parts[*]}"
