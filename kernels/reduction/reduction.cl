// Sums of a row-major matrix x of rows x columns. With axis_columns y[r] = sum over c of x[r][c], with axis_rows y[c] = sum over r of
// x[r][c]. Sums are in f32, and so is y.
//
// LX work-items lie along the columns and LY along the rows. Those of the summed axis share a result: each adds up a part of the elements,
// and the partial sums are added in local memory, FAN at a time. A work-item has KEEP results (with axis_rows KEEP vectors of V results).

#ifndef LX
#define LX 16    // work-items along columns
#endif
#ifndef LY
#define LY 8     // work-items along rows
#endif
#ifndef V
#define V 4      // vector width along columns
#endif
#ifndef KEEP
#define KEEP 1   // rows, or vectors of columns, that a work-item sums at the same time
#endif
#ifndef UNROLL
#define UNROLL 1 // loads of each of them that are under way at the same time, into sums of their own
#endif
#ifndef STRIDE
#define STRIDE 1 // 1: the work-items of a result take turns along the summed axis; 0: each takes one piece of it
#endif
#ifndef FAN
#define FAN 2    // partial sums that a work-item adds in one step through local memory
#endif

#ifdef axis_rows
#define PARTS LY              // work-items that share a result
#define WIDTH 1               // elements of the summed axis per load
#define RESULTS (LX * KEEP * V)
#else
#define PARTS LX
#define WIDTH V
#define RESULTS (LY * KEEP)
#endif
#if STRIDE
#define STEP (PARTS * WIDTH)  // from load to load of a work-item
#else
#define STEP WIDTH
#endif
#define ITEMS (LX * LY)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define LOADV_(p) CAT(vload_half, V)(0, (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define LOADV_(p) CAT(vload, V)(0, (p))
#endif

#if V == 1
typedef float vec;
#define LOADV(p) LOAD1(p, 0)
#else
typedef CAT(float, V) vec;
#define LOADV(p) LOADV_(p)
#endif
#define LANE(v, i) (((float *)&(v))[i])

// words that an aligned vector is loaded in
#ifdef dtype_f16
#define BYTES (2 * V)
#define PART(u, i) vload_half((i), (const half *)(u).lane)
typedef ushort stored;
#else
#define BYTES (4 * V)
#define PART(u, i) ((u).lane[i])
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

// A vector of a row of which `left` elements are there. `whole`: all of them, and they are aligned.
inline vec load(const int whole, __global const real *from, const int left)
{
#if V > 1
    vec v = (vec)(0.0f);
    if (whole) {
        packed u;
#pragma unroll
        for (int w = 0; w < WORDS; ++w) u.words[w] = ((__global const word *)from)[w];
#pragma unroll
        for (int i = 0; i < V; ++i) LANE(v, i) = PART(u, i);
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

// Adds to the sums the terms `k`, `k + STEP`, ... below `end`.
inline void add_up(const int whole, vec sum[KEEP][UNROLL], __global const real *from[KEEP], const int left[KEEP], int k, const int end,
                   const size_t pitch)
{
#pragma unroll 1
    for (; k + (UNROLL - 1) * STEP + WIDTH <= end; k += UNROLL * STEP) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int j = 0; j < KEEP; ++j) sum[j][u] += load(whole, from[j] + (k + u * STEP) * pitch, left[j]);
    }
#if UNROLL > 1
#pragma unroll 1
    for (; k + WIDTH <= end; k += STEP) {
#pragma unroll
        for (int j = 0; j < KEEP; ++j) sum[j][0] += load(whole, from[j] + k * pitch, left[j]);
    }
#endif
#if WIDTH > 1
    if (whole) return;
#pragma unroll
    for (int i = 0; i < WIDTH - 1; ++i)
        if (k + i < end)
#pragma unroll
            for (int j = 0; j < KEEP; ++j) LANE(sum[j][0], i) += LOAD1(from[j], k + i);
#endif
}

