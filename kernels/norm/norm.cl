// Normalisation of each row of x, which is rows x columns, row-major and dense. Arithmetic is in f32.
// Layer norm:         y[r][c] = (x[r][c] - mean) / sqrt(mean square of x[r][c] - mean + epsilon) * w[c] + b[c].
// RMS norm, kind_rms: y[r][c] = x[r][c] / sqrt(mean square of x[r][c] + epsilon) * w[c]; b is not read.
//
// IX work-items share a row. A work-group computes RX rows side by side and RPI such blocks one after another. A step covers
// IX*EPI elements of a row, EPI for each work-item, as vectors of VW. Where rows are kept, a row is one step.

#ifndef IX
#define IX 32     // work-items per row
#endif
#ifndef RX
#define RX 4      // rows side by side in a work-group
#endif
#ifndef RPI
#define RPI 1     // rows that a work-item computes one after another
#endif
#ifndef KEEP
#define KEEP 0    // where a row is between the passes: 0 in global memory, 1 in local memory, 2 in registers
#endif
#ifndef PASSES
#define PASSES 1  // 1: sum and sum of squares in one pass; 2: the mean, then the squares about it
#endif
#ifndef WREG
#define WREG 0    // 1: weights stay in registers from row to row
#endif
#ifndef VW
#define VW 1      // vector width of loads and stores
#endif
#ifndef EPI
#define EPI 1     // elements of a row that a work-item takes per step
#endif
#ifndef STR
#define STR 0     // 1: a work-item's vectors are IX vectors apart instead of adjacent
#endif
#ifndef RADIX
#define RADIX 2   // values that are added at once where work-items add theirs
#endif

#define ITEMS (IX * RX)
#define STEP (IX * EPI)
#define NVEC (EPI / VW)
#define PLACE(j) (STR ? ((j) * IX + ix) * VW : ix * EPI + (j) * VW)

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
typedef float vec;
#define LOADV(p, i) LOAD1(p, i)
#define STOREV(x, p, i) STORE1(x, p, i)
#define LOADL(p, i) ((p)[i])
#define STOREL(x, p, i) ((p)[i] = (x))
#else
typedef CAT(float, VW) vec;
#define LOADV(p, i) LOADV_(VW, p, i)
#define STOREV(x, p, i) STOREV_(VW, x, p, i)
#define LOADL(p, i) CAT(vload, VW)(0, (p) + (i))
#define STOREL(x, p, i) CAT(vstore, VW)((x), 0, (p) + (i))
#endif
#define LANE(v, i) (((float *)&(v))[i])
// PoCL takes vectors of 8 halves and more for aligned, which those of every row are where rows are whole numbers of 8.
#if defined(dtype_f16) && VW >= 8 && !defined(SEQTUNE_CPP)
#define HAS_VECTORS(columns) ((columns) % 8 == 0)
#else
#define HAS_VECTORS(columns) 1
#endif

// Sums are of differences from a value near the mean, so that squares do not cancel: the row's first element, or 0 for RMS norm.
#if defined(kind_rms)
#define NEAR_MEAN(row) 0.0f
#else
#define NEAR_MEAN(row) LOAD1(row, 0)
#endif

inline float sum_of_lanes(vec a)
{
    float s = LANE(a, 0);
#pragma unroll
    for (int i = 1; i < VW; ++i) s += LANE(a, i);
    return s;
}

// A vector of a row, with `beyond` beyond the row's end. `full`: it does not reach there.
inline vec fetch(const int full, __global const real *row, const int at, const int columns, const float beyond)
{
    if (HAS_VECTORS(columns) && (full || at + VW <= columns)) return LOADV(row, at);
    vec v;
#pragma unroll
    for (int i = 0; i < VW; ++i) {
        const float value = LOAD1(row, full ? at + i : min(at + i, columns - 1));
        LANE(v, i) = full || at + i < columns ? value : beyond;
    }
    return v;
}

inline void put(const int full, vec v, __global real *row, const int at, const int columns)
{
    if (HAS_VECTORS(columns) && (full || at + VW <= columns)) {
        STOREV(v, row, at);
        return;
    }
#pragma unroll
    for (int i = 0; i < VW; ++i)
        if (full || at + i < columns) STORE1(LANE(v, i), row, at + i);
}

