// C = alpha op(A) op(B) + beta C. Row-major, dense: op(A) is M x K, op(B) is K x N, C is M x N.
// Stored as A[M][K] or, with transA_T, A[K][M]; B[K][N] or, with transB_T, B[N][K]. Arithmetic is in f32.
//
// A work-group computes a tile of MWG x NWG, a work-item MWG/MDIM rows by NWG/NDIM columns of it, K in steps of KWG.
// Tiles that lie wholly inside take a path without bounds checks.

#ifndef MWG
#define MWG 64   // rows of C per work-group
#endif
#ifndef NWG
#define NWG 64   // columns of C per work-group
#endif
#ifndef KWG
#define KWG 16   // depth of one step
#endif
#ifndef MDIM
#define MDIM 8   // work-items along M
#endif
#ifndef NDIM
#define NDIM 8   // work-items along N
#endif
#ifndef VWN
#define VWN 1    // vector width along N: loads of B, accumulators, stores of C
#endif
#ifndef STRM
#define STRM 0   // 1: a work-item's rows are MDIM apart instead of adjacent
#endif
#ifndef STRN
#define STRN 0   // 1: a work-item's vectors are NDIM vectors apart instead of adjacent
#endif
#ifndef SA
#define SA 0     // 1: A goes through local memory
#endif
#ifndef SB
#define SB 0     // 1: B goes through local memory
#endif
#ifndef VWA
#define VWA 1    // vector width of the copy of A into local memory
#endif
#ifndef VWB
#define VWB 1    // vector width of the copy of B into local memory
#endif
#ifndef PAD
#define PAD 0    // elements that each row of a local tile is padded by
#endif
#ifndef KWI
#define KWI 1    // unrolling of the loop over K
#endif
#ifndef GROUP
#define GROUP 1  // rows of tiles that are walked together, for reuse in the cache
#endif

#define MWI (MWG / MDIM)
#define NWI (NWG / NDIM)
#define NVEC (NWI / VWN)
#define ITEMS (MDIM * NDIM)
#define LDA (MWG + PAD)
#define LDB (NWG + PAD)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

// Storage type; vload_half and vstore_half are core OpenCL, so f16 needs no extension.
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

#if VWN == 1
typedef float vecn;
#define LOADN(p, i) LOAD1(p, i)
#define STOREN(x, p, i) STORE1(x, p, i)
#define LOADN_LOCAL(p, i) ((p)[i])
#define LANE(v, x) (v)
#else
typedef CAT(float, VWN) vecn;
#define LOADN(p, i) LOADV_(VWN, p, i)
#define STOREN(x, p, i) STOREV_(VWN, x, p, i)
#define LOADN_LOCAL(p, i) CAT(vload, VWN)(0, (p) + (i))
#define LANE(v, x) (((const float *)&(v))[x])
#endif

#ifdef transA_T
#define A_AT(m, k) ((size_t)(k) * M + (m))
#define A_RUN MWG                // extent along which A is contiguous
#else
#define A_AT(m, k) ((size_t)(m) * K + (k))
#define A_RUN KWG
#endif
#ifdef transB_T
#define B_AT(k, n) ((size_t)(n) * K + (k))
#define B_RUN KWG
#else
#define B_AT(k, n) ((size_t)(k) * N + (n))
#define B_RUN NWG
#endif

#define ROW(i) (STRM ? (i) * MDIM + tm : tm * MWI + (i))
#define COL(j) (STRN ? ((j) * NDIM + tn) * VWN : tn * NWI + (j) * VWN)

// Copies one tile of A into local memory, k-major. `full`: no bounds to check.
inline void stage_a(const int full, __local float *as, __global const real *A, const int tid, const int m0, const int k0,
                    const int M, const int K)
{
    for (int v = tid; v < MWG * KWG / VWA; v += ITEMS) {
        const int run = (v % (A_RUN / VWA)) * VWA;
        const int line = v / (A_RUN / VWA);
        float part[VWA];
#ifdef transA_T
        const int m = run, k = line;
#define A_LOCAL(x) (k * LDA + m + (x))
#else
        const int m = line, k = run;
#define A_LOCAL(x) ((k + (x)) * LDA + m)
#endif
        if (full) {
#if VWA == 1
            part[0] = LOAD1(A, A_AT(m0 + m, k0 + k));
#elif VWA == 2
            vstore2(LOADV_(2, A, A_AT(m0 + m, k0 + k)), 0, part);
#elif VWA == 4
            vstore4(LOADV_(4, A, A_AT(m0 + m, k0 + k)), 0, part);
#else
            vstore8(LOADV_(8, A, A_AT(m0 + m, k0 + k)), 0, part);
#endif
        } else {
            for (int x = 0; x < VWA; ++x) {
#ifdef transA_T
                const int mm = m0 + m + x, kk = k0 + k;
#else
                const int mm = m0 + m, kk = k0 + k + x;
#endif
                part[x] = (mm < M && kk < K) ? LOAD1(A, A_AT(mm, kk)) : 0.0f;
            }
        }
        for (int x = 0; x < VWA; ++x) as[A_LOCAL(x)] = part[x];
    }
}

