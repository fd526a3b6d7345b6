// What the doubles of AMD's management libraries share: a GPU that takes 300 W. DOUBLE_ENERGY chooses: `amd` or `rocm` (only that library
// counts), `still` (the counter never moves), else both count.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OK = 0, NOT_SUPPORTED = 2 };

// counts of 15.3 microjoules, as a float that is not exact
static int count(const char *library, uint64_t *counter, float *resolution, uint64_t *when)
{
    const char *energy = getenv("DOUBLE_ENERGY");
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *resolution = 15.3f;
    *when = now.tv_sec * 1000000000ull + now.tv_nsec;
    *counter = energy && !strcmp(energy, "still") ? 77 : (uint64_t)(*when / 1000000 * 1e-3 * 300 / 15.3e-6);
    return energy && strcmp(energy, "still") && strcmp(energy, library) ? NOT_SUPPORTED : OK;
}
