// The plain stencil, one work-item per element of y: what stencil2d.cl is checked against.

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

__kernel void stencil2d_reference(const int H, const int W, __global const real *x, __global const float *c,
                                  __global real *y)
{
    const size_t j = get_global_id(0), i = get_global_id(1), pitch = W + 2 * RADIUS;
    float sum = 0.0f;
    int tap = 0;
#ifdef points_box
    for (int dy = 0; dy <= 2 * RADIUS; ++dy)
        for (int dx = 0; dx <= 2 * RADIUS; ++dx) sum += c[tap++] * LOAD1(x, (i + dy) * pitch + j + dx);
#else
    for (int dx = 0; dx <= 2 * RADIUS; ++dx) sum += c[tap++] * LOAD1(x, (i + RADIUS) * pitch + j + dx);
    for (int dy = 0; dy <= 2 * RADIUS; ++dy)
        if (dy != RADIUS) sum += c[tap++] * LOAD1(x, (i + dy) * pitch + j + RADIUS);
#endif
    STORE1(sum, y, i * W + j);
}
