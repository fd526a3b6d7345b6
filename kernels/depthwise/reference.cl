// The plain convolution, one work-item per element of y: what depthwise.cl is checked against.

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

#ifdef dtype_f16
typedef half real;
#define LOAD1(p, i) vload_half((i), (p))
#define STORE1(v, p, i) vstore_half((v), (i), (p))
#else
typedef float real;
#define LOAD1(p, i) ((p)[i])
#define STORE1(v, p, i) ((p)[i] = (v))
#endif

__kernel void depthwise_reference(const int N, const int C, const int H, const int W, const int OH, const int OW,
                                  const int pad_h, const int pad_w, __global const real *x, __global const real *w,
                                  __global real *y)
{
    const size_t pixel = get_global_id(0), c = get_global_id(1), plane = get_global_id(2) * C + c;
    const int oh = pixel / OW, ow = pixel % OW;
    float sum = 0.0f;
    for (int r = 0; r < FR; ++r)
        for (int s = 0; s < FS; ++s) {
            const int yy = oh * STRIDE - pad_h + r, xx = ow * STRIDE - pad_w + s;
            if (yy < 0 || yy >= H || xx < 0 || xx >= W) continue;
            sum += LOAD1(x, (plane * H + yy) * W + xx) * LOAD1(w, (c * FR + r) * FS + s);
        }
    STORE1(sum, y, plane * OH * OW + pixel);
}
