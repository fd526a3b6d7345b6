// C = alpha op(A) op(B) + beta C on tensor cores. Row-major, dense: op(A) is M x K, op(B) is K x N, C is M x N. Stored as A[M][K] or, with
// transA_T, A[K][M]; B[K][N] or, with transB_T, B[N][K]; f16 or bf16. Products are summed in f32. Compute capability 8.0 and newer.
//
// A work-group computes a tile of BM x BN, K in steps of BK. STAGES tiles of A and B are on their way into shared memory at a time
// (cp.async); WARPS_M x WARPS_N warps multiply them (ldmatrix, mma.sync m16n8k16). What lies outside is filled with zeros.

#ifndef BM
#define BM 128       // rows of C per work-group
#endif
#ifndef BN
#define BN 128       // columns of C per work-group
#endif
#ifndef BK
#define BK 32        // depth of one step
#endif
#ifndef WARPS_M
#define WARPS_M 2    // warps along M
#endif
#ifndef WARPS_N
#define WARPS_N 2    // warps along N
#endif
#ifndef STAGES
#define STAGES 3     // steps in shared memory at a time
#endif
#ifndef VA
#define VA 8         // elements of A per copy
#endif
#ifndef VB
#define VB 8         // elements of B per copy
#endif
#ifndef VC
#define VC 2         // elements of C per store
#endif
#ifndef PAD
#define PAD 8        // elements that each row in shared memory is padded by
#endif
#ifndef GROUP
#define GROUP 4      // rows of tiles that are walked together, for reuse in the cache
#endif
#ifndef RESIDENT
#define RESIDENT 1   // work-groups per multiprocessor that registers are kept free for
#endif

typedef unsigned short u16;
typedef unsigned int u32;

#define THREADS (WARPS_M * WARPS_N * 32)
#define WM (BM / WARPS_M) // a warp's tile
#define WN (BN / WARPS_N)
#define MT (WM / 16)      // its pieces
#define NT (WN / 8)

// Tiles in shared memory lie as in global memory: lines along the slow dimension.
#ifdef transA_T
#define A_LINES BK
#define A_RUN BM
#else
#define A_LINES BM
#define A_RUN BK
#endif
#ifdef transB_T
#define B_LINES BN
#define B_RUN BK
#else
#define B_LINES BK
#define B_RUN BN
#endif
#define A_STRIDE (A_RUN + PAD)
#define B_STRIDE (B_RUN + PAD)
#define A_ELEMENTS (A_LINES * A_STRIDE)
#define STAGE_ELEMENTS (A_ELEMENTS + B_LINES * B_STRIDE)

#ifdef dtype_bf16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
__device__ __forceinline__ float widen(u16 bits) { return __uint_as_float((u32)bits << 16); }
__device__ __forceinline__ u16 narrow(float x)
{
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
__device__ __forceinline__ float widen(u16 bits)
{
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
__device__ __forceinline__ u16 narrow(float x)
{
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif

__device__ __forceinline__ u32 shared_address(const u16 *p) { return (u32)__cvta_generic_to_shared(p); }

// Copies V elements, or fills with zeros where `inside` is false. Widths that cp.async has go in the background.
template <int V> __device__ __forceinline__ void copy(u16 *to, const u16 *from, bool inside)
{
    if constexpr (V == 8)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from), "r"(inside ? 16 : 0));
    else if constexpr (V > 1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)), "l"(from), "n"(2 * V),
                     "r"(inside ? 2 * V : 0));
    else
        *to = inside ? *from : (u16)0;
}

// One tile: LINES lines of RUN elements from (line0, run0) of a matrix of `lines` x `runs`.
template <int LINES, int RUN, int STRIDE, int V>
__device__ __forceinline__ void load(u16 *to, const u16 *from, int line0, int run0, int lines, int runs)
{
#pragma unroll
    for (int i = threadIdx.x; i < LINES * RUN / V; i += THREADS) {
        const int line = i / (RUN / V), run = i % (RUN / V) * V;
        // constraints make the width divide `runs`: a copy lies inside or outside, never across
        const bool inside = line0 + line < lines && run0 + run < runs;
        copy<V>(to + line * STRIDE + run, inside ? from + (size_t)(line0 + line) * runs + run0 + run : from, inside);
    }
}

__device__ __forceinline__ void load_step(u16 *stage, const u16 *A, const u16 *B, int m0, int n0, int k0, int M, int N, int K)
{
#ifdef transA_T
    load<A_LINES, A_RUN, A_STRIDE, VA>(stage, A, k0, m0, K, M);
#else
    load<A_LINES, A_RUN, A_STRIDE, VA>(stage, A, m0, k0, M, K);
#endif
#ifdef transB_T
    load<B_LINES, B_RUN, B_STRIDE, VB>(stage + A_ELEMENTS, B, n0, k0, N, K);
#else
    load<B_LINES, B_RUN, B_STRIDE, VB>(stage + A_ELEMENTS, B, k0, n0, K, N);
#endif
}

