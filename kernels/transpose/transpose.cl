// Transposition of a batch of row-major matrices: out[b][j][i] = in[b][i][j], with i < rows and j < columns.
// Elements are moved as bits, without arithmetic.
//
// A work-group moves a tile of TR rows by TC columns of one matrix. With LOCAL it goes through local memory: the tile is read along rows
// and written along columns, with vectors on both sides. Without LOCAL a work-item turns blocks of VW x VR elements in registers.
// Tiles that lie wholly inside, of matrices whose sizes the vectors divide, take a path without bounds checks.

#ifndef TR
#define TR 32     // rows of the input per tile
#endif
#ifndef TC
#define TC 32     // columns of the input per tile
#endif
#ifndef ITEMS
#define ITEMS 128 // work-items per work-group
#endif
#ifndef VR
#define VR 1      // vector width of reads, along a row of the input
#endif
#ifndef VW
#define VW 1      // vector width of writes, along a row of the output
#endif
#ifndef UNROLL
#define UNROLL 2  // vectors, or blocks in registers, that a work-item reads before it writes them
#endif
#ifndef LOCAL
#define LOCAL 1   // 1: tiles go through local memory
#endif
#ifndef TURN
#define TURN 0    // 1: the local tile is stored by columns; without LOCAL: adjacent work-items are adjacent in the output, not in the input
#endif
#ifndef PAD
#define PAD 1     // elements that each line of the local tile is padded by
#endif
#ifndef ORDER
#define ORDER 0   // work-groups walk the tiles 0: along rows first, 1: along columns first, 2: along diagonals
#endif

#define READS (TR * TC / VR / ITEMS)
#define WRITES (TR * TC / VW / ITEMS)
#define BLOCKS (TR * TC / VR / VW / ITEMS)

// place of a row and column in the local tile
#define AT(r, c) (TURN ? (c) * (TR + PAD) + (r) : (r) * (TC + PAD) + (c))
#define LOCAL_ELEMENTS (TURN ? TC * (TR + PAD) : TR * (TC + PAD))

#ifdef dtype_f16
typedef ushort real;
#define ELEMENT 2
#else
typedef uint real;
#define ELEMENT 4
#endif

// vectors, and the words that they are moved in
#if VR * ELEMENT == 2
typedef ushort wordr;
#elif VR * ELEMENT == 4
typedef uint wordr;
#elif VR * ELEMENT == 8
typedef uint2 wordr;
#else
typedef uint4 wordr;
#endif
#if VW * ELEMENT == 2
typedef ushort wordw;
#elif VW * ELEMENT == 4
typedef uint wordw;
#elif VW * ELEMENT == 8
typedef uint2 wordw;
#else
typedef uint4 wordw;
#endif
#define WORDS(v) ((v) * ELEMENT > 16 ? (v) * ELEMENT / 16 : 1)
typedef union {
    wordr word[WORDS(VR)];
    real lane[VR];
} vecr;
typedef union {
    wordw word[WORDS(VW)];
    real lane[VW];
} vecw;

// A vector of a row of which `left` elements are there. `full`: all of them, and they are aligned.
inline vecr load(const int full, __global const real *from, const int left)
{
    vecr v;
    if (full) {
#pragma unroll
        for (int w = 0; w < WORDS(VR); ++w) v.word[w] = ((__global const wordr *)from)[w];
    } else {
#pragma unroll
        for (int x = 0; x < VR; ++x) v.lane[x] = x < left ? from[x] : 0;
    }
    return v;
}

inline void store(const int full, __global real *to, const int left, const vecw v)
{
    if (full) {
#pragma unroll
        for (int w = 0; w < WORDS(VW); ++w) ((__global wordw *)to)[w] = v.word[w];
    } else {
#pragma unroll
        for (int x = 0; x < VW; ++x)
            if (x < left) to[x] = v.lane[x];
    }
}

