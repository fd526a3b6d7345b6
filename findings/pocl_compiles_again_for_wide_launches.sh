#!/usr/bin/env bash
# PoCL compiles a kernel a second time for a launch of 65,536 work-items.
#
# Versions    PoCL 3.1-3+deb12u1 with LLVM 15.0.6-4+b1, packages of Debian 12 on x86-64
# Behaviour   For launches of fewer than 65,536 work-items in every dimension the CPU device makes a code of its own, which counts in 16 bits
#             (grid_width_specialization_limit). A launch as wide as that, of the same kernel in the same process and with the same work-group,
#             is compiled anew, which takes as long as the first time. Each work-group is compiled for by itself too.
# One would   guess that a kernel that was launched once is compiled, whatever the global size of the next launch is.
# Seen        65,472 work-items: 1 code; 65,472 again: 1; 65,536: 2; 131,072: 2; groups of 32: 3
# Remedy      where a launch is to compile ahead, launch with the work-group and on the side of the limit that are measured later.
#
# Needs Debian 12 with apt-get and python3; nothing is installed outside a temporary folder.
set -euo pipefail
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
python3 - "$work/cache" <<'PY'
import ctypes, pathlib, sys

opencl = ctypes.CDLL("libOpenCL.so.1")
for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer"):
    getattr(opencl, name).restype = ctypes.c_void_p
pointer, code = ctypes.c_void_p, ctypes.c_int()
platform, device = pointer(), pointer()
opencl.clGetPlatformIDs(1, ctypes.byref(platform), None)
opencl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 1, ctypes.byref(device), None)
context = pointer(opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(code)))
queue = pointer(opencl.clCreateCommandQueue(context, device, ctypes.c_ulong(0), ctypes.byref(code)))
source = ctypes.c_char_p(b"__kernel void twice(__global float *p) { p[get_global_id(0)] *= 2; }")
program = pointer(opencl.clCreateProgramWithSource(context, 1, ctypes.byref(source), None, ctypes.byref(code)))
assert opencl.clBuildProgram(program, 0, None, None, None, None) == 0
kernel = pointer(opencl.clCreateKernel(program, b"twice", ctypes.byref(code)))
buffer = pointer(opencl.clCreateBuffer(context, ctypes.c_ulong(1), ctypes.c_size_t(4 << 17), None, ctypes.byref(code)))
assert opencl.clSetKernelArg(kernel, 0, ctypes.c_size_t(8), ctypes.byref(buffer)) == 0

def codes_after(items, group):
    sizes = ctypes.c_size_t(items), ctypes.c_size_t(group)
    assert opencl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(sizes[0]), ctypes.byref(sizes[1]), 0, None, None) == 0
    assert opencl.clFinish(queue) == 0
    return len({path.parent.name for path in pathlib.Path(sys.argv[1]).rglob("*.so")})

found = [codes_after(*launch) for launch in ((65_472, 64), (65_472, 64), (65_536, 64), (131_072, 64), (65_472, 32))]
print("codes after 65,472, 65,472, 65,536 and 131,072 work-items, and after groups of 32:", found)
assert found == [1, 1, 2, 2, 3], "the behaviour changed"
PY