#define LDMATRIX(how, r, p)                                                                                            \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4];"                            \
                 : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3])                                              \
                 : "r"(shared_address(p)))

// The 16 x 16 piece of op(A) at (m, k) of a tile: its four 8 x 8 parts in the order that mma takes them.
__device__ __forceinline__ void piece_of_a(u32 r[4], const u16 *as, int m, int k)
{
    const int lane = threadIdx.x % 32, part = lane / 8, row = lane % 8;
#ifdef transA_T
    LDMATRIX(".trans", r, as + (k + part / 2 * 8 + row) * A_STRIDE + m + part % 2 * 8);
#else
    LDMATRIX("", r, as + (m + part % 2 * 8 + row) * A_STRIDE + k + part / 2 * 8);
#endif
}

// Two neighbouring 16 x 8 pieces of op(B) at (k, n): registers 0 and 1, 2 and 3.
__device__ __forceinline__ void pieces_of_b(u32 r[4], const u16 *bs, int k, int n)
{
    const int lane = threadIdx.x % 32, part = lane / 8, row = lane % 8;
#ifdef transB_T
    LDMATRIX("", r, bs + (n + part / 2 * 8 + row) * B_STRIDE + k + part % 2 * 8);
#else
    LDMATRIX(".trans", r, bs + (k + part % 2 * 8 + row) * B_STRIDE + n + part / 2 * 8);
#endif
}

__device__ __forceinline__ void multiply(float c[4], const u32 a[4], u32 b0, u32 b1)
{
    asm volatile(MMA "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    gemm_tc(const int M, const int N, const int K, const float alpha, const float beta, const u16 *__restrict__ A,
            const u16 *__restrict__ B, u16 *__restrict__ C)
{
    extern __shared__ __align__(128) u16 stages[];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int wm = warp / WARPS_N * WM, wn = warp % WARPS_N * WN;

    // Tiles are numbered in bands of GROUP rows, column by column within a band.
    const int tiles_n = (N + BN - 1) / BN, tiles_m = (M + BM - 1) / BM;
    const int tile = blockIdx.x;
    const int band = tile / (GROUP * tiles_n);
    const int rows = min(GROUP, tiles_m - band * GROUP);
    const int in_band = tile - band * GROUP * tiles_n;
    const int m0 = (band * GROUP + in_band % rows) * BM;
    const int n0 = in_band / rows * BN;

    float acc[MT][NT][4] = {};
    const int steps = (K + BK - 1) / BK;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < steps) load_step(stages + s * STAGE_ELEMENTS, A, B, m0, n0, s * BK, M, N, K);
        asm volatile("cp.async.commit_group;");
    }
    for (int s = 0; s < steps; ++s) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        // what was copied is seen by all, and all are done with the stage that is filled next
        __syncthreads();
        const int next = s + STAGES - 1;
        if (next < steps) load_step(stages + next % STAGES * STAGE_ELEMENTS, A, B, m0, n0, next * BK, M, N, K);
        asm volatile("cp.async.commit_group;");
        const u16 *as = stages + s % STAGES * STAGE_ELEMENTS, *bs = as + A_ELEMENTS;
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
            u32 a[MT][4], b[NT / 2][4];
#pragma unroll
            for (int i = 0; i < MT; ++i) piece_of_a(a[i], as, wm + i * 16, k);
#pragma unroll
            for (int j = 0; j < NT / 2; ++j) pieces_of_b(b[j], bs, k, wn + j * 16);
#pragma unroll
            for (int i = 0; i < MT; ++i)
#pragma unroll
                for (int j = 0; j < NT; ++j) multiply(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }

    // a lane holds two neighbours in each of two rows, eight apart
#pragma unroll
    for (int i = 0; i < MT; ++i)
#pragma unroll
        for (int j = 0; j < NT; ++j)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int m = m0 + wm + i * 16 + lane / 4 + half * 8, n = n0 + wn + j * 8 + lane % 4 * 2;
                if (m >= M || n >= N) continue;
                u16 *at = C + (size_t)m * N + n;
                const bool both = n + 1 < N;
                float x = alpha * acc[i][j][half * 2], y = alpha * acc[i][j][half * 2 + 1];
                if (beta != 0.0f) {
                    x += beta * widen(at[0]);
                    if (both) y += beta * widen(at[1]);
                }
#if VC == 2
                // the constraint makes N even
                *(u32 *)at = (u32)narrow(x) | (u32)narrow(y) << 16;
#else
                at[0] = narrow(x);
                if (both) at[1] = narrow(y);
#endif
            }
}
