/* Times CLBlast's matrix product for the sizes of a table that `seqtune export clblast` wrote: with the parameters that CLBlast ships, then with
   the predicted ones. Prints a line for each size: M N K, microseconds of both, and the largest difference of their results.

   cc -O2 -I FOLDER_OF_TABLE examples/clblast.c -o clblast_times -lclblast -lOpenCL -lm */
#define CL_TARGET_OPENCL_VERSION 120
#include "table.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROWS (sizeof seqtune_xgemm_direct_rows / sizeof *seqtune_xgemm_direct_rows)
#define RUNS 15

/* A product of a row of the table. */
typedef struct {
    size_t m, n, k;
    cl_mem buffers[3];
    float *result;
    double shipped;
} product;

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

static product made(cl_context context, size_t row) {
    product p = {.m = seqtune_xgemm_direct_rows[row].m, .n = seqtune_xgemm_direct_rows[row].n, .k = seqtune_xgemm_direct_rows[row].k};
    size_t sizes[3] = {p.m * p.k, p.k * p.n, p.m * p.n};
    for (int at = 0; at < 3; at++) {
        float *values = malloc(4 * sizes[at]);
        for (size_t i = 0; i < sizes[at]; i++) values[i] = (float)((i * 7919 + (size_t)at) % 1013) / 1013 - 0.5f;
        cl_int error;
        p.buffers[at] = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, 4 * sizes[at], values, &error);
        check(error, "clCreateBuffer");
        free(values);
    }
    p.result = malloc(4 * p.m * p.n);
    return p;
}

/* Median microseconds of a product, whose result is read into c. */
static double timed(cl_command_queue queue, const product *p, float *c) {
    double times[RUNS];
    for (int run = -2; run < RUNS; run++) {
        double began = now();
        check(CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, p->m, p->n, p->k, 1, p->buffers[0], 0, p->k,
                           p->buffers[1], 0, p->n, 0, p->buffers[2], 0, p->n, &queue, NULL), "CLBlastSgemm");
        check(clFinish(queue), "clFinish");
        if (run >= 0) times[run] = now() - began;
    }
    check(clEnqueueReadBuffer(queue, p->buffers[2], CL_TRUE, 0, 4 * p->m * p->n, c, 0, NULL, NULL), "clEnqueueReadBuffer");
    qsort(times, RUNS, sizeof *times, compare);
    return times[RUNS / 2];
}

int main(void) {
    cl_platform_id platform;
    cl_device_id device;
    cl_int error;
    check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    check(error, "clCreateCommandQueue");
    static product products[ROWS];
    /* all with the shipped parameters first: what is overridden cannot be had back */
    for (size_t row = 0; row < ROWS; row++) {
        products[row] = made(context, row);
        products[row].shipped = timed(queue, &products[row], products[row].result);
    }
    for (size_t row = 0; row < ROWS; row++) {
        product *p = &products[row];
        float *c = malloc(4 * p->m * p->n);
        check(seqtune_gemm_use(device, p->m, p->n, p->k), "seqtune_gemm_use");
        double predicted = timed(queue, p, c);
        double worst = 0;
        for (size_t i = 0; i < p->m * p->n; i++) worst = fmax(worst, fabs(p->result[i] - c[i]));
        printf("%zu %zu %zu %.1f %.1f %.2g\n", p->m, p->n, p->k, p->shipped, predicted, worst);
        fflush(stdout);
        for (int at = 0; at < 3; at++) clReleaseMemObject(p->buffers[at]);
        free(c);
        free(p->result);
    }
    return 0;
}
