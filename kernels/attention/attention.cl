// Attention, forward: O = softmax(Q K^T / sqrt(D)) V for each of `pairs` heads of a batch. Q and O are [pair][queries][D], K and V are
// [pair][keys][D]. With causal_yes the last query sees all keys and each query before it one less. Arithmetic is in f32.
//
// A work-group computes TY*RQ rows of O, and walks the keys in tiles of TX*RK. A work-item has RQ x RK scores of a tile, then RQ rows of D/TX
// columns of O. The largest score and the sum of a row are brought up to date tile by tile, so that no score is kept beyond its tile.

#ifndef TX
#define TX 8     // work-items per query: they share its keys, then the columns of its row of O
#endif
#ifndef TY
#define TY 8     // work-items along queries
#endif
#ifndef RQ
#define RQ 4     // queries per work-item
#endif
#ifndef RK
#define RK 4     // keys per work-item and tile
#endif
#ifndef VW
#define VW 4     // vector width along D
#endif
#ifndef VS
#define VS 0     // 1: each lane of the vectors has its own sum of a score
#endif
#ifndef SQ
#define SQ 0     // 1: Q goes through local memory
#endif
#ifndef SKV
#define SKV 0    // 1: K and V go through local memory, one after the other
#endif
#ifndef PAD
#define PAD 0    // 1: rows in local memory are padded
#endif
#ifndef UNR
#define UNR 1    // unrolling of the loops over D and over keys
#endif
#ifndef ORDER
#define ORDER 0  // 1: work-groups walk the heads first, from the last queries on
#endif

#if defined(D_d32)
#define D 32
#elif defined(D_d80)
#define D 80
#elif defined(D_d96)
#define D 96
#elif defined(D_d128)
#define D 128
#else
#define D 64
#endif

#define BQ (TY * RQ)
#define BK (TX * RK)
#define NVEC (D / TX / VW)
#define ITEMS (TX * TY)
#define LD (D + PAD * VW)    // of Q, K and V in local memory
#define LDP (BK + PAD * 4)   // of the weights
#define LOCAL_ROW (ty * RQ + i)

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
typedef float vecd;
#define LOADD(p, i) LOAD1(p, i)
#define STORED(x, p, i) STORE1(x, p, i)
#define LOADD_LOCAL(p, i) ((p)[i])
#define STORED_LOCAL(x, p, i) ((p)[i] = (x))
#else
typedef CAT(float, VW) vecd;
#define LOADD(p, i) LOADV_(VW, p, i)
#define STORED(x, p, i) STOREV_(VW, x, p, i)
#define LOADD_LOCAL(p, i) CAT(vload, VW)(0, (p) + (i))
#define STORED_LOCAL(x, p, i) CAT(vstore, VW)((x), 0, (p) + (i))
#endif
#define LANE(v, x) (((float *)&(v))[x])

#if VS
typedef vecd sums;
#else
typedef float sums;
#endif

#define NONE (-1e30f)        // the score of a key that is not seen
#define LOG2_E 1.44269504f

// Copies rows of a matrix into local memory, from `first` on; beyond the last one it is copied again.
inline void copy_rows(__local float *to, __global const real *from, const int rows, const int first, const int last, const int tid)
{
    for (int v = tid; v < rows * (D / VW); v += ITEMS) {
        const int row = v / (D / VW), d = v % (D / VW) * VW;
        STORED_LOCAL(LOADD(from, min(first + row, last) * D + d), to, row * LD + d);
    }
}

