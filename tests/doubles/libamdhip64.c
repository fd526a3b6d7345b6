// A double of HIP for tests: the calls that seqtune makes, as HIP 6 has them.
#include "gpu.h"

enum { OK = 0, INVALID = 1, MEMORY = 2, NO_DEVICE = 100, ILLEGAL_ADDRESS = 700, RESOURCES = 701 };

const char *hipGetErrorString(int error)
{
    return error == MEMORY            ? "out of memory"
           : error == NO_DEVICE       ? "no ROCm-capable device is detected"
           : error == RESOURCES       ? "out of resources"
           : error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                      : "invalid argument";
}
int hipGetDeviceCount(int *count) { *count = 1; return mode("none") || is_away() ? NO_DEVICE : OK; }
int hipDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal ? INVALID : OK; }
int hipDeviceGetName(char *name, int length, int device) { snprintf(name, length, "AMD Double %d", device + 1); return OK; }
int hipDeviceGetPCIBusId(char *bus, int length, int device) { snprintf(bus, length, "0000:C3:00.0"); return device; }
int hipDeviceTotalMem(size_t *bytes, int device) { *bytes = (size_t)1 << 30; return device; }
int hipRuntimeGetVersion(int *version) { *version = 60241134; return OK; }
// a name, and the architecture far behind it
int hipGetDevicePropertiesR0600(char *properties, int device)
{
    memset(properties, 0, 1472);
    strcpy(properties, "AMD Double");
    strcpy(properties + 1160, "gfx90a:sramecc+:xnack-");
    return device;
}
int hipDeviceGetAttribute(int *value, int attribute, int device)
{
    switch (attribute) {
    case 5: *value = 1500000; break;     // kHz
    case 19: *value = 1 << 20; break;    // cache
    case 26: case 27: case 28: case 56: *value = 1024; break; // work-items
    case 59: *value = 64; break;         // bits of memory
    case 60: *value = 1000000; break;    // kHz of memory
    case 63: *value = 4; break;          // compute units
    case 71: *value = 131072; break;     // registers
    case 74: *value = 65536; break;      // local memory
    case 87: *value = 64; break;         // wave
    default: return INVALID;
    }
    return device;
}

int hipSetDevice(int device) { return device; }
int hipDeviceSynchronize(void) { return lost ? ILLEGAL_ADDRESS : OK; }
int hipMalloc(void **pointer, size_t bytes)
{
    if (lost) return ILLEGAL_ADDRESS;
    *pointer = mode("memory") ? NULL : malloc(bytes);
    return *pointer ? OK : MEMORY;
}
int hipFree(void *pointer) { free(pointer); return OK; }
int hipMemcpyHtoD(void *to, void *from, size_t bytes)
{
    if (lost) return ILLEGAL_ADDRESS;
    memcpy(to, from, bytes);
    return OK;
}
int hipMemcpyDtoH(void *to, void *from, size_t bytes) { return hipMemcpyHtoD(to, from, bytes); }
int hipMemsetD8Async(void *pointer, unsigned char byte, size_t bytes, void *stream)
{
    memset(pointer, byte, bytes);
    return stream ? INVALID : OK;
}
int hipModuleLoadData(void **module, const void *image)
{
    // a code object for an AMD GPU: the machine of its ELF header is 224
    if (memcmp(image, "\177ELF", 4) || ((const uint16_t *)image)[9] != 224) return INVALID;
    *module = (void *)image;
    return OK;
}
int hipModuleUnload(void *module) { return module ? OK : INVALID; }
int hipModuleGetFunction(void **function, void *module, const char *name) { *function = strdup(name); return module && *name ? OK : INVALID; }
int hipEventCreate(struct timespec **event) { *event = malloc(sizeof **event); return OK; }
int hipEventSynchronize(const struct timespec *event) { return event ? OK : INVALID; }
int hipEventRecord(struct timespec *event, void *stream) { clock_gettime(CLOCK_MONOTONIC, event); return stream ? INVALID : OK; }
int hipEventElapsedTime(float *milliseconds, const struct timespec *start, const struct timespec *end)
{
    *milliseconds = (end->tv_sec - start->tv_sec) * 1e3f + (end->tv_nsec - start->tv_nsec) * 1e-6f;
    return OK;
}
int hipModuleLaunchKernel(void *function, unsigned groups_x, unsigned groups_y, unsigned groups_z, unsigned items_x, unsigned items_y,
                          unsigned items_z, unsigned local, void *stream, void **arguments, void **extra)
{
    const unsigned groups[] = {groups_x, groups_y, groups_z}, items[] = {items_x, items_y, items_z};
    if (stream || extra || local) return INVALID;
    if (groups_y > 65535 || groups_z > 65535) return INVALID;
    switch (launch(function, groups, items, arguments)) {
    case FINE: return OK;
    case WRONG_LAUNCH: return INVALID;
    case NO_RESOURCES: return RESOURCES;
    default: return ILLEGAL_ADDRESS;
    }
}
