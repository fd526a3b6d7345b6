// C[b] = alpha op(A[b]) op(B[b]) + beta C[b] for b < batch. Row-major, packed one after the other: op(A[b]) is M x K, op(B[b]) is K x N.
// Stored as A[b][M][K] or, with transA_T, A[b][K][M]; B[b][K][N] or, with transB_T, B[b][N][K]; stride_b is 0 where one B serves all
// products. Arithmetic is in f32.
//
// A work-group computes a tile of MDIM*MWI rows and NDIM*NWI columns of BPG products. Indices beyond the edges of a matrix are clamped: what
// is computed from them is not stored. A row of C must not be shorter than VW.

#ifndef MDIM
#define MDIM 8   // work-items along M
#endif
#ifndef MWI
#define MWI 4    // rows of C per work-item
#endif
#ifndef NDIM
#define NDIM 4   // work-items along N
#endif
#ifndef NWI
#define NWI 4    // columns of C per work-item
#endif
#ifndef VW
#define VW 4     // vector width along N
#endif
#ifndef BPG
#define BPG 1    // products per work-group
#endif
#ifndef KB
#define KB 4     // depth of one step along K: the unrolled body, and what goes through local memory at once
#endif
#ifndef SA
#define SA 0     // 1: A goes through local memory
#endif
#ifndef SB
#define SB 0     // 1: B goes through local memory
#endif
#ifndef VC
#define VC 1     // vector width of the copies into local memory
#endif
#ifndef PAD
#define PAD 0    // elements that local tiles, and their rows where the copy turns them, are padded by
#endif

#define MT (MDIM * MWI)
#define NT (NDIM * NWI)
#define NVEC (NWI / VW)
#define ITEMS (NDIM * MDIM * BPG)
#define KU (KB < 8 ? KB : 8) // steps along K that are unrolled

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#define LOADV_(w, p, i) CAT(vload_half, w)(0, (p) + (i))
#define STOREV_(w, x, p, i) CAT(vstore_half, w)((x), 0, (p) + (i))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#define LOADV_(w, p, i) CAT(vload, w)(0, (p) + (i))
#define STOREV_(w, x, p, i) CAT(vstore, w)((x), 0, (p) + (i))
#endif

#if VW == 1
typedef float vecn;
#define LOADN(p, i) LOAD1(p, i)
#define STOREN(x, p, i) STORE1(x, p, i)
#define LOADN_LOCAL(p, i) ((p)[i])
#else
typedef CAT(float, VW) vecn;
#define LOADN(p, i) LOADV_(VW, p, i)
#define STOREN(x, p, i) STOREV_(VW, x, p, i)
#define LOADN_LOCAL(p, i) CAT(vload, VW)(0, (p) + (i))
#endif
#define LANE(v, x) (((float *)&(v))[x])

// Tiles in local memory are KB rows of what lies across K. A copy of a matrix that is contiguous along K turns it.
#ifdef transA_T
#define A_AT(m, k) ((k) * M + (m))
#define A_STAGE(to) stage(to, KB, MT, 0, LDA, A_PLANE, A_all, (size_t)M * K, last, k0, K, m0, M, tid)
#define LDA MT
#else
#define A_AT(m, k) ((m) * K + (k))
#define A_STAGE(to) stage(to, MT, KB, 1, LDA, A_PLANE, A_all, (size_t)M * K, last, m0, M, k0, K, tid)
#define LDA (MT + PAD)
#endif
#ifdef transB_T
#define B_AT(k, n) ((n) * K + (k))
#define B_STAGE(to) stage(to, NT, KB, 1, LDB, B_PLANE, B_all, stride_b, last, n0, N, k0, K, tid)
#define LDB (NT + PAD)
#else
#define B_AT(k, n) ((k) * N + (n))
#define B_STAGE(to) stage(to, KB, NT, 0, LDB, B_PLANE, B_all, stride_b, last, k0, K, n0, N, tid)
#define LDB NT
#endif
#define A_PLANE (KB * LDA + PAD)
#define B_PLANE (KB * LDB + PAD)

#define ROW(i) (tm * MWI + (i))
#define COL(j) (((j) * NDIM + tn) * VW)

// Copies a tile of `lines` lines of `run` contiguous elements of each product into local memory. The tile begins at line0 and run0 of
// matrices of so many lines and runs, which are `stride` apart; `last` is the last product that there is.
inline void stage(__local float *tile, const int lines, const int run, const int turned, const int ld, const int plane,
                  __global const real *from, const size_t stride, const int last, const int line0, const int all_lines,
                  const int run0, const int all_runs, const int tid)
{
    const int per_line = run / VC, copies = BPG * lines * per_line;
#pragma unroll
    for (int i = 0; i < (copies + ITEMS - 1) / ITEMS; ++i) {
        const int v = tid + i * ITEMS;
        if (copies % ITEMS != 0 && v >= copies) continue;
        const int r = v % per_line * VC, line = v / per_line % lines, p = v / (per_line * lines);
        __global const real *at = from + min(p, last) * stride + min(line0 + line, all_lines - 1) * all_runs;
        float part[VC];
#if VC > 1
        if (run0 + r + VC <= all_runs) CAT(vstore, VC)(LOADV_(VC, at, run0 + r), 0, part);
        else
#endif
#pragma unroll
            for (int x = 0; x < VC; ++x) part[x] = LOAD1(at, min(run0 + r + x, all_runs - 1));
#pragma unroll
        for (int x = 0; x < VC; ++x) tile[p * plane + (turned ? (r + x) * ld + line : line * ld + r + x)] = part[x];
    }
}

