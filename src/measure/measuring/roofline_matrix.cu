// How fast tensor cores can multiply and add by mma.sync: nothing but that. 8 products of 16 x 8 x 16 in each warp, `rounds` times.
extern "C" __global__ void __launch_bounds__(256) peak_matrix(const int rounds, float *__restrict__ out)
{
    float sums[8][4];
    unsigned a[4], b[2];
    // small halves, none of them zero: zeros would flatter
    for (int i = 0; i < 4; ++i) a[i] = 0x1c001c00u + threadIdx.x * 0x00010003u + i;
    for (int i = 0; i < 2; ++i) b[i] = 0x9c001c00u + threadIdx.x * 0x00030001u + i;
#pragma unroll
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] = 0.0f;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                         "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i)
        for (int j = 0; j < 4; ++j) sum += sums[i][j];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
