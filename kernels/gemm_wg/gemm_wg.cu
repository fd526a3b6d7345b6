// C = alpha op(A) op(B) + beta C by Hopper's warpgroup instructions. Row-major, dense: op(A) is M x K, op(B) is K x N, C is M x N. Stored
// as A[M][K] or, with transA_T, A[K][M]; B[K][N] or, with transB_T, B[N][K]; f16 or bf16. Products are summed in f32. sm_90a only.
//
// A work-group computes a tile of BM x BN, K in steps of BK. Tiles of A and B are on their way into STAGES stages of shared memory
// (cp.async). WARPGROUPS_M x WARPGROUPS_N groups of four warps multiply them there (wgmma.mma_async), each 64 rows by up to 256 columns at
// a time, 16 deep. What lies outside is filled with zeros.

#ifndef BM
#define BM 128         // rows of C per work-group
#endif
#ifndef BN
#define BN 128         // columns of C per work-group
#endif
#ifndef BK
#define BK 64          // depth of one step
#endif
#ifndef WARPGROUPS_M
#define WARPGROUPS_M 2 // warpgroups along M
#endif
#ifndef WARPGROUPS_N
#define WARPGROUPS_N 1 // warpgroups along N
#endif
#ifndef STAGES
#define STAGES 4       // steps in shared memory at a time
#endif
#ifndef VA
#define VA 8           // elements of A per copy
#endif
#ifndef VB
#define VB 8           // elements of B per copy
#endif
#ifndef VC
#define VC 2           // elements of C per store
#endif
#ifndef GROUP
#define GROUP 8        // rows of tiles that are walked together, for reuse in the cache
#endif
#ifndef RESIDENT
#define RESIDENT 1     // work-groups per multiprocessor that registers are kept free for
#endif
#ifndef IN_FLIGHT
#define IN_FLIGHT 1    // steps that are still multiplied when the next one is handed over
#endif

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define THREADS (WARPGROUPS_M * WARPGROUPS_N * 128)
#define WM (BM / WARPGROUPS_M) // a warpgroup's tile
#define WN (BN / WARPGROUPS_N)
#define MT (WM / 64)           // its pieces, of 64 x WN each
#define AHEAD (STAGES - 1 - IN_FLIGHT) // steps that are copied ahead

// A tile in shared memory is a row of blocks of 64 elements; a block has a line of 128 bytes for each place of the slow dimension, as in
// global memory. Of a line, 16 bytes at place p lie at place p ^ (line % 8): the swizzle of 128 bytes, whose atom is 8 lines, 1024 bytes.
#ifdef transA_T
#define A_LINES BK // lines along K: "M-major"
#define A_RUN BM
#else
#define A_LINES BM // lines along M: "K-major"
#define A_RUN BK
#endif
#ifdef transB_T
#define B_LINES BN
#define B_RUN BK
#else
#define B_LINES BK
#define B_RUN BN
#endif
#define A_BYTES (2 * BM * BK)
#define STAGE_BYTES (A_BYTES + 2 * BN * BK)
#define ATOM 1024

// What wgmma is told of a tile. The PTX ISA, 128 bytes swizzled:
//   K-major:  the "stride" is from 8 lines along M or N to the next 8; the "leading" offset is not used.
//   MN-major: the "leading" offset is from 64 elements along M or N to the next 64; the "stride" is from 8 lines along K to the next 8.
// A bit of the instruction says which it is: 1 is MN-major.
#define SWIZZLE_128 1
#define K_MAJOR_LEADING 16
#define K_MAJOR_STRIDE ATOM
#define MN_MAJOR_LEADING (128 * BK)
#define MN_MAJOR_STRIDE ATOM
#ifdef transA_T
#define A_BIT "1"
#define A_LEADING MN_MAJOR_LEADING
#define A_STRIDE MN_MAJOR_STRIDE
#else
#define A_BIT "0"
#define A_LEADING K_MAJOR_LEADING
#define A_STRIDE K_MAJOR_STRIDE
#endif
#ifdef transB_T
#define B_BIT "0"
#define B_LEADING K_MAJOR_LEADING
#define B_STRIDE K_MAJOR_STRIDE
#else
#define B_BIT "1"
#define B_LEADING MN_MAJOR_LEADING
#define B_STRIDE MN_MAJOR_STRIDE
#endif

