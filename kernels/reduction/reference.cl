// The plain sums, one work-item per element of y: what reduction.cl is checked against.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#endif

__kernel void reduction_reference(const int rows, const int columns, __global const real *x, __global float *y)
{
    const size_t i = get_global_id(0);
    float sum = 0.0f;
#ifdef axis_rows
    for (int r = 0; r < rows; ++r) sum += LOAD1(x, (size_t)r * columns + i);
#else
    for (int c = 0; c < columns; ++c) sum += LOAD1(x, i * columns + c);
#endif
    y[i] = sum;
}
