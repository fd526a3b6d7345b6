// The plain product, one work-item per row: what spmv.cl is checked against.

__kernel void spmv_reference(const int rows, __global const int *starts, __global const int *columns,
                             __global const float *values, __global const float *x, __global float *y)
{
    const int row = get_global_id(0);
    float sum = 0.0f;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
}
