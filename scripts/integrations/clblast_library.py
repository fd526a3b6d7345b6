#!/usr/bin/env python3
"""Times matrix products through CLBlast's own library, with parameters of one's choice, on the first OpenCL device.

usage: scripts/integrations/clblast_library.py JOBS OUTPUT ROUNDS

JOBS has a line of JSON for each product: {"size": [M, N, K], "variants": {"name": {"XgemmDirect": {"WGD": 8, ...}, ...}}}. A variant names the
kernels whose parameters it overrides; one without any is the library as it ships. OUTPUT gets a line for each: {"size", "variant", "us": the
median of each round, "error": the largest difference of 32 entries from sums in double precision, relative to K}. Rounds go over all variants in
turn; variants that are the same are timed once. Products that OUTPUT has are left, so that it goes on where it was.

Needs Debian's libclblast-dev and ocl-icd-opencl-dev.
"""
import ctypes
import json
import pathlib
import random
import statistics
import subprocess
import sys
import time

RUNS, MOST_SECONDS = 11, 0.6
SINGLE, ROW_MAJOR, NO_TRANSPOSE = 32, 101, 111


def check(code, what):
    if code != 0:
        raise RuntimeError(f"{what}: error {code}")


class Library:
    """CLBlast on the first device, with the operands of one product."""

    def __init__(self):
        self.cl, self.blast = ctypes.CDLL("libOpenCL.so.1"), ctypes.CDLL("libclblast.so.1")
        pointer = ctypes.c_void_p
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
            getattr(self.cl, name).restype = pointer
        platform, self.device, code = pointer(), pointer(), ctypes.c_int()
        check(self.cl.clGetPlatformIDs(1, ctypes.byref(platform), None), "clGetPlatformIDs")
        check(self.cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(self.device), None), "clGetDeviceIDs")
        self.context = pointer(self.cl.clCreateContext(None, 1, ctypes.byref(self.device), None, None, ctypes.byref(code)))
        self.queue = pointer(self.cl.clCreateCommandQueue(self.context, self.device, ctypes.c_uint64(0), ctypes.byref(code)))
        check(code.value, "clCreateCommandQueue")
        rng = random.Random(1)
        self.values = (ctypes.c_float * (1 << 21))(*(rng.uniform(-0.5, 0.5) for _ in range(1 << 21)))
        self.size, self.buffers = None, []

    def prepare(self, size):
        if size == self.size:
            return
        for buffer in self.buffers:
            self.cl.clReleaseMemObject(buffer)
        (m, n, k), self.buffers = size, []
        for count in (m * k, k * n, m * n):
            assert count <= len(self.values), "the product is too large for the operands at hand"
            code = ctypes.c_int()
            # read and write, copied from the host
            made = self.cl.clCreateBuffer(self.context, ctypes.c_uint64(1 | 32), ctypes.c_size_t(4 * count), self.values, ctypes.byref(code))
            check(code.value, "clCreateBuffer")
            self.buffers.append(ctypes.c_void_p(made))
        self.size = size

    def override(self, kernel, parameters):
        names = (ctypes.c_char_p * len(parameters))(*(name.encode() for name in parameters))
        values = (ctypes.c_size_t * len(parameters))(*parameters.values())
        code = self.blast.CLBlastOverrideParameters(self.device, kernel.encode(), SINGLE, ctypes.c_size_t(len(parameters)), names, values)
        check(code, f"CLBlastOverrideParameters of {kernel}")

    def product(self):
        m, n, k = map(ctypes.c_size_t, self.size)
        a, b, c = self.buffers
        zero = ctypes.c_size_t(0)
        one, none = ctypes.c_float(1), ctypes.c_float(0)
        began = time.perf_counter()
        code = self.blast.CLBlastSgemm(
            ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, m, n, k, one, a, zero, k, b, zero, n, none, c, zero, n, ctypes.byref(self.queue), None
        )
        check(code, "CLBlastSgemm")
        check(self.cl.clFinish(self.queue), "clFinish")
        return time.perf_counter() - began

    def error(self):
        """Of 32 entries, relative to the number of terms."""
        m, n, k = self.size
        out = (ctypes.c_float * (m * n))()
        check(self.cl.clEnqueueReadBuffer(self.queue, self.buffers[2], 1, ctypes.c_size_t(0), ctypes.c_size_t(4 * m * n), out, 0, None, None), "clEnqueueReadBuffer")
        rng, worst = random.Random(2), 0.0
        for _ in range(32):
            i, j = rng.randrange(m), rng.randrange(n)
            right = sum(self.values[i * k + p] * self.values[p * n + j] for p in range(k))
            worst = max(worst, abs(out[i * n + j] - right) / k)
        return worst

    def answer(self, job):
        self.prepare(job["size"])
        for kernel, parameters in job["set"].items():
            self.override(kernel, parameters)
        first = self.product()
        self.product()
        times = []
        while len(times) < RUNS and (len(times) < 3 or sum(times) < MOST_SECONDS):
            times.append(self.product())
        return {"us": 1e6 * statistics.median(times), "first_us": 1e6 * first, "error": self.error()}


def serve():
    library = Library()
    for line in sys.stdin:
        print(json.dumps(library.answer(json.loads(line))), flush=True)


class Worker:
    """A process of its own: the library as it ships cannot be had again where something was overridden."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def time(self, size, overrides):
        self.process.stdin.write(json.dumps({"size": size, "set": overrides}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"clblast: the library ended at {size} with {overrides}; see its message above")
        return json.loads(line)


def main(jobs, output, rounds):
    jobs = [json.loads(line) for line in pathlib.Path(jobs).read_text().splitlines()]
    output = pathlib.Path(output)
    done = {tuple(json.loads(line)["size"]) for line in output.read_text().splitlines()} if output.exists() else set()
    shipped, overridden = Worker(), Worker()
    for at, job in enumerate(jobs):
        if tuple(job["size"]) in done:
            continue
        same = {name: json.dumps(overrides, sort_keys=True) for name, overrides in job["variants"].items()}
        found = {key: [] for key in same.values()}
        for _ in range(int(rounds)):
            for key, turns in found.items():
                overrides = json.loads(key)
                turns.append((overridden if overrides else shipped).time(job["size"], overrides))
        lines = [
            {"size": job["size"], "variant": name, "us": [f["us"] for f in turns], "first_us": [f["first_us"] for f in turns], "error": max(f["error"] for f in turns)}
            for name, turns in ((name, found[key]) for name, key in same.items())
        ]
        with output.open("a") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        if (at + 1) % 10 == 0:
            print(f"clblast: {at + 1} of {len(jobs)} products through the library", file=sys.stderr)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main(*sys.argv[1:])
