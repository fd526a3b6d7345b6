// Gravitation, all pairs: a[i] = sum over sources j of m[j] d / (|d|^2 + eps2)^(3/2), d = s[j] - t[i], for each of batch systems.
// Arithmetic is in f32. A source has 4 numbers (x, y, z, m), a target and its acceleration 3; they lie body by body (aos) or
// component by component (soa) within a system.
//
// A work-group computes TX*TPT targets of one system. Its TX*SY work-items are TX columns of targets, and SY shares of the sources.

#ifndef TX
#define TX 64    // work-items along targets
#endif
#ifndef SY
#define SY 1     // work-items that share the sources of a target
#endif
#ifndef TPT
#define TPT 1    // targets per work-item
#endif
#ifndef VT
#define VT 1     // vector width along targets
#endif
#ifndef STRT
#define STRT 0   // 1: a work-item's vectors of targets are TX vectors apart instead of adjacent
#endif
#ifndef TILE
#define TILE 64  // sources per tile in local memory; 0: sources are read directly
#endif
#ifndef U
#define U 4      // unrolling of the loop over sources
#endif

#define ITEMS (TX * SY)
#define WGT (TX * TPT)
#define VECS (TPT / VT)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#if VT == 1
typedef float vec;
#else
typedef CAT(float, VT) vec;
#endif
#define LANE(v, i) (((float *)&(v))[i])

// place of component c of body i of n, of width numbers each
#ifdef layout_soa
#define AT(i, c, n, width) ((size_t)(c) * (n) + (i))
#else
#define AT(i, c, n, width) ((size_t)(i) * (width) + (c))
#endif

// which of the work-group's targets lane l of vector v is
#define TARGET(v, l) ((STRT ? (v) * TX + tx : tx * VECS + (v)) * VT + (l))

inline vec inverse_root(vec x)
{
    vec y;
#pragma unroll
    for (int l = 0; l < VT; ++l) LANE(y, l) = rsqrt(LANE(x, l));
    return y;
}

__kernel __attribute__((reqd_work_group_size(TX, SY, 1)))
void nbody(const int targets, const int sources, const float eps2, __global const float *restrict s,
           __global const float *restrict t, __global float *restrict a)
{
    const int tx = get_local_id(0), sy = get_local_id(1);
    const int tid = sy * TX + tx;
    const int tiles = (targets - 1) / WGT + 1;
    const int group = get_group_id(0);
    const int t0 = group % tiles * WGT, system = group / tiles;
    __global const float *from = s + (size_t)system * 4 * sources;
    __global const float *to = t + (size_t)system * 3 * targets;
    __global float *out = a + (size_t)system * 3 * targets;

    vec px[VECS], py[VECS], pz[VECS], ax[VECS], ay[VECS], az[VECS];
#pragma unroll
    for (int v = 0; v < VECS; ++v) {
        for (int l = 0; l < VT; ++l) {
            // work-items beyond the last target compute that one again
            const int i = min(t0 + TARGET(v, l), targets - 1);
            LANE(px[v], l) = to[AT(i, 0, targets, 3)];
            LANE(py[v], l) = to[AT(i, 1, targets, 3)];
            LANE(pz[v], l) = to[AT(i, 2, targets, 3)];
        }
        ax[v] = ay[v] = az[v] = (vec)(0.0f);
    }

#define ATTRACT(sx, sy, sz, sm)                                                              \
    for (int v = 0; v < VECS; ++v) {                                                         \
        const vec dx = (vec)(sx) - px[v], dy = (vec)(sy) - py[v], dz = (vec)(sz) - pz[v];    \
        const vec root = inverse_root(mad(dx, dx, mad(dy, dy, mad(dz, dz, (vec)(eps2)))));   \
        const vec f = (vec)(sm) * root * (root * root);                                      \
        ax[v] = mad(f, dx, ax[v]);                                                           \
        ay[v] = mad(f, dy, ay[v]);                                                           \
        az[v] = mad(f, dz, az[v]);                                                           \
    }

#if TILE > 0
    __local float tile[4 * TILE];
    for (int base = 0; base < sources; base += TILE) {
        for (int i = tid; i < 4 * TILE; i += ITEMS) {
            // the tile lies as the sources do in memory; beyond the last source are bodies without mass
#ifdef layout_soa
            const int body = i % TILE, c = i / TILE;
#else
            const int body = i / 4, c = i % 4;
#endif
            tile[body * 4 + c] = base + body < sources ? from[AT(base + body, c, sources, 4)] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = sy; j < TILE; j += U * SY) {
#pragma unroll
            for (int u = 0; u < U; ++u) {
                const float4 body = vload4(j + u * SY, tile);
#pragma unroll
                ATTRACT(LANE(body, 0), LANE(body, 1), LANE(body, 2), LANE(body, 3))
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
#ifdef layout_soa
#define LOAD_BODY(j)                                                                         \
    const float bx = from[AT(j, 0, sources, 4)], by = from[AT(j, 1, sources, 4)];            \
    const float bz = from[AT(j, 2, sources, 4)], bm = from[AT(j, 3, sources, 4)];
#else
#define LOAD_BODY(j)                                                                         \
    const float4 body = vload4((j), from);                                                   \
    const float bx = LANE(body, 0), by = LANE(body, 1), bz = LANE(body, 2), bm = LANE(body, 3);
#endif
    int j = sy;
    for (; j < sources - (U - 1) * SY; j += U * SY) {
#pragma unroll
        for (int u = 0; u < U; ++u) {
            LOAD_BODY(j + u * SY)
#pragma unroll
            ATTRACT(bx, by, bz, bm)
        }
    }
#if U > 1
    for (; j < sources; j += SY) {
        LOAD_BODY(j)
#pragma unroll
        ATTRACT(bx, by, bz, bm)
    }
#endif
#endif

#if SY == 1
    for (int v = 0; v < VECS; ++v)
        for (int l = 0; l < VT; ++l) {
            const int i = t0 + TARGET(v, l);
            if (i >= targets) continue;
            out[AT(i, 0, targets, 3)] = LANE(ax[v], l);
            out[AT(i, 1, targets, 3)] = LANE(ay[v], l);
            out[AT(i, 2, targets, 3)] = LANE(az[v], l);
        }
#else
    // the shares are added up by all work-items, component by component
    __local float part[3 * SY * WGT];
    for (int v = 0; v < VECS; ++v)
        for (int l = 0; l < VT; ++l) {
            const int i = sy * WGT + TARGET(v, l);
            part[i] = LANE(ax[v], l);
            part[SY * WGT + i] = LANE(ay[v], l);
            part[2 * SY * WGT + i] = LANE(az[v], l);
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int o = tid; o < 3 * WGT; o += ITEMS) {
#ifdef layout_soa
        const int i = o % WGT, c = o / WGT;
#else
        const int i = o / 3, c = o % 3;
#endif
        if (t0 + i >= targets) continue;
        float sum = 0.0f;
        for (int share = 0; share < SY; ++share) sum += part[(c * SY + share) * WGT + i];
        out[AT(t0 + i, c, targets, 3)] = sum;
    }
#endif
}
