// The plain products, one work-item per element of C: what batched_gemm.cl is checked against.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

__kernel void batched_gemm_reference(const int batch, const int M, const int N, const int K, const int stride_b,
                                     const float alpha, const float beta, __global const real *A, __global const real *B,
                                     __global real *C)
{
    const size_t at = get_global_id(0);
    const size_t n = at % N, m = at / N % M, b = at / N / M;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
#ifdef transA_T
        const size_t in_a = (size_t)k * M + m;
#else
        const size_t in_a = m * K + k;
#endif
#ifdef transB_T
        const size_t in_b = n * K + k;
#else
        const size_t in_b = (size_t)k * N + n;
#endif
        sum += LOAD1(A, b * M * K + in_a) * LOAD1(B, b * stride_b + in_b);
    }
    float c = alpha * sum;
    if (beta != 0.0f) c += beta * LOAD1(C, at);
    STORE1(c, C, at);
}
