// Forward 2D convolution, NCHW: y[n][k][oh][ow] = sum over c, r, s of x[n][g C/G + c][oh sh - ph + r dh][ow sw - pw + s dw] w[k][c][r][s].
// Arithmetic is in f32. x is N x C x H x W, w is K x C/G x R x S, y is N x K x OH x OW.
//
// An implicit matrix product per filter tap: a work-group computes PX*PPT adjacent pixels of one image for KX*KPT
// output channels of one group, CB input channels at a time.

#ifndef PX
#define PX 16    // work-items along pixels
#endif
#ifndef KX
#define KX 4     // work-items along output channels
#endif
#ifndef PPT
#define PPT 4    // pixels per work-item
#endif
#ifndef KPT
#define KPT 4    // output channels per work-item
#endif
#ifndef VK
#define VK 1     // vector width along output channels
#endif
#ifndef STRP
#define STRP 0   // 1: a work-item's pixels are PX apart instead of adjacent
#endif
#ifndef CB
#define CB 4     // input channels per step
#endif
#ifndef CU
#define CU 1     // unrolling of the loop over a step's channels
#endif
#ifndef SW
#define SW 0     // 1: weights go through local memory
#endif
#ifndef SX
#define SX 0     // 1: input goes through local memory
#endif
#ifndef ORDER
#define ORDER 0  // 1: work-groups walk the channels of a pixel tile first
#endif

#define ITEMS (PX * KX)
#define WGP (PX * PPT)
#define WGK (KX * KPT)
#define KVEC (KPT / VK)

#define CAT_(a, b) a##b
#define CAT(a, b) CAT_(a, b)

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

#if VK == 1
typedef float veck;
#define LOADK(p, i) ((p)[i])
#else
typedef CAT(float, VK) veck;
#define LOADK(p, i) CAT(vload, VK)(0, (p) + (i))
#endif
#define LANE(v, i) (((float *)&(v))[i])

// Copies into local memory: elements of a work-item lie ITEMS apart. Where a channel has more elements than that, a work-item copies
// OWN of each channel, otherwise one of every few channels; which ones they are is computed once.
#define OWN(per_channel) ((per_channel) > ITEMS ? (per_channel) / ITEMS : 1)
#define ROUNDS(per_channel) ((per_channel) > ITEMS ? CB : (CB * (per_channel) + ITEMS - 1) / ITEMS)
#define CHANNEL(per_channel, i) ((per_channel) > ITEMS ? (i) : tid / (per_channel) + (i) * (ITEMS / (per_channel)))

#define PIXEL(i) (STRP ? (i) * PX + tp : tp * PPT + (i))

// A value of the input at an offset from the channel's corner, 0 in the padding.
inline float input_at(__global const real *channel, const int y, const int x, const int H, const int W)
{
    return ((uint)y < (uint)H && (uint)x < (uint)W) ? LOAD1(channel, y * W + x) : 0.0f;
}