// The sum of the values of a row's work-items, for each of them. A stage adds RADIX values at once; the last is done by all.
inline float sum_of_row(__local float *shared, const float own, const int ix)
{
#if IX > 1
    shared[ix] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    int left = IX;
    for (; left > RADIX; left /= RADIX) {
        const int apart = left / RADIX;
        if (ix < apart) {
            float s = shared[ix];
            for (int k = 1; k < RADIX; ++k) s += shared[ix + k * apart];
            shared[ix] = s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float s = shared[0];
    for (int k = 1; k < left; ++k) s += shared[k];
    return s;
#else
    return own;
#endif
}

// The same of two values, which is one reduction for two.
inline void sums_of_row(__local float *shared_a, __local float *shared_b, float *a, float *b, const int ix)
{
#if IX > 1
    shared_a[ix] = *a;
    shared_b[ix] = *b;
    barrier(CLK_LOCAL_MEM_FENCE);
    int left = IX;
    for (; left > RADIX; left /= RADIX) {
        const int apart = left / RADIX;
        if (ix < apart) {
            float s = shared_a[ix], t = shared_b[ix];
            for (int k = 1; k < RADIX; ++k) {
                s += shared_a[ix + k * apart];
                t += shared_b[ix + k * apart];
            }
            shared_a[ix] = s;
            shared_b[ix] = t;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float s = shared_a[0], t = shared_b[0];
    for (int k = 1; k < left; ++k) {
        s += shared_a[k];
        t += shared_b[k];
    }
    *a = s;
    *b = t;
#endif
}

// What a work-item adds in one step of a pass over its row: differences from `about`, their squares, or both.
inline void sum_step(const int full, vec *sum, vec *squares, const float about, __global const real *row, const int base, const int ix,
                     const int columns)
{
#pragma unroll
    for (int j = 0; j < NVEC; ++j) {
        const vec d = fetch(full, row, base + PLACE(j), columns, about) - (vec)(about);
        *sum += d;
        *squares = mad(d, d, *squares);
    }
}

inline void result_step(const int full, const float mean, const float factor, __global const real *row, __global const real *w,
                        __global const real *b, __global real *to, const int base, const int ix, const int columns)
{
#pragma unroll
    for (int j = 0; j < NVEC; ++j) {
        const int at = base + PLACE(j);
        const vec d = (fetch(full, row, at, columns, 0.0f) - (vec)(mean)) * (vec)(factor);
#if defined(kind_rms)
        put(full, d * fetch(full, w, at, columns, 0.0f), to, at, columns);
#else
        put(full, mad(d, fetch(full, w, at, columns, 0.0f), fetch(full, b, at, columns, 0.0f)), to, at, columns);
#endif
    }
}

__kernel __attribute__((reqd_work_group_size(IX, RX, 1)))
void norm_rows(const int rows, const int columns, const float epsilon, __global const real *restrict x, __global const real *restrict w,
               __global const real *restrict b, __global real *restrict y)
{
    const int ix = get_local_id(0), rx = get_local_id(1);
    __local float shared_sum[ITEMS];
    __local float shared_squares[ITEMS];
#if KEEP == 1
    __local float held[RX * STEP];
#define KEPT(j) LOADL(held, rx * STEP + PLACE(j))
#define SET_KEPT(j, v) STOREL(v, held, rx * STEP + PLACE(j))
#define UNROLL_KEPT 1
#elif KEEP == 2
    vec kept[NVEC];
#define KEPT(j) kept[j]
#define SET_KEPT(j, v) kept[j] = (v)
#define UNROLL_KEPT NVEC // or the array could not stay in registers
#endif

#if WREG
    vec weights[NVEC];
#pragma unroll
    for (int j = 0; j < NVEC; ++j) weights[j] = fetch(columns == STEP, w, PLACE(j), columns, 0.0f);
#define WEIGHT(j) weights[j]
#if !defined(kind_rms)
    vec biases[NVEC];
#pragma unroll
    for (int j = 0; j < NVEC; ++j) biases[j] = fetch(columns == STEP, b, PLACE(j), columns, 0.0f);
#define BIAS(j) biases[j]
#endif
#else
#define WEIGHT(j) fetch(whole, w, PLACE(j), columns, 0.0f)
#define BIAS(j) fetch(whole, b, PLACE(j), columns, 0.0f)
#endif

    const float share = 1.0f / columns;
    for (int r = 0; r < RPI; ++r) {
        const int number = ((int)get_group_id(0) * RPI + r) * RX + rx;
        const int live = number < rows; // a row beyond the last is computed as the last, and not stored
        const size_t first = (size_t)(live ? number : rows - 1) * columns;
        __global const real *row = x + first;
        __global real *to = y + first;

        vec sum = (vec)(0.0f), squares = (vec)(0.0f);
        float mean = NEAR_MEAN(row);
#if KEEP == 0
        for (int base = 0; base < columns; base += STEP) {
            if (base + STEP <= columns) sum_step(1, &sum, &squares, mean, row, base, ix, columns);
            else sum_step(0, &sum, &squares, mean, row, base, ix, columns);
        }
#else
        const int whole = columns == STEP;
#pragma unroll UNROLL_KEPT
        for (int j = 0; j < NVEC; ++j) {
            const vec d = fetch(whole, row, PLACE(j), columns, mean) - (vec)(mean);
            SET_KEPT(j, d);
            sum += d;
            squares = mad(d, d, squares);
        }
#endif

#if defined(kind_rms)
        const float variance = sum_of_row(shared_squares + rx * IX, sum_of_lanes(squares), ix) * share;
        const float shift = 0.0f;
#else
        // `shift` is the mean's distance from where differences are taken
#if PASSES == 1
        float total = sum_of_lanes(sum), total_of_squares = sum_of_lanes(squares);
        sums_of_row(shared_sum + rx * IX, shared_squares + rx * IX, &total, &total_of_squares, ix);
        const float shift = total * share;
        mean += shift;
        const float variance = fmax(total_of_squares * share - shift * shift, 0.0f);
#else
        const float shift = sum_of_row(shared_sum + rx * IX, sum_of_lanes(sum), ix) * share;
        mean += shift;
        squares = (vec)(0.0f);
#if KEEP == 0
        sum = (vec)(0.0f);
        for (int base = 0; base < columns; base += STEP) {
            if (base + STEP <= columns) sum_step(1, &sum, &squares, mean, row, base, ix, columns);
            else sum_step(0, &sum, &squares, mean, row, base, ix, columns);
        }
#else
#pragma unroll UNROLL_KEPT
        for (int j = 0; j < NVEC; ++j) {
            vec d = KEPT(j) - (vec)(shift);
            if (!whole) {
#pragma unroll
                for (int i = 0; i < VW; ++i) LANE(d, i) = PLACE(j) + i < columns ? LANE(d, i) : 0.0f;
            }
            squares = mad(d, d, squares);
        }
#endif
        const float variance = sum_of_row(shared_squares + rx * IX, sum_of_lanes(squares), ix) * share;
#endif
#endif

        const float factor = rsqrt(variance + epsilon);
        if (live) {
#if KEEP == 0
            for (int base = 0; base < columns; base += STEP) {
                if (base + STEP <= columns) result_step(1, mean, factor, row, w, b, to, base, ix, columns);
                else result_step(0, mean, factor, row, w, b, to, base, ix, columns);
            }
#else
#pragma unroll UNROLL_KEPT
            for (int j = 0; j < NVEC; ++j) {
                const vec d = (KEPT(j) - (vec)(shift)) * (vec)(factor);
#if defined(kind_rms)
                put(whole, d * WEIGHT(j), to, PLACE(j), columns);
#else
                put(whole, mad(d, WEIGHT(j), BIAS(j)), to, PLACE(j), columns);
#endif
            }
#endif
        }
#if RPI > 1 && IX > 1
        barrier(CLK_LOCAL_MEM_FENCE); // the next row's values replace this row's
#endif
    }
}