#ifdef dtype_bf16
#define TYPES ".f32.bf16.bf16 "
__device__ __forceinline__ float widen(u16 bits) { return __uint_as_float((u32)bits << 16); }
__device__ __forceinline__ u16 narrow(float x)
{
    u16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#else
#define TYPES ".f32.f16.f16 "
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
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(inside ? 16 : 0) : "memory");
    else if constexpr (V > 1)
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(2 * V), "r"(inside ? 2 * V : 0)
                     : "memory");
    else
        asm volatile("st.shared.u16 [%0], %1;" ::"r"(to), "h"(inside ? *from : (u16)0) : "memory");
}

// A work-item's share in copying the tiles of one matrix, V elements at a time: the work-group copies PASS lines of a block at once, block by
// block.
template <int LINES, int RUN, int V, bool LINES_ALONG_K> struct Copier {
    static constexpr int PER_LINE = 64 / V, PASS = THREADS / PER_LINE, ALL = LINES * RUN / 64, PASSES = (ALL + PASS - 1) / PASS;
    // whether all copies lie at fixed distances from the first
    static constexpr bool REGULAR = PASS % 8 == 0 && (RUN == 64 || LINES % PASS == 0);
    static constexpr int UNROLLED = PASSES <= 32 ? PASSES : 8;

    const u16 *from; // the line and run of the first copy of the next step
    u32 to;          // where it goes in a stage; the tile's address where copies are not regular
    int line, run;   // its place in the tile
    int pitch;       // elements from line to line of the matrix
    int beside;      // elements of the matrix from the tile's first on, across K
    int ahead;       // and along K

    static __device__ __forceinline__ u32 place(int line, int run) { return line * 128 + (run * 2 ^ line % 8 * 16); }

    // Tiles that begin at `start` of `extent` across K; `base` is the address of the first stage's tile.
    __device__ __forceinline__ Copier(const u16 *matrix, int start, int extent, int K, u32 base)
    {
        line = threadIdx.x / PER_LINE, run = threadIdx.x % PER_LINE * V;
        to = REGULAR ? base + place(line, run) : base;
        pitch = LINES_ALONG_K ? extent : K;
        beside = extent - start;
        ahead = K;
        from = matrix + (size_t)(LINES_ALONG_K ? 0 : start) * pitch + (LINES_ALONG_K ? start : 0) + run;
        if (REGULAR) from += (size_t)line * pitch;
    }

    // Copies the next step's tile into the stage at so many bytes. Constraints make V divide the matrix's lines: a copy lies inside or
    // outside, never across.
    __device__ __forceinline__ void step(u32 stage)
    {
#pragma unroll UNROLLED
        for (int c = 0; c < PASSES; ++c) {
            int further, block;
            u32 at;
            if constexpr (REGULAR) {
                block = RUN == 64 ? 0 : c * PASS / LINES;
                further = c * PASS - block * LINES;
                at = to + stage + (block * LINES + further) * 128;
            } else {
                const int all = c * PASS + line;
                block = all / LINES;
                further = all % LINES;
                at = to + stage + block * LINES * 128 + place(further, run);
            }
            const int mine = REGULAR ? line + further : further, along = block * 64 + run;
            const bool inside = (LINES_ALONG_K ? along : mine) < beside && (LINES_ALONG_K ? mine : along) < ahead;
            // the last pass may be for some only
            if (ALL % PASS == 0 || c + 1 < PASSES || c * PASS + line < ALL)
                copy<V>(at, from + (size_t)further * pitch + block * 64, inside);
        }
        from += LINES_ALONG_K ? (size_t)BK * pitch : BK;
        ahead -= BK;
    }
};

#ifdef transA_T
typedef Copier<A_LINES, A_RUN, VA, true> CopierA;
#else
typedef Copier<A_LINES, A_RUN, VA, false> CopierA;
#endif
#ifdef transB_T
typedef Copier<B_LINES, B_RUN, VB, false> CopierB;
#else
typedef Copier<B_LINES, B_RUN, VB, true> CopierB;
#endif

