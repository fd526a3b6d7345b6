// y = alpha op(A) x + beta y. A is M x N, row-major and dense; op(A) is A or, with trans_T, its transpose. Arithmetic is in f32.
//
// A work-group computes OX*OPI outputs, OPI for each of OX work-items; SX work-items share the sum of an output and add what they
// have in local memory. Without trans_T an output is a row of A, and the SX are adjacent along it; with trans_T it is a column,
// and the OX are adjacent across columns. Vectors of VW lie along rows of A: part of a sum, or with trans_T VW outputs.

#ifndef SX
#define SX 16    // work-items that share an output
#endif
#ifndef OX
#define OX 16    // work-items along outputs
#endif
#ifndef OPI
#define OPI 1    // outputs per work-item
#endif
#ifndef VW
#define VW 1     // vector width along rows of A
#endif
#ifndef STRO
#define STRO 0   // 1: a work-item's outputs, or vectors of them, are OX apart instead of adjacent
#endif
#ifndef SPI
#define SPI 1    // loads along a sum that a work-item does at once: unrolling
#endif
#ifndef XT
#define XT 0     // elements of x that are in local memory at a time; 0: x is read where it is
#endif
#ifndef RADIX
#define RADIX 2  // values that are added at once where work-items add theirs
#endif

#define ITEMS (SX * OX)
#define WGO (OX * OPI)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#define LOADV_(w, p, i) CAT(vload_half, w)(0, (p) + (i))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#define LOADV_(w, p, i) CAT(vload, w)(0, (p) + (i))
#endif

#if VW == 1
typedef float vec;
#define LOADV(p, i) LOAD1(p, i)
#define LOADL(p, i) ((p)[i])
#else
typedef CAT(float, VW) vec;
#define LOADV(p, i) LOADV_(VW, p, i)
#define LOADL(p, i) CAT(vload, VW)(0, (p) + (i))
#endif
#define LANE(v, i) (((float *)&(v))[i])
// PoCL takes vectors of 8 halves and more for aligned, which those of every row are where rows are whole numbers of 8.
#if defined(dtype_f16) && VW >= 8 && !defined(SEQTUNE_CPP)
#define HAS_VECTORS(N) ((N) % 8 == 0)
#else
#define HAS_VECTORS(N) 1
#endif

// Extents of a work-group, depth of a step, accumulators of a work-item; where an output's partial sums lie in local memory.
#ifdef trans_T
#define DIM0 OX
#define DIM1 SX
#define STEP (SX * SPI)
#define ACCS (OPI / VW)
#define PARTIAL(output, part) ((part) * WGO + (output))
#define OUTPUT_OF(v, parts) ((v) % WGO)
#define PART_OF(v, parts) ((v) / WGO)
#else
#define DIM0 SX
#define DIM1 OX
#define STEP (SX * VW * SPI)
#define ACCS OPI
#define PARTIAL(output, part) ((output) * SX + (part))
#define OUTPUT_OF(v, parts) ((v) / (parts))
#define PART_OF(v, parts) ((v) % (parts))
#endif

// A vector of a row, 0 beyond its end. `full`: it does not reach there.
inline vec fetch(const int full, __global const real *row, const int at, const int N)
{
    if (HAS_VECTORS(N) && (full || at + VW <= N)) return LOADV(row, at);
    vec v;
#pragma unroll
    for (int i = 0; i < VW; ++i) {
        const float value = LOAD1(row, full ? at + i : min(at + i, N - 1));
        LANE(v, i) = full || at + i < N ? value : 0.0f;
    }
    return v;
}

#ifdef trans_T
// One step of the sums along columns: rows k + sx, k + sx + SX, ... of A times elements of x.
inline void step(const int inside, const int full, vec acc[ACCS], const int columns[ACCS], __global const real *A,
                 __global const real *x, __local const float *xs, const int k, const int xs_begin, const int sx, const int M, const int N)
{
#pragma unroll
    for (int u = 0; u < SPI; ++u) {
        const int row = k + u * SX + sx;
        const int at = full ? row : min(row, M - 1);
#if XT
        const float factor = full || row < M ? xs[at - xs_begin] : 0.0f;
#else
        const float element = LOAD1(x, at);
        const float factor = full || row < M ? element : 0.0f;
#endif
        __global const real *from = A + (size_t)at * N;
#pragma unroll
        for (int j = 0; j < ACCS; ++j) acc[j] = mad(fetch(inside, from, columns[j], N), (vec)(factor), acc[j]);
    }
}
#else
// One step of the sums along rows: VW elements at k + sx*VW, SX*VW further, ... of each of a work-item's rows times those of x.
inline void step(const int full, vec acc[ACCS], __global const real *rows[ACCS], __global const real *x, __local const float *xs,
                 const int k, const int xs_begin, const int sx, const int N)
{
#pragma unroll
    for (int u = 0; u < SPI; ++u) {
        const int at = k + (u * SX + sx) * VW;
#if XT
        const vec factor = LOADL(xs, at - xs_begin);
#else
        const vec factor = fetch(full, x, at, N);
#endif
#pragma unroll
        for (int i = 0; i < ACCS; ++i) acc[i] = mad(fetch(full, rows[i], at, N), factor, acc[i]);
    }
}
#endif

