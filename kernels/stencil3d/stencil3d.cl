// One sweep of a star stencil over a grid: y[h][i][j] = sum of c[tap] x[h + dz][i + dy][j + dx] over the points of three axes.
// Arithmetic is in f32. x is (D + 2 r) x (H + 2 r) x (W + 2 r), of which the outer r of each side are the margin; y is D x H x W, c holds
// f32: 2 r + 1 taps along a row, then 2 r along a column and 2 r along the depth, both without the middle.
//
// A work-group computes a tile of CZ*GZ planes of GY*RY rows by GX*VX columns, a work-item a vector of VX adjacent columns of RY adjacent
// rows of CZ planes. Planes are computed ZB at a time: each plane of the input is read once and added to all of the sums that it belongs
// to. With ZB 0 the work-item walks through its planes with a window of 2 r + 1 sums (2.5-D streaming): each plane of the input is
// added to all of them, and then the oldest one is complete. The plane that is read may be kept in local memory.

#ifndef GX
#define GX 16    // work-items along a row
#endif
#ifndef GY
#define GY 4     // work-items along a column
#endif
#ifndef GZ
#define GZ 1     // work-items along the depth
#endif
#ifndef VX
#define VX 4     // adjacent columns per vector
#endif
#ifndef RY
#define RY 1     // adjacent rows per work-item
#endif
#ifndef CZ
#define CZ 1     // planes per work-item
#endif
#ifndef ZB
#define ZB 1     // planes that are computed at once; 0: a window of sums walks through the planes
#endif
#ifndef UB
#define UB 1     // unrolling of the loop over the planes that the window walks through
#endif
#ifndef XREG
#define XREG 1   // 1: the values of a row that a vector needs are read once and shifted in registers; 0: read anew for each tap
#endif
#ifndef LOC
#define LOC 0    // planes of the input that local memory holds, with ZB 0; 2: one is filled while the other is read
#endif
#ifndef ORDER
#define ORDER 0  // 1: work-groups walk the depth of a column of tiles first
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

// Places of the coefficients. Those of the middle are with the row.
#define WITHOUT_MIDDLE(d) ((d) - ((d) > RADIUS ? 1 : 0))
#define TAP_X(dx) (dx)
#define TAP_Y(dy) (SPAN + WITHOUT_MIDDLE(dy))
#define TAP_Z(dz) (SPAN + 2 * RADIUS + WITHOUT_MIDDLE(dz))

#define ITEMS (GX * GY)
#define WGX (GX * VX)
#define WGY (GY * RY)
#define WGZ (GZ * CZ)

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

// where a work-item reads the input: from the local plane, which holds f32, or from memory
#if LOC
#define PLANE_ROWS (WGY + 2 * RADIUS)
#define PLANE_COLUMNS (WGX + 2 * RADIUS)
#define PLANE_PITCH ((PLANE_COLUMNS + 3) / 4 * 4)
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

// The sums that are held at once, and which plane of the stencil plane q of the input is for sum k.
#if ZB
#define SUMS ZB
#define DZ(q, k) ((q) - (k))
#else
#define SUMS SPAN
#define DZ(q, k) (2 * RADIUS - (k))
#endif
#define IN_STENCIL(d) ((d) >= 0 && (d) <= 2 * RADIUS)

inline void clear(vecx (*sums)[RY])
{
#pragma unroll
    for (int k = 0; k < SUMS; ++k)
#pragma unroll
        for (int i = 0; i < RY; ++i) sums[k][i] = (vecx)(0.0f);
}

// Adds the products of plane q of the input to the sums that it belongs to. `corner`: where the work-item's first row and column begin,
// margin included.
inline void add_plane(vecx (*sums)[RY], SOURCE *corner, const size_t pitch, const int q, __global const float *c)
{
    // the sums whose middle plane this is, if there are such
    const int middle = ZB ? q - RADIUS : RADIUS, is_middle = middle >= 0 && middle < SUMS;
#pragma unroll
    for (int own = 0; own < RY; ++own) {
        SOURCE *row = corner + (own + RADIUS) * pitch;
        vecx centre;
        if (is_middle) {
#if XREG
            float line[VX + 2 * RADIUS];
#pragma unroll
            for (int i = 0; i + VX <= VX + 2 * RADIUS; i += VX) {
                vecx part = READV(row, i);
#pragma unroll
                for (int l = 0; l < VX; ++l) line[i + l] = LANE(part, l);
            }
#pragma unroll
            for (int i = (VX + 2 * RADIUS) / VX * VX; i < VX + 2 * RADIUS; ++i) line[i] = READ1(row, i);
#endif
#pragma unroll
            for (int dx = 0; dx < SPAN; ++dx) {
#if XREG
                vecx value;
#pragma unroll
                for (int l = 0; l < VX; ++l) LANE(value, l) = line[dx + l];
#else
                const vecx value = READV(row, dx);
#endif
                sums[middle][own] = mad((vecx)(c[TAP_X(dx)]), value, sums[middle][own]);
                if (dx == RADIUS) centre = value;
            }
            // taps along the columns that are rows of the work-item
#pragma unroll
            for (int i = 0; i < RY; ++i)
                if (i != own && IN_STENCIL(own + RADIUS - i))
                    sums[middle][i] = mad((vecx)(c[TAP_Y(own + RADIUS - i)]), centre, sums[middle][i]);
        } else {
            centre = READV(row, RADIUS);
        }
#pragma unroll
        for (int k = 0; k < SUMS; ++k)
            if (k != middle && IN_STENCIL(DZ(q, k))) sums[k][own] = mad((vecx)(c[TAP_Z(DZ(q, k))]), centre, sums[k][own]);
    }
    if (!is_middle) return;
    // taps along the columns that are rows of others
#pragma unroll
    for (int h = 0; h < 2 * RADIUS; ++h) {
        const int p = h < RADIUS ? h : h + RY;
        const vecx value = READV(corner + p * pitch, RADIUS);
#pragma unroll
        for (int i = 0; i < RY; ++i)
            if (IN_STENCIL(p - i)) sums[middle][i] = mad((vecx)(c[TAP_Y(p - i)]), value, sums[middle][i]);
    }
}

