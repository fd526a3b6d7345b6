// A double of ROCm SMI for tests: two GPUs, the second of which is the one that HIP's double has.
#include "smi.h"

int rsmi_init(uint64_t flags) { return flags ? 1 : OK; }
int rsmi_num_monitor_devices(uint32_t *devices) { *devices = 2; return OK; }
// the partition in bits 28 to 31, as newer versions write it
int rsmi_dev_pci_id_get(uint32_t device, uint64_t *bdf) { *bdf = device ? 0x1000c300 : 0x4300; return OK; }
int rsmi_dev_energy_count_get(uint32_t device, uint64_t *counter, float *resolution, uint64_t *when)
{
    return device == 1 ? count("rocm", counter, resolution, when) : 1;
}
