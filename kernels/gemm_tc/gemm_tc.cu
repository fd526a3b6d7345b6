// C = alpha op(A) op(B) + beta C on tensor cores. Row-major, dense: op(A) is M x K, op(B) is K x N, C is M x N. Stored as A[M][K] or, with
// transA_T, A[K][M]; B[K][N] or, with transB_T, B[N][K]; f16 or bf16. Products are summed in f32. Compute capability 8.0 and newer.
//
// A work-group computes a tile of BM x BN, K in steps of BK. STAGES tiles of A and B are on their way into shared memory at a time
// (cp.async); WARPS_M x WARPS_N warps load pieces of them, 16 deep, and multiply those (ldmatrix, mma.sync m16n8k16). What lies outside is
// filled with zeros.

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
#ifndef AHEAD
#define AHEAD 1      // 1: a warp loads its next pieces while it multiplies
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
#define A_BYTES (2 * A_LINES * A_STRIDE)
#define STAGE_BYTES (A_BYTES + 2 * B_LINES * B_STRIDE)

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

// Copies V elements to an address of shared memory, or fills with zeros where `inside` is false, and then `from` is not read. Widths that
// cp.async has go in the background.
template <int V> __device__ __forceinline__ void copy(u32 to, const u16 *from, bool inside)
{
    if constexpr (V == 8)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0));
    else if constexpr (V > 1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(2 * V), "r"(inside ? 2 * V : 0));
    else
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(inside ? *from : (u16)0));
}

// A work-item's share in copying the tiles of one matrix: LINES lines of RUN elements, V elements at a time, lines along K or across it.
// All extents are powers of two, so that its copies lie at fixed distances from its first, and addresses are computed once.
template <int LINES, int RUN, int STRIDE, int V, bool LINES_ALONG_K> struct Copier {
    static constexpr int PER_LINE = RUN / V, COPIES = LINES * PER_LINE / THREADS;

    const u16 *from; // the first copy of the next step
    u32 to;          // where it goes in a stage
    int pitch;       // elements from line to line of the matrix
    int beside;      // elements of the matrix from the first copy on, across K
    int ahead;       // and along K

    // Distance of a copy from the first.
    static __device__ __forceinline__ constexpr int line_of(int c) { return c * THREADS / PER_LINE; }
    static __device__ __forceinline__ constexpr int run_of(int c) { return c * THREADS % PER_LINE * V; }

    // Tiles that begin at `start` of `extent` across K; `base` is the address of the first stage's tile.
    __device__ __forceinline__ Copier(const u16 *matrix, int start, int extent, int K, u32 base)
    {
        const int line = threadIdx.x / PER_LINE, run = threadIdx.x % PER_LINE * V;
        to = base + 2 * (line * STRIDE + run);
        pitch = LINES_ALONG_K ? extent : K;
        beside = extent - start - (LINES_ALONG_K ? run : line);
        ahead = K - (LINES_ALONG_K ? line : run);
        from = matrix + (size_t)(LINES_ALONG_K ? line : start + line) * pitch + (LINES_ALONG_K ? start + run : run);
    }

    // Copies the next step's tile into the stage at so many bytes. Constraints make V divide the matrix's lines: a copy lies inside or
    // outside, never across.
    __device__ __forceinline__ void step(u32 stage)
    {
#pragma unroll
        for (int c = 0; c < COPIES; ++c) {
            const int line = line_of(c), run = run_of(c);
            const bool inside = (LINES_ALONG_K ? run : line) < beside && (LINES_ALONG_K ? line : run) < ahead;
            copy<V>(to + stage + 2 * (line * STRIDE + run), from + (size_t)line * pitch + run, inside);
        }
        from += LINES_ALONG_K ? (size_t)BK * pitch : BK;
        ahead -= BK;
    }
};

#ifdef transA_T
typedef Copier<A_LINES, A_RUN, A_STRIDE, VA, true> CopierA;
#else
typedef Copier<A_LINES, A_RUN, A_STRIDE, VA, false> CopierA;
#endif
#ifdef transB_T
typedef Copier<B_LINES, B_RUN, B_STRIDE, VB, false> CopierB;
#else
typedef Copier<B_LINES, B_RUN, B_STRIDE, VB, true> CopierB;
#endif

#define LDMATRIX(how, r, p)                                                                                            \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4];"                            \
                 : "=r"((r)[0]), "=r"((r)[1]), "=r"((r)[2]), "=r"((r)[3])                                              \
                 : "r"(p))

