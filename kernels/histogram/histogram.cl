// Histograms of batch segments of n values: out[segment][k] = how many values of the segment fall into bin k of bins equal parts of
// [-1, 1]. Values are multiplied by a power of two first, so that they fill a part of the range only.
//
// A work-group counts SEG segments, each by a team of its work-items. A team has as many copies of its counters in local memory as
// TABLE has room for, a power of two and at most one per work-item, and adds them up at the end. Where each work-item has a copy of
// its own, no atomics are needed.

#ifndef WG
#define WG 256      // work-items per work-group
#endif
#ifndef SEG
#define SEG 1       // segments per work-group
#endif
#ifndef TABLE
#define TABLE 4096  // counters in local memory, for the copies of all segments
#endif
#ifndef ATOMIC
#define ATOMIC 1    // 0: each work-item has counters of its own
#endif
#ifndef LAYOUT
#define LAYOUT 0    // 0: copy behind copy, 1: the same with a counter of padding each, 2: the copies of a bin are adjacent
#endif
#ifndef V
#define V 1         // values of a load
#endif
#ifndef U
#define U 1         // unrolling of the loop over loads
#endif
#ifndef STRL
#define STRL 1      // 1: a work-item's loads are a team apart instead of adjacent
#endif
#ifndef RUN
#define RUN 0       // 1: equal bins in a row are counted by a work-item before they are added
#endif

#define TEAM (WG / SEG)
#define PAD (LAYOUT == 1)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#endif

#if V == 1
typedef float vec;
#define LOADV(p, i) LOAD1(p, i)
#else
typedef CAT(float, V) vec;
#ifdef dtype_f16
#define LOADV(p, i) CAT(vload_half, V)(0, (p) + (i))
#else
#define LOADV(p, i) CAT(vload, V)(0, (p) + (i))
#endif
#endif
#define LANE(v, i) (((float *)&(v))[i])

// The bin of a value. The factor is a power of two, so the product is exact and it is the same whether or not it is fused with the
// sum: all compilers agree about the bin.
inline int bin_of(const float value, const float factor, const uint bins)
{
    const int place = clamp(convert_int(mad(value, factor, 524288.0f)), 0, 1048575);
    return (uint)place * bins >> 20;
}

#if LAYOUT == 2
#define COUNTER(bin, copy) ((bin) * copies + (copy))
#else
#define COUNTER(bin, copy) ((copy) * (bins + PAD) + (bin))
#endif
#if ATOMIC
#define ADD(bin, n) atomic_add(&table[COUNTER(bin, copy)], (n))
#else
#define ADD(bin, n) (table[COUNTER(bin, copy)] += (n))
#endif

#if RUN
#define COUNT(value)                                        \
    do {                                                    \
        const int bin = bin_of((value), factor, bins);      \
        if (bin != last) {                                  \
            ADD(last, run);                                 \
            last = bin;                                     \
            run = 0;                                        \
        }                                                   \
        ++run;                                              \
    } while (0)
#else
#define COUNT(value) ADD(bin_of((value), factor, bins), 1)
#endif

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void histogram(const int n, const int batch, const int bins, const float factor, __global const real *restrict x,
               __global float *restrict out)
{
    __local int counters[TABLE];
    const int tid = get_local_id(0), lane = tid % TEAM, team = tid / TEAM;
    const int segment = get_group_id(0) * SEG + team;

#if ATOMIC
    int copies = 1;
    while (2 * copies <= TEAM && 2 * copies * SEG * (bins + PAD) <= TABLE) copies *= 2;
#else
    const int copies = TEAM;
#endif
    for (int i = tid; i < SEG * copies * (bins + PAD); i += WG) counters[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    __local int *table = counters + team * copies * (bins + PAD);
    if (segment < batch) {
        const int copy = lane & (copies - 1);
        const size_t start = (size_t)segment * n;
        __global const real *from = x + start;
        // vectors begin at multiples of V of the whole array
        const int head = min((int)((V - start % V) % V), n);
        const int vectors = (n - head) / V, tail = head + vectors * V;
#if RUN
        int last = 0, run = 0;
#endif
#if STRL
        const int stop = tail, step = TEAM * V;
        int i = head + lane * V;
#else
        const int each = (vectors + TEAM - 1) / TEAM, step = V;
        const int stop = head + min((lane + 1) * each, vectors) * V;
        int i = head + lane * each * V;
#endif
        for (; i + (U - 1) * step < stop; i += U * step) {
            vec value[U];
#pragma unroll
            for (int u = 0; u < U; ++u) value[u] = LOADV(from, i + u * step);
#pragma unroll
            for (int u = 0; u < U; ++u) {
#pragma unroll
                for (int l = 0; l < V; ++l) COUNT(LANE(value[u], l));
            }
        }
#if U > 1
        for (; i < stop; i += step) {
            vec value = LOADV(from, i);
#pragma unroll
            for (int l = 0; l < V; ++l) COUNT(LANE(value, l));
        }
#endif
#if V > 1
        for (i = lane; i < head; i += TEAM) COUNT(LOAD1(from, i));
        for (i = tail + lane; i < n; i += TEAM) COUNT(LOAD1(from, i));
#endif
#if RUN
        ADD(last, run);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    if (segment < batch)
        for (int k = lane; k < bins; k += TEAM) {
            int sum = 0;
            for (int copy = 0; copy < copies; ++copy) sum += table[COUNTER(k, copy)];
            out[(size_t)segment * bins + k] = (float)sum;
        }
}
