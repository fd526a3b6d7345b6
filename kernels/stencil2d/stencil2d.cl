// One sweep of a star or box stencil over a grid: y[i][j] = sum over the taps (dy, dx) of c[tap] x[i + dy][j + dx].
// Arithmetic is in f32. x is (H + 2 r) x (W + 2 r), of which the outer r rows and columns are the margin; y is H x W, c holds f32.
// The taps of a box are numbered row by row; those of a star are the middle row first, then the middle column without its middle.
//
// A work-group computes a tile of GY*RY rows by GX*NX*VX columns, a work-item NX vectors of VX adjacent columns of RY rows. Its rows
// are computed RB at a time: each row of the input is read once and added to all of the sums that it belongs to. With RB 0 it walks
// down its rows with a window of 2 r + 1 sums: each row of the input is added to all of them, and then the oldest one is complete.

#ifndef GX
#define GX 16    // work-items along a row
#endif
#ifndef GY
#define GY 4     // work-items along a column
#endif
#ifndef VX
#define VX 4     // adjacent columns per vector
#endif
#ifndef NX
#define NX 1     // vectors per work-item along a row, GX vectors apart
#endif
#ifndef RY
#define RY 4     // rows per work-item
#endif
#ifndef RB
#define RB 4     // rows that are computed at once; 0: a window of sums walks down the rows
#endif
#ifndef UB
#define UB 1     // unrolling of the loop over blocks of rows, or over the rows that the window walks down
#endif
#ifndef XREG
#define XREG 1   // 1: the values of a row that a vector needs are read once and shifted in registers; 0: read anew for each tap
#endif
#ifndef LOC
#define LOC 0    // 1: the input goes through local memory
#endif
#ifndef PAD
#define PAD 0    // elements that each row of the local tile is padded by
#endif

#if defined(radius_4)
#define RADIUS 4
#elif defined(radius_3)
#define RADIUS 3
#elif defined(radius_2)
#define RADIUS 2
#else
#define RADIUS 1
#endif
#define SPAN (2 * RADIUS + 1)

#ifdef points_box
#define IS_TAP(dy, dx) 1
#define TAP(dy, dx) ((dy) * SPAN + (dx))
#else
#define IS_TAP(dy, dx) ((dy) == RADIUS || (dx) == RADIUS)
#define TAP(dy, dx) ((dy) == RADIUS ? (dx) : SPAN + (dy) - ((dy) > RADIUS ? 1 : 0))
#endif

#define ITEMS (GX * GY)
#define WGX (GX * NX * VX)
#define WGY (GY * RY)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(v, p, i) vstore_half((v), (i), (p))
#define LOADV(p, i) CAT(vload_half, VX)(0, (p) + (i))
#define STOREV(v, p, i) CAT(vstore_half, VX)((v), 0, (p) + (i))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(v, p, i) ((p)[i] = (v))
#define LOADV(p, i) CAT(vload, VX)(0, (p) + (i))
#define STOREV(v, p, i) CAT(vstore, VX)((v), 0, (p) + (i))
#endif

#if VX == 1
typedef float vecx;
#undef LOADV
#undef STOREV
#define LOADV(p, i) LOAD1(p, i)
#define STOREV(v, p, i) STORE1(v, p, i)
#else
typedef CAT(float, VX) vecx;
#endif
#define LANE(v, i) (((float *)&(v))[i])

// where a work-item reads the input: from the local tile, which holds f32, or from memory
#if LOC
#define TILE_ROWS (WGY + 2 * RADIUS)
#define TILE_COLUMNS (WGX + 2 * RADIUS)
#define TILE_PITCH ((TILE_COLUMNS + 3) / 4 * 4 + PAD)
#define SOURCE __local const float
#define READ1(p, i) ((p)[i])
#if VX == 1
#define READV(p, i) ((p)[i])
#else
#define READV(p, i) CAT(vload, VX)(0, (p) + (i))
#endif
#else
#define SOURCE __global const real
#define READ1(p, i) LOAD1(p, i)
#define READV(p, i) LOADV(p, i)
#endif

// The sums that are held at once, and which row of the stencil row q of the input is for sum k.
#if RB
#define SUMS RB
#define DY(q, k) ((q) - (k))
#else
#define SUMS SPAN
#define DY(q, k) (2 * RADIUS - (k))
#endif
#define IN_STENCIL(dy) ((dy) >= 0 && (dy) <= 2 * RADIUS)

inline void clear(vecx (*sums)[NX])
{
#pragma unroll
    for (int k = 0; k < SUMS; ++k)
#pragma unroll
        for (int j = 0; j < NX; ++j) sums[k][j] = (vecx)(0.0f);
}