// Bytes from a tile's beginning to what lies `across` elements, a multiple of 64, across K and k, a multiple of 16, along it.
#ifdef transA_T
#define A_AT(across, k) ((across) * 2 * A_LINES + (k) * 128)
#else
#define A_AT(across, k) ((across) * 128 + (k) / 64 * 128 * A_LINES + (k) % 64 * 2)
#endif
#ifdef transB_T
#define B_AT(across, k) ((across) * 128 + (k) / 64 * 128 * B_LINES + (k) % 64 * 2)
#else
#define B_AT(across, k) ((across) * 2 * B_LINES + (k) * 128)
#endif

// Descriptors: bits 0 to 13 are the address, 16 to 29 the leading offset, 32 to 45 the stride, all in 16 bytes; 62 and 63 are the swizzle.
#define LOW(address, leading) ((address) >> 4 | (u32)((leading) >> 4) << 16)
#define HIGH(stride) ((u32)((stride) >> 4) | (u32)SWIZZLE_128 << 30)
__device__ __forceinline__ u64 descriptor(u32 low, u32 high) { return (u64)high << 32 | low; }

// Numbers and operands of an accumulator's registers, WN / 2 of them.
#define R32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define R64 "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define R96 "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define R128                                                                                                           \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123," \
    "%124,%125,%126,%127"
#define F4(d, i) "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3])
#define F32(d, i) F4(d, i), F4(d, i + 4), F4(d, i + 8), F4(d, i + 12), F4(d, i + 16), F4(d, i + 20), F4(d, i + 24), F4(d, i + 28)
#if WN == 64
#define SHAPE "m64n64k16"
#define REGISTERS R32
#define OPERANDS(d) F32(d, 0)
#define OTHERS "%32, %33", "%34"
#elif WN == 128
#define SHAPE "m64n128k16"
#define REGISTERS R32 "," R64
#define OPERANDS(d) F32(d, 0), F32(d, 32)
#define OTHERS "%64, %65", "%66"
#elif WN == 192
#define SHAPE "m64n192k16"
#define REGISTERS R32 "," R64 "," R96
#define OPERANDS(d) F32(d, 0), F32(d, 32), F32(d, 64)
#define OTHERS "%96, %97", "%98"
#else
#define SHAPE "m64n256k16"
#define REGISTERS R32 "," R64 "," R96 "," R128
#define OPERANDS(d) F32(d, 0), F32(d, 32), F32(d, 64), F32(d, 96)
#define OTHERS "%128, %129", "%130"
#endif
#define WGMMA_OF(tiles, one)                                                                                           \
    "{\n.reg .pred add;\nsetp.ne.b32 add, " one ", 0;\nwgmma.mma_async.sync.aligned." SHAPE TYPES "{" REGISTERS "}, " tiles        \
    ", add, 1, 1, " A_BIT ", " B_BIT ";\n}"
#define WGMMA(others) WGMMA_OF(others)

// Adds the product of 64 x 16 of op(A) and 16 x WN of op(B), in the background.
__device__ __forceinline__ void multiply(float (&d)[WN / 2], u64 a, u64 b)
{
    asm volatile(WGMMA(OTHERS) : OPERANDS(d) : "l"(a), "l"(b), "r"(1));
}

// From here on nothing is read or written before what stands above.
__device__ __forceinline__ void settle(float (&d)[WN / 2])
{
    asm volatile("" : OPERANDS(d)::"memory");
}

#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")

__device__ __forceinline__ u32 next_stage(u32 at) { return at == (STAGES - 1) * STAGE_BYTES ? 0 : at + STAGE_BYTES; }

