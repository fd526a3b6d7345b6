// The plain product, one work-item per element of C: what gemm.cl is checked against.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

__kernel void gemm_reference(const int M, const int N, const int K, const float alpha, const float beta,
                             __global const real *A, __global const real *B, __global real *C)
{
    const size_t n = get_global_id(0), m = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
#ifdef transA_T
        const float a = LOAD1(A, (size_t)k * M + m);
#else
        const float a = LOAD1(A, m * K + k);
#endif
#ifdef transB_T
        const float b = LOAD1(B, n * K + k);
#else
        const float b = LOAD1(B, (size_t)k * N + n);
#endif
        sum += a * b;
    }
    float c = alpha * sum;
    if (beta != 0.0f) c += beta * LOAD1(C, m * N + n);
    STORE1(c, C, m * N + n);
}
