// The plain convolution, one work-item per element of y: what conv2d.cl is checked against.

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(x, p, i) vstore_half((x), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(x, p, i) ((p)[i] = (x))
#endif

__kernel void conv2d_reference(const int C, const int H, const int W, const int K, const int R, const int S,
                               const int OH, const int OW, const int stride_h, const int stride_w, const int pad_h,
                               const int pad_w, const int dilation_h, const int dilation_w, const int groups,
                               __global const real *x, __global const real *w, __global real *y)
{
    const size_t p = get_global_id(0), channel = get_global_id(1);
    const int oh = p / OW, ow = p % OW;
    const int n = channel / K, k = channel % K;
    const int Cg = C / groups, g = k / (K / groups);
    float sum = 0.0f;
    for (int c = 0; c < Cg; ++c)
        for (int r = 0; r < R; ++r)
            for (int s = 0; s < S; ++s) {
                const int yy = oh * stride_h - pad_h + r * dilation_h;
                const int xx = ow * stride_w - pad_w + s * dilation_w;
                if (yy < 0 || yy >= H || xx < 0 || xx >= W) continue;
                const size_t in = ((size_t)(n * C + g * Cg + c) * H + yy) * W + xx;
                sum += LOAD1(x, in) * LOAD1(w, (((size_t)k * Cg + c) * R + r) * S + s);
            }
    STORE1(sum, y, channel * OH * OW + p);
}
