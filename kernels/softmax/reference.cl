// The plain softmax, one work-item per row: what softmax.cl is checked against. Elements are summed in blocks, so that the error of
// the sum stays small in long rows.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

__kernel void softmax_reference(const int rows, const int columns, __global const real *x, __global real *y)
{
    const size_t first = get_global_id(0) * (size_t)columns;
    float largest = LOAD1(x, first);
    for (int c = 1; c < columns; ++c) largest = fmax(largest, LOAD1(x, first + c));
    float sum = 0.0f;
    for (int begin = 0; begin < columns; begin += 256) {
        const int end = min(begin + 256, columns);
        float block = 0.0f;
        for (int c = begin; c < end; ++c) block += exp(LOAD1(x, first + c) - largest);
        sum += block;
    }
    for (int c = 0; c < columns; ++c) STORE1(exp(LOAD1(x, first + c) - largest) / sum, y, first + c);
}