// Stores the sums of one plane of y, but for rows and columns that are outside of the grid or another work-item's. `mine`: where
// the work-item would begin if the grid had no end, `at`: where it does; rows and columns.
inline void store_plane(__global real *plane, vecx *sums, const int row_at, const int row_mine, const int at, const int mine,
                        const int H, const int W)
{
#pragma unroll
    for (int i = 0; i < RY; ++i) {
        __global real *row = plane + (size_t)(row_at + i) * W;
        if (row_at + i < row_mine || row_at + i >= H) {
        } else if (at == mine && at + VX <= W) {
            STOREV(sums[i], row, at);
        } else {
#pragma unroll
            for (int l = 0; l < VX; ++l)
                if (at + l >= mine && at + l < W) STORE1(LANE(sums[i], l), row, at + l);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(GX, GY, GZ)))
void stencil3d(const int D, const int H, const int W, __global const real *restrict x, __global const float *restrict c,
               __global real *restrict y)
{
    const int tx = get_local_id(0), ty = get_local_id(1), tz = get_local_id(2);
    const int tiles_x = (W + WGX - 1) / WGX, tiles_y = (H + WGY - 1) / WGY;
    int tile = get_group_id(0);
#if ORDER
    const int tiles_z = (D + WGZ - 1) / WGZ;
    const int z0 = tile % tiles_z * WGZ; tile /= tiles_z;
    const int x0 = tile % tiles_x * WGX, y0 = tile / tiles_x * WGY;
#else
    const int x0 = tile % tiles_x * WGX; tile /= tiles_x;
    const int y0 = tile % tiles_y * WGY, z0 = tile / tiles_y * WGZ;
#endif
    const size_t pitch = W + 2 * RADIUS, plane = (H + 2 * RADIUS) * pitch;

#if !LOC
    // no legal config: a grid of one element that is launched to finish the compilation
    if (W < VX || H < RY || D < ZB) return;
#endif
    // a work-item whose rows or columns would reach beyond the grid begins earlier
    const int mine = x0 + tx * VX, row_mine = y0 + ty * RY;
    const int at = LOC ? mine : min(mine, W - VX), row_at = LOC ? row_mine : min(row_mine, H - RY);
    vecx sums[SUMS][RY];

#if ZB
    __global const real *corner = x + row_at * pitch + at;
    for (int b = 0; b < CZ / ZB; ++b) {
        const int top = z0 + (b * GZ + tz) * ZB;
        if (top < D && row_mine < H && mine < W) {
            const int first = min(top, D - ZB);
            clear(sums);
#pragma unroll
            for (int q = 0; q < ZB + 2 * RADIUS; ++q) add_plane(sums, corner + (first + q) * plane, pitch, q, c);
#pragma unroll
            for (int k = 0; k < ZB; ++k)
                if (first + k >= top) store_plane(y + (size_t)(first + k) * H * W, sums[k], row_at, row_mine, at, mine, H, W);
        }
    }
#else
    const int top = z0 + tz * CZ;
#if LOC
    // all work-items of a group walk through the same planes
    __local float planes[LOC * PLANE_ROWS * PLANE_PITCH];
    const int last_row = H + 2 * RADIUS - 1, last_column = W + 2 * RADIUS - 1, tid = ty * GX + tx;
    const int count = min(CZ, D - top) + 2 * RADIUS;
#else
    __global const real *corner = x + row_at * pitch + at;
    const int count = top < D && row_mine < H && mine < W ? min(CZ, D - top) + 2 * RADIUS : 0;
#endif
    clear(sums);
    for (int q0 = 0; q0 < count; q0 += UB) {
#pragma unroll
        for (int u = 0; u < UB; ++u) {
            const int q = q0 + u;
            // with local memory what follows the last plane is read again, so that barriers are met by all
            if (LOC || UB == 1 || q < count) {
#if LOC
                __local float *held = planes + q % LOC * (PLANE_ROWS * PLANE_PITCH);
                __global const real *from = x + min(top + q, D + 2 * RADIUS - 1) * plane;
                for (int v = tid; v < PLANE_ROWS * PLANE_COLUMNS; v += ITEMS) {
                    const int i = v / PLANE_COLUMNS, j = v % PLANE_COLUMNS;
                    held[i * PLANE_PITCH + j] = LOAD1(from, min(y0 + i, last_row) * pitch + min(x0 + j, last_column));
                }
                barrier(CLK_LOCAL_MEM_FENCE);
                add_plane(sums, held + ty * RY * PLANE_PITCH + tx * VX, PLANE_PITCH, q, c);
#if LOC == 1
                barrier(CLK_LOCAL_MEM_FENCE);
#endif
#else
                add_plane(sums, corner + (top + q) * plane, pitch, q, c);
#endif
                if (q >= 2 * RADIUS && q < count)
                    store_plane(y + (size_t)(top + q - 2 * RADIUS) * H * W, sums[0], row_at, row_mine, at, mine, H, W);
#pragma unroll
                for (int i = 0; i < RY; ++i) {
#pragma unroll
                    for (int k = 0; k + 1 < SUMS; ++k) sums[k][i] = sums[k + 1][i];
                    sums[SUMS - 1][i] = (vecx)(0.0f);
                }
            }
        }
    }
#endif
}
