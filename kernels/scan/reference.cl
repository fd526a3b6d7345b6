// The plain prefix sums, one work-item per row: what scan.cl is checked against.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

__kernel void scan_reference(const int rows, const int columns, __global const real *x, __global real *y)
{
    const size_t row = get_global_id(0) * columns;
    float sum = 0.0f;
    for (int c = 0; c < columns; ++c) {
        sum += LOAD1(x, row + c);
        STORE1(sum, y, row + c);
    }
}
