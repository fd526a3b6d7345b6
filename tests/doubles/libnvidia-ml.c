// A double of NVIDIA's management library for tests: one GPU that takes 300 W, whose counter is updated every 100 ms. The file that
// DOUBLE_CLOCKS names gets a line for each change of its clocks; without it nobody may change them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID = 2, NO_PERMISSION = 4 };

static int gpu;
static unsigned core = 1500, memory = 2600;

static int change(const char *what, unsigned *clock, unsigned mhz)
{
    const char *file = getenv("DOUBLE_CLOCKS");
    FILE *log = file ? fopen(file, "a") : 0;
    if (!log)
        return NO_PERMISSION;
    *clock = mhz;
    fprintf(log, "%s %u\n", what, mhz);
    fclose(log);
    return OK;
}

int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    strncpy(version, "580.100.01", length);
    return OK;
}
const char *nvmlErrorString(int error) { return error ? "failed" : "fine"; }
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
    *device = &gpu;
    return strcmp(bus, "0000:1b:00.0") ? INVALID : OK;
}
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *millijoules = (now.tv_sec * 10ull + now.tv_nsec / 100000000) * 30000;
    return device == &gpu ? OK : INVALID;
}
int nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz)
{
    *mhz = type == 1 ? core : memory;
    return device == &gpu ? OK : INVALID;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    *degrees = 55;
    return device == &gpu && !sensor ? OK : INVALID;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    *reasons = 1 | 4; // idle, power cap
    return device == &gpu ? OK : INVALID;
}
// 777 MHz is no clock of this GPU, and 333 MHz none of its memory
int nvmlDeviceSetGpuLockedClocks(void *device, unsigned min, unsigned max)
{
    return device != &gpu || min != max || min == 777 ? INVALID : change("core", &core, min);
}
int nvmlDeviceResetGpuLockedClocks(void *device) { return device == &gpu ? change("core", &core, 1500) : INVALID; }
int nvmlDeviceSetMemoryLockedClocks(void *device, unsigned min, unsigned max)
{
    return device != &gpu || min != max || min == 333 ? INVALID : change("memory", &memory, min);
}
int nvmlDeviceResetMemoryLockedClocks(void *device) { return device == &gpu ? change("memory", &memory, 2600) : INVALID; }
