/* Times CLBlast's matrix product for the sizes of a table that `seqtune export clblast` wrote: with the parameters that CLBlast ships, and with
   the predicted ones. Prints a line for each size: M N K, microseconds of both, and the largest difference of their results.

   cc -O2 -I FOLDER_OF_TABLE examples/clblast.c -o clblast_times -lclblast -lOpenCL -lm */
#define CL_TARGET_OPENCL_VERSION 120
#include "table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS (sizeof seqtune_xgemm_direct_rows / sizeof *seqtune_xgemm_direct_rows)
#define RUNS 15

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check(int code, const char *what) {
    if (code == 0) return;
    fprintf(stderr, "%s: error %d\n", what, code);
    exit(1);
}

/* Median microseconds of a product, whose result is read into c. */
static double timed(cl_command_queue queue, cl_mem *buffers, size_t m, size_t n, size_t k, float *c) {
    double times[RUNS];
    for (int run = -2; run < RUNS; run++) {
        double began = now();
        check(CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, m, n, k, 1, buffers[0], 0, k, buffers[1], 0, n, 0,
                           buffers[2], 0, n, &queue, NULL), "CLBlastSgemm");
        check(clFinish(queue), "clFinish");
        if (run >= 0) times[run] = now() - began;
    }
    check(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, 4 * m * n, c, 0, NULL, NULL), "clEnqueueReadBuffer");
    qsort(times, RUNS, sizeof *times, compare);
    return times[RUNS / 2];
}

/* Parameters of the library as it ships, which every override replaces for all sizes. */
static size_t shipped[32];

static void use(cl_device_id device, const size_t *values) {
    size_t count = sizeof seqtune_xgemm_direct_names / sizeof *seqtune_xgemm_direct_names;
    check(CLBlastOverrideParameters(device, "XgemmDirect", CLBlastPrecisionSingle, count, (const char **)seqtune_xgemm_direct_names, values),
          "CLBlastOverrideParameters");
}

int main(int count, char **words) {
    size_t parameters = sizeof seqtune_xgemm_direct_names / sizeof *seqtune_xgemm_direct_names;
    if ((size_t)count != 1 + parameters) {
        fprintf(stderr, "usage: clblast_times VALUE... (the %zu parameters of the tuning at one size, to compare with)\n", parameters);
        return 2;
    }
    for (size_t at = 0; at < parameters; at++) shipped[at] = (size_t)atoi(words[1 + at]);
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    check(error, "clCreateCommandQueue");
    /* every product goes through the direct kernel, which is what was tuned */
    const char *routine[] = {"XGEMM_MIN_INDIRECT_SIZE"};
    const size_t never[] = {1 << 20};
    check(CLBlastOverrideParameters(device, "GemmRoutine", CLBlastPrecisionSingle, 1, routine, never), "CLBlastOverrideParameters");
    for (size_t row = 0; row < ROWS; row++) {
        size_t m = seqtune_xgemm_direct_rows[row].m, n = seqtune_xgemm_direct_rows[row].n, k = seqtune_xgemm_direct_rows[row].k;
        size_t sizes[3] = {m * k, k * n, m * n};
        cl_mem buffers[3];
        for (int at = 0; at < 3; at++) {
            float *values = malloc(4 * sizes[at]);
            for (size_t i = 0; i < sizes[at]; i++) values[i] = (float)((i * 7919 + (size_t)at) % 1013) / 1013 - 0.5f;
            buffers[at] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4 * sizes[at], values, &error);
            check(error, "clCreateBuffer");
            free(values);
        }
        float *one = malloc(4 * m * n), *two = malloc(4 * m * n);
        use(device, shipped);
        double before = timed(queue, buffers, m, n, k, one);
        check(seqtune_xgemm_direct_use(device, m, n, k), "seqtune_xgemm_direct_use");
        double after = timed(queue, buffers, m, n, k, two);
        double worst = 0;
        for (size_t i = 0; i < m * n; i++) worst = fmax(worst, fabs(one[i] - two[i]));
        printf("%zu %zu %zu %.1f %.1f %.2g\n", m, n, k, before, after, worst);
        fflush(stdout);
        for (int at = 0; at < 3; at++) clReleaseMemObject(buffers[at]);
        free(one);
        free(two);
    }
    return 0;
}
