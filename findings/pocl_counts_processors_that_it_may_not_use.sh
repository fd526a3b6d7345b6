#!/usr/bin/env bash
# PoCL has a thread and a compute unit for each processor of the machine, also where the process may use one.
#
# Versions    PoCL 3.1-3+deb12u1 with LLVM 15.0.6-4+b1, packages of Debian 12 on x86-64; a machine of two processors or more
# Behaviour   Under `taskset --cpu-list 0`, and so in a container or a batch job that is bound to some processors, CL_DEVICE_MAX_COMPUTE_UNITS is
#             still the number of processors of the machine. Its threads take turns on those that may be used.
# One would   guess that the device has as many units as the process has processors, as OpenMP's runtimes count.
# Seen        one processor allowed: as many units as the machine has; with POCL_MAX_PTHREAD_COUNT=1: 1
# Remedy      set POCL_MAX_PTHREAD_COUNT (POCL_CPU_MAX_CU_COUNT from version 4 on) to the processors that may be used before OpenCL is opened.
#
# Needs Debian 12 with apt-get and python3; nothing is installed outside a temporary folder.
set -euo pipefail
[ "$(nproc --all)" -gt 1 ] || { echo "a machine of one processor shows nothing" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cd "$work"
apt-get download -qq libpocl2=3.1-3+deb12u1 libpocl2-common=3.1-3+deb12u1 libllvm15=1:15.0.6-4+b1 libclang-cpp15=1:15.0.6-4+b1 \
    ocl-icd-libopencl1=2.3.1-1 libhwloc15 libz3-4 libedit2 libbsd0 libmd0 libxml2 libicu72 libffi8 >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" root; done
libraries=$work/root/usr/lib/x86_64-linux-gnu
mkdir vendors
echo "$libraries/libpocl.so.2" > vendors/pocl.icd
export OCL_ICD_VENDORS=$work/vendors POCL_CACHE_DIR=$work/cache LD_LIBRARY_PATH=$libraries:$work/root/lib/x86_64-linux-gnu
cat > units.py <<'PY'
import ctypes, os
opencl = ctypes.CDLL("libOpenCL.so.1")
platform, device, units = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint()
opencl.clGetPlatformIDs(1, ctypes.byref(platform), None)
opencl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None)
assert opencl.clGetDeviceInfo(device, 0x1002, ctypes.c_size_t(4), ctypes.byref(units), None) == 0
print(len(os.sched_getaffinity(0)), units.value)
PY
read -r allowed units < <(taskset --cpu-list 0 python3 units.py)
read -r _ limited < <(POCL_MAX_PTHREAD_COUNT=1 taskset --cpu-list 0 python3 units.py)
echo "$allowed processor allowed of $(nproc --all): $units units; with POCL_MAX_PTHREAD_COUNT=1: $limited"
[ "$allowed" = 1 ] && [ "$units" -gt 1 ] && [ "$limited" = 1 ] || { echo "the behaviour changed" >&2; exit 1; }
