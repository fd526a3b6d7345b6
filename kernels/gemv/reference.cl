// The plain product, one work-item per element of y: what gemv.cl is checked against.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

__kernel void gemv_reference(const int M, const int N, const float alpha, const float beta, __global const real *A,
                             __global const real *x, __global real *y)
{
    const size_t i = get_global_id(0);
    float sum = 0.0f;
#ifdef trans_T
    for (int begin = 0; begin < M; begin += 256) {
        float block = 0.0f;
        for (int k = begin; k < min(begin + 256, M); ++k) block += LOAD1(A, (size_t)k * N + i) * LOAD1(x, k);
        sum += block;
    }
#else
    for (int begin = 0; begin < N; begin += 256) {
        float block = 0.0f;
        for (int k = begin; k < min(begin + 256, N); ++k) block += LOAD1(A, i * N + k) * LOAD1(x, k);
        sum += block;
    }
#endif
    float result = alpha * sum;
    if (beta != 0.0f) result += beta * LOAD1(y, i);
    STORE1(result, y, i);
}