__kernel __attribute__((reqd_work_group_size(TX, TY, 1)))
void attention(const int pairs, const int queries, const int keys, __global const real *restrict Q,
               __global const real *restrict K, __global const real *restrict V, __global real *restrict O)
{
    const int tx = get_local_id(0), ty = get_local_id(1);
    const int tid = ty * TX + tx;
    const int tiles = (queries + BQ - 1) / BQ;
#if ORDER
    const int pair = (int)get_group_id(0) % pairs, q0 = (tiles - 1 - (int)get_group_id(0) / pairs) * BQ;
#else
    const int pair = (int)get_group_id(0) / tiles, q0 = (int)get_group_id(0) % tiles * BQ;
#endif
    Q += (size_t)pair * queries * D;
    O += (size_t)pair * queries * D;
    K += (size_t)pair * keys * D;
    V += (size_t)pair * keys * D;

    // where the keys end that a row of the work-group sees, and those that each of a work-item's rows sees
#ifdef causal_yes
    const int end = min(keys, q0 + BQ + keys - queries);
#define SEEN(i) min(keys, q0 + LOCAL_ROW + 1 + keys - queries)
#else
    const int end = keys;
#define SEEN(i) keys
#endif
    const float scale = LOG2_E / sqrt((float)D);

#if SQ
    __local float qs[BQ * LD];
    copy_rows(qs, Q, BQ, q0, queries - 1, tid);
#if !SKV
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#endif
#if SKV
    __local float kv[BK * LD];
#endif
#if TX > 1
    __local float ps[BQ * LDP];
    __local float row_parts[BQ * TX];
#endif

    float top[RQ], total[RQ];
    vecd acc[RQ][NVEC];
#pragma unroll
    for (int i = 0; i < RQ; ++i) {
        top[i] = NONE;
        total[i] = 0.0f;
#pragma unroll
        for (int j = 0; j < NVEC; ++j) acc[i][j] = (vecd)(0.0f);
    }

#pragma unroll 1
    for (int k0 = 0; k0 < end; k0 += BK) {
#if SKV
        copy_rows(kv, K, BK, k0, keys - 1, tid);
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        // scores: the work-item's queries by keys that lie TX apart
        sums s[RQ][RK];
#pragma unroll
        for (int i = 0; i < RQ; ++i)
#pragma unroll
            for (int j = 0; j < RK; ++j) s[i][j] = (sums)(0.0f);
#pragma unroll 1
        for (int d0 = 0; d0 < D; d0 += VW * UNR) {
#pragma unroll
            for (int u = 0; u < UNR; ++u) {
                const int d = d0 + u * VW;
                vecd k[RK];
#pragma unroll
                for (int j = 0; j < RK; ++j) {
#if SKV
                    k[j] = LOADD_LOCAL(kv, (j * TX + tx) * LD + d);
#else
                    k[j] = LOADD(K, min(k0 + j * TX + tx, keys - 1) * D + d);
#endif
                }
#pragma unroll
                for (int i = 0; i < RQ; ++i) {
#if SQ
                    vecd q = LOADD_LOCAL(qs, LOCAL_ROW * LD + d);
#else
                    vecd q = LOADD(Q, min(q0 + LOCAL_ROW, queries - 1) * D + d);
#endif
#pragma unroll
                    for (int j = 0; j < RK; ++j) {
#if VS
                        s[i][j] = mad(q, k[j], s[i][j]);
#else
#pragma unroll
                        for (int x = 0; x < VW; ++x) s[i][j] = mad(LANE(q, x), LANE(k[j], x), s[i][j]);
#endif
                    }
                }
            }
        }

        // their weights, relative to the largest score of the row so far
        float p[RQ][RK], before[RQ];
#pragma unroll
        for (int i = 0; i < RQ; ++i) {
            before[i] = top[i];
#pragma unroll
            for (int j = 0; j < RK; ++j) {
#if VS
                float sum = LANE(s[i][j], 0);
#pragma unroll
                for (int x = 1; x < VW; ++x) sum += LANE(s[i][j], x);
#else
                const float sum = s[i][j];
#endif
                p[i][j] = k0 + j * TX + tx < SEEN(i) ? sum * scale : NONE;
                top[i] = fmax(top[i], p[i][j]);
            }
#if TX > 1
            row_parts[LOCAL_ROW * TX + tx] = top[i];
#endif
        }
#if TX > 1 || SKV
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
#if SKV
        copy_rows(kv, V, BK, k0, keys - 1, tid);
#endif
#pragma unroll
        for (int i = 0; i < RQ; ++i) {
#if TX > 1
#pragma unroll
            for (int t = 0; t < TX; ++t) top[i] = fmax(top[i], row_parts[LOCAL_ROW * TX + t]);
#endif
            const float fade = exp2(before[i] - top[i]);
            total[i] *= fade;
#pragma unroll
            for (int j = 0; j < NVEC; ++j) acc[i][j] = fade * acc[i][j];
#pragma unroll
            for (int j = 0; j < RK; ++j) {
                p[i][j] = exp2(p[i][j] - top[i]);
                total[i] += p[i][j];
#if TX > 1
                ps[LOCAL_ROW * LDP + j * TX + tx] = p[i][j];
#endif
            }
        }
#if TX > 1 || SKV
        barrier(CLK_LOCAL_MEM_FENCE);
#endif

        // weights times values: the work-item's queries by vectors of columns that lie TX vectors apart
#pragma unroll 1
        for (int k1 = 0; k1 < BK; k1 += UNR) {
#pragma unroll
            for (int u = 0; u < UNR; ++u) {
                const int k = k1 + u;
                vecd v[NVEC];
#pragma unroll
                for (int j = 0; j < NVEC; ++j) {
#if SKV
                    v[j] = LOADD_LOCAL(kv, k * LD + (j * TX + tx) * VW);
#else
                    v[j] = LOADD(V, min(k0 + k, keys - 1) * D + (j * TX + tx) * VW);
#endif
                }
#pragma unroll
                for (int i = 0; i < RQ; ++i) {
#if TX > 1
                    const float weight = ps[LOCAL_ROW * LDP + k];
#else
                    const float weight = p[i][k];
#endif
#pragma unroll
                    for (int j = 0; j < NVEC; ++j) acc[i][j] = mad((vecd)(weight), v[j], acc[i][j]);
                }
            }
        }
#if SKV
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }

    // each work-item has summed the weights of its own keys
#if TX > 1
#pragma unroll
    for (int i = 0; i < RQ; ++i) row_parts[LOCAL_ROW * TX + tx] = total[i];
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#pragma unroll
    for (int i = 0; i < RQ; ++i) {
        float sum = total[i];
#if TX > 1
        sum = 0.0f;
#pragma unroll
        for (int t = 0; t < TX; ++t) sum += row_parts[LOCAL_ROW * TX + t];
#endif
        if (q0 + LOCAL_ROW >= queries) continue;
#pragma unroll
        for (int j = 0; j < NVEC; ++j) STORED((1.0f / sum) * acc[i][j], O, (q0 + LOCAL_ROW) * D + (j * TX + tx) * VW);
    }
}