__kernel __attribute__((reqd_work_group_size(DIM0, DIM1, 1)))
void gemv(const int M, const int N, const float alpha, const float beta, __global const real *restrict A, __global const real *restrict x,
          __global real *restrict y)
{
    const int first = (int)get_group_id(0) * WGO; // output of the work-group
#ifdef trans_T
    const int ox = get_local_id(0), sx = get_local_id(1);
    const int outputs = N, depth = M;
    const int inside = first + WGO <= N;
#define VECTOR(j) ((STRO ? (j) * OX + ox : ox * ACCS + (j)) * VW)
    int columns[ACCS];
    for (int j = 0; j < ACCS; ++j) columns[j] = first + VECTOR(j);
#else
    const int sx = get_local_id(0), ox = get_local_id(1);
    const int outputs = M, depth = N;
#define ROW(i) (STRO ? (i) * OX + ox : ox * OPI + (i))
    __global const real *rows[ACCS];
    for (int i = 0; i < ACCS; ++i) rows[i] = A + (size_t)min(first + ROW(i), M - 1) * N;
#endif
    const int tid = get_local_id(1) * DIM0 + get_local_id(0);

    vec acc[ACCS];
    for (int i = 0; i < ACCS; ++i) acc[i] = (vec)(0.0f);

#if XT
    __local float xs[XT];
    for (int begin = 0; begin < depth; begin += XT) {
        const int end = min(begin + XT, depth);
        for (int i = tid; i < XT; i += ITEMS) xs[i] = begin + i < depth ? LOAD1(x, begin + i) : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
#else
    {
        __local const float *xs = 0;
        const int begin = 0, end = depth;
#endif
        for (int k = begin; k < end; k += STEP) {
            const int full = k + STEP <= end;
#ifdef trans_T
            if (full && inside) step(1, 1, acc, columns, A, x, xs, k, begin, sx, M, N);
            else step(0, 0, acc, columns, A, x, xs, k, begin, sx, M, N);
#else
            if (full) step(1, acc, rows, x, xs, k, begin, sx, N);
            else step(0, acc, rows, x, xs, k, begin, sx, N);
#endif
        }
#if XT
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }

    // each work-item's sums, or their share in them
#if SX > 1
    __local float partial[SX * WGO];
#define GIVE(output, value) partial[PARTIAL(output, sx)] = (value)
#else
#define GIVE(output, value)                                                                                            \
    if (first + (output) < outputs) {                                                                                  \
        float sum = alpha * (value);                                                                                   \
        if (beta != 0.0f) sum += beta * LOAD1(y, first + (output));                                                    \
        STORE1(sum, y, first + (output));                                                                              \
    }
#endif
#pragma unroll
    for (int i = 0; i < ACCS; ++i) {
#ifdef trans_T
#pragma unroll
        for (int v = 0; v < VW; ++v) {
            GIVE(VECTOR(i) + v, LANE(acc[i], v));
        }
#else
        float of_lanes = LANE(acc[i], 0);
#pragma unroll
        for (int v = 1; v < VW; ++v) of_lanes += LANE(acc[i], v);
        GIVE(ROW(i), of_lanes);
#endif
    }

#if SX > 1
    barrier(CLK_LOCAL_MEM_FENCE);
    int parts = SX;
    for (; parts > RADIX; parts /= RADIX) {
        const int left = parts / RADIX;
        for (int v = tid; v < left * WGO; v += ITEMS) {
            const int output = OUTPUT_OF(v, left), part = PART_OF(v, left);
            float sum = partial[PARTIAL(output, part)];
            for (int r = 1; r < RADIX; ++r) sum += partial[PARTIAL(output, part + r * left)];
            partial[PARTIAL(output, part)] = sum;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int o = tid; o < WGO && first + o < outputs; o += ITEMS) {
        float sum = partial[PARTIAL(o, 0)];
        for (int r = 1; r < parts; ++r) sum += partial[PARTIAL(o, r)];
        sum *= alpha;
        if (beta != 0.0f) sum += beta * LOAD1(y, first + o);
        STORE1(sum, y, first + o);
    }
#endif
}
