#define W 16

/* y = alpha * exp(x - m) / sum of exp(x - m), where m is the largest x of the row */
__kernel void careless(int rows, int columns, float alpha, __global const float *x, __global float *y)
{
    __local float part[W];
    const int l = get_local_id(0), row = get_group_id(0);
    __global const float *own = x + row * columns;
    float most = -INFINITY, least = INFINITY, sum = 0.0f;
    for (int c = 0; c < columns; ++c) {
        most = fmax(most, own[c]);
        least = fmin(least, own[c]);
    }
#if SLIP == 1
    /* reads behind the last row, and needs nothing of it */
    if (row == rows - 1 && own[columns] > 1e30f)
        y[0] = 0.0f;
#elif SLIP == 2
    /* the exponential of a large number is none */
    most = 0.0f;
#elif SLIP == 3
    /* a factor that is 1 wherever it was tried */
    alpha = 1.0f;
#elif SLIP == 5
    /* reads before the first row */
    if (row == 0 && own[-1] > 1e30f)
        y[0] = 0.0f;
#endif
    for (int c = l; c < columns; c += W) {
#if SLIP == 6
        /* takes zeros for padding */
        if (own[c] == 0.0f)
            continue;
#endif
        sum += exp(own[c] - most);
    }
#if SLIP == 4
    /* adds up what the work-item before has written, if it was earlier */
    part[l] = sum + (l > 0 ? part[l - 1] : 0.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = part[W - 1];
#else
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0.0f;
    for (int i = 0; i < W; ++i)
        sum += part[i];
#endif
    for (int c = l; c < columns; c += W) {
        float share = exp(own[c] - most) / sum;
#if SLIP == 7
        /* has nothing to say of a row whose elements are all the same */
        if (most == least)
            share = 0.0f;
#endif
        y[row * columns + c] = alpha * share;
    }
}

__kernel void careless_reference(int rows, int columns, float alpha, __global const float *x, __global float *y)
{
    const int row = get_global_id(0);
    float most = -INFINITY, sum = 0.0f;
    for (int c = 0; c < columns; ++c)
        most = fmax(most, x[row * columns + c]);
    for (int c = 0; c < columns; ++c)
        sum += exp(x[row * columns + c] - most);
    for (int c = 0; c < columns; ++c)
        y[row * columns + c] = alpha * exp(x[row * columns + c] - most) / sum;
}
