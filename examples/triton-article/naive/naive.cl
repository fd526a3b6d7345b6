// C = A B in f32, row-major: SPLIT work-items share the dot product of a row of A and a column of B, a work-group has DOTS of them.
// Neighbouring items of a dot product read neighbours in A, but elements a row apart in B.

#ifndef SPLIT
#define SPLIT 32   // work-items per dot product
#endif
#ifndef DOTS
#define DOTS 4     // dot products per work-group
#endif
#ifndef UNROLL
#define UNROLL 1   // unrolling of the sum
#endif

__kernel __attribute__((reqd_work_group_size(SPLIT, DOTS, 1)))
void naive(const int M, const int N, const int K, __global const float *restrict A, __global const float *restrict B,
           __global float *restrict C)
{
    const int part = get_local_id(0), dot = get_local_id(1);
    const size_t last = (size_t)M * N - 1, own = (size_t)get_group_id(0) * DOTS + dot;
    const size_t at = own < last ? own : last; // what is beyond the end computes the last element and stores nothing
    __global const float *row = A + at / N * K;
    __global const float *column = B + at % N;

    float sum = 0.0f;
    int k = part;
    for (; k + (UNROLL - 1) * SPLIT < K; k += UNROLL * SPLIT)
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum = mad(row[k + u * SPLIT], column[(size_t)(k + u * SPLIT) * N], sum);
    for (; k < K; k += SPLIT) sum = mad(row[k], column[(size_t)k * N], sum);

#if SPLIT > 1
    __local float parts[DOTS * SPLIT];
    parts[dot * SPLIT + part] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_of = SPLIT / 2; half_of > 0; half_of /= 2) {
        if (part < half_of) parts[dot * SPLIT + part] += parts[dot * SPLIT + part + half_of];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = parts[dot * SPLIT];
#endif
    if (part == 0 && own <= last) C[own] = sum;
}