__kernel __attribute__((reqd_work_group_size(PX, KX, 1)))
void conv2d(const int C, const int H, const int W, const int K, const int R, const int S, const int OH, const int OW,
            const int stride_h, const int stride_w, const int pad_h, const int pad_w, const int dilation_h,
            const int dilation_w, const int groups, __global const real *restrict x, __global const real *restrict w,
            __global real *restrict y)
{
    const int tp = get_local_id(0), tk = get_local_id(1);
    const int tid = tk * PX + tp;
    const int pixels = OH * OW, Cg = C / groups, Kg = K / groups;
    const int tiles_p = (pixels + WGP - 1) / WGP, tiles_k = (Kg + WGK - 1) / WGK;

    int tile = get_group_id(0);
#if ORDER
    const int k0 = (tile % tiles_k) * WGK; tile /= tiles_k;
    const int p0 = (tile % tiles_p) * WGP; tile /= tiles_p;
#else
    const int p0 = (tile % tiles_p) * WGP; tile /= tiles_p;
    const int k0 = (tile % tiles_k) * WGK; tile /= tiles_k;
#endif
    const int g = tile % groups, n = tile / groups;
    const int plane = H * W, taps = R * S;
    __global const real *xg = x + ((size_t)n * C + g * Cg) * plane;
    __global const real *wg = w + (size_t)(g * Kg) * Cg * taps;

    // upper left corners of the windows of the pixels that a work-item reads
#if SX
    __local float xs[CB * WGP];
#define READS OWN(WGP)
#define READ(i) (tid % WGP + (i) * ITEMS)
#else
#define READS PPT
#define READ(i) PIXEL(i)
#endif
    int top[READS], left[READS];
    for (int i = 0; i < READS; ++i) {
        const int p = min(p0 + READ(i), pixels - 1);
        top[i] = (p / OW) * stride_h - pad_h;
        left[i] = (p % OW) * stride_w - pad_w;
    }
    // the output channels whose weights it reads, and where they begin
#if SW
    __local float ws[CB * WGK];
#define WREADS OWN(WGK)
#define WREAD(i) (tid % WGK + (i) * ITEMS)
#else
#define WREADS KPT
#define WREAD(i) (tk * KPT + (i))
#endif
    __global const real *rows[WREADS];
    for (int i = 0; i < WREADS; ++i) rows[i] = wg + (size_t)min(k0 + WREAD(i), Kg - 1) * Cg * taps;

    veck acc[PPT][KVEC];
    for (int i = 0; i < PPT; ++i)
        for (int j = 0; j < KVEC; ++j) acc[i][j] = (veck)(0.0f);

    for (int c0 = 0; c0 < Cg; c0 += CB)
        for (int r = 0; r < R; ++r)
            for (int s = 0; s < S; ++s) {
#if SX
                for (int i = 0; i < ROUNDS(WGP); ++i) {
                    const int c = c0 + CHANNEL(WGP, i);
                    __global const real *channel = xg + (size_t)c * plane;
#pragma unroll
                    for (int own = 0; own < OWN(WGP); ++own) {
                        const int v = tid + (i * OWN(WGP) + own) * ITEMS;
                        if (CB * WGP % ITEMS == 0 || v < CB * WGP)
                            xs[v] = c < Cg ? input_at(channel, top[own] + r * dilation_h, left[own] + s * dilation_w, H, W) : 0.0f;
                    }
                }
#endif
#if SW
                for (int i = 0; i < ROUNDS(WGK); ++i) {
                    const int c = c0 + CHANNEL(WGK, i);
#pragma unroll
                    for (int own = 0; own < OWN(WGK); ++own) {
                        const int v = tid + (i * OWN(WGK) + own) * ITEMS;
                        // what a channel beyond the last would be multiplied by is not stored
                        if (CB * WGK % ITEMS == 0 || v < CB * WGK)
                            ws[v] = c < Cg ? LOAD1(rows[own], c * taps + r * S + s) : 0.0f;
                    }
                }
#endif
#if SX || SW
                barrier(CLK_LOCAL_MEM_FENCE);
#endif
                for (int c1 = 0; c1 < CB; c1 += CU) {
#pragma unroll
                    for (int c2 = 0; c2 < CU; ++c2) {
                        const int cl = c1 + c2, c = c0 + cl;
                        veck b[KVEC];
#pragma unroll
                        for (int j = 0; j < KVEC; ++j) {
#if SW
                            b[j] = LOADK(ws, cl * WGK + tk * KPT + j * VK);
#else
                            for (int v = 0; v < VK; ++v)
                                LANE(b[j], v) = c < Cg ? LOAD1(rows[j * VK + v], c * taps + r * S + s) : 0.0f;
#endif
                        }
#pragma unroll
                        for (int i = 0; i < PPT; ++i) {
#if SX
                            const float a = xs[cl * WGP + PIXEL(i)];
#else
                            const float a = c < Cg ? input_at(xg + (size_t)c * plane, top[i] + r * dilation_h,
                                                              left[i] + s * dilation_w, H, W) : 0.0f;
#endif
#pragma unroll
                            for (int j = 0; j < KVEC; ++j) acc[i][j] = mad((veck)(a), b[j], acc[i][j]);
                        }
                    }
                }
#if SX || SW
                barrier(CLK_LOCAL_MEM_FENCE);
#endif
            }

    for (int j = 0; j < KVEC; ++j)
        for (int v = 0; v < VK; ++v) {
            const int k = k0 + tk * KPT + j * VK + v;
            if (k >= Kg) continue;
            const size_t row = ((size_t)n * K + g * Kg + k) * pixels;
            for (int i = 0; i < PPT; ++i) {
                const int p = p0 + PIXEL(i);
                if (p < pixels) STORE1(LANE(acc[i][j], v), y, row + p);
            }
        }
}
