// How fast the device can multiply and add, and move memory, at best: nothing but that.

// CPUs take vectors, GPUs scalars: a work-item of a CPU is one iteration of a loop.
#ifdef VECTORS
typedef float16 real;
#define LANE(v) (((const float *)&(v))[0])
#else
typedef float real;
#define LANE(v) (v)
#endif

// 8 chains of multiply-adds in each work-item, `rounds` long.
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void peak_f32(const int rounds, const float a, const float b, __global float *restrict out)
{
    real x[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = (real)(0.001f * (get_local_id(0) + i));
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) x[i] = x[i] * a + b;
    }
    real sum = x[0];
#pragma unroll
    for (int i = 1; i < 8; ++i) sum += x[i];
    out[get_global_id(0)] = LANE(sum);
}

// Four floats a work-item, read and written once.
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void peak_copy(__global const float *restrict from, __global float *restrict to)
{
    vstore4(vload4(get_global_id(0), from), get_global_id(0), to);
}
