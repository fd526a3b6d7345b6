/* Sets a live device and prints what is known of it. OpenCL's prototypes are written out: its headers need not be here. */
#include <dlfcn.h>
#include <math.h>
#include <seqtune.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *opencl_device(void)
{
    int32_t (*platforms)(uint32_t, void **, uint32_t *);
    int32_t (*devices)(void *, uint64_t, uint32_t, void **, uint32_t *);
    void *platform, *device, *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!library) return NULL;
    *(void **)&platforms = dlsym(library, "clGetPlatformIDs");
    *(void **)&devices = dlsym(library, "clGetDeviceIDs");
    if (!platforms || !devices || platforms(1, &platform, NULL)) return NULL;
    return devices(platform, 0xFFFFFFFF, 1, &device, NULL) ? NULL : device;
}

static double limit(const seqtune_predictor *predictor, const char *name)
{
    double value = -1;
    return seqtune_device_limit(predictor, name, &value) ? -2 : value;
}

int main(int argc, char **argv)
{
    seqtune_predictor *predictor;
    if (argc != 5 || seqtune_open(argv[1], argv[2], NULL, &predictor)) return 2;
    seqtune_status status;
    if (!strcmp(argv[3], "cuda")) {
        status = seqtune_set_device_cuda(predictor, atoi(argv[4]));
    } else if (!strcmp(argv[3], "hip")) {
        status = seqtune_set_device_hip(predictor, atoi(argv[4]));
    } else {
        void *device = opencl_device();
        if (!device) {
            puts("skipped: no OpenCL device opens here; `scripts/setup.sh opencl` makes the processor one");
            return 0;
        }
        status = seqtune_set_device_opencl(predictor, device);
    }
    char name[256];
    if (status) {
        printf("status %d: %s\n", (int)status, seqtune_last_error());
    } else if (!seqtune_device_name(predictor, name, sizeof name, NULL)) {
        printf("%s: %.0f work-items, %.0f bytes, %.0f units, sub-groups of %.0f, %.0f GB/s, 32 registers unknown: %d\n",
               name, limit(predictor, "max_group_items"), limit(predictor, "local_memory"),
               limit(predictor, "compute_units"), limit(predictor, "sub_group"), limit(predictor, "bandwidth_gbs"),
               isnan(limit(predictor, "item_registers")));
    }
    seqtune_close(predictor);
    return 0;
}
