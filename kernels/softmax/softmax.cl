// Softmax of each row: y[r][c] = exp(x[r][c] - m) / (sum over c of exp(x[r][c] - m)), with m the largest element of the row.
// x and y are rows x columns, row-major and dense. Arithmetic is in f32.
//
// IX work-items share a row. A work-group computes RX rows side by side and RPI such blocks one after another. A step covers
// IX*EPI elements of a row, EPI for each work-item, as vectors of VW. Where rows are kept, a row is one step.

#ifndef IX
#define IX 32    // work-items per row
#endif
#ifndef RX
#define RX 4     // rows side by side in a work-group
#endif
#ifndef RPI
#define RPI 1    // rows that a work-item computes one after another
#endif
#ifndef KEEP
#define KEEP 0   // where a row is between the passes: 0 in global memory, 1 in local memory, 2 in registers
#endif
#ifndef ALGO
#define ALGO 0   // 0: maximum, sum, result; 1: maximum and sum in one pass; 2: as 0, but exponentials are stored in y and scaled
#endif
#ifndef VW
#define VW 1     // vector width of loads and stores
#endif
#ifndef EPI
#define EPI 1    // elements of a row that a work-item takes per step
#endif
#ifndef STR
#define STR 0    // 1: a work-item's vectors are IX vectors apart instead of adjacent
#endif
#ifndef EXPF
#define EXPF 0   // exponential: 0 exp, 1 a polynomial, which compilers for CPUs make vectors of
#endif
#ifndef RADIX
#define RADIX 2  // values that are combined at once where work-items combine theirs
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

// Stands for what is beyond a row's end: below every element, and its exponential is nothing. Not the least float, so that
// differences and multiples of it stay finite.
#define LOWEST (-1.0e38f)

inline float exponential(const float x)
{
#if EXPF == 0
    return exp(x);
#else
    // 2^t is 2^whole times a polynomial of the rest, which lies between -1/2 and 1/2
    const float t = fmax(x, -87.0f) * 1.44269504f;
    const float whole = floor(t + 0.5f);
    const float f = t - whole;
    float p = mad(0.00015345812f, f, 0.00133999312f);
    p = mad(p, f, 0.00961848896f);
    p = mad(p, f, 0.0555032878f);
    p = mad(p, f, 0.240226469f);
    p = mad(p, f, 0.693147206f);
    p = mad(p, f, 1.0f);
    return p * as_float((convert_int(whole) + 127) << 23);
#endif
}

inline vec exponentials(vec a)
{
#pragma unroll
    for (int i = 0; i < VW; ++i) LANE(a, i) = exponential(LANE(a, i));
    return a;
}

inline vec larger(vec a, vec b)
{
#pragma unroll
    for (int i = 0; i < VW; ++i) LANE(a, i) = fmax(LANE(a, i), LANE(b, i));
    return a;
}

inline float largest_lane(vec a)
{
    float m = LANE(a, 0);
#pragma unroll
    for (int i = 1; i < VW; ++i) m = fmax(m, LANE(a, i));
    return m;
}

inline float sum_of_lanes(vec a)
{
    float s = LANE(a, 0);
#pragma unroll
    for (int i = 1; i < VW; ++i) s += LANE(a, i);
    return s;
}

