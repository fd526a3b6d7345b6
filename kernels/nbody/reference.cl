// The plain sum over all sources, one work-item per target: what nbody.cl is checked against.

#ifdef layout_soa
#define AT(i, c, n, width) ((size_t)(c) * (n) + (i))
#else
#define AT(i, c, n, width) ((size_t)(i) * (width) + (c))
#endif

__kernel void nbody_reference(const int targets, const int sources, const float eps2, __global const float *s,
                              __global const float *t, __global float *a)
{
    const int i = get_global_id(0);
    const size_t system = get_global_id(1);
    __global const float *from = s + system * 4 * sources;
    __global const float *to = t + system * 3 * targets;
    __global float *out = a + system * 3 * targets;
    const float x = to[AT(i, 0, targets, 3)], y = to[AT(i, 1, targets, 3)], z = to[AT(i, 2, targets, 3)];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < sources; ++j) {
        const float dx = from[AT(j, 0, sources, 4)] - x;
        const float dy = from[AT(j, 1, sources, 4)] - y;
        const float dz = from[AT(j, 2, sources, 4)] - z;
        const float root = rsqrt(dx * dx + dy * dy + dz * dz + eps2);
        const float f = from[AT(j, 3, sources, 4)] * root * root * root;
        ax += f * dx;
        ay += f * dy;
        az += f * dz;
    }
    out[AT(i, 0, targets, 3)] = ax;
    out[AT(i, 1, targets, 3)] = ay;
    out[AT(i, 2, targets, 3)] = az;
}