inline void stage_b(const int full, __local float *bs, __global const real *B, const int tid, const int n0, const int k0,
                    const int N, const int K)
{
    for (int v = tid; v < NWG * KWG / VWB; v += ITEMS) {
        const int run = (v % (B_RUN / VWB)) * VWB;
        const int line = v / (B_RUN / VWB);
        float part[VWB];
#ifdef transB_T
        const int n = line, k = run;
#define B_LOCAL(x) ((k + (x)) * LDB + n)
#else
        const int n = run, k = line;
#define B_LOCAL(x) (k * LDB + n + (x))
#endif
        if (full) {
#if VWB == 1
            part[0] = LOAD1(B, B_AT(k0 + k, n0 + n));
#elif VWB == 2
            vstore2(LOADV_(2, B, B_AT(k0 + k, n0 + n)), 0, part);
#elif VWB == 4
            vstore4(LOADV_(4, B, B_AT(k0 + k, n0 + n)), 0, part);
#else
            vstore8(LOADV_(8, B, B_AT(k0 + k, n0 + n)), 0, part);
#endif
        } else {
            for (int x = 0; x < VWB; ++x) {
#ifdef transB_T
                const int nn = n0 + n, kk = k0 + k + x;
#else
                const int nn = n0 + n + x, kk = k0 + k;
#endif
                part[x] = (nn < N && kk < K) ? LOAD1(B, B_AT(kk, nn)) : 0.0f;
            }
        }
        for (int x = 0; x < VWB; ++x) bs[B_LOCAL(x)] = part[x];
    }
}

inline float load_a(const int full, __local const float *as, __global const real *A, const int m0, const int k0,
                    const int row, const int k, const int M, const int K)
{
#if SA
    return as[k * LDA + row];
#else
    return (full || (m0 + row < M && k0 + k < K)) ? LOAD1(A, A_AT(m0 + row, k0 + k)) : 0.0f;
#endif
}

inline vecn load_b(const int full, __local const float *bs, __global const real *B, const int n0, const int k0,
                   const int col, const int k, const int N, const int K)
{
#if SB
    return LOADN_LOCAL(bs, k * LDB + col);
#else
#ifndef transB_T
    if (full || (n0 + col + VWN <= N && k0 + k < K)) return LOADN(B, B_AT(k0 + k, n0 + col));
#endif
    vecn b;
    for (int x = 0; x < VWN; ++x) {
        const int n = n0 + col + x;
        ((float *)&b)[x] = (full || (n < N && k0 + k < K)) ? LOAD1(B, B_AT(k0 + k, n)) : 0.0f;
    }
    return b;
#endif
}

// One step of KWG along K on a work-item's MWI x NWI values.
inline void multiply(const int full, vecn acc[MWI][NVEC], __local const float *as, __local const float *bs,
                     __global const real *A, __global const real *B, const int tm, const int tn, const int m0,
                     const int n0, const int k0, const int M, const int N, const int K)
{
    for (int k1 = 0; k1 < KWG; k1 += KWI) {
#pragma unroll
        for (int k2 = 0; k2 < KWI; ++k2) {
            const int k = k1 + k2;
            vecn b[NVEC];
#pragma unroll
            for (int j = 0; j < NVEC; ++j) b[j] = load_b(full, bs, B, n0, k0, COL(j), k, N, K);
#pragma unroll
            for (int i = 0; i < MWI; ++i) {
                const float a = load_a(full, as, A, m0, k0, ROW(i), k, M, K);
#pragma unroll
                for (int j = 0; j < NVEC; ++j) acc[i][j] += a * b[j];
            }
        }
    }
}

#ifdef SEQTUNE_CPP
// CUDA and HIP copy the whole steps along K with addresses computed once, and load the next step's while they multiply, where registers
// suffice.

