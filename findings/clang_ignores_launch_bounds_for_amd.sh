#!/usr/bin/env bash
# clang takes launch bounds in HIP code for AMD GPUs and does nothing with them.
#
# Versions    clang 19.1.7-3~deb12u1 (Debian 12: clang-19, libclang-cpp19, libllvm19, libclang1-19, libclang-common-19-dev), without ROCm
# Behaviour   __attribute__((launch_bounds(64))) on a kernel compiles without a warning for gfx942, also with -Wall -Wextra. The kernel is still one
#             for up to 1,024 work-items, as its metadata say, and has registers for as many. ROCm's headers write
#             amdgpu_flat_work_group_size for __launch_bounds__, which does what one expects.
# One would   guess that an attribute of the language either counts or is warned of.
# Seen        none: 1024 work-items; launch_bounds(64): 1024 work-items, 0 warnings; amdgpu_flat_work_group_size(1, 64): 64 work-items
# Remedy      define __launch_bounds__ as ROCm does, and read .max_flat_workgroup_size of what was made.
#
# Needs Debian 12 with apt-get; nothing is installed outside a temporary folder (150 MB).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
version=1:19.1.7-3~deb12u1
apt-get download -qq clang-19=$version libclang-cpp19=$version libllvm19=$version libclang1-19=$version libclang-common-19-dev=$version >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" root; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu:$work/root/usr/lib/llvm-19/lib
clang=$work/root/usr/lib/llvm-19/bin/clang
made() { # ATTRIBUTE
    cat > kernel.hip <<SOURCE
extern "C" __attribute__((global)) $1 void twice(float *p) { p[__builtin_amdgcn_workitem_id_x()] *= 2; }
SOURCE
    "$clang" -x hip --offload-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -Wall -Wextra -O3 --offload-arch=gfx942 -S -o kernel.s kernel.hip 2> warnings
    printf '%s work-items, %s warnings' "$(sed -n 's/.*\.max_flat_workgroup_size: *//p' kernel.s)" "$(grep -c warning: warnings || true)"
}
found="none: $(made ''); launch_bounds: $(made '__attribute__((launch_bounds(64)))'); flat: $(made '__attribute__((amdgpu_flat_work_group_size(1, 64)))')"
echo "$("$clang" --version | head -1): $found"
expected='none: 1024 work-items, 0 warnings; launch_bounds: 1024 work-items, 0 warnings; flat: 64 work-items, 0 warnings'
[ "$found" = "$expected" ] || { echo "the behaviour changed" >&2; exit 1; }