// A vector of a row. `full`: it does not reach beyond the row's end.
inline vec fetch(const int full, __global const real *row, const int at, const int columns)
{
    if (HAS_VECTORS(columns) && (full || at + VW <= columns)) return LOADV(row, at);
    vec v;
#pragma unroll
    for (int i = 0; i < VW; ++i) {
        const float value = LOAD1(row, full ? at + i : min(at + i, columns - 1));
        LANE(v, i) = full || at + i < columns ? value : LOWEST;
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

// The largest of the values of a row's work-items, for each of them. A stage combines RADIX values at once; the last is done by all.
inline float largest_of_row(__local float *shared, const float own, const int ix)
{
#if IX > 1
    shared[ix] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    int left = IX;
    for (; left > RADIX; left /= RADIX) {
        const int apart = left / RADIX;
        if (ix < apart) {
            float m = shared[ix];
            for (int k = 1; k < RADIX; ++k) m = fmax(m, shared[ix + k * apart]);
            shared[ix] = m;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float m = shared[0];
    for (int k = 1; k < left; ++k) m = fmax(m, shared[k]);
    return m;
#else
    return own;
#endif
}

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

// What a work-item does in one step of a pass over its row.
inline vec max_step(const int full, vec m, __global const real *row, const int base, const int ix, const int columns)
{
#pragma unroll
    for (int j = 0; j < NVEC; ++j) m = larger(m, fetch(full, row, base + PLACE(j), columns));
    return m;
}

inline vec sum_step(const int full, vec s, const float m, __global const real *row, __global real *to, const int live,
                    const int base, const int ix, const int columns)
{
#pragma unroll
    for (int j = 0; j < NVEC; ++j) {
        const vec e = exponentials(fetch(full, row, base + PLACE(j), columns) - (vec)(m));
#if ALGO == 2
        if (live) put(full, e, to, base + PLACE(j), columns);
#endif
        s += e;
    }
    return s;
}

inline void both_step(const int full, vec *m, vec *s, __global const real *row, const int base, const int ix, const int columns)
{
    vec part[NVEC], before = *m, now = *m;
#pragma unroll
    for (int j = 0; j < NVEC; ++j) {
        part[j] = fetch(full, row, base + PLACE(j), columns);
        now = larger(now, part[j]);
    }
    vec sum = *s * exponentials(before - now);
#pragma unroll
    for (int j = 0; j < NVEC; ++j) sum += exponentials(part[j] - now);
    *m = now;
    *s = sum;
}

inline void result_step(const int full, const float m, const float factor, __global const real *row, __global real *to,
                        const int base, const int ix, const int columns)
{
#pragma unroll
    for (int j = 0; j < NVEC; ++j) {
        const int at = base + PLACE(j);
#if ALGO == 2
        put(full, fetch(full, to, at, columns) * (vec)(factor), to, at, columns);
#else
        put(full, exponentials(fetch(full, row, at, columns) - (vec)(m)) * (vec)(factor), to, at, columns);
#endif
    }
}

__kernel __attribute__((reqd_work_group_size(IX, RX, 1)))
void softmax(const int rows, const int columns, __global const real *restrict x, __global real *restrict y)
{
    const int ix = get_local_id(0), rx = get_local_id(1);
    __local float shared_max[ITEMS];
    __local float shared_sum[ITEMS];
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

    for (int r = 0; r < RPI; ++r) {
        const int number = ((int)get_group_id(0) * RPI + r) * RX + rx;
        const int live = number < rows; // a row beyond the last is computed as the last, and not stored
        const size_t first = (size_t)(live ? number : rows - 1) * columns;
        __global const real *row = x + first;
        __global real *to = y + first;

        vec m = (vec)(LOWEST), s = (vec)(0.0f);
#if KEEP == 0
#if ALGO == 1
        for (int base = 0; base < columns; base += STEP) {
            if (base + STEP <= columns) both_step(1, &m, &s, row, base, ix, columns);
            else both_step(0, &m, &s, row, base, ix, columns);
        }
#else
        for (int base = 0; base < columns; base += STEP) {
            if (base + STEP <= columns) m = max_step(1, m, row, base, ix, columns);
            else m = max_step(0, m, row, base, ix, columns);
        }
#endif
#else
        const int whole = columns == STEP;
#pragma unroll UNROLL_KEPT
        for (int j = 0; j < NVEC; ++j) {
            const vec v = fetch(whole, row, PLACE(j), columns);
            SET_KEPT(j, v);
            m = larger(m, v);
        }
#endif

#if ALGO == 1
        // sums are relative to the maximum of a lane, then of a work-item, then of the row
        const float own = largest_lane(m);
#if KEEP == 0
        s = s * exponentials(m - (vec)(own));
#else
#pragma unroll UNROLL_KEPT
        for (int j = 0; j < NVEC; ++j) s += exponentials(KEPT(j) - (vec)(own));
#endif
        float largest = own, sum = sum_of_lanes(s);
#if IX > 1
        __local float *maxima = shared_max + rx * IX;
        __local float *sums = shared_sum + rx * IX;
        maxima[ix] = own;
        sums[ix] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        int left = IX;
        for (; left > RADIX; left /= RADIX) {
            const int apart = left / RADIX;
            if (ix < apart) {
                float most = maxima[ix], total = 0.0f;
                for (int k = 1; k < RADIX; ++k) most = fmax(most, maxima[ix + k * apart]);
                for (int k = 0; k < RADIX; ++k) total += sums[ix + k * apart] * exponential(maxima[ix + k * apart] - most);
                maxima[ix] = most;
                sums[ix] = total;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        largest = maxima[0];
        for (int k = 1; k < left; ++k) largest = fmax(largest, maxima[k]);
        sum = 0.0f;
        for (int k = 0; k < left; ++k) sum += sums[k] * exponential(maxima[k] - largest);
#endif
#else
        const float largest = largest_of_row(shared_max + rx * IX, largest_lane(m), ix);
#if KEEP == 0
        for (int base = 0; base < columns; base += STEP) {
            if (base + STEP <= columns) s = sum_step(1, s, largest, row, to, live, base, ix, columns);
            else s = sum_step(0, s, largest, row, to, live, base, ix, columns);
        }
#else
#pragma unroll UNROLL_KEPT
        for (int j = 0; j < NVEC; ++j) {
            const vec e = exponentials(KEPT(j) - (vec)(largest));
            s += e;
            SET_KEPT(j, e);
        }
#endif
        const float sum = sum_of_row(shared_sum + rx * IX, sum_of_lanes(s), ix);
#endif

        const float factor = 1.0f / sum;
        if (live) {
#if KEEP == 0
            for (int base = 0; base < columns; base += STEP) {
                if (base + STEP <= columns) result_step(1, largest, factor, row, to, base, ix, columns);
                else result_step(0, largest, factor, row, to, base, ix, columns);
            }
#else
#if ALGO == 1
#define RESULT(j) exponentials(KEPT(j) - (vec)(largest)) * (vec)(factor)
#else
#define RESULT(j) KEPT(j) * (vec)(factor)
#endif
#pragma unroll UNROLL_KEPT
            for (int j = 0; j < NVEC; ++j) put(whole, RESULT(j), to, PLACE(j), columns);
#endif
        }
#if RPI > 1 && IX > 1
        barrier(CLK_LOCAL_MEM_FENCE); // the next row's values replace this row's
#endif
    }
}
