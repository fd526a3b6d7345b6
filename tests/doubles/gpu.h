// What the doubles of GPU drivers share: a "GPU" over host memory that multiplies matrices of f32 whatever program of a product is
// loaded, and fails on demand. DOUBLE_GPU chooses, by commas: `none` (no device), `memory` (no memory is left), `launch=N` (the N-th launch
// is refused), `lost=N` (the N-th launch breaks the context), `hang=N`, `away=N` (it hangs, and the device is away for a while), `wrong=N`, or `slow` (each takes 2 ms); a launch fails once only, of all processes told
// the same file in DOUBLE_GPU_ONCE.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int lost, launches;

static long mode(const char *name)
{
    const char *all = getenv("DOUBLE_GPU"), *at = all ? strstr(all, name) : NULL;
    if (!at) return 0;
    return at[strlen(name)] == '=' ? atol(at + strlen(name) + 1) : 1;
}

// Whether the device is away: for three attempts to open it after a launch hung with `away=N`.
static int is_away(void)
{
    char file[512];
    if (!mode("away") || access(getenv("DOUBLE_GPU_ONCE"), F_OK)) return 0;
    for (int i = 0; i < 3; ++i) {
        snprintf(file, sizeof file, "%s.%d", getenv("DOUBLE_GPU_ONCE"), i);
        if (open(file, O_CREAT | O_EXCL, 0600) >= 0) return 1;
    }
    return 0;
}

static int fails(const char *how)
{
    return launches == mode(how) && open(getenv("DOUBLE_GPU_ONCE"), O_CREAT | O_EXCL, 0600) >= 0;
}

enum failure { FINE, WRONG_LAUNCH, NO_RESOURCES, LOST };

// (M, N, K, alpha, beta, A, B, C), nothing transposed
static enum failure launch(const char *function, const unsigned *groups, const unsigned *items, void **arguments)
{
    if (lost) return LOST;
    if (!function || !*function || groups[2] != 1 || items[2] != 1) return WRONG_LAUNCH;
    if (!groups[0] || !groups[1] || items[0] * items[1] > 1024) return NO_RESOURCES;
    if (!strncmp(function, "peak_", 5)) return FINE; // what a device reaches at best
    if (!strcmp(function, "seqtune_restore")) {
        memcpy(*(void **)arguments[2], *(void **)arguments[1], 4 * *(int *)arguments[0]);
        **(int **)arguments[3] = 0;
        return FINE;
    }
    if (!strcmp(function, "seqtune_compare")) {
        const float most = *(float *)arguments[2], *found = *(float **)arguments[3], *expected = *(float **)arguments[4];
        for (int i = 0; i < *(int *)arguments[1]; ++i) {
            const float off = found[i] - expected[i];
            const int agrees = i < *(int *)arguments[0] ? off <= most && -off <= most : !memcmp(found + i, expected + i, 4);
            if (!agrees) **(int **)arguments[5] = 1;
        }
        return FINE;
    }
    ++launches;
    if (mode("slow")) usleep(2000); // a library is not
    if (fails("launch")) return NO_RESOURCES;
    if (fails("hang") || fails("away")) for (;;) sleep(1);
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
    return FINE;
}
