// The plain transposition, one work-item per element of out: what transpose.cl is checked against.

#ifdef dtype_f16
typedef ushort real;
#else
typedef uint real;
#endif

__kernel void transpose_reference(const int rows, const int columns, __global const real *in, __global real *out)
{
    const size_t place = get_global_id(0);
    const size_t i = place % rows, j = place / rows % columns, b = place / rows / columns;
    out[place] = in[(b * rows + i) * columns + j];
}
