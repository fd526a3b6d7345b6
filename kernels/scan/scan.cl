// Inclusive prefix sums along the rows of a row-major matrix: y[r][c] = sum over k <= c of x[r][k]. Sums are in f32.
//
// LX work-items share a row and walk it in chunks of LX*E elements, with the sum of all chunks before carried along; LY rows are scanned at
// the same time. In a chunk a work-item scans E adjacent elements, the sums of the work-items are scanned in local memory, and each adds
// what is before its own. With STAGE a chunk passes through local memory on its way in and out, so that adjacent work-items
// access adjacent vectors of global memory.

#ifndef LX
#define LX 32    // work-items along a row
#endif
#ifndef LY
#define LY 4     // rows per work-group
#endif
#ifndef E
#define E 4      // adjacent elements that a work-item scans
#endif
#ifndef V
#define V 1      // vector width of loads and stores
#endif
#ifndef STAGE
#define STAGE 0  // 1: chunks pass through local memory
#endif
#ifndef PAD
#define PAD 0    // 1: the local chunk has an unused element after every 32
#endif
#ifndef SUMS
#define SUMS 1   // how sums are scanned 0: by one work-item, 1: Hillis and Steele, 2: the same in steps of four, 3: up and down a tree
#endif
#ifndef AHEAD
#define AHEAD 0  // 1: the next chunk is loaded while one is scanned
#endif

#define ITEMS (LX * LY)
#define CHUNK (LX * E)
#define VECS (E / V)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#define LOADV_(p) CAT(vload_half, V)(0, (p))
#define STOREV_(x, p) CAT(vstore_half, V)((x), 0, (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#define LOADV_(p) CAT(vload, V)(0, (p))
#define STOREV_(x, p) CAT(vstore, V)((x), 0, (p))
#endif

#if V == 1
typedef float vec;
#define LOADV(p) LOAD1(p, 0)
#define STOREV(x, p) STORE1(x, p, 0)
#else
typedef CAT(float, V) vec;
#define LOADV(p) LOADV_(p)
#define STOREV(x, p) STOREV_(x, p)
#endif
#define LANE(v, i) (((float *)&(v))[i])

// place of a chunk's element in local memory
#define LINE (CHUNK + PAD * (CHUNK / 32))
#define AT(row, c) ((row) * LINE + (c) + PAD * ((c) / 32))

// The row of the work-group and the place in the chunk of a work-item's vector number i.
#if STAGE
#define ROW(i) ((tid + (i) * ITEMS) / (CHUNK / V))
#define PLACE(i) ((tid + (i) * ITEMS) % (CHUNK / V) * V)
#else
#define ROW(i) ly
#define PLACE(i) (lx * E + (i) * V)
#endif

// words that an aligned vector is moved in
#ifdef dtype_f16
#define BYTES (2 * V)
#define GET(u, i) vload_half((i), (const half *)(u).lane)
#define PUT(x, u, i) vstore_half((x), (i), (half *)(u).lane)
typedef ushort stored;
#else
#define BYTES (4 * V)
#define GET(u, i) ((u).lane[i])
#define PUT(x, u, i) ((u).lane[i] = (x))
typedef float stored;
#endif
#if BYTES <= 4
typedef uint word;
#elif BYTES == 8
typedef uint2 word;
#else
typedef uint4 word;
#endif
#define WORDS (BYTES > 16 ? BYTES / 16 : 1)
typedef union {
    word words[WORDS];
    stored lane[V];
} packed;

// A vector of a row of which `left` elements are there. `whole`: all of them or none, and they are aligned.
inline vec load(const int whole, __global const real *from, const int left)
{
#if V > 1
    vec v = (vec)(0.0f);
    if (whole) {
        packed u;
#pragma unroll
        for (int w = 0; w < WORDS; ++w) u.words[w] = ((__global const word *)from)[w];
#pragma unroll
        for (int i = 0; i < V; ++i) LANE(v, i) = GET(u, i);
        return v;
    }
    if (left < V) {
#pragma unroll
        for (int i = 0; i < V; ++i)
            if (i < left) LANE(v, i) = LOAD1(from, i);
        return v;
    }
#endif
    return LOADV(from);
}

