// The plain count, one work-item per counter: what histogram.cl is checked against.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#endif

__kernel void histogram_reference(const int n, const int batch, const int bins, const float factor,
                                  __global const real *x, __global float *out)
{
    const int bin = get_global_id(0) % bins;
    const size_t segment = get_global_id(0) / bins;
    int count = 0;
    for (int i = 0; i < n; ++i) {
        const int place = clamp(convert_int(LOAD1(x, segment * n + i) * factor + 524288.0f), 0, 1048575);
        count += (uint)place * bins >> 20 == bin;
    }
    out[segment * bins + bin] = count;
}
