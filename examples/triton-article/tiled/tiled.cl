// C = A B in f32, row-major: a work-group computes a tile of MDIM*MPT rows by NDIM*NPT columns, KB products of each sum at a time.
// An element that it loads is used by a whole row or column of the tile.

#ifndef MDIM
#define MDIM 8     // work-items along rows
#endif
#ifndef NDIM
#define NDIM 16    // work-items along columns
#endif
#ifndef MPT
#define MPT 4      // rows per work-item
#endif
#ifndef NPT
#define NPT 4      // columns per work-item, NDIM apart
#endif
#ifndef KB
#define KB 16      // depth of a step
#endif
#ifndef SHARE
#define SHARE 1    // 1: both operands go through local memory
#endif

#define BM (MDIM * MPT)
#define BN (NDIM * NPT)
#define ITEMS (MDIM * NDIM)
#define AROW (BM + 1) // a row of the tile of A, turned, and one element so that writing it meets few bank conflicts

__kernel __attribute__((reqd_work_group_size(NDIM, MDIM, 1)))
void tiled(const int M, const int N, const int K, __global const float *restrict A, __global const float *restrict B,
           __global float *restrict C)
{
    const int tn = get_local_id(0), tm = get_local_id(1);
    const int across = (N + BN - 1) / BN, tile = get_group_id(0);
    const int m0 = tile / across * BM, n0 = tile % across * BN;

    float acc[MPT][NPT];
    for (int i = 0; i < MPT; ++i)
        for (int j = 0; j < NPT; ++j) acc[i][j] = 0.0f;

#if SHARE
    const int tid = tm * NDIM + tn;
    __local float as[KB * AROW];
    __local float bs[KB * BN];
    for (int k0 = 0; k0 < K; k0 += KB) {
        for (int v = tid; v < BM * KB; v += ITEMS) {
            const int m = m0 + v / KB, k = k0 + v % KB;
            as[v % KB * AROW + v / KB] = m < M && k < K ? A[(size_t)m * K + k] : 0.0f;
        }
        for (int v = tid; v < KB * BN; v += ITEMS) {
            const int k = k0 + v / BN, n = n0 + v % BN;
            bs[v] = k < K && n < N ? B[(size_t)k * N + n] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < KB; ++k) {
            float b[NPT];
#pragma unroll
            for (int j = 0; j < NPT; ++j) b[j] = bs[k * BN + j * NDIM + tn];
#pragma unroll
            for (int i = 0; i < MPT; ++i) {
                const float a = as[k * AROW + tm * MPT + i];
#pragma unroll
                for (int j = 0; j < NPT; ++j) acc[i][j] = mad(a, b[j], acc[i][j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    __global const float *rows[MPT];
    for (int i = 0; i < MPT; ++i) rows[i] = A + (size_t)min(m0 + tm * MPT + i, M - 1) * K;
    __global const float *columns[NPT];
    for (int j = 0; j < NPT; ++j) columns[j] = B + min(n0 + j * NDIM + tn, N - 1);
    for (int k = 0; k < K; ++k) {
        float b[NPT];
#pragma unroll
        for (int j = 0; j < NPT; ++j) b[j] = columns[j][(size_t)k * N];
#pragma unroll
        for (int i = 0; i < MPT; ++i) {
            const float a = rows[i][k];
#pragma unroll
            for (int j = 0; j < NPT; ++j) acc[i][j] = mad(a, b[j], acc[i][j]);
        }
    }
#endif

    for (int i = 0; i < MPT; ++i)
        for (int j = 0; j < NPT; ++j) {
            const int m = m0 + tm * MPT + i, n = n0 + j * NDIM + tn;
            if (m < M && n < N) C[(size_t)m * N + n] = acc[i][j];
        }
}
