/* The same, an element at a time. */
__kernel void hotspot_reference(const int rows, const int columns, const float rx, const float ry, const float rz,
                                __global const float *temperature, __global const float *power, __global float *result)
{
    const int x = get_global_id(0), y = get_global_id(1), at = y * columns + x;
    const float own = temperature[at];
    const float n = y > 0 ? temperature[at - columns] : own, s = y + 1 < rows ? temperature[at + columns] : own;
    const float w = x > 0 ? temperature[at - 1] : own, e = x + 1 < columns ? temperature[at + 1] : own;
    result[at] = own + power[at] + (n + s - 2.0f * own) * ry + (e + w - 2.0f * own) * rx + (80.0f - own) * rz;
}