// A work-item's share in copying the tiles of one matrix: LINES lines of RUN elements, V elements at a time, into local memory of row length
// LD. There, what lies along K are rows: lines or, TURNED, elements of lines. INSIDE: no tile is at the matrix's edge. All extents are powers
// of two, so that its copies lie at fixed distances from its first.
template <int LINES, int RUN, int LD, int V, bool TURNED, bool INSIDE> struct Copier {
    static constexpr int PER_LINE = RUN / V, COPIES = LINES * PER_LINE / ITEMS;
    static constexpr int BYTES = V * sizeof(real), WORD = BYTES < 16 ? BYTES : 16, WORDS = BYTES / WORD;
    typedef typename seqtune_word<WORD>::type word;

    __global const real *from; // the first copy of the next step
    size_t step;               // elements of the matrix from step to step
    int pitch;                 // and from line to line
    int to;                    // where the first copy goes
    int beside;                // elements of the matrix from the first copy on, across K
    bool whole;                // copies are aligned words, and none is across the edge
    union {
        word words[WORDS];
        real elements[V];
    } loaded[COPIES];

    // Distance of a copy from the first.
    static SEQTUNE_INLINE constexpr int line_of(int c) { return c * ITEMS / PER_LINE; }
    static SEQTUNE_INLINE constexpr int run_of(int c) { return c * ITEMS % PER_LINE * V; }
    static SEQTUNE_INLINE constexpr int local_at(int line, int run) { return TURNED ? run * LD + line : line * LD + run; }

    // Tiles of which the first begins at `first`, with so many elements of the matrix from there on across K.
    SEQTUNE_INLINE Copier(__global const real *first, int across, int pitch_, size_t step_, int tid) : step(step_), pitch(pitch_)
    {
        const int line = tid / PER_LINE, run = tid % PER_LINE * V;
        from = first + (size_t)line * pitch + run;
        to = local_at(line, run);
        beside = across - (TURNED ? line : run);
        whole = pitch % (TURNED || INSIDE ? WORD / sizeof(real) : V) == 0 && (size_t)first % WORD == 0;
    }

    // Begins to load the next step's tile. Beyond the matrix its last elements are loaded again: they go into sums that nobody stores.
    SEQTUNE_INLINE void load()
    {
#pragma unroll
        for (int c = 0; c < COPIES; ++c) {
            const long line = TURNED && !INSIDE ? min(line_of(c), beside - 1) : line_of(c);
            __global const real *at = from + line * pitch;
            if (whole) {
                const int run = TURNED || INSIDE ? run_of(c) : min(run_of(c), beside - V);
#pragma unroll
                for (int w = 0; w < WORDS; ++w) loaded[c].words[w] = ((__global const word *)(at + run))[w];
            } else {
#pragma unroll
                for (int x = 0; x < V; ++x)
                    loaded[c].elements[x] = at[TURNED || INSIDE ? run_of(c) + x : min(run_of(c) + x, beside - 1)];
            }
        }
        from += step;
    }

    // Stores what was loaded.
    SEQTUNE_INLINE void store(__local float *tile)
    {
#pragma unroll
        for (int c = 0; c < COPIES; ++c)
#pragma unroll
            for (int x = 0; x < V; ++x)
                tile[to + local_at(line_of(c), run_of(c) + x)] = LOAD1(loaded[c].elements, x);
    }
};

#ifdef transA_T
template <bool INSIDE> using CopierA = Copier<KWG, MWG, LDA, VWA, false, INSIDE>;
#define A_PITCH M
#else
template <bool INSIDE> using CopierA = Copier<MWG, KWG, LDA, VWA, true, INSIDE>;
#define A_PITCH K
#endif
#ifdef transB_T
template <bool INSIDE> using CopierB = Copier<NWG, KWG, LDB, VWB, true, INSIDE>;
#define B_PITCH K
#else
template <bool INSIDE> using CopierB = Copier<KWG, NWG, LDB, VWB, false, INSIDE>;
#define B_PITCH N
#endif

// registers that a work-item's copies of one step take, and about how many it takes with them
#define COPIED ((SA * MWG + SB * NWG) * KWG / ITEMS)
#define LOADS_AHEAD (COPIED <= 32 && MWI * NWI + MWI + NWI + COPIED <= 192)
#define REGISTERS (MWI * NWI + MWI + NWI + COPIED + 32)
// Work-groups per multiprocessor that registers are kept free for: two of 256 work-items and more with large tiles, which would just miss the
// second; 0 leaves it to the compiler, which spends all registers that it is given.
#define RESIDENT                                                                                                       \
    (SA && SB && ITEMS >= 256 && MWI * NWI >= 64 && 65536 / (REGISTERS * ITEMS) == 2 && 4 * KWG * (LDA + LDB) <= 32768 ? 2 : 0)