__kernel __attribute__((reqd_work_group_size(LX, LY, 1)))
void reduction(const int rows, const int columns, __global const real *restrict x, __global float *restrict y)
{
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int first_result = (int)get_group_id(0) * RESULTS;

    // where the elements of each result begin, and how many of a vector are there; beyond the last result the last ones are read again
    __global const real *from[KEEP];
    int left[KEEP];
    const int whole = columns % V == 0;
#ifdef axis_rows
    const int results = columns, terms = rows, part = ly;
    const size_t pitch = columns;
#pragma unroll
    for (int j = 0; j < KEEP; ++j) {
        const int c = first_result + (j * LX + lx) * V;
        left[j] = columns - c;
        from[j] = x + min(c, columns - (whole ? V : 1));
    }
#else
    const int results = rows, terms = columns, part = lx;
    const size_t pitch = 1;
#pragma unroll
    for (int j = 0; j < KEEP; ++j) {
        left[j] = V;
        from[j] = x + (size_t)min(first_result + j * LY + ly, rows - 1) * columns;
    }
#endif

    // the terms of a work-item
#if STRIDE
    const int end = terms;
    int k = part * WIDTH;
#else
    const int piece = (terms + PARTS * WIDTH - 1) / (PARTS * WIDTH) * WIDTH;
    const int end = min((part + 1) * piece, terms);
    int k = part * piece;
#endif

    vec sum[KEEP][UNROLL];
#pragma unroll
    for (int j = 0; j < KEEP; ++j)
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) sum[j][u] = (vec)(0.0f);

    if (whole) add_up(1, sum, from, left, k, end, pitch);
    else add_up(0, sum, from, left, k, end, pitch);
#pragma unroll
    for (int j = 0; j < KEEP; ++j)
#pragma unroll
        for (int u = 1; u < UNROLL; ++u) sum[j][0] += sum[j][u];

    // what a work-item has of each of its results, and which of the work-group's these are
#ifdef axis_rows
#define OWN (KEEP * V)
#define RESULT(i) (((i) / V * LX + lx) * V + (i) % V)
#define PARTIAL(p, r) ((p) * RESULTS + (r))
    float own[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i) own[i] = LANE(sum[i / V][0], i % V);
#else
#define OWN KEEP
#define RESULT(i) ((i) * LY + ly)
#define PARTIAL(p, r) ((r) * PARTS + (p))
    float own[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        own[i] = 0.0f;
#pragma unroll
        for (int v = 0; v < V; ++v) own[i] += LANE(sum[i][0], v);
    }
#endif

#if PARTS == 1
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
        const int r = first_result + RESULT(i);
        if (r < results) y[r] = own[i];
    }
#else
    __local float partial[PARTS * RESULTS];
#pragma unroll
    for (int i = 0; i < OWN; ++i) partial[PARTIAL(part, RESULT(i))] = own[i];
    barrier(CLK_LOCAL_MEM_FENCE);

    const int tid = ly * LX + lx;
    int parts = PARTS;
    for (; parts > FAN; parts /= FAN) {
        const int fewer = parts / FAN;
        for (int i0 = 0; i0 < fewer * RESULTS; i0 += ITEMS) {
            const int i = i0 + tid;
            if (i >= fewer * RESULTS) continue;
            const int p = i % fewer, r = i / fewer;
            float s = 0.0f;
#pragma unroll
            for (int f = 0; f < FAN; ++f) s += partial[PARTIAL(p + f * fewer, r)];
            partial[PARTIAL(p, r)] = s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i0 = 0; i0 < RESULTS; i0 += ITEMS) {
        const int i = i0 + tid, r = first_result + i;
        if (i >= RESULTS) continue;
        float s = 0.0f;
        for (int p = 0; p < parts; ++p) s += partial[PARTIAL(p, i)];
        if (r < results) y[r] = s;
    }
#endif
}