// What a warp multiplies at a time: its tile of op(A) and op(B), 16 deep, as mma takes it.
struct Pieces {
    u32 a[MT][4];     // 16 x 16 each
    u32 b[NT / 2][4]; // two neighbours of 16 x 8 each: registers 0 and 1, 2 and 3

    // Addresses in the first stage of the rows that this lane names to ldmatrix, for the warp's tile at wm and wn.
    static __device__ __forceinline__ u32 rows_of_a(u32 base, int wm)
    {
        const int lane = threadIdx.x % 32, part = lane / 8, row = lane % 8;
#ifdef transA_T
        return base + 2 * ((part / 2 * 8 + row) * A_STRIDE + wm + part % 2 * 8);
#else
        return base + 2 * ((wm + part % 2 * 8 + row) * A_STRIDE + part / 2 * 8);
#endif
    }
    static __device__ __forceinline__ u32 rows_of_b(u32 base, int wn)
    {
        const int lane = threadIdx.x % 32, part = lane / 8, row = lane % 8;
#ifdef transB_T
        return base + A_BYTES + 2 * ((wn + part / 2 * 8 + row) * B_STRIDE + part % 2 * 8);
#else
        return base + A_BYTES + 2 * ((part % 2 * 8 + row) * B_STRIDE + wn + part / 2 * 8);
#endif
    }

    // The pieces at depth k of a stage.
    __device__ __forceinline__ void load(u32 rows_a, u32 rows_b, int k)
    {
#pragma unroll
        for (int i = 0; i < MT; ++i) {
#ifdef transA_T
            LDMATRIX(".trans", a[i], rows_a + 2 * (k * A_STRIDE + i * 16));
#else
            LDMATRIX("", a[i], rows_a + 2 * (i * 16 * A_STRIDE + k));
#endif
        }
#pragma unroll
        for (int j = 0; j < NT / 2; ++j) {
#ifdef transB_T
            LDMATRIX("", b[j], rows_b + 2 * (j * 16 * B_STRIDE + k));
#else
            LDMATRIX(".trans", b[j], rows_b + 2 * (k * B_STRIDE + j * 16));
#endif
        }
    }
};

__device__ __forceinline__ void multiply(float c[4], const u32 a[4], u32 b0, u32 b1)
{
    asm volatile(MMA "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")

// Until the next step's stage has arrived, for all, and all are done with the stage that is filled next.
#define WAIT                                                                                                           \
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");                                              \
    __syncthreads()

__device__ __forceinline__ u32 next_stage(u32 at) { return at == (STAGES - 1) * STAGE_BYTES ? 0 : at + STAGE_BYTES; }

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

    const u32 base = (u32)__cvta_generic_to_shared(stages);
    const u32 rows_a = Pieces::rows_of_a(base, wm), rows_b = Pieces::rows_of_b(base, wn);
    CopierA a(A, m0, M, K, base);
    CopierB b(B, n0, N, K, base + A_BYTES);
    float acc[MT][NT][4] = {};
    const int steps = (K + BK - 1) / BK;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < steps) a.step(s * STAGE_BYTES), b.step(s * STAGE_BYTES);
        COMMIT;
    }
    u32 reading = 0, filling = (STAGES - 1) * STAGE_BYTES;
#if AHEAD
    Pieces pieces[2];
    WAIT;
    pieces[0].load(rows_a, rows_b, 0);
#else
    Pieces pieces[1];
#endif
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
#if !AHEAD
        WAIT;
#endif
        // all are done with this stage since the last barrier
        if (s + STAGES - 1 < steps) a.step(filling), b.step(filling);
        COMMIT;
        filling = next_stage(filling);
#pragma unroll
        for (int k = 0; k < BK; k += 16) {
#if AHEAD
            Pieces &now = pieces[k / 16 % 2], &then = pieces[(k / 16 + 1) % 2];
            if (k + 16 < BK) {
                then.load(rows_a + reading, rows_b + reading, k + 16);
            } else if (s + 1 < steps) {
                WAIT;
                reading = next_stage(reading);
                then.load(rows_a + reading, rows_b + reading, 0);
            }
#else
            Pieces &now = pieces[0];
            now.load(rows_a + reading, rows_b + reading, k);
#endif
#pragma unroll
            for (int i = 0; i < MT; ++i)
#pragma unroll
                for (int j = 0; j < NT; ++j) multiply(acc[i][j], now.a[i], now.b[j / 2][j % 2 * 2], now.b[j / 2][j % 2 * 2 + 1]);
        }
#if !AHEAD
        reading = next_stage(reading);
#endif
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
