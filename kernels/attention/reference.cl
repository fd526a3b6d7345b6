// Plain attention, one work-item per row of O: what attention.cl is checked against.

#if defined(D_d32)
#define D 32
#elif defined(D_d80)
#define D 80
#elif defined(D_d96)
#define D 96
#elif defined(D_d128)
#define D 128
#else
#define D 64
#endif

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

inline float score(const float *q, __global const real *k)
{
    float sum = 0.0f;
    for (int d = 0; d < D; ++d) sum += q[d] * LOAD1(k, d);
    return sum / sqrt((float)D);
}

__kernel void attention_reference(const int pairs, const int queries, const int keys, __global const real *Q,
                                  __global const real *K, __global const real *V, __global real *O)
{
    const size_t row = get_global_id(0), pair = row / queries;
    K += pair * keys * D;
    V += pair * keys * D;
#ifdef causal_yes
    const int seen = row % queries + 1 + keys - queries;
#else
    const int seen = keys;
#endif
    float q[D], o[D];
    for (int d = 0; d < D; ++d) {
        q[d] = LOAD1(Q, row * D + d);
        o[d] = 0.0f;
    }
    float top = score(q, K);
    for (int k = 1; k < seen; ++k) top = fmax(top, score(q, K + k * D));
    float total = 0.0f;
    for (int k = 0; k < seen; ++k) {
        const float weight = exp(score(q, K + k * D) - top);
        total += weight;
        for (int d = 0; d < D; ++d) o[d] += weight * LOAD1(V, k * D + d);
    }
    for (int d = 0; d < D; ++d) STORE1(o[d] / total, O, row * D + d);
}
