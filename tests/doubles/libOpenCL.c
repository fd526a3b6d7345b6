// A driver of OpenCL with faults, for tests: PoCL's, whose calls it passes on (the library that it is linked with is the system's loader under another
// name). DOUBLE_CL chooses, by commas: `gpu` (the device is a GPU), `still` (a launch ends at the moment it began), `backwards` (it ends before), `lost=N`
// (after N launches of a process nothing works any more; once, of all processes told the same file in DOUBLE_CL_ONCE), `full=N` (a buffer of N bytes or
// more is refused), `least=N` (a buffer may have N bytes at most, as the device says).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_RESOURCES = -5, ALLOCATION = -4 };
enum { DEVICE_TYPE = 0x1000, MAX_MEM_ALLOC_SIZE = 0x1010, PROFILING_START = 0x1282, PROFILING_END = 0x1283, FUNCTION_NAME = 0x1190, GPU = 4 };

static int lost, launches;

static long mode(const char *name)
{
    const char *all = getenv("DOUBLE_CL"), *at = all ? strstr(all, name) : NULL;
    if (!at) return 0;
    return at[strlen(name)] == '=' ? atol(at + strlen(name) + 1) : 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int clGetDeviceInfo(void *device, unsigned what, size_t size, void *value, size_t *needed)
{
    const int status = REAL(clGetDeviceInfo)(device, what, size, value, needed);
    if (!status && value && what == DEVICE_TYPE && mode("gpu")) *(uint64_t *)value = GPU;
    if (!status && value && what == MAX_MEM_ALLOC_SIZE && mode("least")) *(uint64_t *)value = mode("least");
    return status;
}
int clGetEventProfilingInfo(void *event, unsigned what, size_t size, void *value, size_t *needed)
{
    const int is_off = mode("still") || mode("backwards");
    const int asked = is_off && what == PROFILING_END ? PROFILING_START : what;
    const int status = REAL(clGetEventProfilingInfo)(event, asked, size, value, needed);
    if (!status && value && what == PROFILING_END && mode("backwards")) *(uint64_t *)value -= 1000;
    return status;
}
void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, int *error)
{
    if (mode("full") && size >= (size_t)mode("full")) { *error = ALLOCATION; return NULL; }
    return REAL(clCreateBuffer)(context, flags, size, host, error);
}
int clGetKernelInfo(void *kernel, unsigned what, size_t size, void *value, size_t *needed)
{
    return REAL(clGetKernelInfo)(kernel, what, size, value, needed);
}
int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dimensions, const size_t *offset, const size_t *global, const size_t *local, unsigned waits,
                           void *const *wait, void **event)
{
    char name[64] = "";
    clGetKernelInfo(kernel, FUNCTION_NAME, sizeof name, name, NULL);
    const int is_own = !strncmp(name, "seqtune_", 8); // what compares results on the device breaks nothing
    if (!is_own && ++launches == mode("lost") && open(getenv("DOUBLE_CL_ONCE"), O_CREAT | O_EXCL, 0600) >= 0) lost = 1;
    if (lost) return OUT_OF_RESOURCES;
    return REAL(clEnqueueNDRangeKernel)(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}
int clEnqueueWriteBuffer(void *queue, void *buffer, unsigned blocking, size_t offset, size_t size, const void *from, unsigned waits, void *const *wait,
                         void **event)
{
    return lost ? OUT_OF_RESOURCES : REAL(clEnqueueWriteBuffer)(queue, buffer, blocking, offset, size, from, waits, wait, event);
}
int clFinish(void *queue) { return lost ? OUT_OF_RESOURCES : REAL(clFinish)(queue); }