// Adds the products of row q of the input to the sums that it belongs to. `at`: where the vectors begin.
inline void add_row(vecx (*sums)[NX], SOURCE *row, const int *at, const int q, __global const float *c)
{
#pragma unroll
    for (int j = 0; j < NX; ++j) {
#if XREG
        float line[VX + 2 * RADIUS];
#pragma unroll
        for (int i = 0; i + VX <= VX + 2 * RADIUS; i += VX) {
            vecx part = READV(row, at[j] + i);
#pragma unroll
            for (int l = 0; l < VX; ++l) line[i + l] = LANE(part, l);
        }
#pragma unroll
        for (int i = (VX + 2 * RADIUS) / VX * VX; i < VX + 2 * RADIUS; ++i) line[i] = READ1(row, at[j] + i);
#endif
#pragma unroll
        for (int dx = 0; dx < SPAN; ++dx) {
#if XREG
            vecx value;
#pragma unroll
            for (int l = 0; l < VX; ++l) LANE(value, l) = line[dx + l];
#else
            const vecx value = READV(row, at[j] + dx);
#endif
#pragma unroll
            for (int k = 0; k < SUMS; ++k)
                if (IN_STENCIL(DY(q, k)) && IS_TAP(DY(q, k), dx))
                    sums[k][j] = mad((vecx)(c[TAP(DY(q, k), dx)]), value, sums[k][j]);
        }
    }
}

// Stores the sums of one row of y, but for columns that are outside of the grid or another work-item's. `mine`: where a vector
// would begin if the grid had no end, `at`: where it does.
inline void store_row(__global real *row, vecx *sums, const int *at, const int *mine, const int W)
{
#pragma unroll
    for (int j = 0; j < NX; ++j) {
        if (at[j] == mine[j] && at[j] + VX <= W) {
            STOREV(sums[j], row, at[j]);
        } else {
#pragma unroll
            for (int l = 0; l < VX; ++l)
                if (at[j] + l >= mine[j] && at[j] + l < W) STORE1(LANE(sums[j], l), row, at[j] + l);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(GX, GY, 1)))
void stencil2d(const int H, const int W, __global const real *restrict x, __global const float *restrict c,
               __global real *restrict y)
{
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int tiles_x = (W + WGX - 1) / WGX, tile = get_group_id(0);
    const int x0 = tile % tiles_x * WGX, y0 = tile / tiles_x * WGY;
    const size_t pitch = W + 2 * RADIUS;

#if !LOC
    // no legal config: a grid of one element that is launched to finish the compilation
    if (W < VX || H < RB) return;
#endif
    int mine[NX], at[NX];
    for (int j = 0; j < NX; ++j) {
        mine[j] = x0 + (j * GX + tx) * VX;
        // a vector that would reach beyond the grid begins earlier
        at[j] = LOC ? mine[j] : min(mine[j], W - VX);
    }

#if LOC
    __local float tile_of_x[TILE_ROWS * TILE_PITCH];
    for (int v = ty * GX + tx; v < TILE_ROWS * TILE_COLUMNS; v += ITEMS) {
        const int i = v / TILE_COLUMNS, j = v % TILE_COLUMNS;
        tile_of_x[i * TILE_PITCH + j] = LOAD1(x, min(y0 + i, H + 2 * RADIUS - 1) * pitch + min(x0 + j, W + 2 * RADIUS - 1));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int from[NX];
    for (int j = 0; j < NX; ++j) from[j] = (j * GX + tx) * VX;
#define ROW(i) (tile_of_x + ((i) - y0) * TILE_PITCH)
#else
#define from at
#define ROW(i) (x + (i) * pitch)
#endif

    vecx sums[SUMS][NX];
#if RB
    for (int b0 = 0; b0 < RY / RB; b0 += UB) {
#pragma unroll
        for (int b = 0; b < UB; ++b) {
            const int top = y0 + ((b0 + b) * GY + ty) * RB;
            if (top < H) {
                const int first = LOC ? top : min(top, H - RB);
                clear(sums);
#pragma unroll
                for (int q = 0; q < RB + 2 * RADIUS; ++q) add_row(sums, ROW(first + q), from, q, c);
#pragma unroll
                for (int k = 0; k < RB; ++k)
                    if (first + k >= top && first + k < H) store_row(y + (size_t)(first + k) * W, sums[k], at, mine, W);
            }
        }
    }
#else
    const int top = y0 + ty * RY;
    const int rows = top < H ? min(RY, H - top) + 2 * RADIUS : 0;
    clear(sums);
    for (int q0 = 0; q0 < rows; q0 += UB) {
#pragma unroll
        for (int u = 0; u < UB; ++u) {
            const int q = q0 + u;
            if (UB == 1 || q < rows) {
                add_row(sums, ROW(top + q), from, q, c);
                if (q >= 2 * RADIUS) store_row(y + (size_t)(top + q - 2 * RADIUS) * W, sums[0], at, mine, W);
#pragma unroll
                for (int j = 0; j < NX; ++j) {
#pragma unroll
                    for (int k = 0; k + 1 < SUMS; ++k) sums[k][j] = sums[k + 1][j];
                    sums[SUMS - 1][j] = (vecx)(0.0f);
                }
            }
        }
    }
#endif
}
