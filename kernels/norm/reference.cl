// The plain normalisation, one work-item per row: what norm.cl is checked against. Elements are summed in blocks, so that the error of
// sums stays small in long rows.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

__kernel void norm_reference(const int rows, const int columns, const float epsilon, __global const real *x, __global const real *w,
                             __global const real *b, __global real *y)
{
    const size_t first = get_global_id(0) * (size_t)columns;
    float mean = 0.0f;
#if !defined(kind_rms)
    for (int begin = 0; begin < columns; begin += 256) {
        const int end = min(begin + 256, columns);
        float block = 0.0f;
        for (int c = begin; c < end; ++c) block += LOAD1(x, first + c);
        mean += block;
    }
    mean /= columns;
#endif
    float squares = 0.0f;
    for (int begin = 0; begin < columns; begin += 256) {
        const int end = min(begin + 256, columns);
        float block = 0.0f;
        for (int c = begin; c < end; ++c) {
            const float d = LOAD1(x, first + c) - mean;
            block += d * d;
        }
        squares += block;
    }
    const float root = sqrt(squares / columns + epsilon);
    for (int c = 0; c < columns; ++c) {
        float value = (LOAD1(x, first + c) - mean) / root * LOAD1(w, c);
#if !defined(kind_rms)
        value += LOAD1(b, c);
#endif
        STORE1(value, y, first + c);
    }
}
