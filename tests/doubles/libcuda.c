// A double of NVIDIA's driver for tests: the calls that seqtune makes. With DOUBLE_GPU=ptx its GPU is newer than any NVRTC, and takes PTX, which
// it runs; with DOUBLE_GPU=old its driver is older than NVRTC, whose programs it refuses; with DOUBLE_GPU=slice it is a part of a GPU.
#include "gpu.h"
#include "ptx_run.h"

enum { OK = 0, INVALID = 1, MEMORY = 2, NO_DEVICE = 100, INVALID_PTX = 218, ILLEGAL_ADDRESS = 700, RESOURCES = 701, LAUNCH_FAILED = 719 };

struct function {
    char *name;
    struct program *ptx; // NULL of a program that is not run
    struct entry *entry;
    unsigned long seen;  // how often outputs had been put back when it was last run
};

static char said[512]; // of PTX
static unsigned long restored = 1; // times that outputs were put back
static struct { uint64_t address; size_t bytes; } memory[64];

static int is_allocated(uint64_t address, size_t bytes)
{
    for (int i = 0; i < 64; ++i)
        if (memory[i].address && address >= memory[i].address && address + bytes <= memory[i].address + memory[i].bytes) return 1;
    return 0;
}

int cuInit(unsigned flags) { return mode("none") || is_away() ? NO_DEVICE : flags; }
// NVRTC asks for it, and does without
int cuGetExportTable(const void **table, const void *id) { (void)id; *table = NULL; return INVALID; }
int cuDeviceGetCount(int *count) { *count = 1; return OK; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? INVALID : OK; }
int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, length, "NVIDIA Double %d%s", device + 1, mode("slice") ? " MIG 1g.5gb" : "");
    return OK;
}
int cuDeviceGetPCIBusId(char *bus, int length, int device) { snprintf(bus, length, "0000:1b:00.0"); return device; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)1 << 30; return device; }
int cuDriverGetVersion(int *version) { *version = mode("old") ? 12000 : 13000; return OK; }
int cuGetErrorString(int error, const char **text)
{
    *text = error == MEMORY            ? "out of memory"
            : error == NO_DEVICE       ? "no CUDA-capable device is detected"
            : error == RESOURCES       ? "too many resources requested for launch"
            : error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
            : error == INVALID_PTX || error == LAUNCH_FAILED ? said
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
    case 75: *value = mode("ptx") ? 19 : 9; break; // capability
    case 76: *value = 0; break;
    case 97: *value = mode("ptx") ? 232448 : 49152; break; // shared memory, asked for
    default: return INVALID;
    }
    return device;
}

int cuDevicePrimaryCtxRetain(void **context, int device) { *context = &lost; return device; }
int cuCtxSetCurrent(void *context) { return context == &lost ? OK : INVALID; }
int cuCtxSynchronize(void) { return lost == LAUNCH_FAILED ? LAUNCH_FAILED : lost ? ILLEGAL_ADDRESS : OK; }
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    if (lost) return ILLEGAL_ADDRESS;
    int at = 0;
    while (at < 64 && memory[at].address) ++at;
    *pointer = mode("memory") || at == 64 ? 0 : (uint64_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*pointer) return MEMORY;
    memory[at].address = *pointer;
    memory[at].bytes = bytes;
    return OK;
}
int cuMemFree_v2(uint64_t pointer)
{
    for (int i = 0; i < 64; ++i)
        if (memory[i].address == pointer) memory[i].address = 0;
    free((void *)pointer);
    return OK;
}
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
// The handle of a program of NVRTC's for a known architecture is its image.
int cuModuleLoadData(void **module, const void *image)
{
    const int is_ptx = mode("ptx");
    *module = is_ptx ? (void *)ptx_read(image, said) : (void *)image;
    if (is_ptx) return *module ? OK : INVALID_PTX;
    return mode("old") || memcmp(image, "\177ELF", 4) ? INVALID : OK;
}
int cuModuleUnload(void *module)
{
    if (mode("ptx")) free(((struct program *)module)->code), free(((struct program *)module)->operands), free(module);
    return module ? OK : INVALID;
}
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    struct function *f = calloc(1, sizeof *f);
    f->name = strdup(name);
    f->ptx = mode("ptx") ? module : NULL;
    for (int i = 0; f->ptx && i < f->ptx->entry_count; ++i)
        if (!strcmp(f->ptx->entries[i].name, name)) f->entry = &f->ptx->entries[i];
    if (f->ptx && !f->entry) return INVALID;
    *function = f;
    return module && *name ? OK : INVALID;
}
int cuFuncSetAttribute(void *function, int attribute, int value) { return function && attribute && value ? OK : INVALID; }
int cuEventCreate(struct timespec **event, unsigned flags) { *event = malloc(sizeof **event); return flags; }
int cuEventSynchronize(const struct timespec *event) { return event ? OK : INVALID; }
int cuEventRecord(struct timespec *event, void *stream) { clock_gettime(CLOCK_MONOTONIC, event); return stream ? INVALID : OK; }
int cuEventElapsedTime(float *milliseconds, const struct timespec *start, const struct timespec *end)
{
    *milliseconds = (end->tv_sec - start->tv_sec) * 1e3f + (end->tv_nsec - start->tv_nsec) * 1e-6f;
    return OK;
}

int cuLaunchKernel(struct function *function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x, unsigned items_y,
                   unsigned items_z, unsigned shared, void *stream, void **arguments, void **extra)
{
    const unsigned groups[] = {groups_x, groups_y, groups_z}, items[] = {items_x, items_y, items_z};
    if (stream || extra || (shared && !function->ptx)) return INVALID;
    if (groups_y > 65535 || groups_z > 65535 || items_z > 64) return INVALID;
    if (function->ptx) {
        const int is_own = !strncmp(function->name, "seqtune_", 8);
        // once more on the same data is for its time, which nobody believes here
        if (function->seen == restored && !is_own) return OK;
        restored += !strcmp(function->name, "seqtune_restore");
        ptx_launch(function->ptx, function->entry, groups, items, shared, arguments, said);
        function->seen = restored;
        lost = *said ? LAUNCH_FAILED : 0;
        return lost;
    }
    switch (launch(function->name, groups, items, arguments)) {
    case FINE: return OK;
    case WRONG_LAUNCH: return INVALID;
    case NO_RESOURCES: return RESOURCES;
    default: return ILLEGAL_ADDRESS;
    }
}
