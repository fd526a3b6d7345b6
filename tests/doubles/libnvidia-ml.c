// A double of NVIDIA's management library for tests: one GPU that takes 300 W, whose counter is updated every 100 ms.
#include <string.h>
#include <time.h>

enum { OK = 0, INVALID = 2 };

static int gpu;

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
    *mhz = type == 1 ? 1500 : 2600;
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
