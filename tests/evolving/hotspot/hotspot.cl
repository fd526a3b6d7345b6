#ifndef BX
#define BX 16
#endif
#ifndef BY
#define BY 16
#endif

/* One step of heat on a plate. Each work-item computes an element; a work-group shares its temperatures in local memory. */
__kernel void hotspot(const int rows, const int columns, const float rx, const float ry, const float rz,
                      __global const float *temperature, __global const float *power, __global float *result)
{
    __local float tile[BY][BX];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int x = get_global_id(0), y = get_global_id(1);
    const int inside = x < columns && y < rows;
    float r = 0.0f;

    tile[ly][lx] = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (inside)
        tile[ly][lx] = temperature[y * columns + x];
    barrier(CLK_LOCAL_MEM_FENCE);

    if (inside) {
        const float own = tile[ly][lx];
        /* neighbours: of this work-group, else from global memory; at an edge of the plate the element itself */
        const float n = y == 0 ? own : ly > 0 ? tile[ly - 1][lx] : temperature[(y - 1) * columns + x];
        const float s = y == rows - 1 ? own : ly < BY - 1 ? tile[ly + 1][lx] : temperature[(y + 1) * columns + x];
        const float w = x == 0 ? own : lx > 0 ? tile[ly][lx - 1] : temperature[y * columns + x - 1];
        const float e = x == columns - 1 ? own : lx < BX - 1 ? tile[ly][lx + 1] : temperature[y * columns + x + 1];
        r = own + power[y * columns + x] + (n + s - 2.0f * own) * ry + (e + w - 2.0f * own) * rx
            + (80.0f - own) * rz;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (inside)
        tile[ly][lx] = r;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (inside)
        result[y * columns + x] = tile[ly][lx];
}
