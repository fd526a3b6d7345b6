// The plain stencil, one work-item per element of y: what stencil3d.cl is checked against.

#if defined(radius_4)
#define RADIUS 4
#elif defined(radius_3)
#define RADIUS 3
#elif defined(radius_2)
#define RADIUS 2
#else
#define RADIUS 1
#endif

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(v, p, i) vstore_half((v), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(v, p, i) ((p)[i] = (v))
#endif

__kernel void stencil3d_reference(const int D, const int H, const int W, __global const real *x, __global const float *c,
                                  __global real *y)
{
    const size_t j = get_global_id(0), i = get_global_id(1), h = get_global_id(2), row = h * H + i;
    const size_t pitch = W + 2 * RADIUS, plane = (H + 2 * RADIUS) * pitch;
    __global const real *corner = x + h * plane + i * pitch + j;
    float sum = 0.0f;
    int tap = 0;
    for (int d = 0; d <= 2 * RADIUS; ++d) sum += c[tap++] * LOAD1(corner, RADIUS * plane + RADIUS * pitch + d);
    for (int d = 0; d <= 2 * RADIUS; ++d)
        if (d != RADIUS) sum += c[tap++] * LOAD1(corner, RADIUS * plane + d * pitch + RADIUS);
    for (int d = 0; d <= 2 * RADIUS; ++d)
        if (d != RADIUS) sum += c[tap++] * LOAD1(corner, d * plane + RADIUS * pitch + RADIUS);
    STORE1(sum, y, row * W + j);
}
