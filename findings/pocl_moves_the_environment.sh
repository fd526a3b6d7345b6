#!/usr/bin/env bash
# Counting OpenCL devices changes the environment of the process, where the platform is Debian's PoCL.
#
# Versions    PoCL 3.1-3+deb12u1 with LLVM 15.0.6-4+b1, glibc 2.36-9+deb12u*, packages of Debian 12 on x86-64
# Behaviour   The first call of clGetDeviceIDs sets HWLOC_PLUGINS_PATH to /dev/null in the environment of the process and leaves it there:
#             programs that the process starts later inherit it. A variable that is new makes glibc allocate the list of variables anew and
#             free the old one. Another thread that starts a program at that moment passes the old list: execve then fails with EFAULT
#             ("Bad address"): seen once in five runs of a suite of 731 tests. Locks of a language's own library (as Rust's) do not help,
#             because C code does not take them. Where the variable is set beforehand, the list stays where it is.
# One would   guess that a query for devices leaves the environment as it was.
# Seen        1 device; list of variables moved: True, new: [b'HWLOC_PLUGINS_PATH=/dev/null']
#             with the variable set beforehand: 1 device; list of variables moved: False, new: []
# Remedy      set HWLOC_PLUGINS_PATH to /dev/null before the first call and before other threads start.
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
cat > count.py <<'PY'
import ctypes

libc, opencl = ctypes.CDLL(None), ctypes.CDLL("libOpenCL.so.1")

def environment():
    pointer = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
    names, at = [], 0
    while pointer[at] is not None:
        names.append(pointer[at])
        at += 1
    return ctypes.cast(pointer, ctypes.c_void_p).value, names

place, before = environment()
platform, devices = ctypes.c_void_p(), ctypes.c_uint()
assert opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert opencl.clGetDeviceIDs(platform, ctypes.c_ulong(0xFFFFFFFF), 0, None, ctypes.byref(devices)) == 0
now, after = environment()
print(f"{devices.value} device; list of variables moved: {now != place}, new: {[one for one in after if one not in before]}")
PY
unset HWLOC_PLUGINS_PATH
found=$(python3 count.py)
preset=$(HWLOC_PLUGINS_PATH=/dev/null python3 count.py)
printf '%s\nwith the variable set beforehand: %s\n' "$found" "$preset"
[ "$found" = "1 device; list of variables moved: True, new: [b'HWLOC_PLUGINS_PATH=/dev/null']" ]
[ "$preset" = "1 device; list of variables moved: False, new: []" ]
