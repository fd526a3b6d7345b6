// C = A B in f32 of A and the transpose of B, row-major: SPLIT work-items share the dot product of two rows, a work-group has DOTS of them.
// Neighbouring items of a dot product read neighbours in both operands, V elements at once.

#ifndef SPLIT
#define SPLIT 32   // work-items per dot product
#endif
#ifndef DOTS
#define DOTS 4     // dot products per work-group
#endif
#ifndef V
#define V 4        // vector width along the sum
#endif

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)
#if V == 1
typedef float vec;
#define LOAD(p) (*(p))
#else
typedef CAT(float, V) vec;
#define LOAD(p) CAT(vload, V)(0, (p))
#endif

__kernel __attribute__((reqd_work_group_size(SPLIT, DOTS, 1)))
void transposed(const int M, const int N, const int K, __global const float *restrict A, __global const float *restrict Bt,
                __global float *restrict C)
{
    const int part = get_local_id(0), dot = get_local_id(1);
    const size_t last = (size_t)M * N - 1, own = (size_t)get_group_id(0) * DOTS + dot;
    const size_t at = own < last ? own : last; // what is beyond the end computes the last element and stores nothing
    __global const float *left = A + at / N * K;
    __global const float *right = Bt + at % N * K;

    vec sums = (vec)(0.0f);
    for (int k = part * V; k + V <= K; k += SPLIT * V) sums = mad(LOAD(left + k), LOAD(right + k), sums);
    float sum = 0.0f;
#pragma unroll
    for (int v = 0; v < V; ++v) sum += ((float *)&sums)[v];
    for (int k = K / V * V + part; k < K; k += SPLIT) sum = mad(left[k], right[k], sum);

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
