// Depthwise 2D convolution, NCHW: y[n][c][oh][ow] = sum over r, s of x[n][c][oh t - ph + r][ow t - pw + s] w[c][r][s], with stride t.
// Arithmetic is in f32. x is N x C x H x W, w is C x R x S, y is N x C x OH x OW. A plane is one channel of one image.
//
// A work-group computes a tile of GY*PY*BY rows by GX*PX columns of GC planes; a work-item BY blocks of PY adjacent rows by PX adjacent
// columns of one plane, GY*PY rows apart. The size of the filter and the stride are compiled in, so that its loops can be unrolled.

#ifndef GX
#define GX 8     // work-items along a row
#endif
#ifndef GY
#define GY 8     // work-items along a column
#endif
#ifndef GC
#define GC 1     // work-items along planes
#endif
#ifndef PX
#define PX 1     // adjacent columns per work-item, a vector
#endif
#ifndef PY
#define PY 1     // adjacent rows of a block
#endif
#ifndef BY
#define BY 1     // blocks per work-item
#endif
#ifndef ROWS
#define ROWS 1   // 0: a loop over the rows of the filter; 1: unrolled; 2: each row of the input is read once for all rows of a block
#endif
#ifndef XREG
#define XREG 0   // 1: the values of a row that a vector needs are read once and shifted in registers; 0: read anew for each tap
#endif
#ifndef FILT
#define FILT 0   // 1: the filter goes through local memory
#endif
#ifndef LOC
#define LOC 0    // 1: the input goes through local memory
#endif
#ifndef ORDER
#define ORDER 0  // 1: work-groups walk the images of a channel first
#endif

// rows and columns of the filter, and the stride
#if defined(R_1)
#define FR 1
#elif defined(R_2)
#define FR 2
#elif defined(R_4)
#define FR 4
#elif defined(R_5)
#define FR 5
#elif defined(R_7)
#define FR 7
#elif defined(R_9)
#define FR 9
#elif defined(R_11)
#define FR 11
#elif defined(R_13)
#define FR 13
#elif defined(R_15)
#define FR 15
#elif defined(R_31)
#define FR 31
#else
#define FR 3
#endif
#if defined(S_1)
#define FS 1
#elif defined(S_2)
#define FS 2
#elif defined(S_4)
#define FS 4
#elif defined(S_5)
#define FS 5
#elif defined(S_7)
#define FS 7
#elif defined(S_9)
#define FS 9
#elif defined(S_11)
#define FS 11
#elif defined(S_13)
#define FS 13
#elif defined(S_15)
#define FS 15
#elif defined(S_31)
#define FS 31
#else
#define FS 3
#endif
#if defined(stride_2)
#define STRIDE 2
#elif defined(stride_3)
#define STRIDE 3
#elif defined(stride_4)
#define STRIDE 4
#else
#define STRIDE 1
#endif

#define ITEMS (GX * GY * GC)
#define WGX (GX * PX)
#define WGY (GY * PY * BY)
#define LINE ((PX - 1) * STRIDE + FS)   // what a vector needs of a row

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(v, p, i) vstore_half((v), (i), (p))
#define LOADV(p, i) CAT(vload_half, PX)(0, (p) + (i))
#define STOREV(v, p, i) CAT(vstore_half, PX)((v), 0, (p) + (i))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(v, p, i) ((p)[i] = (v))
#define LOADV(p, i) CAT(vload, PX)(0, (p) + (i))
#define STOREV(v, p, i) CAT(vstore, PX)((v), 0, (p) + (i))
#endif

#if PX == 1
typedef float vecx;
#undef LOADV
#undef STOREV
#define LOADV(p, i) LOAD1(p, i)
#define STOREV(v, p, i) STORE1(v, p, i)
#else
typedef CAT(float, PX) vecx;
#endif
#define LANE(v, i) (((float *)&(v))[i])

// where a work-item reads the input: from the local tile, which holds f32 and zeros for the padding, or from memory
#if LOC
#define TILE_ROWS ((WGY - 1) * STRIDE + FR)
#define TILE_COLUMNS ((WGX - 1) * STRIDE + FS)
#define TILE_PITCH ((TILE_COLUMNS + 3) / 4 * 4)
#define SOURCE __local const float
#define READ1(p, i) ((p)[i])
#if PX == 1
#define READV(p, i) ((p)[i])
#else
#define READV(p, i) CAT(vload, PX)(0, (p) + (i))
#endif
#else
#define SOURCE __global const real
#define READ1(p, i) LOAD1(p, i)
#define READV(p, i) LOADV(p, i)
#endif

// where it reads the filter
#if FILT
#define FILTER __local const float
#define WEIGHT(i) (filter[i])
#else
#define FILTER __global const real
#define WEIGHT(i) LOAD1(filter, i)
#endif

// A value of a row of the input, 0 in the padding left and right of it.
inline float value_at(SOURCE *row, const int x, const int W)
{
    const float value = READ1(row, LOC ? x : clamp(x, 0, W - 1));
    return LOC || (uint)x < (uint)W ? value : 0.0f;
}

// The values of a row from x on, as many as a vector needs. `inside`: none of them is padding.
inline void read_line(float *line, SOURCE *row, const int x, const int inside, const int W)
{
    if (LOC || inside) {
#pragma unroll
        for (int i = 0; i + PX <= LINE; i += PX) {
            vecx part = READV(row, x + i);
#pragma unroll
            for (int l = 0; l < PX; ++l) line[i + l] = LANE(part, l);
        }
#pragma unroll
        for (int i = LINE / PX * PX; i < LINE; ++i) line[i] = READ1(row, x + i);
    } else {
#pragma unroll
        for (int i = 0; i < LINE; ++i) line[i] = value_at(row, x + i, W);
    }
}