inline void store(const int whole, vec v, __global real *to, const int left)
{
#if V > 1
    if (whole) {
        packed u;
#pragma unroll
        for (int i = 0; i < V; ++i) PUT(LANE(v, i), u, i);
        if (left > 0)
#pragma unroll
            for (int w = 0; w < WORDS; ++w) ((__global word *)to)[w] = u.words[w];
        return;
    }
#endif
    if (left >= V) {
        STOREV(v, to);
        return;
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
        if (i < left) STORE1(LANE(v, i), to, i);
}

// A work-item's vectors of the chunk that begins at column c0, of rows from r0 on. Beyond the matrix its last elements are read again:
// they come after all that counts.
inline void load_chunk(const int whole, vec to[VECS], __global const real *x, const int rows, const int columns, const int r0,
                       const int c0, const int tid, const int lx, const int ly)
{
#pragma unroll
    for (int i = 0; i < VECS; ++i) {
        const int c = c0 + PLACE(i);
        to[i] = load(whole, x + (size_t)min(r0 + ROW(i), rows - 1) * columns + min(c, columns - (whole ? V : 1)), columns - c);
    }
}

inline void store_chunk(const int whole, const vec from[VECS], __global real *y, const int rows, const int columns, const int r0,
                        const int c0, const int tid, const int lx, const int ly)
{
#pragma unroll
    for (int i = 0; i < VECS; ++i) {
        const int c = c0 + PLACE(i);
        if (r0 + ROW(i) < rows) store(whole, from[i], y + (size_t)(r0 + ROW(i)) * columns + c, columns - c);
    }
}

#define LOAD_CHUNK(to, c0)                                                                                             \
    do {                                                                                                               \
        if (whole) load_chunk(1, to, x, rows, columns, r0, c0, tid, lx, ly);                                           \
        else load_chunk(0, to, x, rows, columns, r0, c0, tid, lx, ly);                                                 \
    } while (0)

__kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void scan(const int rows, const int columns, __global const real *restrict x, __global real *restrict y)
{
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int tid = ly * LX + lx;
    const int r0 = (int)get_group_id(0) * LY;
    const int whole = columns % V == 0;

#if STAGE
    __local float chunk[LY * LINE];
#endif
#if LX > 1
    // sums of the work-items, twice over where a step reads what others write
    __local float sums[2 * ITEMS];
#endif

    float carry = 0.0f;
    vec part[VECS];
#if AHEAD
    vec next[VECS];
    LOAD_CHUNK(next, 0);
#endif

    for (int c0 = 0; c0 < columns; c0 += CHUNK) {
#if AHEAD
#pragma unroll
        for (int i = 0; i < VECS; ++i) part[i] = next[i];
        if (c0 < columns - CHUNK) LOAD_CHUNK(next, c0 + CHUNK);
#else
        LOAD_CHUNK(part, c0);
#endif

        float own[E];
#if STAGE
#pragma unroll
        for (int i = 0; i < VECS; ++i)
#pragma unroll
            for (int v = 0; v < V; ++v) chunk[AT(ROW(i), PLACE(i) + v)] = LANE(part[i], v);
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int e = 0; e < E; ++e) own[e] = chunk[AT(ly, lx * E + e)];
#else
#pragma unroll
        for (int e = 0; e < E; ++e) own[e] = LANE(part[e / V], e % V);
#endif
#pragma unroll
        for (int e = 1; e < E; ++e) own[e] += own[e - 1];

        // the sum of all elements before a work-item's
        float before = carry;
#if LX > 1
        __local float *line = sums + ly * LX;
        line[lx] = own[E - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
#if SUMS == 0
        if (lx == 0)
            for (int i = 1; i < LX; ++i) line[i] += line[i - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
#elif SUMS == 1 || SUMS == 2
#define RADIX (SUMS == 1 ? 2 : 4)
        __local float *other = sums + ITEMS + ly * LX;
        for (int d = 1; d < LX; d *= RADIX) {
            float s = line[lx];
#pragma unroll
            for (int i = 1; i < RADIX; ++i)
                if (lx >= i * d) s += line[lx - i * d];
            other[lx] = s;
            barrier(CLK_LOCAL_MEM_FENCE);
            __local float *swap = line;
            line = other;
            other = swap;
        }
#else
        for (int d = 1; d < LX; d *= 2) {
            const int i = (lx + 1) * 2 * d - 1;
            if (i < LX) line[i] += line[i - d];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int d = LX / 4; d > 0; d /= 2) {
            const int i = (lx + 1) * 2 * d - 1;
            if (i + d < LX) line[i + d] += line[i];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
#endif
        if (lx > 0) before += line[lx - 1];
        carry += line[LX - 1];
#else
        carry += own[E - 1];
#endif
#pragma unroll
        for (int e = 0; e < E; ++e) own[e] += before;

#if STAGE
#pragma unroll
        for (int e = 0; e < E; ++e) chunk[AT(ly, lx * E + e)] = own[e];
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < VECS; ++i)
#pragma unroll
            for (int v = 0; v < V; ++v) LANE(part[i], v) = chunk[AT(ROW(i), PLACE(i) + v)];
#else
#pragma unroll
        for (int e = 0; e < E; ++e) LANE(part[e / V], e % V) = own[e];
#endif
        if (whole) store_chunk(1, part, y, rows, columns, r0, c0, tid, lx, ly);
        else store_chunk(0, part, y, rows, columns, r0, c0, tid, lx, ly);
#if STAGE || LX > 1
        // what follows writes the local memory that others may still read
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
}
