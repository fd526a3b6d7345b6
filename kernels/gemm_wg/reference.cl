// The plain product, one work-item per element of C: what gemm_wg.cu is checked against. Values are 16 bits, sums f32.

#ifdef dtype_bf16
typedef ushort real;
#define LOAD1(p, i) as_float((uint)(p)[i] << 16)
// to the nearest, ties to even
#define STORE1(x, p, i) ((p)[i] = (ushort)((as_uint(x) + 0x7fffu + ((as_uint(x) >> 16) & 1u)) >> 16))
#else
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#endif

__kernel void gemm_wg_reference(const int M, const int N, const int K, const float alpha, const float beta,
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