// Adds to the sums of a block the products of a row of the input with the rows of the filter that it meets there: row q of those the
// block needs meets row q - i * STRIDE of the filter in row i of the block. Of these `only` is one, or -1 for all of them.
inline void add_row(vecx *sums, SOURCE *row, const int x, const int inside, const int W, FILTER *filter, const int q, const int only)
{
#if XREG
    float line[LINE];
    read_line(line, row, x, inside, W);
#endif
#pragma unroll
    for (int s = 0; s < FS; ++s) {
        vecx value;
#if XREG
#pragma unroll
        for (int l = 0; l < PX; ++l) LANE(value, l) = line[l * STRIDE + s];
#else
        if (STRIDE == 1 && (LOC || inside)) {
            value = READV(row, x + s);
        } else {
#pragma unroll
            for (int l = 0; l < PX; ++l) LANE(value, l) = value_at(row, x + l * STRIDE + s, W);
        }
#endif
        if (only >= 0) {
            sums[only] = mad((vecx)(WEIGHT((q - only * STRIDE) * FS + s)), value, sums[only]);
        } else {
#pragma unroll
            for (int i = 0; i < PY; ++i)
                if (q - i * STRIDE >= 0 && q - i * STRIDE < FR)
                    sums[i] = mad((vecx)(WEIGHT((q - i * STRIDE) * FS + s)), value, sums[i]);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(GX, GY, GC)))
void depthwise(const int N, const int C, const int H, const int W, const int OH, const int OW, const int pad_h,
               const int pad_w, __global const real *restrict x, __global const real *restrict w, __global real *restrict y)
{
    const int tx = get_local_id(0), ty = get_local_id(1), tc = get_local_id(2);
    const int tiles_x = (OW + WGX - 1) / WGX, tiles_y = (OH + WGY - 1) / WGY, planes = N * C;
    int tile = get_group_id(0);
    const int x0 = tile % tiles_x * WGX; tile /= tiles_x;
    const int y0 = tile % tiles_y * WGY, p0 = tile / tiles_y * GC;
    // the plane that stands at a place of the order in which they are computed
#define PLANE(p) (ORDER ? (p) % N * C + (p) / N : (p))
    const int place = min(p0 + tc, planes - 1), plane = PLANE(place);

#if LOC || FILT
    const int tid = (tc * GY + ty) * GX + tx;
#endif
#if LOC
    __local float tiles[GC * TILE_ROWS * TILE_PITCH];
    for (int v = tid; v < GC * TILE_ROWS * TILE_COLUMNS; v += ITEMS) {
        const int j = v % TILE_COLUMNS, line = v / TILE_COLUMNS, p = p0 + line / TILE_ROWS;
        const int yy = y0 * STRIDE - pad_h + line % TILE_ROWS, xx = x0 * STRIDE - pad_w + j;
        const int is_there = p < planes && (uint)yy < (uint)H && (uint)xx < (uint)W;
        tiles[line * TILE_PITCH + j] = is_there ? LOAD1(x, ((size_t)PLANE(p) * H + yy) * W + xx) : 0.0f;
    }
#endif
#if FILT
    __local float filters[GC * FR * FS];
    for (int v = tid; v < GC * FR * FS; v += ITEMS) {
        const int p = min(p0 + v / (FR * FS), planes - 1);
        filters[v] = LOAD1(w, (size_t)(PLANE(p) % C) * (FR * FS) + v % (FR * FS));
    }
    FILTER *filter = filters + tc * (FR * FS);
#else
    FILTER *filter = w + (size_t)(plane % C) * (FR * FS);
#endif
#if LOC || FILT
    barrier(CLK_LOCAL_MEM_FENCE);
#endif

    const int ox = x0 + tx * PX;
#if LOC
    const int left = tx * PX * STRIDE, inside = 1;
#else
    const int left = ox * STRIDE - pad_w, inside = left >= 0 && left + LINE <= W;
    __global const real *from = x + (size_t)plane * H * W;
#endif
    for (int b = 0; b < BY; ++b) {
        const int oy = y0 + (b * GY + ty) * PY;
        if (p0 + tc >= planes || oy >= OH || ox >= OW) continue;
#if LOC
#define ADD_ROW(q, only) \
    add_row(sums, tiles + (tc * TILE_ROWS + (b * GY + ty) * PY * STRIDE + (q)) * TILE_PITCH, left, inside, W, filter, q, only)
#else
        const int top = oy * STRIDE - pad_h;
#define ADD_ROW(q, only) \
    if ((uint)(top + (q)) < (uint)H) add_row(sums, from + (top + (q)) * W, left, inside, W, filter, q, only)
#endif
        vecx sums[PY];
#pragma unroll
        for (int i = 0; i < PY; ++i) sums[i] = (vecx)(0.0f);
#if ROWS == 2
#pragma unroll
        for (int q = 0; q < (PY - 1) * STRIDE + FR; ++q) ADD_ROW(q, -1);
#else
#if ROWS == 1
#pragma unroll
#endif
        for (int r = 0; r < FR; ++r) {
#pragma unroll
            for (int i = 0; i < PY; ++i) ADD_ROW(i * STRIDE + r, i);
        }
#endif
#pragma unroll
        for (int i = 0; i < PY; ++i) {
            if (oy + i >= OH) continue;
            __global real *row = y + ((size_t)plane * OH + oy + i) * OW;
            if (ox + PX <= OW) {
                STOREV(sums[i], row, ox);
            } else {
#pragma unroll
                for (int l = 0; l < PX; ++l)
                    if (ox + l < OW) STORE1(LANE(sums[i], l), row, ox + l);
            }
        }
    }
}
