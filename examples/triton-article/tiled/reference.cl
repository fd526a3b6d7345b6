// The plain product, one work-item per element of C: what tiled.cl is checked against.
__kernel void product_reference(const int M, const int N, const int K, __global const float *A, __global const float *B,
                                __global float *C)
{
    const size_t n = get_global_id(0), m = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[(size_t)k * N + n];
    C[m * N + n] = sum;
}