#if LOCAL
// From the input into local memory. `in` and `out` are where the tile begins; `height` x `width` elements of it are in the matrix.
inline void read(const int full, __local real *tile, __global const real *in, const int tid, const int height, const int width,
                 const int columns)
{
    for (int i0 = 0; i0 < READS; i0 += UNROLL) {
        vecr part[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int v = tid + (i0 + i) * ITEMS;
            const int r = v / (TC / VR), c = v % (TC / VR) * VR;
            part[i] = load(full, in + (size_t)r * columns + c, r < height ? width - c : 0);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int v = tid + (i0 + i) * ITEMS;
            const int r = v / (TC / VR), c = v % (TC / VR) * VR;
#pragma unroll
            for (int x = 0; x < VR; ++x) tile[AT(r, c + x)] = part[i].lane[x];
        }
    }
}

// From local memory to the output.
inline void write(const int full, __local const real *tile, __global real *out, const int tid, const int height, const int width,
                  const int rows)
{
    for (int i0 = 0; i0 < WRITES; i0 += UNROLL) {
        vecw part[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int v = tid + (i0 + i) * ITEMS;
            const int c = v / (TR / VW), r = v % (TR / VW) * VW;
#pragma unroll
            for (int x = 0; x < VW; ++x) part[i].lane[x] = tile[AT(r + x, c)];
        }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int v = tid + (i0 + i) * ITEMS;
            const int c = v / (TR / VW), r = v % (TR / VW) * VW;
            store(full, out + (size_t)c * rows + r, c < width ? height - r : 0, part[i]);
        }
    }
}
#else
// From the input to the output, a block of VW rows by VR columns at a time.
#if TURN
#define BLOCK_R(v) ((v) % (TR / VW) * VW)
#define BLOCK_C(v) ((v) / (TR / VW) * VR)
#else
#define BLOCK_R(v) ((v) / (TC / VR) * VW)
#define BLOCK_C(v) ((v) % (TC / VR) * VR)
#endif
inline void move(const int full, __global const real *in, __global real *out, const int tid, const int height, const int width,
                 const int rows, const int columns)
{
    for (int i0 = 0; i0 < BLOCKS; i0 += UNROLL) {
        vecr part[UNROLL][VW];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int v = tid + (i0 + i) * ITEMS;
            const int r = BLOCK_R(v), c = BLOCK_C(v);
#pragma unroll
            for (int y = 0; y < VW; ++y)
                part[i][y] = load(full, in + (size_t)(r + y) * columns + c, r + y < height ? width - c : 0);
        }
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            const int v = tid + (i0 + i) * ITEMS;
            const int r = BLOCK_R(v), c = BLOCK_C(v);
#pragma unroll
            for (int x = 0; x < VR; ++x) {
                vecw turned;
#pragma unroll
                for (int y = 0; y < VW; ++y) turned.lane[y] = part[i][y].lane[x];
                store(full, out + (size_t)(c + x) * rows + r, c + x < width ? height - r : 0, turned);
            }
        }
    }
}
#endif

__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void transpose(const int rows, const int columns, __global const real *restrict in, __global real *restrict out)
{
    const int tid = get_local_id(0);
    const int tiles_r = (rows + TR - 1) / TR, tiles_c = (columns + TC - 1) / TC;

    int tile = get_group_id(0);
#if ORDER == 1
    const int ti = tile % tiles_r; tile /= tiles_r;
    const int tj = tile % tiles_c; tile /= tiles_c;
#else
    const int tj = tile % tiles_c; tile /= tiles_c;
#if ORDER == 2
    const int ti = (tile + tj) % tiles_r; tile /= tiles_r;
#else
    const int ti = tile % tiles_r; tile /= tiles_r;
#endif
#endif
    const int i0 = ti * TR, j0 = tj * TC;
    const int height = min(TR, rows - i0), width = min(TC, columns - j0);
    const size_t matrix = (size_t)tile * rows * columns;
    __global const real *from = in + matrix + (size_t)i0 * columns + j0;
    __global real *to = out + matrix + (size_t)j0 * rows + i0;
    const int full = height == TR && width == TC && columns % VR == 0 && rows % VW == 0;

#if LOCAL
    __local real cells[LOCAL_ELEMENTS];
    if (full) read(1, cells, from, tid, height, width, columns);
    else read(0, cells, from, tid, height, width, columns);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (full) write(1, cells, to, tid, height, width, rows);
    else write(0, cells, to, tid, height, width, rows);
#else
    if (full) move(1, from, to, tid, height, width, rows, columns);
    else move(0, from, to, tid, height, width, rows, columns);
#endif
}
