// A double of NVIDIA's driver for tests: the calls that seqtune makes, over host memory. A "GPU" that multiplies matrices of f32
// whatever program of a product is loaded, and fails on demand. DOUBLE_CUDA chooses, by commas: `none` (no device), `memory` (no memory is left),
// `launch=N` (the N-th launch is refused), `lost=N` (the N-th launch breaks the context), `hang=N`, `wrong=N`; a launch
// fails once only, of all processes that are told the same file in DOUBLE_CUDA_ONCE.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID = 1, MEMORY = 2, NO_DEVICE = 100, RESOURCES = 701, ILLEGAL_ADDRESS = 700 };

static int lost, launches;

static long mode(const char *name)
{
    const char *all = getenv("DOUBLE_CUDA"), *at = all ? strstr(all, name) : NULL;
    if (!at) return 0;
    return at[strlen(name)] == '=' ? atol(at + strlen(name) + 1) : 1;
}

static int fails(const char *how)
{
    return launches == mode(how) && open(getenv("DOUBLE_CUDA_ONCE"), O_CREAT | O_EXCL, 0600) >= 0;
}

int cuInit(unsigned flags) { return mode("none") ? NO_DEVICE : flags; }
// NVRTC asks for it, and does without
int cuGetExportTable(const void **table, const void *id) { (void)id; *table = NULL; return INVALID; }
int cuDeviceGetCount(int *count) { *count = 1; return OK; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? INVALID : OK; }
int cuDeviceGetName(char *name, int length, int device) { snprintf(name, length, "NVIDIA Double %d", device + 1); return OK; }
int cuDeviceGetPCIBusId(char *bus, int length, int device) { snprintf(bus, length, "0000:1b:00.0"); return device; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)1 << 30; return device; }
int cuDriverGetVersion(int *version) { *version = 13000; return OK; }
int cuGetErrorString(int error, const char **text)
{
    *text = error == MEMORY            ? "out of memory"
            : error == NO_DEVICE       ? "no CUDA-capable device is detected"
            : error == RESOURCES       ? "too many resources requested for launch"
            : error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                       : "invalid argument";
    return OK;
}
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    switch (attribute) {
    case 1: *value = 1024; break;        // work-items of a work-group
    case 2: case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 8: *value = 49152; break;       // shared memory
    case 10: *value = 32; break;         // warp
    case 12: *value = 65536; break;      // registers
    case 13: *value = 1500000; break;    // kHz
    case 16: *value = 2; break;          // multiprocessors
    case 36: *value = 1000000; break;    // kHz of memory
    case 37: *value = 64; break;         // bits of memory
    case 38: *value = 1 << 20; break;    // cache
    case 75: *value = 9; break;          // capability
    case 76: *value = 0; break;
    default: return INVALID;
    }
    return device;
}

int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &lost; return device; }
int cuCtxSetCurrent(void *context) { return context == &lost ? OK : INVALID; }
int cuCtxSynchronize(void) { return lost ? ILLEGAL_ADDRESS : OK; }
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    if (lost) return ILLEGAL_ADDRESS;
    *pointer = mode("memory") ? 0 : (uint64_t)malloc(bytes);
    return *pointer ? OK : MEMORY;
}
int cuMemFree_v2(uint64_t pointer) { free((void *)pointer); return OK; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    if (lost) return ILLEGAL_ADDRESS;
    memcpy((void *)to, from, bytes);
    return OK;
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    if (lost) return ILLEGAL_ADDRESS;
    memcpy(to, (const void *)from, bytes);
    return OK;
}
int cuMemsetD8Async(uint64_t pointer, unsigned char byte, size_t bytes, void *stream)
{
    memset((void *)pointer, byte, bytes);
    return stream ? INVALID : OK;
}
int cuModuleLoadData(void **module, const void *image)
{
    // a program of NVRTC's for a known architecture
    if (memcmp(image, "\177ELF", 4)) return INVALID;
    *module = (void *)image;
    return OK;
}
int cuModuleUnload(void *module) { return module ? OK : INVALID; }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = strdup(name); return module && *name ? OK : INVALID; }
int cuFuncSetAttribute(void *function, int attribute, int value) { return function && attribute && value ? OK : INVALID; }
int cuEventCreate(struct timespec **event, unsigned flags) { *event = malloc(sizeof **event); return flags; }
int cuEventRecord(struct timespec *event, void *stream) { clock_gettime(CLOCK_MONOTONIC, event); return stream ? INVALID : OK; }
int cuEventElapsedTime(float *milliseconds, const struct timespec *start, const struct timespec *end)
{
    *milliseconds = (end->tv_sec - start->tv_sec) * 1e3f + (end->tv_nsec - start->tv_nsec) * 1e-6f;
    return OK;
}

// (M, N, K, alpha, beta, A, B, C), nothing transposed
int cuLaunchKernel(void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x, unsigned items_y,
                   unsigned items_z, unsigned shared, void *stream, void **arguments, void **extra)
{
    if (lost) return ILLEGAL_ADDRESS;
    if (!function || !*(char *)function || stream || extra || shared || groups_z != 1 || items_z != 1) return INVALID;
    if (!groups_x || !groups_y || items_x * items_y > 1024) return RESOURCES;
    if (!strncmp(function, "peak_", 5)) return OK; // what a device reaches at best
    ++launches;
    if (fails("launch")) return RESOURCES;
    if (fails("hang")) for (;;) sleep(1);
    if (fails("lost")) lost = 1;
    const int m = *(int *)arguments[0], n = *(int *)arguments[1], k = *(int *)arguments[2];
    const float alpha = *(float *)arguments[3], beta = *(float *)arguments[4];
    const float *a = *(float **)arguments[5], *b = *(float **)arguments[6];
    float *c = *(float **)arguments[7];
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            float sum = 0;
            for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = alpha * sum + (beta != 0 ? beta * c[i * n + j] : 0);
        }
    if (fails("wrong")) c[0] += 1;
    return OK;
}
