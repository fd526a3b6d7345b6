#!/usr/bin/env bash
# clang's remark on occupancy counts wavefronts of work-groups that cannot be there whole.
#
# Versions    clang 19.1.7-3~deb12u1 (Debian 12: clang-19, libclang-cpp19, libllvm19, libclang1-19, libclang-common-19-dev), without ROCm
# Behaviour   -Rpass-analysis=kernel-resource-usage names an occupancy in wavefronts per SIMD. It divides the registers of a SIMD by those of a
#             wavefront, and looks at the size of the work-group for local memory alone. A gfx1100 has 1,536 registers for each lane, handed out in
#             steps of 24. A work-group of 1,024 work-items is 8 wavefronts on each of 4 SIMDs, and a second one needs 8 more.
# One would   guess that a kernel that states its work-group is told what can be resident with it.
# Seen        gfx1100, 1,024 work-items of 118 registers: 12 wavefronts per SIMD are told, 8 can be there
# Remedy      divide by whole work-groups: floor(12 / 8) * 8.
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
cat > kernel.cl <<'SOURCE'
__kernel __attribute__((reqd_work_group_size(1024, 1, 1))) void k(__global float *p)
{
    float a[100];
    const int at = __builtin_amdgcn_workitem_id_x();
#pragma unroll
    for (int i = 0; i < 100; ++i) a[i] = p[i * 64 + at];
    for (int r = 0; r < p[0]; ++r)
#pragma unroll
        for (int i = 0; i < 100; ++i) a[i] = a[i] * a[(i + 7) % 100] + a[(i + 13) % 100];
#pragma unroll
    for (int i = 0; i < 100; ++i) p[i * 64 + at] = a[i];
}
SOURCE
"$clang" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -nogpulib -mcpu=gfx1100 -O3 -c -o kernel.o -Rpass-analysis=kernel-resource-usage kernel.cl 2> remarks
registers=$(sed -n 's/.* VGPRs: \([0-9]*\).*/\1/p' remarks)
told=$(sed -n 's/.*Occupancy \[waves\/SIMD\]: \([0-9]*\).*/\1/p' remarks)
whole=$((told / 8 * 8))
echo "$("$clang" --version | head -1): $registers registers, $told wavefronts per SIMD are told, $whole are of whole work-groups"
[ "$registers, $told, $whole" = "118, 12, 8" ] || { echo "the behaviour changed" >&2; exit 1; }