// One element of depth: k of the step that begins at k0.
inline void multiply(vecn acc[MWI][NVEC], __local const float *as, __local const float *bs, __global const real *A,
                     __global const real *B, const int row[MWI], const int col[NVEC], const int tm, const int tn, const int k,
                     const int k0, const int M, const int N, const int K)
{
    vecn b[NVEC];
#pragma unroll
    for (int j = 0; j < NVEC; ++j) {
#if SB
        b[j] = LOADN_LOCAL(bs, k * LDB + COL(j));
#elif defined(transB_T)
#pragma unroll
        for (int x = 0; x < VW; ++x) LANE(b[j], x) = LOAD1(B, B_AT(k0 + k, col[j] + x));
#else
        b[j] = LOADN(B, B_AT(k0 + k, col[j]));
#endif
    }
#pragma unroll
    for (int i = 0; i < MWI; ++i) {
#if SA
        const float a = as[k * LDA + ROW(i)];
#else
        const float a = LOAD1(A, A_AT(row[i], k0 + k));
#endif
#pragma unroll
        for (int j = 0; j < NVEC; ++j) acc[i][j] = mad((vecn)(a), b[j], acc[i][j]);
    }
}

__kernel __attribute__((reqd_work_group_size(NDIM, MDIM * BPG, 1)))
void batched_gemm(const int batch, const int M, const int N, const int K, const int stride_b, const float alpha,
                  const float beta, __global const real *restrict A, __global const real *restrict B,
                  __global real *restrict C)
{
    const int tn = get_local_id(0), tm = get_local_id(1) % MDIM, p = get_local_id(1) / MDIM;
    const int tid = get_local_id(1) * NDIM + tn;

    const int tiles_n = (N + NT - 1) / NT, tiles_m = (M + MT - 1) / MT;
    int tile = get_group_id(0);
    const int n0 = tile % tiles_n * NT; tile /= tiles_n;
    const int m0 = tile % tiles_m * MT;
    const int b0 = tile / tiles_m * BPG;
    const int last = min(batch - 1 - b0, BPG - 1);

    __global const real *A_all = A + (size_t)b0 * M * K, *B_all = B + (size_t)b0 * stride_b;
    __global const real *A_own = A_all + (size_t)min(p, last) * M * K, *B_own = B_all + (size_t)min(p, last) * stride_b;
    __local const float *as_own = 0, *bs_own = 0;
#if SA
    __local float as[BPG * A_PLANE];
    as_own = as + p * A_PLANE;
#endif
#if SB
    __local float bs[BPG * B_PLANE];
    bs_own = bs + p * B_PLANE;
#endif

    // Rows of A and first columns of B that are read from global memory. A vector across the edge begins earlier: its first lanes are not stored.
    int row[MWI], col[NVEC];
#pragma unroll
    for (int i = 0; i < MWI; ++i) row[i] = min(m0 + ROW(i), M - 1);
#pragma unroll
    for (int j = 0; j < NVEC; ++j) col[j] = SB ? n0 + COL(j) : min(n0 + COL(j), N - VW);

    vecn acc[MWI][NVEC];
#pragma unroll
    for (int i = 0; i < MWI; ++i)
#pragma unroll
        for (int j = 0; j < NVEC; ++j) acc[i][j] = (vecn)(0.0f);

#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += KB) {
#if SA
        A_STAGE(as);
#endif
#if SB
        B_STAGE(bs);
#endif
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        if (k0 + KB <= K) {
#pragma unroll 1
            for (int k1 = 0; k1 < KB; k1 += KU) {
#pragma unroll
                for (int k2 = 0; k2 < KU; ++k2)
                    multiply(acc, as_own, bs_own, A_own, B_own, row, col, tm, tn, k1 + k2, k0, M, N, K);
            }
        } else {
#pragma unroll 1
            for (int k = 0; k < K - k0; ++k) multiply(acc, as_own, bs_own, A_own, B_own, row, col, tm, tn, k, k0, M, N, K);
        }
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }

    if (p > last) return;
    C += (size_t)(b0 + p) * M * N;
#pragma unroll
    for (int i = 0; i < MWI; ++i) {
        if (m0 + ROW(i) >= M) continue;
        __global real *c_row = C + (m0 + ROW(i)) * N;
#pragma unroll
        for (int j = 0; j < NVEC; ++j) {
            const int n = n0 + COL(j);
            if (n + VW <= N) {
                vecn c = alpha * acc[i][j];
                if (beta != 0.0f) c += beta * LOADN(c_row, n);
                STOREN(c, c_row, n);
            } else {
#pragma unroll
                for (int x = 0; x < VW; ++x) {
                    if (col[j] + x < n || col[j] + x >= N) continue;
                    float c = alpha * LANE(acc[i][j], x);
                    if (beta != 0.0f) c += beta * LOAD1(c_row, col[j] + x);
                    STORE1(c, c_row, col[j] + x);
                }
            }
        }
    }
}