// The whole steps of a tile that lies inside or goes through local memory; their depth.
template <bool INSIDE>
inline int whole_steps(vecn acc[MWI][NVEC], __local float *as, __local float *bs, __global const real *A,
                       __global const real *B, const int tm, const int tn, const int m0, const int n0, const int M,
                       const int N, const int K)
{
    const int tid = tm * NDIM + tn;
#if SA
    CopierA<INSIDE> a(A + A_AT(m0, 0), M - m0, A_PITCH, A_AT(0, KWG), tid);
#define A_DOES(what) a.what
#else
#define A_DOES(what)
#endif
#if SB
    CopierB<INSIDE> b(B + B_AT(0, n0), N - n0, B_PITCH, B_AT(KWG, 0), tid);
#define B_DOES(what) b.what
#else
#define B_DOES(what)
#endif
    int k0 = 0;
#pragma unroll 1
    for (; k0 + KWG <= K; k0 += KWG) {
        if (!LOADS_AHEAD || k0 == 0) {
            A_DOES(load());
            B_DOES(load());
        }
        A_DOES(store(as));
        B_DOES(store(bs));
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        if (LOADS_AHEAD && k0 + 2 * KWG <= K) {
            A_DOES(load());
            B_DOES(load());
        }
        multiply(1, acc, as, bs, A, B, tm, tn, m0, n0, k0, M, N, K);
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    return k0;
}

__kernel __attribute__((resident_groups(ITEMS, RESIDENT)))
#else
__kernel __attribute__((reqd_work_group_size(NDIM, MDIM, 1)))
#endif
void gemm(const int M, const int N, const int K, const float alpha, const float beta, __global const real *restrict A,
          __global const real *restrict B, __global real *restrict C)
{
    const int tn = get_local_id(0), tm = get_local_id(1);
    const int tid = tm * NDIM + tn;

    // Tiles are numbered in bands of GROUP rows, column by column within a band.
    const int tiles_n = (N + NWG - 1) / NWG, tiles_m = (M + MWG - 1) / MWG;
    const int tile = get_group_id(0);
    const int band = tile / (GROUP * tiles_n);
    const int rows = min(GROUP, tiles_m - band * GROUP);
    const int in_band = tile - band * GROUP * tiles_n;
    const int m0 = (band * GROUP + in_band % rows) * MWG;
    const int n0 = (in_band / rows) * NWG;

#if SA
    __local float as[KWG * LDA];
#else
    __local float *as = 0;
#endif
#if SB
    __local float bs[KWG * LDB];
#else
    __local float *bs = 0;
#endif

    vecn acc[MWI][NVEC];
    for (int i = 0; i < MWI; ++i)
        for (int j = 0; j < NVEC; ++j) acc[i][j] = (vecn)(0.0f);

    const int inside = m0 + MWG <= M && n0 + NWG <= N;
#ifdef SEQTUNE_CPP
    int k0 = 0;
    if (inside)
        k0 = whole_steps<true>(acc, as, bs, A, B, tm, tn, m0, n0, M, N, K);
    else if (SA && SB && LOADS_AHEAD)
        k0 = whole_steps<false>(acc, as, bs, A, B, tm, tn, m0, n0, M, N, K);
    for (; k0 < K; k0 += KWG) {
        const int full = 0;
#else
    for (int k0 = 0; k0 < K; k0 += KWG) {
        const int full = inside && k0 + KWG <= K;
#endif
#if SA
        if (full) stage_a(1, as, A, tid, m0, k0, M, K);
        else stage_a(0, as, A, tid, m0, k0, M, K);
#endif
#if SB
        if (full) stage_b(1, bs, B, tid, n0, k0, N, K);
        else stage_b(0, bs, B, tid, n0, k0, N, K);
#endif
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        if (full) multiply(1, acc, as, bs, A, B, tm, tn, m0, n0, k0, M, N, K);
        else multiply(0, acc, as, bs, A, B, tm, tn, m0, n0, k0, M, N, K);
#if SA || SB
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }

#ifdef SEQTUNE_CPP
#pragma unroll // or the sums could not stay in registers
#endif
    for (int i = 0; i < MWI; ++i) {
        const int m = m0 + ROW(i);
#ifdef SEQTUNE_CPP
#pragma unroll
#endif
        for (int j = 0; j < NVEC; ++j) {
            const int n = n0 + COL(j);
            const size_t at = (size_t)m * N + n;
            if (inside) {
                vecn c = alpha * acc[i][j];
                if (beta != 0.0f) c += beta * LOADN(C, at);
                STOREN(c, C, at);
            } else if (m < M) {
#ifdef SEQTUNE_CPP
#pragma unroll
#endif
                for (int x = 0; x < VWN && n + x < N; ++x) {
                    float c = alpha * LANE(acc[i][j], x);
                    if (beta != 0.0f) c += beta * LOAD1(C, at + x);
                    STORE1(c, C, at + x);
                }
            }
        }
    }
}