// Exchanges words among the four lanes of a quad: w[i] of lane q becomes w[q] of lane i.
__device__ __forceinline__ void turn(u32 (&w)[4])
{
    const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const u32 got = __shfl_xor_sync(~0u, odd ? w[i] : w[i + 1], 1);
        if (odd) w[i] = got;
        else w[i + 1] = got;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const u32 got = __shfl_xor_sync(~0u, upper ? w[i] : w[i + 2], 2);
        if (upper) w[i] = got;
        else w[i + 2] = got;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    gemm_wg(const int M, const int N, const int K, const float alpha, const float beta, const u16 *__restrict__ A,
            const u16 *__restrict__ B, u16 *__restrict__ C)
{
    extern __shared__ __align__(ATOM) u16 stages[];
    const int warpgroup = threadIdx.x / 128;
    const int wm = warpgroup / WARPGROUPS_N * WM, wn = warpgroup % WARPGROUPS_N * WN;

    // Tiles are numbered in bands of GROUP rows, column by column within a band.
    const int tiles_n = (N + BN - 1) / BN, tiles_m = (M + BM - 1) / BM;
    const int tile = blockIdx.x;
    const int band = tile / (GROUP * tiles_n);
    const int rows = min(GROUP, tiles_m - band * GROUP);
    const int in_band = tile - band * GROUP * tiles_n;
    const int m0 = (band * GROUP + in_band % rows) * BM;
    const int n0 = in_band / rows * BN;

    // the launch adds room for a whole atom
    const u32 base = ((u32)__cvta_generic_to_shared(stages) + ATOM - 1) / ATOM * ATOM;
    CopierA a(A, m0, M, K, base);
    CopierB b(B, n0, N, K, base + A_BYTES);
    const u32 low_a = LOW(base + A_AT(wm, 0), A_LEADING), low_b = LOW(base + A_BYTES + B_AT(wn, 0), B_LEADING);
    float acc[MT][WN / 2] = {};
    const int steps = (K + BK - 1) / BK;
#pragma unroll
    for (int s = 0; s < AHEAD; ++s) {
        if (s < steps) a.step(s * STAGE_BYTES), b.step(s * STAGE_BYTES);
        COMMIT;
    }
    u32 reading = 0, filling = AHEAD * STAGE_BYTES;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        // this step has arrived, for all and for the tensor cores, and all are done with the stage that is filled next
        asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < BK; k += 16)
#pragma unroll
            for (int i = 0; i < MT; ++i)
                multiply(acc[i], descriptor(low_a + (reading >> 4) + (A_AT(i * 64, k) >> 4), HIGH(A_STRIDE)),
                         descriptor(low_b + (reading >> 4) + (B_AT(0, k) >> 4), HIGH(B_STRIDE)));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        reading = next_stage(reading);
        if (s + AHEAD < steps) a.step(filling), b.step(filling);
        COMMIT;
        filling = next_stage(filling);
        asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(IN_FLIGHT) : "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

    // a lane holds two neighbours in each of two rows, eight apart, of every eight columns
    const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < MT; ++i) {
        settle(acc[i]);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int m = m0 + wm + i * 64 + warp * 16 + half * 8 + lane / 4;
            u16 *const row = C + (size_t)m * N;
#pragma unroll
            for (int j = 0; j < WN / 8; j += 4) {
                u32 pairs[4];
#pragma unroll
                for (int p = 0; p < 4; ++p) {
                    const int n = n0 + wn + (j + p) * 8 + lane % 4 * 2;
                    float x = alpha * acc[i][(j + p) * 4 + half * 2], y = alpha * acc[i][(j + p) * 4 + half * 2 + 1];
                    if (beta != 0.0f && m < M) {
                        if (n < N) x += beta * widen(row[n]);
                        if (n + 1 < N) y += beta * widen(row[n + 1]);
                    }
                    pairs[p] = (u32)narrow(x) | (u32)narrow(y) << 16;
#if VC == 2
                    // constraints make VC divide N
                    if (m < M && n < N) *(u32 *)(row + n) = pairs[p];
#elif VC == 1
                    if (m < M && n < N) row[n] = (u16)pairs[p];
                    if (m < M && n + 1 < N) row[n + 1] = (u16)(pairs[p] >> 16);
#endif
                }
#if VC == 8
                turn(pairs);
                const int n = n0 + wn + (j + lane % 4) * 8;
                if (m < M && n < N) *(uint4 *)(row + n) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
#endif
            }
        }
    }
}
