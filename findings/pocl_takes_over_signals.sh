#!/usr/bin/env bash
# Counting OpenCL devices changes what signals do to the process, where the platform is Debian's PoCL.
#
# Versions    PoCL 3.1-3+deb12u1 with LLVM 15.0.6-4+b1, packages of Debian 12 on x86-64
# Behaviour   The first call of clGetDeviceIDs installs handlers in the calling process: the LLVM that PoCL links sets them up. SIGHUP,
#             SIGINT, SIGUSR2 and SIGTERM are among them. LLVM's handler puts back what was there before it and raises the signal anew. A
#             program that installs a handler later, and calls the handler before its own as libraries for signals do, ends there: its own
#             work is never reached. The PoCL 3.0 of the Python package pocl-binary-distribution does not do this.
# One would   guess that a query for devices leaves the process as it was, as it does with drivers of GPUs.
# Seen        1 device; handled before: [], with platforms listed: [], with devices counted: [1, 2, 12, 15]
# Remedy      ask for the devices first, set these signals to their default, and install handlers then.
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
python3 - <<'PY'
import ctypes, re, signal

ENDS = [signal.SIGHUP, signal.SIGINT, signal.SIGUSR2, signal.SIGTERM]
# Python itself handles SIGINT: the default is put back, so that only what comes later is seen
signal.signal(signal.SIGINT, signal.SIG_DFL)

def caught():
    with open("/proc/self/status") as status:
        bits = int(re.search(r"SigCgt:\s*(\w+)", status.read()).group(1), 16)
    return [int(number) for number in ENDS if bits >> (number - 1) & 1]

opencl = ctypes.CDLL("libOpenCL.so.1")
before, platform, devices = caught(), ctypes.c_void_p(), ctypes.c_uint()
assert opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
listed = caught()
ALL = ctypes.c_ulong(0xFFFFFFFF)
assert opencl.clGetDeviceIDs(platform, ALL, 0, None, ctypes.byref(devices)) == 0
counted = caught()
print(f"{devices.value} device; handled before: {before}, with platforms listed: {listed}, with devices counted: {counted}")
assert (before, listed, counted) == ([], [], [1, 2, 12, 15]), "the behaviour changed"
PY
