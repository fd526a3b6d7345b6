// A double of AMD SMI for tests: two sockets of a GPU each, the second of which is the one that HIP's double has.
#include "smi.h"

static int sockets[2], gpus[2];

int amdsmi_init(uint64_t flags) { return flags == 2 ? OK : 1; }
int amdsmi_get_socket_handles(uint32_t *length, void **handles)
{
    for (int i = 0; handles && i < 2; ++i) handles[i] = &sockets[i];
    *length = 2;
    return OK;
}
int amdsmi_get_processor_handles(void *socket, uint32_t *length, void **handles)
{
    if (handles) *handles = &gpus[(int *)socket - sockets];
    *length = 1;
    return OK;
}
int amdsmi_get_gpu_bdf_id(void *gpu, uint64_t *bdf) { *bdf = gpu == &gpus[1] ? 0xc300 : 0x4300; return OK; }
int amdsmi_get_energy_count(void *gpu, uint64_t *counter, float *resolution, uint64_t *when)
{
    return gpu == &gpus[1] ? count("amd", counter, resolution, when) : 1;
}
